/* A connection in line mode once its port is open: its first bytes, then bytes as long as the lease
 * allows. */
#include <errno.h>
#include <stdlib.h>
#include "base/io.h"
#include "base/util.h"
#include "net/socket.h"
#include "spacebridge/gateway.h"

void visit_end(struct visit *visit, int code, const char *words)
{
	visit_audit_lease(visit, SP_REASON_NONE, NULL, "closed", words);
	/* Whatever is not a clean end must not look like one. */
	if (code)
		sp_socket_abort(visit->front.client);
	visit_free(visit, words);
}

static void on_relay_ended(void *owner, int code, const char *words)
{
	visit_end(owner, code, words);
}

void visit_first(struct visit *visit)
{
	enum sp_first_verdict verdict = visit_judge(visit);

	if (verdict == SP_FIRST_WRONG)
		visit_deny_protocol(visit);
	if (verdict != SP_FIRST_FITS)
		return;
	visit->phase = VISIT_OPEN;
	free(sp_steal(&visit->first));
	if (front_pass(&visit->front, visit->framed, on_relay_ended) < 0)
		visit_end(visit, -ENOMEM, "out of memory");
}

static bool on_admitted(void *context)
{
	struct visit *visit = context;

	if (visit_judge(visit) != SP_FIRST_WRONG)
		return true;
	visit_deny_protocol(visit);
	return false;
}

static void on_opened(void *context)
{
	struct visit *visit = context;
	struct front *front = &visit->front;

	if (visit_say_open(visit) < 0) {
		visit_free(visit, "out of memory");
		return;
	}
	visit->phase = VISIT_FIRST;
	ev_io_start(front->gateway->loop, &front->readable);
	front_limit(front, (double)front->gateway->config.connect_timeout_ms / 1000.);
	visit_first(visit);
}

static void on_cut(void *context)
{
	struct visit *visit = context;
	struct front *front = &visit->front;

	if (front->relay)
		sp_relay_stop(front->relay);
	ev_io_stop(front->gateway->loop, &front->readable);
	if (visit->phase != VISIT_OPENING)
		sp_socket_abort(front->client);
}

static void on_ended(const struct sp_lease_end *end, void *context)
{
	struct visit *visit = context;
	const char *error = end->reason ? NULL : sp_error_name(SP_ERROR_TRANSPORT);

	if (visit->phase == VISIT_OPENING) {
		visit_fail(visit, SP_ERROR_TRANSPORT, true, end->words);
		return;
	}
	if (end->ending == SP_LEASE_CANCELLED)
		visit_audit_lease(visit, SP_REASON_NONE, NULL, "cancelled", NULL);
	else
		visit_audit_lease(visit, end->reason, error, "cut", end->words);
	visit_free(visit, NULL);
}

static void on_resumed(void *context)
{
	const struct visit *visit = context;

	if (visit->front.relay)
		sp_relay_resume(visit->front.relay);
}

static void on_second(void *context)
{
	const struct visit *visit = context;

	if (visit->front.relay)
		sp_relay_check(visit->front.relay);
}

const struct port_handlers visit_port = {
    .admitted = on_admitted,
    .refused = visit_refused,
    .opened = on_opened,
    .cut = on_cut,
    .ended = on_ended,
    .resumed = on_resumed,
    .second = on_second,
};
