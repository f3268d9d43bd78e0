/* A lease of this process: opened, listed, told of when it ends. */
#include "spacestream/held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "net/notify.h"
#include "net/socket.h"
#include "record/json.h"
#include "record/reason.h"

#define ROLE "spacestream"

static void tell_end(struct held *held, const struct sp_lease_end *end)
{
	const char *reason = sp_reason_name(end->reason);
	struct sp_err err = {0};

	(void)sp_fail(&err, SP_E_CLOSED, "%s: cut: %s%s%s%s%s",
	    sp_lease_terms(held->lease)->identity.sandbox,
	    reason ? sp_decision_name(sp_reason_decision(end->reason)) : "", reason ? " " : "",
	    reason ? reason : "", reason ? ": " : "", end->words);
	(void)sp_cli_fail(held->cli, &err);
}

static void on_cut(struct sp_lease *lease, void *context)
{
	struct held *held = context;

	(void)lease;
	if (held->relay)
		sp_relay_stop(held->relay);
	held->was_cut = true;
}

static void on_ended(struct sp_lease *lease, const struct sp_lease_end *end, void *context)
{
	struct held *held = context;

	(void)lease;
	tell_end(held, end);
	held->lease = NULL;
	if (held->handlers->cut)
		held->handlers->cut(held);
	else
		ev_break(held->loop, EVBREAK_ALL);
}

static void on_resume(struct sp_lease *lease, void *context)
{
	struct held *held = context;

	(void)lease;
	if (held->relay)
		sp_relay_resume(held->relay);
}

static int parse_route(const char *text, struct sp_route *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	int bad = sp_json_parse(text, strlen(text), &object, err);

	if (!bad)
		bad = sp_route_parse(object, ret, err);
	return bad ? sp_err_prefix(err, bad, "--expect") : 0;
}

/* What is installed, but for the route that is expected. */
static int take_terms(struct held *held, const char *sandbox, struct sp_lease_terms *terms,
    enum sp_reason *ret_reason, struct sp_err *err)
{
	const char *kind = sp_cli_text(held->cli, "kind");
	const char *expected = sp_cli_text(held->cli, "expect");
	struct sp_record record;
	int bad;

	*terms = (struct sp_lease_terms){0};
	if (kind)
		(void)sp_lease_kind_parse(kind, &terms->kind);
	bad = sp_store_read(held->store, sandbox, &record, err);
	if (bad == SP_E_ABSENT)
		*ret_reason = SP_REASON_ABSENT;
	if (bad)
		return bad == SP_E_ABSENT ? SP_E_CONFLICT : bad;
	terms->identity = record.identity;
	terms->epoch = record.epoch;
	terms->version = record.version;
	sp_record_done(&record);
	return expected ? parse_route(expected, &terms->identity.route, err) : 0;
}

static int open_lease(struct held *held, const char *sandbox, const char *op,
    enum sp_reason *ret_reason, struct sp_err *err)
{
	static const struct sp_lease_handlers handlers = {on_cut, on_ended, on_resume};
	int64_t until = sp_monotonic_ms() + held->config->cut_timeout_ms;
	struct sp_lease_asked asked = {.op = op};
	char caller[32];
	int bad;

	(void)snprintf(caller, sizeof(caller), "uid:%u", (unsigned)getuid());
	asked.caller = caller;
	for (;;) {
		bad = take_terms(held, sandbox, &asked.terms, ret_reason, err);
		if (!bad)
			bad = sp_lease_open(
			    held->set, &asked, &handlers, held, &held->lease, ret_reason, err);
		if (bad != -EAGAIN || sp_monotonic_ms() > until)
			break;
		(void)poll(NULL, 0, 1); /* a change is under way */
	}
	return bad == -EAGAIN ? sp_fail(err, SP_E_TIMEOUT,
				    "%s: a change of the record does not settle", sandbox)
			      : bad;
}

static int open_state(struct held *held, enum sp_reason *ret_reason, struct sp_err *err)
{
	const char *given = sp_cli_text(held->cli, "records");
	struct sp_lease_options options = {
	    .loop = held->loop, .cut_timeout_ms = (int)held->config->cut_timeout_ms, .role = ROLE};
	char records[PATH_MAX + 16];
	int bad;

	(void)snprintf(records, sizeof(records), "%s%s", given ? given : held->config->state_dir,
	    given ? "" : "/records");
	bad = sp_store_open(records, 0, &held->store, err);
	/* Only an install makes a store: where there is none there is no record. */
	if (bad == -ENOENT) {
		*ret_reason = SP_REASON_ABSENT;
		bad = SP_E_CONFLICT;
	}
	if (!bad)
		bad = sp_holder_open(held->store, &held->holder, err);
	if (bad)
		return bad;
	options.store = held->store;
	options.holder = held->holder;
	if (sp_lease_set_new(&options, &held->set) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	return sp_lease_live_open(held->set, held->config->run_dir, &held->live, err);
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct held *held = watcher->data;

	(void)events;
	held->signal = watcher->signum;
	if (held->handlers->stop)
		held->handlers->stop(held, watcher->signum);
	else
		ev_break(loop, EVBREAK_ALL);
}

static void on_check(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct held *held = watcher->data;

	(void)loop;
	(void)events;
	sp_relay_check(held->relay);
}

static void watch_signals(struct held *held)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < SP_COUNT(numbers); i++) {
		ev_signal_init(&held->signals[i], on_signal, numbers[i]);
		held->signals[i].data = held;
		ev_signal_start(held->loop, &held->signals[i]);
	}
}

static int refused(struct held *held, const char *sandbox, enum sp_reason reason)
{
	struct sp_err err = {0};

	(void)sp_fail(&err, SP_E_CONFLICT, "%s: %s %s: %s", sandbox,
	    sp_decision_name(sp_reason_decision(reason)), sp_reason_name(reason),
	    reason == SP_REASON_ABSENT ? "this store has no record of it"
				       : "that is not what is installed here");
	(void)sp_cli_fail(held->cli, &err);
	return sp_reason_exit(reason);
}

int held_open(struct held *held, struct sp_cli *cli, const char *op)
{
	const char *sandbox = sp_cli_text(cli, "sandbox");
	enum sp_reason reason = SP_REASON_NONE;
	struct sp_err err = {0};
	int bad;

	held->cli = cli;
	held->config = sp_cli_config(cli);
	if (!held->config)
		return SP_EXIT_USAGE;
	if (!sp_id_valid(sandbox))
		return sp_cli_usage(cli, "`%.64s` is no sandbox's id", sandbox);
	held->loop = ev_default_loop(0);
	bad = held->loop ? open_state(held, &reason, &err)
			 : sp_fail(&err, SP_E_UNAVAILABLE, "no event loop");
	if (!bad)
		bad = open_lease(held, sandbox, op, &reason, &err);
	if (bad == SP_E_CONFLICT && reason)
		return refused(held, sandbox, reason);
	if (bad)
		return sp_cli_fail(cli, &err);
	watch_signals(held);
	return 0;
}

static void on_relay_ended(struct sp_relay *relay, int code, void *context)
{
	struct held *held = context;

	(void)relay;
	held->code = code;
	if (held->handlers->ended)
		held->handlers->ended(held, code);
	else
		ev_break(held->loop, EVBREAK_ALL);
}

static void on_half(struct sp_relay *relay, enum sp_lease_way way, void *context)
{
	struct held *held = context;

	(void)relay;
	held->handlers->half(held, way);
}

int held_relay(
    struct held *held, const struct sp_relay_end *a, const struct sp_relay_end *b, int limit_ms)
{
	static const struct sp_relay_handlers plain = {.ended = on_relay_ended},
					      with_half = {
						  .ended = on_relay_ended, .half = on_half};
	struct sp_relay_options options = {.loop = held->loop,
	    .lease = held->lease,
	    .a = *a,
	    .b = *b,
	    .half_close = true,
	    .alone = true,
	    .limit_ms = limit_ms};
	int bad =
	    sp_relay_new(&options, held->handlers->half ? &with_half : &plain, held, &held->relay);

	if (bad)
		return bad;
	ev_timer_init(&held->check, on_check, 1., 1.);
	held->check.data = held;
	ev_timer_start(held->loop, &held->check);
	sp_relay_start(held->relay);
	sp_notify("READY=1");
	return 0;
}

int held_run(struct held *held)
{
	(void)ev_run(held->loop, 0);
	return held->was_cut ? SP_EXIT_CUT : 0;
}

void held_close(struct held *held)
{
	sp_relay_free(held->relay);
	if (held->lease)
		sp_lease_close(held->lease, "it is over");
	sp_lease_live_close(held->live);
	sp_lease_set_free(held->set, "it is over");
	if (held->holder)
		sp_holder_close(held->holder);
	if (held->store)
		sp_store_close(held->store);
}
