/* exec.attach: a session's output to the client, the client's input to the session. */
#include <errno.h>
#include <string.h>
#include "base/util.h"
#include "guest/client.h"
#include "guest/session.h"
#include "guest/stream.h"
#include "guest/value.h"
#include "record/json.h"

/* As much output as there is room for, and at its end how the session ended. */
static void push(struct sp_stream *stream)
{
	struct sp_session *session = stream->state;
	struct sp_status status;
	const char *bytes;
	bool of_error;
	size_t size;

	while ((size = sp_session_output(session, &bytes, &of_error)) > 0) {
		size_t put = sp_channel_put(
		    stream->channel, of_error ? SP_FRAME_ERROR : SP_FRAME_OUTPUT, bytes, size);
		sp_session_passed(session, put);
		if (put < size)
			return;
	}
	if (sp_session_over(session, &status))
		sp_channel_finish(stream->channel, &status);
}

static void on_output(void *context)
{
	push(context);
}

static void on_input(void *context)
{
	struct sp_stream *stream = context;

	sp_channel_resume(stream->channel);
}

static void on_taken(void *context)
{
	struct sp_stream *stream = context;

	stream->state = NULL;
	sp_stream_fail(stream, -EBUSY, "another attachment has taken this session over");
}

static size_t on_frame(struct sp_stream *stream, const struct sp_frame *frame)
{
	struct sp_session *session = stream->state;
	sp_auto_json json_t *size = NULL;
	struct sp_err err = {0};
	int bad = 0;

	if (!session)
		return frame->size;
	if (frame->type == SP_FRAME_INPUT)
		return sp_session_write(session, frame->data, frame->size);
	if (frame->type == SP_FRAME_END)
		sp_session_end_input(session);
	if (frame->type != SP_FRAME_RESIZE)
		return 0;
	bad = sp_json_parse(frame->data, frame->size, &size, &err);
	if (!bad)
		bad = sp_session_resize(session, size, &err);
	/* A session that ends just now is no fault of the client's. */
	if (bad && bad != -ESRCH) {
		sp_stream_fail(stream, bad, err.message);
		stream->state = NULL;
		sp_session_detach(session);
	}
	return 0;
}

static void on_room(struct sp_stream *stream)
{
	if (stream->state)
		push(stream);
}

static void end(struct sp_stream *stream, int code)
{
	(void)code;
	if (stream->state)
		sp_session_detach(stream->state);
}

static int begin(struct sp_stream *stream, const json_t *args, struct sp_err *err)
{
	static const struct sp_session_listener listener = {
	    .on_output = on_output, .on_input = on_input, .on_taken = on_taken};
	const json_t *id, *from_json;
	const struct sp_json_field fields[] = {
	    {"session", SP_JSON_STRING, false, &id},
	    {"from", SP_JSON_INTEGER, true, &from_json},
	};
	struct sp_session *session;
	int64_t from = -1;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_number(from_json, "from", 0, SP_INT_MAX, &from, err)))
		return bad;
	session = sp_session_find(stream->agent->sessions, json_string_value(id));
	if (!session)
		return sp_fail(err, -ENOENT, "no such session");
	bad = sp_session_attach(session, from, &listener, stream, err);
	if (bad)
		return bad;
	stream->state = session;
	sp_stream_open(stream, (int64_t)sp_session_position(session));
	push(stream);
	return 0;
}

const struct sp_stream_kind sp_stream_attach = {.begin = begin,
    .on_frame = on_frame,
    .on_room = on_room,
    .end = end,
    .takes_input = true,
    .takes_resize = true};
