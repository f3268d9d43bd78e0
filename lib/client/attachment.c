/*
 * States: calling, open, asking why it was cut, waiting for a newer route, calling again, open
 * again. What is under way is `call`, the pump's stream, or the timer.
 */
#include "client/attachment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "call/route.h"
#include "record/json.h"
#include "record/op.h"
#include "record/result.h"
#include "routing/cache_wire.h"

#define LOOKS_A_REJECT 8

struct sp_attachment {
	struct sp_attachment_options options;
	const struct sp_attachment_handlers *handlers;
	void *context;
	const struct sp_op *op;
	struct ev_loop *loop;
	struct sp_pump *pump;
	struct sp_call *call;   /* NULL: none is under way */
	struct sp_where *where; /* NULL: not asked */
	ev_timer timer;
	bool again;         /* this is one after a cut */
	bool without_place; /* ... which does not ask to go on where it was left */
	bool stopped;
	int64_t place;    /* in the session's output, where the stream began; -1: not known */
	uint64_t at_open; /* what had been received then */
	unsigned looks;
	int64_t deadline_ms;
	struct sp_route route; /* that is, or was, open */
	struct sp_route before;
	char *lease;
	char words[SP_ERR_MAX];
};

static void end(struct sp_attachment *attachment, struct sp_attachment_end told)
{
	told.words = attachment->words;
	attachment->stopped = true;
	attachment->handlers->ended(attachment->context, &told);
}

static void broken(struct sp_attachment *attachment, int code, const char *words)
{
	(void)snprintf(
	    attachment->words, sizeof(attachment->words), "%s", words ? words : sp_code_text(code));
	end(attachment,
	    (struct sp_attachment_end){.ending = SP_ATTACHMENT_BROKEN, .exit = sp_code_exit(code)});
}

/* A pump's code is of what came, of memory, or else of a write to our own output. */
static void failed(struct sp_attachment *attachment, int code)
{
	char words[SP_ERR_MAX];

	if (code == SP_E_BAD_RECORD || code == -ENOMEM) {
		broken(attachment, code,
		    code == SP_E_BAD_RECORD ? "what came from the guest is no stream" : NULL);
		return;
	}
	(void)snprintf(words, sizeof(words), "output: %s", sp_code_text(code));
	broken(attachment, code, words);
}

static void tell(struct sp_attachment *attachment, struct sp_attachment_news news)
{
	news.lease = attachment->lease;
	news.route = &attachment->route;
	news.before = &attachment->before;
	news.words = attachment->words;
	if (attachment->handlers->told)
		attachment->handlers->told(attachment->context, &news);
}

/* --- opening --- */

static void call_ended(void *context, const struct sp_call_end *ending);

/* Where in the session's output we are; -1: not known. */
static int64_t place_now(const struct sp_attachment *attachment)
{
	uint64_t since = sp_pump_received(attachment->pump) - attachment->at_open;

	return attachment->place < 0 ? -1 : attachment->place + (int64_t)since;
}

static json_t *args_now(const struct sp_attachment *attachment)
{
	json_t *args = json_deep_copy(attachment->options.args);
	int64_t place = attachment->again ? place_now(attachment) : -1;

	/* The caller's own is where the first began. */
	if (args && attachment->again)
		(void)json_object_del(args, "from");
	if (args && place >= 0 && !attachment->without_place &&
	    json_object_set_new(args, "from", json_integer(place)) < 0) {
		json_decref(args);
		return NULL;
	}
	return args;
}

static int start_call(struct sp_attachment *attachment, const char *op, json_t *args /* stolen */,
    sp_call_fn *ended, struct sp_err *err)
{
	int bad;

	sp_auto_json json_t *asked = args ? json_pack("{s:s, s:s, s:o}", "op", op, "sandbox",
						attachment->options.sandbox, "args", args)
					  : NULL;
	size_t size = asked ? sp_json_write(asked, NULL, 0) : 0;

	if (!asked)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = sp_call_start(attachment->options.path, attachment->options.who, asked, size, ended,
	    attachment, &attachment->call, err);
	if (!bad)
		sp_call_allow_stream(attachment->call);
	return bad;
}

static void call_again(struct sp_attachment *attachment)
{
	struct sp_err err = {0};
	int bad =
	    start_call(attachment, attachment->op->name, args_now(attachment), call_ended, &err);

	if (bad)
		broken(attachment, bad, err.message);
}

/* A watcher that starts anew has missed what happened in between. */
static int say_resync(struct sp_attachment *attachment)
{
	const json_t *args = attachment->options.args;
	sp_auto_json json_t *event = json_pack("{s:s, s:O*, s:O*}", "event", "resync", "path",
	    json_object_get(args, "path"), "path_data", json_object_get(args, "path_data"));
	sp_auto_free char *line = event ? sp_json_text(event) : NULL;

	return line ? attachment->options.side->say(attachment->options.side_context, line)
		    : -ENOMEM;
}

static void tell_gap(struct sp_attachment *attachment, int64_t before)
{
	int64_t missing = attachment->place - before;
	bool known = attachment->place >= 0 && before >= 0 && missing > 0;

	tell(attachment, (struct sp_attachment_news){
			     .event = SP_ATTACHMENT_GAP, .missing = known ? missing : -1});
}

static void opened(struct sp_attachment *attachment, const struct sp_call_end *ending)
{
	const char *lease = json_string_value(json_object_get(ending->record, "lease"));
	int64_t epoch = json_integer_value(json_object_get(ending->record, "epoch"));
	const json_t *from = json_object_get(ending->record, "from");
	bool repeated = attachment->again || ending->attempted > 1;
	int64_t before = place_now(attachment);
	int bad = 0;

	attachment->place = from ? json_integer_value(from) : -1;
	attachment->at_open = sp_pump_received(attachment->pump);
	attachment->before = attachment->route;
	attachment->route = *ending->route;
	free(attachment->lease);
	attachment->lease = strdup(lease ? lease : "");
	if (attachment->op->resync && repeated)
		bad = say_resync(attachment);
	if (bad)
		(void)close(ending->fd);
	else
		bad = sp_pump_begin(attachment->pump, ending->fd, ending->rest, ending->rest_size);
	if (bad) {
		broken(attachment, bad, NULL);
		return;
	}
	if (attachment->without_place)
		tell_gap(attachment, before);
	attachment->without_place = false;
	tell(attachment,
	    (struct sp_attachment_news){
		.event = attachment->again ? SP_ATTACHMENT_REOPENED : SP_ATTACHMENT_OPENED,
		.epoch = epoch,
		.from = attachment->place});
}

/* The guest no longer has the byte at which its output was left. */
static bool has_gap(const struct sp_attachment *attachment, const json_t *record)
{
	const char *number = json_string_value(json_object_get(record, "errno"));

	return attachment->again && place_now(attachment) >= 0 && !attachment->without_place &&
	       number && strcmp(number, "ERANGE") == 0;
}

static void call_ended(void *context, const struct sp_call_end *ending)
{
	struct sp_attachment *attachment = context;

	attachment->call = NULL;
	if (ending->fd >= 0) {
		opened(attachment, ending);
	} else if (has_gap(attachment, ending->record)) {
		attachment->without_place = true;
		call_again(attachment);
	} else {
		int exit = sp_attachment_words(ending, attachment->words);
		end(attachment,
		    (struct sp_attachment_end){
			.ending = SP_ATTACHMENT_ANSWERED, .exit = exit, .record = ending->record});
	}
	json_decref(ending->record);
	free(ending->text);
}

/* --- after a cut --- */

static void lost(struct sp_attachment *attachment)
{
	end(attachment,
	    (struct sp_attachment_end){.ending = SP_ATTACHMENT_LOST, .exit = SP_EXIT_CUT});
}

static void look_again(struct sp_attachment *attachment)
{
	ev_timer_set(&attachment->timer, SP_ATTACHMENT_LOOK, 0.);
	ev_timer_start(attachment->loop, &attachment->timer);
}

/* Whom the registry no longer lets ask need not wait. */
static void denied(struct sp_attachment *attachment)
{
	struct sp_call_end ending = {.record = sp_result_refused(NULL, SP_REASON_UNAUTHORIZED,
					 SP_BEHIND_NONE, SP_ROUTE_HOP)};
	int exit = sp_attachment_words(&ending, attachment->words);

	end(attachment,
	    (struct sp_attachment_end){
		.ending = SP_ATTACHMENT_ANSWERED, .exit = exit, .record = ending.record});
	json_decref(ending.record);
}

static void on_reply(void *context, const struct sp_reply *reply)
{
	struct sp_attachment *attachment = context;
	bool other = reply->routed && reply->route.execution >= attachment->route.execution &&
		     !sp_route_equal(&reply->route, &attachment->route);

	attachment->where = NULL;
	if (reply->effect == SP_CACHE_DENIED) {
		denied(attachment);
	} else if (other) {
		attachment->again = true;
		call_again(attachment);
	} else if (sp_monotonic_ms() >= attachment->deadline_ms) {
		lost(attachment);
	} else {
		look_again(attachment);
	}
}

/* A cache that follows its registry hears of a newer route by itself; another must be told that its
 * own is wrong. Not each time: when there is no newer one it remembers that for a second, for other
 * requests too. */
static void look(struct sp_attachment *attachment)
{
	bool reject = ++attachment->looks % LOOKS_A_REJECT == 0;
	int bad = sp_path_where(attachment->options.path, attachment->options.who,
	    attachment->options.sandbox, reject ? &attachment->route : NULL, on_reply, attachment,
	    &attachment->where);

	if (bad)
		broken(attachment, bad, NULL);
}

static void wait_for_newer(struct sp_attachment *attachment)
{
	bool may_repeat = attachment->op->rebuilt && attachment->op->retry_sent;

	if (!may_repeat || (attachment->again && !attachment->options.each_cut) ||
	    attachment->options.reattach_ms <= 0 ||
	    attachment->options.side->gone(attachment->options.side_context)) {
		lost(attachment);
		return;
	}
	tell(attachment, (struct sp_attachment_news){.event = SP_ATTACHMENT_CUT});
	look(attachment);
}

/* What lease.status says of the lease that has ended; true: an operator ended it. */
static bool read_why(struct sp_attachment *attachment, const struct sp_call_end *ending)
{
	sp_auto_json json_t *answer = NULL;
	const json_t *lease;
	const char *reason, *message, *state;

	if (!ending->text || sp_json_parse(ending->text, ending->size, &answer, NULL))
		return false;
	lease = json_object_get(answer, "result");
	state = json_string_value(json_object_get(lease, "state"));
	reason = json_string_value(json_object_get(lease, "reason"));
	message = json_string_value(json_object_get(lease, "message"));
	if (state && strcmp(state, "closed") != 0 && (reason || message))
		(void)snprintf(attachment->words, sizeof(attachment->words), "%s%s%s",
		    reason ? reason : "", reason && message ? ": " : "", message ? message : "");
	return state && strcmp(state, "cancelled") == 0;
}

/* Nobody but the route that is in force may ask; that it is refused so says why, too. */
static void read_refusal(struct sp_attachment *attachment, const json_t *record)
{
	const char *decision = json_string_value(json_object_get(record, "decision"));
	const char *name = json_string_value(json_object_get(record, "reason"));
	enum sp_reason reason;

	if (decision && name && sp_reason_parse(decision, name, &reason) &&
	    (sp_reason_decision(reason) == SP_REFRESH_ROUTE || reason == SP_REASON_FENCED))
		(void)snprintf(attachment->words, sizeof(attachment->words), "%s", name);
}

static void why_ended(void *context, const struct sp_call_end *ending)
{
	struct sp_attachment *attachment = context;
	bool cancelled = read_why(attachment, ending);

	attachment->call = NULL;
	ev_timer_stop(attachment->loop, &attachment->timer);
	if (!cancelled)
		read_refusal(attachment, ending->record);
	json_decref(ending->record);
	free(ending->text);
	if (cancelled)
		lost(attachment);
	else
		wait_for_newer(attachment);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_attachment *attachment = watcher->data;

	(void)loop;
	(void)events;
	if (attachment->call) {
		sp_call_cancel(sp_steal(&attachment->call));
		wait_for_newer(attachment);
	} else {
		look(attachment);
	}
}

static void cut(struct sp_attachment *attachment)
{
	attachment->words[0] = '\0';
	attachment->deadline_ms = sp_monotonic_ms() + attachment->options.reattach_ms;
	if (start_call(attachment, "lease.status", json_pack("{s:s}", "lease", attachment->lease),
		why_ended, NULL)) {
		wait_for_newer(attachment);
		return;
	}
	ev_timer_set(&attachment->timer, SP_ATTACHMENT_WHY, 0.);
	ev_timer_start(attachment->loop, &attachment->timer);
}

static void on_pump_end(void *context, const struct sp_pump_end *ending)
{
	struct sp_attachment *attachment = context;

	switch (ending->ending) {
	case SP_PUMP_STATUS:
		end(attachment, (struct sp_attachment_end){.ending = SP_ATTACHMENT_STATUS,
				    .exit = sp_status_exit(&ending->status),
				    .status = &ending->status});
		break;
	case SP_PUMP_CUT:
		cut(attachment);
		break;
	case SP_PUMP_CLOSED:
		end(attachment, (struct sp_attachment_end){.ending = SP_ATTACHMENT_DONE});
		break;
	case SP_PUMP_FAILED:
		failed(attachment, ending->code);
		break;
	}
}

int sp_attachment_new(const struct sp_attachment_options *options,
    const struct sp_attachment_handlers *handlers, void *context, struct sp_attachment **ret,
    struct sp_err *err)
{
	struct sp_attachment *attachment = calloc(1, sizeof(*attachment));
	int bad;

	if (!attachment)
		return sp_fail(err, -ENOMEM, "out of memory");
	attachment->options = *options;
	(void)json_incref(options->args);
	attachment->handlers = handlers;
	attachment->context = context;
	attachment->loop = options->loop;
	attachment->place = -1;
	attachment->op = sp_op_find(options->op);
	ev_init(&attachment->timer, on_timer);
	attachment->timer.data = attachment;
	bad = attachment->op && attachment->op->stream
		  ? 0
		  : sp_fail(err, SP_E_BAD_RECORD, "`%.64s` is no stream operation", options->op);
	if (!bad && sp_pump_new(options->loop, options->side, options->side_context, on_pump_end,
			attachment, &attachment->pump) < 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	if (!bad)
		bad = start_call(attachment, options->op, args_now(attachment), call_ended, err);
	if (bad) {
		sp_attachment_free(attachment);
		return bad;
	}
	*ret = attachment;
	return 0;
}

void sp_attachment_stop(struct sp_attachment *attachment)
{
	attachment->stopped = true;
	ev_timer_stop(attachment->loop, &attachment->timer);
	if (attachment->call)
		sp_call_cancel(sp_steal(&attachment->call));
	if (attachment->where)
		sp_path_where_cancel(sp_steal(&attachment->where));
	sp_pump_stop(attachment->pump);
}

void sp_attachment_free(struct sp_attachment *attachment)
{
	if (!attachment)
		return;
	if (attachment->pump)
		sp_attachment_stop(attachment);
	sp_pump_free(attachment->pump);
	json_decref(attachment->options.args);
	free(attachment->lease);
	free(attachment);
}

void sp_attachment_resize(struct sp_attachment *attachment, unsigned rows, unsigned cols)
{
	sp_pump_resize(attachment->pump, rows, cols);
}

uint64_t sp_attachment_received(const struct sp_attachment *attachment)
{
	return sp_pump_received(attachment->pump);
}
