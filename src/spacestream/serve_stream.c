/*
 * A stream's life at a connection. What comes from the sandbox comes at any time, and within calls
 * of the attachment, which is not to be freed from there: so it is put where the connection keeps
 * what goes out, and the connection's own turn does the rest.
 */
#include "spacestream/serve_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "routing/bearer.h"

#define CLOSE_LIMIT 5. /* seconds for a client to answer our close */

void stream_due(struct stream *stream)
{
	ev_feed_event(stream->web->server->loop, &stream->due, EV_CUSTOM);
}

static void on_due(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct stream *stream = watcher->data;

	(void)loop;
	(void)events;
	web_advance(stream->web);
}

void stream_tell(struct stream *stream, json_t *record)
{
	sp_auto_free char *text = record ? sp_json_text(record) : NULL;

	json_decref(record);
	if (text)
		stream->voice->say(stream, text, strlen(text));
	else
		stream->web->broken = true;
	stream_due(stream);
}

void stream_end(struct stream *stream, unsigned code, const char *reason)
{
	if (stream->ended)
		return;
	stream->ended = true;
	stream->code = code;
	(void)snprintf(stream->reason, sizeof(stream->reason), "%s", reason);
	stream_due(stream);
}

/* --- the sandbox's side --- */

static void on_opened(void *context, struct sp_pump *pump)
{
	struct stream *stream = context;

	stream->pump = pump;
	stream->kind->opened(stream);
}

static void on_closed(void *context)
{
	struct stream *stream = context;

	stream->pump = NULL;
}

static bool is_full(const struct stream *stream)
{
	const struct web *web = stream->web;

	return web->out_end - web->out_start > STREAM_OUT;
}

static size_t on_output(void *context, enum sp_frame_type type, const char *bytes, size_t size)
{
	struct stream *stream = context;

	if (stream->ended)
		return size;
	stream->stalled = is_full(stream);
	if (stream->stalled)
		return 0;
	stream->kind->output(stream, type, bytes, size);
	stream_due(stream);
	return size;
}

static void on_output_end(void *context)
{
	(void)context;
}

static void on_room(void *context)
{
	struct stream *stream = context;

	if (stream->kind->room)
		stream->kind->room(stream);
	stream_due(stream);
}

static int on_say(void *context, const char *line)
{
	struct stream *stream = context;

	stream->voice->say(stream, line, strlen(line));
	stream_due(stream);
	return 0;
}

static bool is_gone(void *context)
{
	const struct stream *stream = context;

	return stream->ended;
}

static const struct sp_side SIDE = {.opened = on_opened,
    .closed = on_closed,
    .output = on_output,
    .output_end = on_output_end,
    .room = on_room,
    .say = on_say,
    .gone = is_gone};

/* --- the attachment's news --- */

static json_t *route_json(const struct sp_route *route)
{
	return json_pack("{s:I, s:I}", "execution", (json_int_t)route->execution, "attempt",
	    (json_int_t)route->attempt);
}

static json_t *from_json(int64_t from)
{
	return from < 0 ? NULL : json_integer((json_int_t)from);
}

static void told(void *context, const struct sp_attachment_news *news)
{
	struct stream *stream = context;
	struct server *server = stream->web->server;

	switch (news->event) {
	case SP_ATTACHMENT_OPENED:
		stream->begun = true;
		stream->voice->begin(stream);
		stream_tell(stream, json_pack("{s:s, s:o, s:s, s:I, s:o*}", "event", "open", "new",
					route_json(news->route), "lease", news->lease, "epoch",
					(json_int_t)news->epoch, "from", from_json(news->from)));
		break;
	case SP_ATTACHMENT_CUT:
		server->cut++;
		stream_tell(stream, json_pack("{s:s, s:o, s:s}", "event", "cut", "old",
					route_json(news->route), "message", news->words));
		break;
	case SP_ATTACHMENT_GAP:
		stream_tell(stream,
		    json_pack("{s:s, s:o*}", "event", "gap", "missing", from_json(news->missing)));
		break;
	case SP_ATTACHMENT_REOPENED:
		server->replaced++;
		stream_tell(stream, json_pack("{s:s, s:o, s:o, s:s, s:I, s:o*}", "event",
					"replaced", "old", route_json(news->before), "new",
					route_json(news->route), "lease", news->lease, "epoch",
					(json_int_t)news->epoch, "from", from_json(news->from)));
		break;
	}
}

static void ended(void *context, const struct sp_attachment_end *end)
{
	struct stream *stream = context;

	switch (end->ending) {
	case SP_ATTACHMENT_STATUS:
		if (!stream->ended)
			stream->kind->status(stream, end->status);
		stream_end(stream, 1000, "");
		break;
	case SP_ATTACHMENT_ANSWERED:
		stream->record = json_incref((json_t *)end->record);
		stream_end(stream, STREAM_CLOSE + (unsigned)outcome_status(outcome_of(end->record)),
		    end->words);
		break;
	case SP_ATTACHMENT_BROKEN:
		stream_end(stream, STREAM_CLOSE + 502, end->words);
		break;
	default:
		stream_end(stream, STREAM_CLOSE_LOST,
		    *end->words ? end->words : "cut, and there is no newer route");
	}
}

/* --- the connection's side --- */

/* It was not opened: an answer like any other. */
static void refuse(struct stream *stream)
{
	struct web *web = stream->web;
	int status = (int)(stream->code - STREAM_CLOSE);
	sp_auto_free char *text = stream->record ? sp_json_text(stream->record) : NULL;
	size_t size = text ? strlen(text) : 0;

	if (!text) {
		web_fail(web, 503, SP_ERROR_UNAVAILABLE, stream->reason);
		return;
	}
	web->server->outcomes[outcome_of(stream->record)]++;
	text[size] = '\n'; /* in the place of the NUL */
	web_answer(web, status, "application/json", "", text, size + 1);
	web_next(web);
}

static bool step(struct web *web)
{
	struct stream *stream = web->state;

	if (web->server->stopping)
		stream_end(stream, 1001, "this server stops");
	if (stream->ended && !stream->begun) {
		refuse(stream);
		return true;
	}
	if (stream->ended && !stream->finished) {
		stream->finished = true;
		web->moved = true;
		sp_attachment_stop(stream->attachment);
		stream->voice->finish(stream, stream->code, stream->reason);
		return true;
	}
	if (stream->stalled && !is_full(stream) && stream->pump) {
		stream->stalled = false;
		sp_pump_resume(stream->pump);
	}
	return stream->begun && stream->voice->take(stream);
}

static bool reads(const struct web *web)
{
	(void)web;
	return true;
}

/* The call has time limits of its own. */
static double limit(const struct web *web)
{
	const struct stream *stream = web->state;

	if (stream->finished)
		return CLOSE_LIMIT;
	return stream->begun ? (double)web->server->idle / 2 : 0.;
}

static bool late(struct web *web)
{
	struct stream *stream = web->state;

	web->moved = true;
	if (!stream->finished)
		return stream->voice->sign(stream);
	web->phase = WEB_OVER;
	return true;
}

static void end(struct web *web)
{
	struct stream *stream = web->state;
	struct server *server = web->server;

	(void)ev_clear_pending(server->loop, &stream->due);
	/* What goes with it says nothing any more. */
	stream->ended = true;
	sp_attachment_free(stream->attachment);
	if (stream->caller)
		caller_leave_stream(server, stream->caller);
	stream->kind->done(stream);
	sp_websocket_free(stream->socket);
	json_decref(stream->record);
	free(stream);
}

static const struct web_work WORK = {
    .step = step, .reads = reads, .limit = limit, .late = late, .end = end};

static int attach(struct stream *stream, json_t *args, struct sp_err *err)
{
	static const struct sp_attachment_handlers handlers = {.told = told, .ended = ended};
	const struct server *server = stream->web->server;
	const struct sp_attachment_options options = {.loop = server->loop,
	    .path = server->setup.path,
	    .who = &stream->web->who,
	    .op = stream->kind->op,
	    .sandbox = stream->sandbox,
	    .args = args,
	    .side = &SIDE,
	    .side_context = stream,
	    .reattach_ms = server->reattach * 1000,
	    .each_cut = true};

	return sp_attachment_new(&options, &handlers, stream, &stream->attachment, err);
}

bool stream_count(struct web *web, struct caller **ret)
{
	if (web->server->streams >= SERVE_STREAMS ||
	    web->server->streams + web->server->flying >= SP_WINDOW_MAX) {
		web_fail(web, 503, SP_ERROR_OVERLOADED, "too many streams are open here");
		return false;
	}
	if (caller_take_stream(web->server, &web->who, ret))
		return true;
	web_fail_record(web, 429, "Retry-After: 1\r\n",
	    sp_result_error(NULL, SP_ERROR_OVERLOADED, false,
		"too many streams of this caller are open (--streams)"));
	return false;
}

void stream_begin(struct web *web, const struct stream_kind *kind, const struct sp_upgrade *upgrade,
    const char *sandbox, json_t *args)
{
	sp_auto_json json_t *mine = args;
	struct stream *stream = args ? calloc(1, sizeof(*stream)) : NULL;
	struct sp_err err = {0};
	int bad;

	if (!stream) {
		web->broken = true;
		return;
	}
	stream->web = web;
	stream->kind = kind;
	memcpy(stream->sandbox, sandbox, strlen(sandbox) + 1);
	stream->voice = upgrade ? &stream_websocket : &stream_events;
	ev_prepare_init(&stream->due, on_due);
	stream->due.data = stream;
	sp_frame_reader_init(&stream->frames, SP_FRAME_FROM_CLIENT);
	web->work = &WORK;
	web->state = stream;
	web->phase = WEB_WORK;
	if (upgrade)
		stream->upgrade = *upgrade;
	if (!stream_count(web, &stream->caller))
		return;
	bad = upgrade ? stream_websocket_new(stream) : 0;
	if (!bad)
		bad = attach(stream, mine, &err);
	if (bad == SP_E_BAD_RECORD)
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
	else if (bad)
		web->broken = true;
}

/* --- who asks --- */

static bool fail_upgrade(struct web *web, enum sp_upgrade_fault fault, const struct sp_err *err)
{
	static const char version[] =
	    "Upgrade: websocket\r\nSec-WebSocket-Version: " SP_UPGRADE_VERSION "\r\n";

	web_fail_record(web, fault == SP_UPGRADE_BAD ? 400 : 426,
	    fault == SP_UPGRADE_BAD ? "" : version,
	    sp_result_error(NULL, SP_ERROR_BAD_RECORD, false, err->message));
	return false;
}

static bool is_page_allowed(struct web *web, const struct sp_head *head)
{
	struct sp_err err = {0};
	bool allowed = false;

	if (sp_upgrade_origin(
		head, web->server->tls != NULL, web->server->origins, &allowed, &err) < 0) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
		return false;
	}
	if (!allowed)
		web_fail(web, 403, SP_ERROR_BAD_RECORD,
		    "Origin: pages from there may not ask here (--origin lets them)");
	return allowed;
}

/* The one token there is. */
static bool take_token(struct web *web, const struct sp_head *head, struct sp_upgrade *upgrade)
{
	struct sp_head with = *head;
	bool taken;

	if (upgrade->token[0] && head->token) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD,
		    "a token in Authorization, and another in Sec-WebSocket-Protocol");
		return false;
	}
	if (upgrade->token[0]) {
		with.token = upgrade->token;
		with.token_size = strlen(upgrade->token);
	}
	taken = web_take_caller(web, &with);
	sodium_memzero(upgrade->token, sizeof(upgrade->token));
	return taken;
}

bool stream_admit_port(struct web *web, const struct sp_head *head, bool *ret_with_token)
{
	struct sp_upgrade upgrade = {.protocol = false};
	struct sp_err err = {0};

	if (head->websocket && !is_page_allowed(web, head))
		return false;
	if (head->websocket && sp_upgrade_offers(head, &upgrade, &err) < 0) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
		return false;
	}
	*ret_with_token = upgrade.token[0] != '\0';
	return take_token(web, head, &upgrade);
}

bool stream_admit(struct web *web, const struct sp_head *head, bool must, struct sp_upgrade *ret,
    bool *ret_websocket)
{
	struct sp_upgrade upgrade = {.protocol = false};
	enum sp_upgrade_fault fault = SP_UPGRADE_NONE;
	struct sp_err err = {0};
	int bad = sp_upgrade_read(head, &upgrade, &fault, &err);

	if (!is_page_allowed(web, head))
		return false;
	if (bad && (must || fault != SP_UPGRADE_NONE))
		return fail_upgrade(web, fault, &err);
	if (!take_token(web, head, &upgrade))
		return false;
	*ret = upgrade;
	*ret_websocket = !bad;
	return true;
}
