/*
 * A transfer's life at a connection. What comes from the sandbox comes within calls of the
 * attachment, which is not to be freed from there: the connection's own turn does the rest.
 */
#include "spacestream/serve_transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "spacestream/serve_stream.h"

#define LOOK  1. /* seconds between looks whether a client who waits is still there */
#define ADDED 64 /* to a piece of a body, when it goes on in chunks */

/* A piece of a body, on its way to the sandbox in one frame. */
static struct {
	char bytes[SP_CHANNEL_OUT];
	size_t size;
} piece;

static void due(struct transfer *transfer)
{
	ev_feed_event(transfer->web->server->loop, &transfer->due, EV_CUSTOM);
}

static void on_due(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct transfer *transfer = watcher->data;

	(void)loop;
	(void)events;
	web_advance(transfer->web);
}

void transfer_finish(struct transfer *transfer)
{
	transfer->ended = true;
	due(transfer);
}

/* --- the sandbox's side --- */

static void on_opened(void *context, struct sp_pump *pump)
{
	struct transfer *transfer = context;
	struct web *web = transfer->web;

	transfer->pump = pump;
	web->moved = true;
	if (transfer->expects && web->size == 0 && !web->framed.done)
		web_continue(web);
	if (transfer->kind->opened)
		transfer->kind->opened(transfer);
	due(transfer);
}

static void on_closed(void *context)
{
	struct transfer *transfer = context;

	transfer->pump = NULL;
}

static size_t on_output(void *context, enum sp_frame_type type, const char *bytes, size_t size)
{
	struct transfer *transfer = context;
	const struct web *web = transfer->web;

	if (transfer->ended || type != SP_FRAME_OUTPUT)
		return size;
	transfer->stalled = web->out_end - web->out_start > SERVE_OUT_FULL;
	if (transfer->stalled)
		return 0;
	transfer->kind->output(transfer, bytes, size);
	due(transfer);
	return size;
}

static void on_output_end(void *context)
{
	struct transfer *transfer = context;

	if (transfer->kind->output_end && !transfer->ended)
		transfer->kind->output_end(transfer);
	due(transfer);
}

static void on_room(void *context)
{
	due(context);
}

static int on_say(void *context, const char *line)
{
	(void)context;
	(void)line;
	return 0;
}

static bool is_gone(void *context)
{
	const struct transfer *transfer = context;

	return transfer->ended;
}

static const struct sp_side SIDE = {.opened = on_opened,
    .closed = on_closed,
    .output = on_output,
    .output_end = on_output_end,
    .room = on_room,
    .say = on_say,
    .gone = is_gone};

static void on_ended(void *context, const struct sp_attachment_end *end)
{
	struct transfer *transfer = context;

	if (transfer->ended)
		return;
	transfer->told = true;
	transfer->ending = end->ending;
	if (end->ending == SP_ATTACHMENT_STATUS)
		transfer->status = *end->status;
	else
		(void)snprintf(
		    transfer->words, sizeof(transfer->words), "%s", end->words ? end->words : "");
	if (end->ending == SP_ATTACHMENT_ANSWERED)
		transfer->record = json_incref((json_t *)(uintptr_t)end->record);
	transfer_finish(transfer);
}

/* --- what it comes to --- */

static json_t *status_record(const struct sp_status *status)
{
	if (status->kind != SP_STATUS_ERROR)
		return sp_result_error(NULL, SP_ERROR_TRANSPORT, true, "the guest gave it up");
	if (status->error != SP_ERROR_OP)
		return sp_result_error(NULL, status->error, true, status->message);
	return json_pack("{s:s, s:s, s:s, s:s}", "status", "error", "error",
	    sp_error_name(status->error), "errno", status->name, "message", status->message);
}

bool transfer_succeeded(const struct transfer *transfer)
{
	return !transfer->told ||
	       (transfer->ending == SP_ATTACHMENT_STATUS &&
		   transfer->status.kind == SP_STATUS_EXIT && transfer->status.number == 0);
}

json_t *transfer_record(const struct transfer *transfer)
{
	char words[SP_ERR_MAX];

	switch (transfer->ending) {
	case SP_ATTACHMENT_STATUS:
		return status_record(&transfer->status);
	case SP_ATTACHMENT_ANSWERED:
		return json_incref(transfer->record);
	case SP_ATTACHMENT_LOST:
		(void)snprintf(words, sizeof(words), "the stream was cut%s%.400s",
		    *transfer->words ? ": " : "", transfer->words);
		return sp_result_error(NULL, SP_ERROR_TRANSPORT, true, words);
	default:
		return sp_result_error(NULL, SP_ERROR_TRANSPORT, true, transfer->words);
	}
}

void transfer_answer(struct transfer *transfer, int status, json_t *record)
{
	struct web *web = transfer->web;
	enum serve_outcome outcome = outcome_of(record);

	if (!record || transfer->begun) {
		json_decref(record);
		web->broken = true;
		return;
	}
	web->server->outcomes[outcome]++;
	/* Of a body that nobody reads to its end the rest is not the next request. */
	if (!web->framed.done)
		web->keep_alive = false;
	web_answer_record(web, status ? status : outcome_status(outcome), record);
	web_next(web);
}

/* --- the connection's side --- */

static void add(struct web *web, const char *bytes, size_t size)
{
	if (size > sizeof(piece.bytes) - piece.size) {
		web->broken = true; /* a bug: there was room */
		return;
	}
	if (size > 0)
		memcpy(piece.bytes + piece.size, bytes, size);
	piece.size += size;
}

void transfer_put(struct transfer *transfer, const char *bytes, size_t size)
{
	if (sp_pump_put(transfer->pump, bytes, size) < size)
		transfer->web->broken = true; /* a bug: there was room */
}

static bool on_body(void *context, const char *bytes, size_t size)
{
	struct web *web = context;
	const struct transfer *transfer = web->state;
	char head[24];

	if (transfer->chunked)
		add(web, head, (size_t)snprintf(head, sizeof(head), "%zx\r\n", size));
	add(web, bytes, size);
	if (transfer->chunked)
		add(web, "\r\n", 2);
	return true;
}

static void shift(struct web *web, size_t used)
{
	web->size -= used;
	memmove(web->in, web->in + used, web->size);
	web->moved = true;
}

static void end_input(struct transfer *transfer)
{
	transfer->input_over = true;
	transfer->web->moved = true;
	if (transfer->chunked)
		add(transfer->web, "0\r\n\r\n", 5);
}

static void move_body(struct transfer *transfer, size_t room)
{
	struct web *web = transfer->web;

	if (!web->framed.done)
		shift(
		    web, sp_body_read(&web->framed, web->in, web->size < room ? web->size : room));
	if (web->framed.done)
		end_input(transfer);
}

/* True: something went. */
static bool move_input(struct transfer *transfer)
{
	struct web *web = transfer->web;
	size_t room = sp_pump_room(transfer->pump);

	if (transfer->raw ? web->size == 0
			  : transfer->input_over || (web->size == 0 && !web->framed.done))
		return false;
	if (room <= ADDED) {
		sp_pump_ask_room(transfer->pump);
		return false;
	}
	room -= ADDED;
	piece.size = 0;
	if (transfer->raw) {
		size_t n = web->size < room ? web->size : room;
		add(web, web->in, n);
		shift(web, n);
	} else {
		move_body(transfer, room);
	}
	if (web->framed.bad && !transfer->raw) {
		transfer_answer(transfer, 0,
		    sp_result_error(
			NULL, SP_ERROR_BAD_RECORD, false, "the body of the request is none"));
		return true;
	}
	if (piece.size > 0)
		transfer_put(transfer, piece.bytes, piece.size);
	if (transfer->input_over && transfer->kind->ends_input)
		sp_pump_end_input(transfer->pump);
	return true;
}

static bool step(struct web *web)
{
	struct transfer *transfer = web->state;

	/* Bytes without an end have none to wait for. */
	if (web->server->stopping && transfer->raw && !transfer->ended) {
		web->phase = WEB_OVER;
		return true;
	}
	if (transfer->ended) {
		transfer->kind->over(transfer);
		return !web->broken;
	}
	if (transfer->stalled && transfer->pump) {
		transfer->stalled = false;
		sp_pump_resume(transfer->pump);
	}
	return transfer->pump && move_input(transfer);
}

/* Is it for the client to say more? */
static bool is_awaited(const struct web *web)
{
	const struct transfer *transfer = web->state;

	return transfer->pump && !transfer->ended && !transfer->input_over && !transfer->raw &&
	       web->size == 0;
}

static bool reads(const struct web *web)
{
	const struct transfer *transfer = web->state;

	return is_awaited(web) || (transfer->raw && transfer->pump && web->size == 0);
}

static double limit(const struct web *web)
{
	return is_awaited(web) ? (double)web->server->idle : LOOK;
}

/* Who is not read is looked at: has he gone? */
static bool late(struct web *web)
{
	const struct transfer *transfer = web->state;

	web->moved = true;
	if (!is_awaited(web))
		return sp_poll_one(web->fd, 0, 0) <= 0;
	if (transfer->begun)
		return false;
	web_fail(web, 408, SP_ERROR_TIMEOUT, "the body did not go on within --idle-timeout");
	return true;
}

static void end(struct web *web)
{
	struct transfer *transfer = web->state;

	(void)ev_clear_pending(web->server->loop, &transfer->due);
	/* What goes with it says nothing any more. */
	transfer->ended = true;
	sp_attachment_free(transfer->attachment);
	if (transfer->caller && transfer->kind->is_stream)
		caller_leave_stream(web->server, transfer->caller);
	else if (transfer->caller)
		caller_leave(web->server, transfer->caller);
	if (transfer->own)
		transfer->kind->done(transfer->own);
	json_decref(transfer->record);
	free(transfer);
}

static const struct web_work WORK = {
    .step = step, .reads = reads, .limit = limit, .late = late, .end = end};

static int attach(struct transfer *transfer, json_t *args, struct sp_err *err)
{
	static const struct sp_attachment_handlers handlers = {.ended = on_ended};
	const struct server *server = transfer->web->server;
	const struct sp_attachment_options options = {.loop = server->loop,
	    .path = server->setup.path,
	    .who = &transfer->web->who,
	    .op = transfer->kind->op,
	    .sandbox = transfer->sandbox,
	    .args = args,
	    .side = &SIDE,
	    .side_context = transfer};

	return sp_attachment_new(&options, &handlers, transfer, &transfer->attachment, err);
}

/* False: too many; answered. */
static bool count(struct transfer *transfer)
{
	struct web *web = transfer->web;

	if (transfer->kind->is_stream)
		return stream_count(web, &transfer->caller);
	if (web->server->streams + web->server->flying >= SP_WINDOW_MAX) {
		web_fail(web, 503, SP_ERROR_OVERLOADED, "too many requests are in flight here");
		return false;
	}
	if (caller_take(web->server, &web->who, &transfer->caller))
		return true;
	web_fail_record(web, 429, "Retry-After: 1\r\n",
	    sp_result_error(NULL, SP_ERROR_OVERLOADED, false,
		"too many requests of this caller are in flight"));
	return false;
}

struct transfer *transfer_begin(struct web *web, const struct transfer_kind *kind,
    const struct sp_asked *asked, const char *sandbox, json_t *args, void *own)
{
	sp_auto_json json_t *mine = args;
	struct transfer *transfer = calloc(1, sizeof(*transfer));
	struct sp_err err = {0};
	int bad;

	if (!transfer) {
		if (own)
			kind->done(own);
		web->broken = true;
		return NULL;
	}
	*transfer = (struct transfer){.web = web, .kind = kind, .own = own};
	memcpy(transfer->sandbox, sandbox, strlen(sandbox) + 1);
	ev_prepare_init(&transfer->due, on_due);
	transfer->due.data = transfer;
	sp_body_begin(&web->framed, web->in, asked->head_size, on_body, web);
	web->work = &WORK;
	web->state = transfer;
	web->phase = WEB_WORK;
	if (!count(transfer))
		return NULL;
	bad = mine ? attach(transfer, mine, &err) : -ENOMEM;
	if (!bad)
		return transfer;
	if (bad == SP_E_BAD_RECORD)
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
	else
		web->broken = true;
	return NULL;
}
