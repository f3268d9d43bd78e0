/* The way of a request to a port of the guest: the connection that the last one left, or another.
 */
#include <stdio.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "net/socket.h"
#include "spacebridge/gateway_web.h"

static bool on_admitted(void *context)
{
	(void)context;
	return true;
}

static int error_status(enum sp_error_kind error)
{
	if (error == SP_ERROR_OVERLOADED || error == SP_ERROR_UNAVAILABLE)
		return 503;
	return error == SP_ERROR_TIMEOUT ? 504 : 502;
}

static void on_refused(const struct port_refusal *refusal, void *context)
{
	struct web *web = context;

	if (refusal->answer)
		web_fail(web, 502, SP_ERROR_TRANSPORT, false,
		    "nothing in the guest listens on this port");
	else if (refusal->reason)
		web_refuse(web, refusal->reason, refusal->behind, refusal->words);
	else
		web_fail(web, error_status(refusal->error), refusal->error, refusal->sent,
		    refusal->words);
}

static void admitted(struct web *web)
{
	char note[SP_ERR_MAX];

	(void)snprintf(note, sizeof(note), "lease %s request", sp_lease_id(web->front.port->lease));
	web_audit(web, SP_REASON_NONE, NULL, NULL, note);
	web_exchange(web);
}

static void on_opened(void *context)
{
	admitted(context);
}

/* Between two requests there is nothing to cut of the client's. */
static void on_cut(void *context)
{
	struct web *web = context;
	struct ev_loop *loop = web->front.gateway->loop;

	if (web->phase != WEB_EXCHANGE && web->phase != WEB_TUNNEL)
		return;
	if (web->front.relay)
		sp_relay_stop(web->front.relay);
	ev_io_stop(loop, &web->front.readable);
	ev_io_stop(loop, &web->writable);
	sp_socket_abort(web->front.client);
}

static void on_ended(const struct sp_lease_end *end, void *context)
{
	struct web *web = context;

	if (web->phase == WEB_OPENING) {
		web_fail(web, 502, SP_ERROR_TRANSPORT, true, end->words);
		return;
	}
	web_audit(web, end->reason, end->reason ? NULL : sp_error_name(SP_ERROR_TRANSPORT), "cut",
	    end->words);
	if (web->phase == WEB_HEAD) {
		port_free(sp_steal(&web->front.port), NULL);
		web->started = false;
	} else {
		web_free(web, NULL);
	}
}

static void on_resumed(void *context)
{
	struct web *web = context;

	if (web->front.relay)
		sp_relay_resume(web->front.relay);
	else if (web->phase == WEB_EXCHANGE || web->phase == WEB_TUNNEL)
		web_watch(web);
}

/* A client that waits is not read: has it gone? */
static void on_second(void *context)
{
	struct web *web = context;

	if (web->front.relay)
		sp_relay_check(web->front.relay);
	else if ((web->phase == WEB_EXCHANGE || web->phase == WEB_TUNNEL) &&
		 sp_poll_one(web->front.client, 0, 0) > 0)
		web_end(web, "the client is gone");
}

static const struct port_handlers PORT = {
    .admitted = on_admitted,
    .refused = on_refused,
    .opened = on_opened,
    .cut = on_cut,
    .ended = on_ended,
    .resumed = on_resumed,
    .second = on_second,
    .data = web_data,
    .changed = web_changed,
};

/* The connection that the last request left may serve this one: it is its caller's, of its
 * execution and port, and still admitted as the record is now. */
static bool fits(const struct web *web)
{
	const struct sp_claims *a = &web->claims, *b = &web->port_claims;
	const struct gateway *gateway = web->front.gateway;
	const struct port *port = web->front.port;
	const struct sp_record *record;

	if (!port || !port->lease || port->paused ||
	    sp_store_current(gateway->store, gateway->sandbox, &record, NULL) ||
	    gateway_decide(gateway, a, record, false).reason)
		return false;
	return a->port == b->port && a->protocol == b->protocol &&
	       strcmp(a->caller, b->caller) == 0 &&
	       sp_compare(&a->identity, &b->identity, false, SP_USE_OPEN).reason == SP_REASON_NONE;
}

void web_find_port(struct web *web)
{
	struct gateway *gateway = web->front.gateway;

	if (fits(web)) {
		admitted(web);
		return;
	}
	port_free(sp_steal(&web->front.port), "another request needs another connection");
	web->started = false;
	if (gateway_is_full(gateway)) {
		web_fail(web, 503, SP_ERROR_OVERLOADED, false, GATEWAY_FULL);
		return;
	}
	web->port_claims = web->claims;
	web->phase = WEB_OPENING;
	if (port_open(gateway, &web->port_claims, false, &PORT, web, &web->front.port))
		web_fail(web, 503, SP_ERROR_INTERNAL, false, "out of memory");
}
