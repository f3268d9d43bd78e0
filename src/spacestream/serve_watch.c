/* A path of a sandbox, watched: its events as Server-Sent Events, or as messages of a WebSocket. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "client/args.h"
#include "record/json.h"
#include "spacestream/serve_stream.h"

/* Each line is given out whole. */
static void output(struct stream *stream, enum sp_frame_type type, const char *bytes, size_t size)
{
	char *line;
	size_t length;
	int got;

	if (type != SP_FRAME_OUTPUT)
		return;
	if (sp_line_give(&stream->lines, bytes, size) < 0) {
		stream->web->broken = true;
		return;
	}
	while ((got = sp_line_take(&stream->lines, &line, &length)) == 1)
		stream->voice->say(stream, line, length);
	if (got == SP_E_TOO_LARGE)
		stream_end(stream, STREAM_CLOSE + 502, "an event longer than 256 KiB");
}

static void status(struct stream *stream, const struct sp_status *status)
{
	char text[SP_FRAME_CONTROL_MAX];
	json_t *json = NULL;

	if (sp_json_parse(text, sp_status_print(status, text), &json, NULL)) {
		stream->web->broken = true;
		return;
	}
	stream_tell(stream, json_pack("{s:s, s:o}", "event", "end", "status", json));
}

/* Of a line that a cut leaves half there is nothing. */
static void opened(struct stream *stream)
{
	sp_line_reader_done(&stream->lines);
	if (sp_line_reader_init(&stream->lines, -1, SP_LINE_MAX) < 0)
		stream->web->broken = true;
}

static void done(struct stream *stream)
{
	sp_line_reader_done(&stream->lines);
}

static const struct stream_kind WATCH = {
    .op = "file.watch", .output = output, .status = status, .opened = opened, .done = done};

/* --- the request --- */

static int take_query(const struct sp_asked *asked, json_t **ret, struct sp_err *err)
{
	char path[PATH_MAX], recursive[8];
	struct sp_target_value values[] = {{"path", path, sizeof(path), false},
	    {"recursive", recursive, sizeof(recursive), false}};
	int bad = sp_target_query(asked, values, SP_COUNT(values), err);
	bool deep = values[1].given && strcmp(recursive, "true") == 0;

	if (bad)
		return bad;
	if (!values[0].given)
		return sp_fail(err, SP_E_BAD_RECORD, "query: path= is missing");
	if (values[1].given && !deep && strcmp(recursive, "false") != 0)
		return sp_fail(err, SP_E_BAD_RECORD, "query: recursive= is neither true nor false");
	*ret = sp_args_path(path);
	if (*ret && deep)
		(void)json_object_set_new(*ret, "recursive", json_true());
	return 0;
}

void serve_watch(void *context, const struct sp_asked *asked)
{
	struct web *web = context;
	char sandbox[SP_ID_MAX + 1];
	struct sp_upgrade upgrade;
	struct sp_err err = {0};
	bool websocket;
	json_t *args = NULL;

	if (!sp_target_id(&asked->parts[0], sandbox)) {
		web_fail(web, 404, SP_ERROR_BAD_RECORD, "there is nothing here");
		return;
	}
	if (!stream_admit(web, asked->head, false, &upgrade, &websocket))
		return;
	/* Chunks alone show whether it came to its end. */
	if (!websocket && asked->head->old) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, "events are for HTTP/1.1");
		return;
	}
	if (take_query(asked, &args, &err) < 0) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
		return;
	}
	stream_begin(web, &WATCH, websocket ? &upgrade : NULL, sandbox, args);
}
