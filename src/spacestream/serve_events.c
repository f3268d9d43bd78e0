/* Server-Sent Events (HTML, 9.2) as the voice of a stream: each record is one event's data. */
#include "base/util.h"
#include "spacestream/serve_stream.h"

static void begin(struct stream *stream)
{
	stream->web->keep_alive = false;
	web_answer_events(stream->web);
}

static void say(struct stream *stream, const char *text, size_t size)
{
	web_answer_event(stream->web, text, size);
}

/* An end that lacks its last chunk was cut: one without a status of the guest's. */
static void finish(struct stream *stream, unsigned code, const char *reason)
{
	if (code != 1000)
		stream_tell(stream, json_pack("{s:s, s:I, s:s}", "event", "closed", "code",
					(json_int_t)code, "message", reason));
	web_answer_end(stream->web);
	stream->web->phase = WEB_OVER;
}

/* Nobody says anything here. */
static bool take(struct stream *stream)
{
	stream->web->size = 0;
	return false;
}

static bool sign(struct stream *stream)
{
	web_answer_event(stream->web, "", 0);
	return true;
}

const struct voice stream_events = {
    .begin = begin, .say = say, .finish = finish, .take = take, .sign = sign};
