/*
 * One request from its first decision on: the order of 02-capability, Verification, carried out.
 * The decisions are lib/admit's; what is done about them stands here.
 */
#include "spacebridge/forward.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "admit/admit.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/wire.h"
#include "spacebridge/audited.h"

#define PARKED_RETRY 0.001 /* seconds */

void request_audit(
    const struct request *request, enum sp_reason reason, const char *error, const char *note)
{
	const struct sp_claims *claims = &request->claims;
	bool known = claims->jti[0] != '\0';
	struct forward *forward = request->client->forward;
	struct sp_audit_installed installed;
	struct sp_audit_line line = {
	    .role = FORWARD_ROLE,
	    .id = request->id,
	    .caller = known ? claims->caller : NULL,
	    .sandbox = request->sandbox,
	    .op = request->op->name,
	    .reason = reason,
	    .error = error,
	    .kid = claims->kid[0] ? claims->kid : NULL,
	    .jti = known ? claims->jti : NULL,
	    .selected = known ? &claims->identity.route : NULL,
	    .installed = audited_installed(forward->store, request->sandbox, reason, &installed),
	    .epoch = request->epoch,
	    .microseconds = sp_monotonic_us() - request->received_us,
	    .note = note,
	};

	sp_audit_write(forward->audit, &line);
}

void request_free(struct request *request)
{
	free(request->item.line);
	free(request->id_json);
	json_decref(request->args);
	free(request->cap);
	free(request);
}

/* Out of every list, off its link. Returns whether a byte of it may have gone. */
static bool take_out(struct request *request)
{
	struct forward *forward = request->client->forward;

	TAILQ_REMOVE(&forward->due, request, due);
	if (request->is_parked)
		TAILQ_REMOVE(&forward->parked, request, parked);
	request->is_parked = false;
	forward->total--;
	forward->bytes -= request->bytes;
	return request->handover ? handover_drop(request) : link_drop(&request->item);
}

void request_leave(struct request *request)
{
	(void)take_out(request);
	request_free(request);
}

/* The answer is in the client's queue before the client learns that it was the last one. */
void request_done(struct request *request)
{
	(void)take_out(request);
	client_leave(request->client, request);
	request_free(request);
}

void request_refuse(struct request *request, enum sp_reason reason, enum sp_behind behind,
    const char *hop, const char *note)
{
	request_audit(request, reason, NULL, note);
	client_put_json(request->client, sp_result_refused(request->id, reason, behind, hop));
	request_done(request);
}

/* `note` is for the audit line alone. */
void request_fail_noted(struct request *request, enum sp_error_kind kind, bool sent,
    const char *words, const char *note)
{
	request_audit(request, SP_REASON_NONE, sp_error_name(kind), note);
	client_put_json(request->client, sp_result_error(request->id, kind, sent, words));
	request_done(request);
}

void request_fail(struct request *request, enum sp_error_kind kind, bool sent, const char *words)
{
	request_fail_noted(request, kind, sent, words, words);
}

static void park(struct request *request)
{
	struct forward *forward = request->client->forward;
	int64_t now = sp_monotonic_ms();

	if (!request->parked_ms)
		request->parked_ms = now;
	if (now - request->parked_ms > forward->config->cut_timeout_ms) {
		request_fail(request, SP_ERROR_UNAVAILABLE, false,
		    "a change of the runtime record does not settle; spaceid show tells more");
		return;
	}
	request->is_parked = true;
	TAILQ_INSERT_TAIL(&forward->parked, request, parked);
	if (!ev_is_active(&forward->parked_timer))
		ev_timer_again(forward->loop, &forward->parked_timer);
}

static void port_use(const struct request *request, struct sp_cap_use *use)
{
	const char *name = json_string_value(json_object_get(request->args, "protocol"));
	enum sp_protocol protocol = SP_PROTOCOL_TCP;

	(void)sp_protocol_parse(name, &protocol);
	use->protocol = (int)protocol;
	use->port = (int)json_integer_value(json_object_get(request->args, "port"));
}

/* A service port's jti is its gateway's to look at. */
static bool is_used(const struct request *request)
{
	return request->op->single_use && request->op->purpose != SP_PURPOSE_SERVICE_PORT &&
	       !request->used &&
	       sp_journal_used(request->client->forward->journal, request->claims.jti);
}

struct sp_cap_use request_use(const struct request *request)
{
	struct sp_cap_use use = sp_admit_use(request->op);

	if (use.purpose == SP_PURPOSE_ATTACH)
		use.session = json_string_value(json_object_get(request->args, "session"));
	if (use.purpose == SP_PURPOSE_SERVICE_PORT)
		port_use(request, &use);
	return use;
}

/* Steps 7 and 8 against a record; steps 2, 5 and 6 again when time has passed since the first
 * look. */
static struct sp_admission judge(const struct request *request, const struct sp_record *record)
{
	const struct forward *forward = request->client->forward;
	const struct sp_op *op = request->op;
	struct sp_cap_use use = request_use(request);
	struct sp_admit_question question = {
	    .claims = &request->claims,
	    .sandbox = request->sandbox,
	    .record = record,
	    .use = SP_USE_OPEN,
	    .used = is_used(request),
	};
	struct sp_admission admission = {.behind = SP_BEHIND_NONE};

	if (request->decided > 1)
		admission.reason = sp_capability_recheck(&request->claims, forward->keys.ring, &use,
		    sp_admit_time(op, sp_time_now(), sp_journal_floor(forward->journal)),
		    forward->config->max_skew);
	return admission.reason ? admission : sp_admit(&question);
}

void request_decide(struct request *request)
{
	struct forward *forward = request->client->forward;
	const struct sp_record *record = NULL;
	struct sp_err err = {0};
	struct sp_admission admission;
	int got = sp_store_current(forward->store, request->claims.identity.sandbox, &record, &err);

	if (got == -EAGAIN) {
		park(request);
		return;
	}
	if (got && got != SP_E_ABSENT) {
		request_fail(
		    request, SP_ERROR_UNAVAILABLE, false, "the runtime record cannot be read");
		return;
	}
	if (request->decided++ == FORWARD_DECIDE_MAX) {
		request_fail(
		    request, SP_ERROR_UNAVAILABLE, false, "the runtime record does not hold still");
		return;
	}
	record = got ? NULL : record;
	request->epoch = record ? record->epoch : 0;
	request->version = record ? record->version : 0;
	admission = judge(request, record);
	if (admission.reason)
		request_refuse(request, admission.reason, admission.behind, FORWARD_ROLE, NULL);
	else if (request->op->purpose == SP_PURPOSE_MANAGE)
		forward_manage(request);
	else if (request->op->purpose == SP_PURPOSE_SERVICE_PORT)
		forward_port(request);
	else if (request->op->stream)
		link_submit_alone(forward->links, &request->item, record);
	else
		link_submit(forward->links, &request->item, record);
}

/* The record has a new version since the request was decided on: a fence, perhaps. True: it may
 * still go down this link. */
static bool still_admitted(struct request *request)
{
	struct forward *forward = request->client->forward;
	const struct sp_record *record;

	if (sp_store_current(forward->store, request->claims.identity.sandbox, &record, NULL) ==
		0 &&
	    record->epoch == request->epoch) {
		request->decided++;
		struct sp_admission admission = judge(request, record);
		request->version = record->version;
		if (!admission.reason)
			return true;
		request_refuse(request, admission.reason, admission.behind, FORWARD_ROLE, NULL);
		return false;
	}
	(void)link_drop(&request->item);
	request_decide(request);
	return false;
}

/* Step 9, second half: many share one sync. A journal that failed is not tried again: what is on
 * the disk is not known any more. */
static bool commit(void *context)
{
	struct forward *forward = context;

	if (forward->journal_synced == forward->journal_puts || forward->journal_failed)
		return true;
	forward->journal_failed = sp_journal_commit(forward->journal, NULL) < 0;
	if (!forward->journal_failed)
		forward->journal_synced = forward->journal_puts;
	return !forward->journal_failed;
}

/* Step 9, first half: from here on the capability has been used, whatever becomes of the request.
 */
static bool consume(struct request *request)
{
	struct forward *forward = request->client->forward;
	const struct sp_claims *claims = &request->claims;
	int64_t now = sp_admit_time(request->op, sp_time_now(), sp_journal_floor(forward->journal));
	int bad;

	if (!request->used && !forward->journal_failed) {
		bad = sp_journal_put(forward->journal, claims->jti, claims->expires_at, now, NULL);
		if (bad == SP_E_CONFLICT) {
			request_refuse(
			    request, SP_REASON_REPLAYED, SP_BEHIND_NONE, FORWARD_ROLE, NULL);
			return false;
		}
		request->used = bad ? 0 : ++forward->journal_puts;
	}
	if (request->used && (!forward->journal_failed || request->used <= forward->journal_synced))
		return true;
	request_fail(request, SP_ERROR_UNAVAILABLE, false,
	    "the journal of used capabilities cannot be written; nothing was run");
	return false;
}

static bool may_pass(struct link_item *item, const struct sp_page_view *view, void *context)
{
	struct request *request = (struct request *)item;

	(void)context;
	if (request->version != (int64_t)view->version && !still_admitted(request))
		return false;
	return !request->op->single_use || consume(request);
}

static void passed(struct link_item *item, void *context)
{
	(void)context;
	request_audit(
	    (struct request *)item, SP_REASON_NONE, NULL, sp_level_name(sp_level_probe()));
}

static void answered(
    struct link_item *item, const struct sp_answer *answer, const char *words, void *context)
{
	struct request *request = (struct request *)item;
	sp_auto_free char *text = NULL;
	size_t size;

	(void)context;
	if (words) {
		request_fail_noted(request, SP_ERROR_TRANSPORT, true,
		    "what came back is not an answer that a guest may give", words);
		return;
	}
	text = sp_answer_under(answer, request->id_json, &size);
	if (!text) {
		request_fail(request, SP_ERROR_INTERNAL, true, "out of memory");
	} else if (size > SP_LINE_MAX) {
		request_fail(request, SP_ERROR_TOO_LARGE, true,
		    "the answer is longer than a line may be; ask for less at a time");
	} else {
		client_put(request->client, text, size);
		request_done(request);
	}
}

static void flush(void *context)
{
	forward_flush_clients(context);
}

static void ended(struct link_item *item, const struct link_end *end, void *context)
{
	struct request *request = (struct request *)item;
	bool sent = item->written > 0;

	(void)context;
	if (sent)
		request_fail(request, SP_ERROR_TRANSPORT, true, end->words);
	else if (end->outcome == LINK_MOVED)
		request_decide(request);
	else if (end->outcome == LINK_REFUSED)
		request_refuse(request, end->reason, SP_BEHIND_NONE, end->hop, end->words);
	else
		request_fail(request, end->outcome == LINK_ERROR ? end->error : SP_ERROR_TRANSPORT,
		    false, end->words);
}

const struct link_handlers forward_link_handlers = {
    .may_pass = may_pass,
    .commit = commit,
    .passed = passed,
    .answered = answered,
    .opened = forward_stream_opened,
    .flush = flush,
    .ended = ended,
};

void forward_abandon(struct client *client)
{
	struct request *request, *next;

	for (unsigned i = 0; i < FORWARD_ID_BUCKETS; i++)
		for (request = client->ids[i]; request; request = next) {
			next = request->chain;
			request_done(request);
		}
}

static void on_due(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct forward *forward = watcher->data;
	int64_t limit = forward->config->manager_timeout_ms * 1000, left;
	struct request *request, *next;

	(void)events;
	for (request = TAILQ_FIRST(&forward->due); request; request = next) {
		next = TAILQ_NEXT(request, due);
		left = request->received_us + limit - sp_monotonic_us();
		if (left > 0) {
			ev_timer_stop(loop, watcher);
			ev_timer_set(watcher, (double)left / 1e6, 0.);
			ev_timer_start(loop, watcher);
			return;
		}
		request_fail(request, SP_ERROR_TIMEOUT,
		    request->handover ? handover_drop(request) : link_drop(&request->item),
		    "no answer within [manager] timeout_ms");
	}
}

void forward_timers_changed(struct forward *forward)
{
	ev_feed_event(forward->loop, &forward->due_timer, EV_TIMER);
}

static void on_parked(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct forward *forward = watcher->data;
	struct requests again = TAILQ_HEAD_INITIALIZER(again);
	struct request *request;

	(void)events;
	TAILQ_CONCAT(&again, &forward->parked, parked);
	while ((request = TAILQ_FIRST(&again))) {
		TAILQ_REMOVE(&again, request, parked);
		request->is_parked = false;
		request_decide(request);
	}
	if (TAILQ_EMPTY(&forward->parked))
		ev_timer_stop(loop, watcher);
}

void forward_timers_init(struct forward *forward)
{
	TAILQ_INIT(&forward->due);
	TAILQ_INIT(&forward->parked);
	ev_timer_init(&forward->due_timer, on_due, 0., 0.);
	ev_timer_init(&forward->parked_timer, on_parked, 0., PARKED_RETRY);
	forward->due_timer.data = forward->parked_timer.data = forward;
}
