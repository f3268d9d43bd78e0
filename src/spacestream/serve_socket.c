/* A WebSocket as the voice of a stream. */
#include <string.h>
#include "base/util.h"
#include "spacestream/serve_stream.h"

/* The longest message is one frame of a stream. */
#define MESSAGE_MAX (SP_FRAME_HEADER + SP_FRAME_PAYLOAD_MAX)

static void on_binary(void *context, const char *bytes, size_t size, bool last)
{
	struct stream *stream = context;

	if (stream->ended)
		return;
	if (stream->kind->input)
		stream->kind->input(stream, bytes, size, last);
	else
		stream_end(stream, 1003, "nothing is taken here");
}

static void on_write(void *context, const char *bytes, size_t size)
{
	const struct stream *stream = context;

	web_put(stream->web, bytes, size);
}

int stream_websocket_new(struct stream *stream)
{
	static const struct sp_websocket_handlers handlers = {on_binary, on_write};

	return sp_websocket_new(&handlers, stream, MESSAGE_MAX, &stream->socket);
}

static void note(struct stream *stream, int bad)
{
	if (bad)
		stream->web->broken = true;
}

static void begin(struct stream *stream)
{
	char text[SP_UPGRADE_ANSWER_MAX];
	size_t size = sp_upgrade_print(&stream->upgrade, text);

	stream->web->server->requests[status_index(101)]++;
	web_put(stream->web, text, size);
}

static void say(struct stream *stream, const char *text, size_t size)
{
	note(stream, sp_websocket_put(stream->socket, SP_WEBSOCKET_TEXT, text, size));
}

static void finish(struct stream *stream, unsigned code, const char *reason)
{
	note(stream, sp_websocket_close(stream->socket, code, reason));
}

/* Input that the sandbox does not take yet has room; what would not fit stays with the client, and
 * his closes and pongs with it. */
static bool take(struct stream *stream)
{
	struct web *web = stream->web;

	if (sp_websocket_over(stream->socket)) {
		web->phase = WEB_OVER;
		return true;
	}
	if (web->size == 0 || (!stream->ended && STREAM_HELD - stream->held_size < web->size))
		return false;
	note(stream, sp_websocket_take(stream->socket, web->in, web->size));
	web->size = 0;
	web->moved = true;
	stream->asked = false;
	/* A close of his, or the library's for what is none. */
	if (sp_websocket_closing(stream->socket) && !stream->finished)
		stream_end(stream, 1000, "");
	return true;
}

static bool sign(struct stream *stream)
{
	bool hears = stream->web->size < sizeof(stream->web->in);

	if (stream->asked && hears)
		return false;
	stream->asked = true;
	note(stream, sp_websocket_ping(stream->socket));
	return true;
}

const struct voice stream_websocket = {
    .begin = begin, .say = say, .finish = finish, .take = take, .sign = sign};
