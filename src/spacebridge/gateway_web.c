/* One exchange: what is left of a request towards the guest, its answer back, and after an upgrade
 * the step to a stream. */
#include "spacebridge/gateway_web.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "net/socket.h"

/* A head and a body's bytes, chunked anew: a chunk of its own takes no less as it comes. */
#define PUT_MAX 61440u
_Static_assert(SP_HEAD_MAX + SP_HEAD_ADDED + GATEWAY_IN_MAX + 64 <= PUT_MAX, "one frame");
_Static_assert(PUT_MAX <= SP_FRAME_PAYLOAD_MAX, "one frame");

static struct {
	char bytes[PUT_MAX];
	size_t size;
} put;

static void add(const char *bytes, size_t size)
{
	if (size <= sizeof(put.bytes) - put.size) {
		memcpy(put.bytes + put.size, bytes, size);
		put.size += size;
	}
}

static bool on_body(void *context, const char *at, size_t size)
{
	const struct web *web = context;
	char head[24];
	int n = snprintf(head, sizeof(head), "%zx\r\n", size);

	if (web->chunked)
		add(head, (size_t)n);
	add(at, size);
	if (web->chunked)
		add("\r\n", 2);
	return true;
}

static int on_answer_head(http_parser *parser)
{
	struct web *web = parser->data;

	/* 101 to whom did not ask for it. */
	if (parser->status_code == 101 && !web->websocket)
		return -1;
	if (parser->status_code >= 200 && !http_should_keep_alive(parser))
		web->keep_alive = false;
	return web->method == HTTP_HEAD ? 1 : 0;
}

/* What is not final is followed by another. */
static int on_answer_done(http_parser *parser)
{
	struct web *web = parser->data;

	if (parser->status_code < 200 && parser->status_code != 101)
		return 0;
	web->response_done = true;
	http_parser_pause(parser, 1);
	return 0;
}

static const http_parser_settings RESPONSE = {
    .on_headers_complete = on_answer_head, .on_message_complete = on_answer_done};

void web_request_begin(struct web *web, const char *head, size_t size)
{
	put.size = 0;
	http_parser_init(&web->response, HTTP_RESPONSE);
	web->response.data = web;
	sp_body_begin(&web->request, head, size, on_body, web);
	web->request_done = web->request.done;
}

void web_watch(struct web *web)
{
	struct ev_loop *loop = web->front.gateway->loop;
	bool moves = !web->front.port->paused;

	if (moves && !web->request_done && !port_holds(web->front.port))
		ev_io_start(loop, &web->front.readable);
	else
		ev_io_stop(loop, &web->front.readable);
	/* Whoever does not go on with a body is not waited for for ever. */
	if (web->phase == WEB_EXCHANGE && !web->request_done) {
		web->front.limit.repeat = (double)web->front.gateway->config.half_close_timeout;
		ev_timer_again(loop, &web->front.limit);
	} else {
		ev_timer_stop(loop, &web->front.limit);
	}
	if (moves && (web->out || web->head))
		ev_io_start(loop, &web->writable);
	else
		ev_io_stop(loop, &web->writable);
}

/* What was read of the body, as it goes on. */
static void add_body(struct web *web)
{
	struct front *front = &web->front;

	if (web->request_done)
		return;
	front_used(front, sp_body_read(&web->request, front->in, front->size));
	web->request_done = web->request.done;
	if (web->request_done && web->chunked)
		add("0\r\n\r\n", 5);
}

/* False: not now, or it is over. */
static bool send_some(struct web *web)
{
	size_t size;

	if (port_enter(web->front.port)) {
		web_watch(web);
		return false;
	}
	put.size = 0;
	if (web->head)
		add(web->head, web->head_size);
	free(sp_steal(&web->head));
	if (web->front.size > 0)
		add_body(web);
	size = web->request.bad ? 0 : put.size;
	if (size > 0)
		port_put(web->front.port, put.bytes, size);
	port_leave(web->front.port, SP_LEASE_IN, size);
	if (!web->request.bad)
		return true;
	web_fail(web, 400, SP_ERROR_BAD_RECORD, true, "the body of the request is none");
	return false;
}

void web_exchange(struct web *web)
{
	web->phase = WEB_EXCHANGE;
	if (!web->started)
		port_start(web->front.port);
	web->started = true;
	if (send_some(web))
		web_changed(web);
}

void web_client_readable(struct web *web)
{
	ssize_t n = front_read(&web->front);

	if (n == -EAGAIN)
		return;
	if (n <= 0)
		web_end(web, "the client is gone");
	else if (send_some(web))
		web_changed(web);
}

/* --- the answer --- */

static int keep(struct web *web, const char *bytes, size_t size)
{
	web->out = malloc(size);
	if (!web->out)
		return -ENOMEM;
	memcpy(web->out, bytes, size);
	web->out_start = 0;
	web->out_end = size;
	return 0;
}

static void write_out(struct web *web, const char *bytes, size_t size)
{
	ssize_t n = sp_write_some(web->front.client, bytes, size);

	web->answered = true;
	if (n < 0 && n != -EAGAIN)
		return; /* gone: the other direction tells */
	n = n < 0 ? 0 : n;
	if ((size_t)n < size && keep(web, bytes + n, size - (size_t)n) < 0)
		web->broken = true;
}

/* The bytes that are the answer's. */
static size_t parse(struct web *web, const char *bytes, size_t size)
{
	size_t used;

	if (web->phase == WEB_TUNNEL)
		return size;
	if (web->phase != WEB_EXCHANGE || web->response_done) {
		web->broken = true;
		return 0;
	}
	used = http_parser_execute(&web->response, &RESPONSE, bytes, size);
	if (HTTP_PARSER_ERRNO(&web->response) != HPE_OK &&
	    HTTP_PARSER_ERRNO(&web->response) != HPE_PAUSED)
		web->broken = true;
	if (web->response_done && web->websocket && web->response.status_code == 101) {
		web->phase = WEB_TUNNEL;
		used = size;
	} else if (used < size) {
		web->broken = true;
	}
	return used;
}

size_t web_data(const char *bytes, size_t size, void *context)
{
	struct web *web = context;
	size_t used;

	if (web->out)
		return 0;
	used = parse(web, bytes, size);
	if (used > 0 && !web->broken)
		write_out(web, bytes, used);
	return size;
}

void web_client_writable(struct web *web)
{
	ssize_t n;

	if (web->head) {
		if (send_some(web))
			web_changed(web);
		return;
	}
	if (port_enter(web->front.port)) {
		web_watch(web);
		return;
	}
	n = sp_write_some(
	    web->front.client, web->out + web->out_start, web->out_end - web->out_start);
	port_leave(web->front.port, SP_LEASE_OUT, 0);
	if (n != -EAGAIN)
		web->out_start = n < 0 ? web->out_end : web->out_start + (size_t)n;
	if (web->out_start == web->out_end)
		free(sp_steal(&web->out));
	if (!web->out && web->front.port->kept)
		port_more(web->front.port);
	else
		web_changed(web);
}

/* The guest's connection comes to its end: for an answer that has no length it is the end. */
static bool ended_well(struct web *web)
{
	bool whole = web->front.port->guest_ended && !web->front.port->lost;

	if (whole && web->phase == WEB_EXCHANGE && !web->response_done)
		(void)http_parser_execute(&web->response, &RESPONSE, NULL, 0);
	return web->response_done;
}

static void finish_exchange(struct web *web)
{
	const struct port *port = web->front.port;
	bool goes_on = web->keep_alive && web->request_done;

	if (port->guest_ended || port->over || port->lost || !goes_on) {
		port_free(sp_steal(&web->front.port), "the exchange is over");
		web->started = false;
	}
	if (goes_on) {
		web_next(web);
		return;
	}
	web_part(web, "the exchange is over");
}

static void on_tunnel_ended(void *owner, int code, const char *words)
{
	if (code)
		web_end(owner, words);
	else
		web_free(owner, words);
}

/* Once nothing waits for either side it is a stream. */
static void tunnel_changed(struct web *web)
{
	const struct port *port = web->front.port;

	if (port->lost || port->over) {
		if (port->lost || port->status.kind != SP_STATUS_EXIT || port->status.number != 0)
			web_end(web, "the guest's side ended");
		else
			web_free(web, "both sides ended");
		return;
	}
	if (port->guest_ended && !web->shut) {
		web->shut = true;
		(void)shutdown(web->front.client, SHUT_WR);
	}
	web_watch(web);
	if (!port_holds(port) && front_pass(&web->front, false, on_tunnel_ended) < 0)
		web_end(web, "out of memory");
}

/* The guest may end a connection that waits for a request as it likes. */
static void idle_changed(struct web *web)
{
	const struct port *port = web->front.port;

	if (!port->guest_ended && !port->over && !port->lost && !web->broken)
		return;
	port_free(sp_steal(&web->front.port), "the guest ended it");
	web->started = web->broken = false;
}

void web_changed(void *context)
{
	struct web *web = context;
	const struct port *port = web->front.port;

	if (web->phase == WEB_HEAD) {
		idle_changed(web);
		return;
	}
	if (web->broken) {
		web_fail(web, 502, SP_ERROR_TRANSPORT, true, "the guest's answer is no HTTP");
		return;
	}
	if (web->out) {
		web_watch(web);
		return;
	}
	if (web->phase == WEB_TUNNEL) {
		tunnel_changed(web);
		return;
	}
	if ((port->guest_ended || port->over || port->lost) && !ended_well(web)) {
		web_fail(web, 502, SP_ERROR_TRANSPORT, true, "the guest ended without an answer");
		return;
	}
	if (web->response_done)
		finish_exchange(web);
	else if (web->front.size > 0 && !web->request_done && !port_holds(port))
		(void)send_some(web);
	else
		web_watch(web);
}
