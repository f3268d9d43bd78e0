/*
 * A port of the guest, from the decision to `open`: the record, the VMM attested, its guest's
 * hello, the lease, the capability used up, port.connect, in this order.
 */
#include "spacebridge/gateway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "net/socket.h"

#define RETRY      0.001 /* seconds between looks at a record that is changing */
#define OPEN_LIMIT 7.    /* seconds for the agent's answer: its own limit and some */

static void refuse(struct port *port, const struct port_refusal *refusal)
{
	ev_timer_stop(port->gateway->loop, &port->limit);
	ev_timer_stop(port->gateway->loop, &port->retry);
	ev_io_stop(port->gateway->loop, &port->answer);
	port->handlers->refused(refusal, port->context);
}

static void refuse_reason(struct port *port, enum sp_reason reason, const char *words)
{
	refuse(port, &(struct port_refusal){.reason = reason, .words = words});
}

static void fail(struct port *port, enum sp_error_kind error, bool sent, const char *words)
{
	refuse(port, &(struct port_refusal){.error = error, .sent = sent, .words = words});
}

static void again(struct port *port)
{
	ev_timer_set(&port->retry, RETRY, 0.);
	ev_timer_start(port->gateway->loop, &port->retry);
}

static void on_cut(struct sp_lease *lease, void *context)
{
	struct port *port = context;

	(void)lease;
	ev_io_stop(port->gateway->loop, &port->answer);
	port_frames_done(port);
	port->handlers->cut(port->context);
	sp_socket_abort(approach_fd(&port->approach));
}

static void on_lease_ended(struct sp_lease *lease, const struct sp_lease_end *end, void *context)
{
	struct port *port = context;

	(void)lease;
	port->lease = NULL;
	port->handlers->ended(end, port->context);
}

static void on_resume(struct sp_lease *lease, void *context)
{
	struct port *port = context;

	(void)lease;
	port_frames_resume(port);
	if (port->proven && !port->asked)
		again(port);
	port->handlers->resumed(port->context);
}

/* The record is another one than the VMM was proven against. */
static void replaced(struct port *port, enum sp_reason reason)
{
	if (reason)
		refuse_reason(port, reason, NULL);
	else
		fail(port, SP_ERROR_TRANSPORT, false,
		    "the record of this sandbox changed while its VMM was being checked");
}

/* False: not yet, or refused. */
static bool open_lease(struct port *port)
{
	static const struct sp_lease_handlers handlers = {on_cut, on_lease_ended, on_resume};
	struct sp_lease_asked asked = {
	    .terms = {SP_LEASE_GATEWAY, port->claims->identity, port->epoch, port->version},
	    .caller = port->claims->caller,
	    .op = "port.connect"};
	enum sp_reason reason = SP_REASON_NONE;
	struct sp_err err = {0};
	int bad = sp_lease_open(
	    port->gateway->leases, &asked, &handlers, port, &port->lease, &reason, &err);

	if (bad == -EAGAIN)
		again(port);
	else if (bad == SP_E_CONFLICT)
		replaced(port, reason);
	else if (bad)
		fail(port, SP_ERROR_UNAVAILABLE, false, err.message);
	return !bad;
}

static int current(const struct port *port, const struct sp_record **ret, struct sp_err *err)
{
	const struct gateway *gateway = port->gateway;
	int bad = sp_store_current(gateway->store, gateway->sandbox, ret, err);

	if (bad == SP_E_ABSENT)
		*ret = NULL;
	return bad == SP_E_ABSENT ? 0 : bad;
}

/* Steps 7 and 8. False: not now, or no; then the port may be gone. */
static bool decide(struct port *port, const struct sp_record **ret)
{
	struct sp_admission admission;
	struct sp_err err = {0};
	int bad = current(port, ret, &err);

	if (bad == -EAGAIN) {
		again(port);
		return false;
	}
	if (bad) {
		fail(port, SP_ERROR_UNAVAILABLE, false, err.message);
		return false;
	}
	if (*ret && !port->epoch)
		port->epoch = (*ret)->epoch;
	admission = gateway_decide(port->gateway, port->claims, *ret, port->once && !port->used);
	if (!admission.reason)
		return true;
	refuse(
	    port, &(struct port_refusal){.reason = admission.reason, .behind = admission.behind});
	return false;
}

/* Step 9, second half. From here on the capability has been used, whatever becomes of it. */
static bool use_up(struct port *port)
{
	struct gateway *gateway = port->gateway;
	const struct sp_claims *claims = port->claims;
	int64_t now = sp_admit_time(
	    sp_op_find("port.connect"), sp_time_now(), sp_journal_floor(gateway->journal));
	int bad;

	if (!port->once || port->used)
		return true;
	bad = sp_journal_use(gateway->journal, claims->jti, claims->expires_at, now, NULL);
	if (bad == SP_E_CONFLICT)
		refuse_reason(port, SP_REASON_REPLAYED, NULL);
	else if (bad)
		fail(port, SP_ERROR_UNAVAILABLE, false,
		    "the journal of used capabilities cannot be written; nothing was opened");
	port->used = !bad;
	return !bad;
}

/* One write: the connection is fresh, its buffer empty. */
static void ask_agent(struct port *port)
{
	const struct sp_claims *claims = port->claims;
	char line[SP_ID_MAX + 160];
	int size = snprintf(line, sizeof(line),
	    "{\"id\":\"1\",\"op\":\"port.connect\",\"sandbox\":\"%s\",\"args\":{\"port\":%u,"
	    "\"protocol\":\"%s\"}}\n",
	    port->gateway->sandbox, claims->port, sp_protocol_name(claims->protocol));
	ssize_t n;

	if (port_enter(port))
		return; /* on_resume has it tried again, or on_cut ends it */
	n = sp_write_some(approach_fd(&port->approach), line, (size_t)size);
	port_leave(port, SP_LEASE_IN, 0);
	if (n != size) {
		fail(port, SP_ERROR_TRANSPORT, n > 0, "the guest's agent takes no request");
		return;
	}
	ev_timer_stop(port->gateway->loop, &port->limit);
	ev_timer_set(&port->limit, OPEN_LIMIT, 0.);
	ev_timer_start(port->gateway->loop, &port->limit);
	port->asked = true;
	ev_io_set(&port->answer, approach_fd(&port->approach), EV_READ);
	ev_io_start(port->gateway->loop, &port->answer);
}

static void finish_report(struct sp_report *report)
{
	sp_report_done(report);
}

/* The last looks: the fence may have fallen while the VMM was being proven. */
static void pass(struct port *port)
{
	sp_cleanup(finish_report) struct sp_report report = {.failed_only = true};
	const struct sp_record *record;
	char words[SP_ERR_MAX] = "";
	enum sp_reason reason;

	if (!decide(port, &record))
		return;
	reason = sp_attest_alive(port->approach.attestation, &report);
	if (reason) {
		sp_report_words(&report, words, sizeof(words));
		refuse_reason(port, reason, words);
		return;
	}
	if (!port->lease && !open_lease(port))
		return;
	if (use_up(port))
		ask_agent(port);
}

static void finish_answer(struct sp_answer *answer)
{
	sp_answer_done(answer);
}

static void open_it(struct port *port)
{
	ev_timer_stop(port->gateway->loop, &port->limit);
	if (approach_watch(&port->approach) < 0)
		fail(port, SP_ERROR_INTERNAL, true, "out of memory");
	else
		port->handlers->opened(port->context);
}

static void take_answer(struct port *port)
{
	sp_cleanup(finish_answer) struct sp_answer answer = {0};
	struct sp_err err = {0};

	if (sp_answer_read(port->line.text, port->line.size, &answer, &err)) {
		answer = (struct sp_answer){0};
		fail(port, SP_ERROR_TRANSPORT, true,
		    "what came back is not an answer that a guest may give");
	} else if (sp_answer_of_stream(&answer, NULL)) {
		open_it(port);
	} else if (sp_answer_is_ok(&answer) || sp_answer_of_guest(&answer, &err)) {
		fail(port, SP_ERROR_TRANSPORT, true,
		    "what came back is not an answer that a guest may give");
	} else {
		refuse(port,
		    &(struct port_refusal){.answer = &answer, .error = SP_ERROR_OP, .sent = true});
	}
}

/* What stands behind the line is the stream's: it stays unread. */
static void on_answer(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct port *port = watcher->data;
	int code = sp_short_line_take(approach_fd(&port->approach), &port->line);

	(void)events;
	if (code == 0)
		return;
	ev_io_stop(loop, watcher);
	if (code == 1)
		take_answer(port);
	else
		fail(port, SP_ERROR_TRANSPORT, true,
		    "the connection to the guest ended before the port was open");
}

static void begin(struct port *port)
{
	const struct sp_record *record;

	if (!decide(port, &record) || !port->handlers->admitted(port->context))
		return;
	port->epoch = record->epoch;
	port->version = record->version;
	approach_start(&port->approach, record);
}

static void on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct port *port = watcher->data;

	(void)loop;
	(void)events;
	if (port->proven)
		pass(port);
	else
		begin(port);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct port *port = watcher->data;

	(void)loop;
	(void)events;
	fail(port, SP_ERROR_TIMEOUT, port->asked,
	    port->asked ? "the guest's agent did not say in time whether the port is open"
			: approach_overdue(&port->approach));
}

static void on_proven(void *context)
{
	struct port *port = context;

	port->proven = true;
	pass(port);
}

static void on_refused(enum sp_reason reason, const struct sp_report *report, void *context)
{
	char words[SP_ERR_MAX] = "";

	if (report)
		sp_report_words(report, words, sizeof(words));
	refuse_reason(context, reason, words);
}

static void on_failed(enum sp_error_kind error, const char *words, void *context)
{
	fail(context, error, false, words);
}

static void on_lost(enum sp_reason reason, const char *words, void *context)
{
	struct port *port = context;

	sp_lease_cut(port->lease, reason, words);
}

static void on_second(void *context)
{
	struct port *port = context;

	if (port->handlers->second)
		port->handlers->second(port->context);
}

bool gateway_is_full(const struct gateway *gateway)
{
	return gateway->port_count >= (unsigned)gateway->config.max_streams;
}

int port_open(struct gateway *gateway, const struct sp_claims *claims, bool once,
    const struct port_handlers *handlers, void *context, struct port **ret)
{
	static const struct approach_handlers approach = {
	    .proven = on_proven,
	    .refused = on_refused,
	    .failed = on_failed,
	    .lost = on_lost,
	    .second = on_second,
	};
	struct port *port = calloc(1, sizeof(*port));
	double limit = (double)gateway->config.connect_timeout_ms / 1000.;

	if (!port)
		return -ENOMEM;
	port->gateway = gateway;
	port->claims = claims;
	port->once = once;
	port->handlers = handlers;
	port->context = context;
	approach_init(&port->approach, &gateway->approach, &approach, port);
	ev_init(&port->retry, on_retry);
	ev_timer_init(&port->limit, on_limit, limit, 0.);
	ev_init(&port->answer, on_answer);
	port->retry.data = port->limit.data = port->answer.data = port;
	port_frames_init(port);
	gateway->port_count++;
	ev_now_update(gateway->loop);
	ev_timer_start(gateway->loop, &port->limit);
	ev_feed_event(gateway->loop, &port->retry, EV_TIMER);
	*ret = port;
	return 0;
}

void port_free(struct port *port, const char *words)
{
	struct ev_loop *loop;

	if (!port)
		return;
	loop = port->gateway->loop;
	if (port->lease)
		sp_lease_close(port->lease, words);
	port_frames_done(port);
	ev_timer_stop(loop, &port->retry);
	ev_timer_stop(loop, &port->limit);
	ev_io_stop(loop, &port->answer);
	(void)ev_clear_pending(loop, &port->retry);
	approach_stop(&port->approach);
	port->gateway->port_count--;
	free(port);
}
