/*
 * A call's record is asked, routed, minted, done, as it would be between the filters. There is one
 * place that ends a call, and it always runs from the loop.
 */
#include "call/inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "bridge/answer.h"
#include "call/repair.h"
#include "call/route.h"
#include "call/send.h"
#include "record/json.h"
#include "record/result.h"

struct sp_call {
	struct sp_endpoint_call sending; /* its first member */
	struct sp_path *path;
	struct sp_who who;
	json_t *record;        /* owned; where it stands is sp_request_state */
	json_t *request;       /* routed, while it is minted and sent: what a repair starts from */
	struct wait *wait;     /* a question to cache or signer is out */
	bool is_sent, streams; /* streams: it may become one */
	sp_call_fn *ended;
	void *context;
	struct sp_route route;
	int attempted;
	ev_prepare step; /* never started: fed to the loop as an event */
};

static void call_free(struct sp_call *call)
{
	(void)ev_clear_pending(call->path->loop, &call->step);
	free(call->sending.line);
	json_decref(call->record);
	json_decref(call->request);
	free(call);
}

static void end_with(struct sp_call *call, struct sp_call_end *end)
{
	struct sp_route route = call->route;

	end->attempted = call->attempted;
	end->route = call->attempted ? &route : NULL;
	call->ended(call->context, end);
	call_free(call);
}

static void end(struct sp_call *call, json_t *record /* stolen */)
{
	struct sp_call_end ending = {.record = record, .fd = -1};

	end_with(call, &ending);
}

/* The record has become another: go on with it in the loop's next step. */
static void become(struct sp_call *call, json_t *record /* stolen */)
{
	json_decref(call->record);
	call->record = record;
	ev_feed_event(call->path->loop, &call->step, EV_CUSTOM);
}

/* After a repair was thought of: another attempt, or the answer. */
static void repaired(struct sp_call *call, json_t *next /* stolen */)
{
	if (next && sp_request_state(next) != SP_STATE_DONE)
		become(call, next);
	else
		end(call, next);
}

static void cache_answered(void *context, int code, const char *line_or_words, size_t size)
{
	struct wait *wait = context;
	struct sp_call *call = wait->call;
	struct sp_reply reply;

	wait_free(wait);
	if (!call)
		return;
	call->wait = NULL;
	sp_route_stage_reply(code, line_or_words, size, &reply);
	if (sp_request_state(call->record) == SP_STATE_DONE)
		repaired(call, sp_repair_stage_finish(call->record, &reply));
	else
		become(call, sp_route_stage_finish(call->record, &call->who, &reply));
	sp_reply_done(&reply);
}

static int ask_cache(struct sp_call *call, const struct sp_question *question)
{
	sp_auto_free char *text = sp_question_text(question);
	struct wait *wait = text ? wait_new(call->path, call) : NULL;

	if (!wait)
		return -ENOMEM;
	call->wait = wait;
	sp_caller_ask(call->path->cache, text, strlen(text), cache_answered, wait);
	return 0;
}

static void signer_answered(void *context, int code, const char *line_or_words, size_t size)
{
	struct wait *wait = context;
	struct sp_call *call = wait->call;

	wait_free(wait);
	if (!call)
		return;
	call->wait = NULL;
	become(call, code ? sp_mint_stage_unanswered(call->record, line_or_words)
			  : sp_mint_stage_finish(call->record, line_or_words, size));
}

/* Keeps what a second attempt would be made of, then asks for the capability. */
static int mint(struct sp_call *call, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	struct sp_request request;
	json_t *minted = NULL;
	int bad = sp_mint_stage_take(call->record, &request, err);

	if (bad < 0)
		return bad;
	call->route = request.route;
	call->attempted = request.attempted;
	json_decref(call->request);
	call->request = json_copy(call->record);
	if (!call->request)
		return -ENOMEM;
	if (!call->path->signer) {
		bad = sp_mint_stage_sign(
		    call->path->minter, call->path->audit, call->record, &minted, err);
		if (!bad)
			become(call, minted);
		return bad;
	}
	text = sp_mint_stage_question(call->record, &request);
	call->wait = text ? wait_new(call->path, call) : NULL;
	if (!call->wait)
		return -ENOMEM;
	sp_caller_ask(call->path->signer, text, strlen(text), signer_answered, call->wait);
	return 0;
}

static int compose(struct sp_call *call, const struct sp_request *request)
{
	sp_auto_free char *args = sp_json_text(request->args);
	sp_auto_free char *cap =
	    json_dumps(json_object_get(call->record, "cap"), JSON_COMPACT | JSON_ENCODE_ANY);

	free(sp_steal(&call->sending.line));
	call->sending.written = 0;
	call->sending.number = sp_endpoint_number(call->path->endpoints);
	call->sending.stream = request->op->stream;
	return args && cap ? sp_endpoint_compose(
				 &call->sending, request, args, strlen(args), cap, strlen(cap))
			   : -ENOMEM;
}

static int send_minted(struct sp_call *call, struct sp_err *err)
{
	struct sp_request request;
	const char *manager;
	int bad = sp_send_stage_take(call->record, call->streams, &request, &manager, err);

	if (!bad)
		bad = compose(call, &request);
	if (!bad)
		bad = sp_endpoint_ask(call->path->endpoints, &call->sending, manager);
	call->is_sent = !bad;
	return bad;
}

/* A done record: the answer, or one that is tried once more. */
static int settle(struct sp_call *call, struct sp_err *err)
{
	struct sp_question question;
	json_t *next = NULL;
	int got = 0;

	/* Whether there is another attempt is for the table to say. */
	if (call->request && json_object_set(call->record, "request", call->request) < 0)
		return -ENOMEM;
	got = sp_repair_stage_ask(call->record, &question, &next, err);
	if (got < 0)
		return got;
	if (got == 0)
		return ask_cache(call, &question);
	repaired(call, next);
	return 0;
}

/* Something that belongs to no stage's answer. */
static void fail(struct sp_call *call, int code, const char *words)
{
	const char *id = json_string_value(json_object_get(call->record, "id"));
	bool bad = code == SP_E_BAD_RECORD;
	struct sp_call_end ending = {.fd = -1, .bad = bad ? words : NULL};

	ending.record = sp_result_error(id, bad ? SP_ERROR_BAD_RECORD : SP_ERROR_INTERNAL, false,
	    code == -ENOMEM ? "out of memory" : words);
	end_with(call, &ending);
}

static void on_step(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_call *call = watcher->data;
	struct sp_err err = {0};
	int bad = -ENOMEM;

	(void)loop;
	(void)events;
	if (!call->record) {
		end(call, NULL);
		return;
	}
	switch (sp_request_state(call->record)) {
	case SP_STATE_ROUTED:
		bad = mint(call, &err);
		break;
	case SP_STATE_MINTED:
		bad = send_minted(call, &err);
		break;
	case SP_STATE_DONE:
		bad = settle(call, &err);
		break;
	case SP_STATE_ASKED:
		bad = sp_fail(&err, SP_E_BAD_RECORD, "request: it was not routed");
		break;
	}
	if (bad)
		fail(call, bad, err.message);
}

static json_t *id_of(const struct sp_call *call)
{
	return json_object_get(call->record, "id");
}

/* Under the caller's id, or none. */
static json_t *renamed(const struct sp_call *call, const struct sp_answer *answer)
{
	json_t *record = json_copy(answer->record);

	if (record && id_of(call) && json_object_set(record, "id", id_of(call)) < 0) {
		json_decref(record);
		return NULL;
	}
	if (record && !id_of(call))
		(void)json_object_del(record, "id");
	return record;
}

static void end_ok(struct sp_call *call, const struct sp_answer *answer)
{
	struct sp_call_end ending = {.fd = -1};
	sp_auto_free char *id =
	    id_of(call) ? json_dumps(id_of(call), JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (id || !id_of(call))
		ending.text = sp_answer_under(answer, id, &ending.size);
	if (ending.text && ending.size > SP_LINE_MAX) {
		free(sp_steal(&ending.text));
		ending.record = sp_result_error(json_string_value(id_of(call)), SP_ERROR_TOO_LARGE,
		    false, "the answer is longer than a line may be; ask for less at a time");
	}
	end_with(call, &ending);
}

static void answered(
    struct sp_endpoint_call *sending, const struct sp_answer *answer, void *context)
{
	struct sp_call *call = (struct sp_call *)sending;

	(void)context;
	call->is_sent = false;
	if (sp_answer_is_ok(answer))
		end_ok(call, answer);
	else
		become(call, renamed(call, answer));
}

static void opened(struct sp_endpoint_call *sending, const struct sp_answer *answer, int fd,
    const char *rest, size_t size, void *context)
{
	struct sp_call *call = (struct sp_call *)sending;
	struct sp_call_end ending = {
	    .record = renamed(call, answer), .fd = fd, .rest = rest, .rest_size = size};

	(void)context;
	call->is_sent = false;
	end_with(call, &ending);
}

static void failed(struct sp_endpoint_call *sending, enum sp_error_kind kind, bool sent,
    const char *words, void *context)
{
	struct sp_call *call = (struct sp_call *)sending;

	(void)context;
	call->is_sent = false;
	become(call, sp_result_error(json_string_value(id_of(call)), kind, sent, words));
}

static void forgotten(struct sp_endpoint_call *sending, void *context)
{
	(void)sending;
	(void)context;
}

const struct sp_endpoint_handlers call_endpoint_handlers = {
    .answered = answered, .opened = opened, .failed = failed, .forgotten = forgotten};

static struct sp_call *call_new(
    struct sp_path *path, const struct sp_who *who, json_t *asked, sp_call_fn *ended, void *context)
{
	struct sp_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->path = path;
	call->who = *who;
	call->record = json_incref(asked);
	call->ended = ended;
	call->context = context;
	call->streams = !path->no_streams;
	ev_prepare_init(&call->step, on_step);
	call->step.data = call;
	return call;
}

int sp_call_start(struct sp_path *path, const struct sp_who *who, json_t *asked, size_t size,
    sp_call_fn *ended, void *context, struct sp_call **ret, struct sp_err *err)
{
	struct sp_question question;
	json_t *answer = NULL;
	int got = sp_route_stage_ask(asked, size, who, &question, &answer, err);
	struct sp_call *call = got < 0 ? NULL : call_new(path, who, asked, ended, context);

	if (got < 0)
		return got;
	if (call && got == 1)
		become(call, answer);
	else if (call && ask_cache(call, &question) < 0)
		call_free(sp_steal(&call));
	if (!call) {
		if (got == 1)
			json_decref(answer);
		return sp_fail(err, -ENOMEM, "out of memory");
	}
	*ret = call;
	return 0;
}

void sp_call_allow_stream(struct sp_call *call)
{
	call->streams = true;
}

void sp_call_cancel(struct sp_call *call)
{
	if (call->wait)
		call->wait->call = NULL;
	if (call->is_sent)
		sp_endpoint_forget(&call->sending);
	call_free(call);
}
