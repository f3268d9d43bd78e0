/* From a connection's line to its frames, for every stream operation in the same way. */
#include "guest/stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/vm_sockets.h>
#include "base/util.h"
#include "guest/client.h"
#include "record/json.h"
#include "record/result.h"

/* Of the kernel, towards the client; with a reader that is slow they fill. With these, the
 * channel's own, and those of a port's connection a stream takes less than 256 KiB. */
#define VSOCK_BUFFER  (64 * 1024)
#define SOCKET_BUFFER (16 * 1024) /* which the kernel doubles */

static size_t on_frame(struct sp_channel *channel, const struct sp_frame *frame, void *context)
{
	struct sp_stream *stream = context;

	(void)channel;
	if ((frame->type == SP_FRAME_INPUT && !stream->kind->takes_input) ||
	    (frame->type == SP_FRAME_RESIZE && !stream->kind->takes_resize)) {
		sp_stream_fail(
		    stream, SP_E_BAD_RECORD, "frame: this operation takes none of its type");
		return frame->size;
	}
	return stream->kind->on_frame ? stream->kind->on_frame(stream, frame) : frame->size;
}

static void on_room(struct sp_channel *channel, void *context)
{
	struct sp_stream *stream = context;

	(void)channel;
	stream->kind->on_room(stream);
}

static void on_close(struct sp_channel *channel, int code, void *context)
{
	struct sp_stream *stream = context;
	struct sp_agent *agent = stream->agent;

	(void)channel;
	if (stream->begun)
		stream->kind->end(stream, code);
	*stream->at = stream->next;
	if (stream->next)
		stream->next->at = stream->at;
	free(stream->rest);
	free(stream);
	sp_service_release(agent->service);
	sp_agent_settle(agent);
}

/* A stream's share of kernel memory is bounded like its own. */
static void bound_buffers(int fd)
{
	uint64_t vsock = VSOCK_BUFFER;
	int size = SOCKET_BUFFER;

	if (setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &vsock, sizeof(vsock)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static struct sp_stream *make_stream(struct sp_agent *agent, int fd, const char *id)
{
	static const struct sp_channel_handlers handlers = {
	    .on_frame = on_frame, .on_room = on_room, .on_close = on_close};
	struct sp_stream *stream = calloc(1, sizeof(*stream));

	if (!stream || sp_channel_new(agent->loop, fd, SP_FRAME_FROM_CLIENT, &handlers, stream,
			   &stream->channel)) {
		free(stream);
		return NULL;
	}
	bound_buffers(fd);
	stream->agent = agent;
	memcpy(stream->id, id, strlen(id) + 1);
	stream->next = agent->streams;
	stream->at = &agent->streams;
	if (stream->next)
		stream->next->at = &stream->next;
	agent->streams = stream;
	return stream;
}

void sp_stream_new(struct sp_agent *agent, int fd, char *rest, size_t rest_size, const char *id,
    const struct sp_stream_kind *kind, const json_t *args)
{
	struct sp_stream *stream = make_stream(agent, fd, id);
	struct sp_err err = {0};
	int bad;

	if (!stream) {
		free(rest);
		(void)close(fd);
		sp_service_release(agent->service);
		return;
	}
	stream->kind = kind;
	stream->rest = rest;
	stream->rest_size = rest_size;
	stream->begun = true;
	bad = kind->begin(stream, args, &err);
	if (bad) {
		stream->begun = false;
		sp_stream_refuse(stream, bad, &err);
	}
}

void sp_stream_open(struct sp_stream *stream, int64_t from)
{
	sp_auto_json json_t *at = from < 0 ? NULL : json_integer(from);
	sp_auto_json json_t *answer =
	    json_pack("{s:s, s:s, s:O*}", "id", stream->id, "status", "open", "from", at);
	sp_auto_free char *line = answer ? sp_json_text(answer) : NULL;

	stream->opened = true;
	if (!line || sp_channel_line(stream->channel, line, strlen(line)) ||
	    sp_channel_start(stream->channel, stream->rest, stream->rest_size))
		sp_channel_close(stream->channel);
	free(sp_steal(&stream->rest));
}

void sp_stream_refuse(struct sp_stream *stream, int code, const struct sp_err *err)
{
	sp_auto_json json_t *answer = sp_guest_error(stream->id, code, err);
	sp_auto_free char *line = answer ? sp_json_text(answer) : NULL;

	if (line)
		sp_channel_refuse(stream->channel, line, strlen(line));
	else
		sp_channel_close(stream->channel);
}

void sp_stream_fail(struct sp_stream *stream, int code, const char *message)
{
	struct sp_status status = sp_status_of_error(code, message);

	sp_channel_finish(stream->channel, &status);
}

void sp_stream_stop_all(struct sp_agent *agent)
{
	struct sp_err err;
	int code = sp_fail(&err, SP_E_UNAVAILABLE, "the agent is ending");

	for (struct sp_stream *stream = agent->streams; stream; stream = stream->next) {
		if (stream->opened)
			sp_stream_fail(stream, code, err.message);
		else
			sp_stream_refuse(stream, code, &err);
	}
}
