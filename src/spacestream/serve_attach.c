/* A session of a sandbox as a WebSocket: each binary message of ours is one frame of 06-streams,
 * those of the client hold whole frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "spacestream/serve_stream.h"

#define SIDE_MAX 65535

static void put_frame(
    struct stream *stream, enum sp_frame_type type, const char *bytes, size_t size)
{
	sp_auto_free char *message = malloc(SP_FRAME_HEADER + size);

	if (!message) {
		stream->web->broken = true;
		return;
	}
	sp_frame_header(type, size, (unsigned char *)message);
	if (size > 0)
		memcpy(message + SP_FRAME_HEADER, bytes, size);
	if (sp_websocket_put(stream->socket, SP_WEBSOCKET_BINARY, message, SP_FRAME_HEADER + size) <
	    0)
		stream->web->broken = true;
}

static void output(struct stream *stream, enum sp_frame_type type, const char *bytes, size_t size)
{
	put_frame(stream, type, bytes, size);
}

static void status(struct stream *stream, const struct sp_status *status)
{
	char text[SP_FRAME_CONTROL_MAX];
	size_t size = sp_status_print(status, text);

	put_frame(stream, SP_FRAME_STATUS, text, size);
}

/* --- input --- */

/* The room is there: no more is taken from the client at once. */
static void hold(struct stream *stream, const char *bytes, size_t size)
{
	if (!stream->held)
		stream->held = malloc(STREAM_HELD);
	if (!stream->held) {
		stream->web->broken = true;
		return;
	}
	memcpy(stream->held + stream->held_size, bytes, size);
	stream->held_size += size;
}

static void give_held(struct stream *stream)
{
	size_t n = stream->held_size && stream->pump
		       ? sp_pump_put(stream->pump, stream->held, stream->held_size)
		       : 0;

	stream->held_size -= n;
	if (n > 0 && stream->held_size > 0)
		memmove(stream->held, stream->held + n, stream->held_size);
	if (stream->held_size == 0)
		free(sp_steal(&stream->held));
	if (stream->input_over && stream->held_size == 0 && stream->pump)
		sp_pump_end_input(stream->pump);
}

static void give(struct stream *stream, const char *bytes, size_t size)
{
	size_t n =
	    stream->held_size == 0 && stream->pump ? sp_pump_put(stream->pump, bytes, size) : 0;

	if (n < size)
		hold(stream, bytes + n, size - n);
}

static int take_size(struct stream *stream, const struct sp_frame *frame, struct sp_err *err)
{
	sp_auto_json json_t *size = NULL;
	const json_t *rows, *cols;
	const struct sp_json_field fields[] = {
	    {"rows", SP_JSON_INTEGER, false, &rows},
	    {"cols", SP_JSON_INTEGER, false, &cols},
	};
	int bad = sp_json_parse(frame->data, frame->size, &size, err);

	if (!bad)
		bad = sp_json_take(size, "resize", fields, SP_COUNT(fields), err);
	if (bad)
		return bad;
	if (json_integer_value(rows) < 1 || json_integer_value(rows) > SIDE_MAX ||
	    json_integer_value(cols) < 1 || json_integer_value(cols) > SIDE_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "resize: not from 1 to 65535");
	stream->rows = (unsigned)json_integer_value(rows);
	stream->cols = (unsigned)json_integer_value(cols);
	if (stream->pump)
		sp_pump_resize(stream->pump, stream->rows, stream->cols);
	return 0;
}

static int take_frame(struct stream *stream, const struct sp_frame *frame, struct sp_err *err)
{
	if (frame->type == SP_FRAME_INPUT) {
		give(stream, frame->data, frame->size);
	} else if (frame->type == SP_FRAME_END) {
		stream->input_over = true;
		give_held(stream);
	} else {
		return take_size(stream, frame, err);
	}
	return 0;
}

static void input(struct stream *stream, const char *bytes, size_t size, bool last)
{
	struct sp_err err = {0};
	int got = 0;

	while (size > 0 && got >= 0) {
		struct sp_frame frame;
		size_t used = 0;
		got = sp_frame_take(&stream->frames, bytes, size, &used, &frame, &err);
		if (got == 1)
			got = take_frame(stream, &frame, &err);
		bytes += used;
		size -= used;
	}
	if (got >= 0 && last && !sp_frame_between(&stream->frames))
		got = sp_fail(&err, SP_E_BAD_RECORD, "a message that is not whole frames");
	if (got < 0)
		stream_end(stream, 1007, err.message);
}

/* The one before it had another terminal size, or none. */
static void opened(struct stream *stream)
{
	if (stream->rows > 0)
		sp_pump_resize(stream->pump, stream->rows, stream->cols);
	give_held(stream);
}

static void done(struct stream *stream)
{
	free(stream->held);
}

static const struct stream_kind ATTACH = {.op = "exec.attach",
    .output = output,
    .status = status,
    .input = input,
    .opened = opened,
    .room = give_held,
    .done = done};

/* --- the request --- */

static int take_query(const struct sp_asked *asked, json_t *args, struct sp_err *err)
{
	char text[32];
	struct sp_target_value from = {"from", text, sizeof(text), false};
	int64_t position;
	int bad = sp_target_query(asked, &from, 1, err);

	if (bad || !from.given)
		return bad;
	if (!sp_number_parse(text, 0, SP_INT_MAX, &position))
		return sp_fail(err, SP_E_BAD_RECORD, "query: from= is no position");
	return json_object_set_new(args, "from", json_integer(position)) < 0 ? -ENOMEM : 0;
}

void serve_attach(void *context, const struct sp_asked *asked)
{
	struct web *web = context;
	char sandbox[SP_ID_MAX + 1], session[SP_ID_MAX + 1];
	struct sp_upgrade upgrade;
	struct sp_err err = {0};
	bool websocket;
	json_t *args;

	if (!sp_target_id(&asked->parts[0], sandbox) || !sp_target_id(&asked->parts[1], session)) {
		web_fail(web, 404, SP_ERROR_BAD_RECORD, "there is nothing here");
		return;
	}
	if (!stream_admit(web, asked->head, true, &upgrade, &websocket))
		return;
	args = json_pack("{s:s}", "session", session);
	if (args && take_query(asked, args, &err) < 0) {
		json_decref(args);
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
		return;
	}
	stream_begin(web, &ATTACH, &upgrade, sandbox, args);
}
