/*
 * --http: every request head is parsed, admitted by its own capability, and goes on without it. The
 * guest's connection is kept between the requests of one client, but only as long as they come with
 * the same caller, execution and port.
 */
#include "spacebridge/gateway_web.h"

#include <errno.h>
#include <stdlib.h>
#include "base/io.h"
#include "base/util.h"
#include "net/socket.h"

void web_free(struct web *web, const char *words)
{
	struct gateway *gateway = web->front.gateway;

	ev_io_stop(gateway->loop, &web->writable);
	TAILQ_REMOVE(&gateway->webs, web, entry);
	front_done(&web->front, words);
	free(web->out);
	free(web->head);
	free(web);
}

/* What is under way must not look complete. */
void web_end(struct web *web, const char *words)
{
	if (web->phase == WEB_EXCHANGE || web->phase == WEB_TUNNEL)
		sp_socket_abort(web->front.client);
	web_free(web, words);
}

void web_part(struct web *web, const char *words)
{
	web->phase = WEB_PARTING;
	ev_io_stop(web->front.gateway->loop, &web->writable);
	front_part(&web->front, words);
}

static void look_for_head(struct web *web)
{
	struct sp_err err = {0};
	ssize_t size = sp_head_find(web->front.in, web->front.size, &err);

	if (size > 0) {
		web->front.started_us = sp_monotonic_us();
		web_take_head(web, (size_t)size);
	} else if (size < 0) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, false, err.message);
	}
}

void web_next(struct web *web)
{
	struct front *front = &web->front;

	web->claims = (struct sp_claims){.port = 0};
	web->phase = WEB_HEAD;
	web->request_done = web->response_done = web->answered = false;
	ev_io_stop(front->gateway->loop, &web->writable);
	ev_io_start(front->gateway->loop, &front->readable);
	front_limit(front, (double)front->gateway->config.half_close_timeout);
	if (front->size > 0)
		look_for_head(web);
}

/* --- the client's socket --- */

static void read_head(struct web *web)
{
	struct front *front = &web->front;
	bool first = front->size == 0;
	ssize_t n = front_read(front);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		web_free(web, "the client has ended");
		return;
	}
	if (first)
		front_limit(front, (double)front->gateway->config.connect_timeout_ms / 1000.);
	look_for_head(web);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct web *web = watcher->data;

	(void)loop;
	(void)events;
	if (web->phase == WEB_HEAD)
		read_head(web);
	else if (web->phase != WEB_PARTING)
		web_client_readable(web);
	else if (front_throw_away(&web->front))
		web_free(web, NULL);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	web_client_writable(watcher->data);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct web *web = watcher->data;

	(void)loop;
	(void)events;
	if (web->phase == WEB_HEAD && web->front.size > 0)
		web_fail(web, 408, SP_ERROR_TIMEOUT, false,
		    "no whole head came within [bridge] connect_timeout_ms");
	else
		web_end(web, "idle for too long");
}

void web_begin(struct gateway *gateway, int fd, char *in, size_t size)
{
	struct web *web = calloc(1, sizeof(*web));

	if (!web) {
		free(in);
		(void)close(fd);
		sp_service_release(gateway->service);
		return;
	}
	if (front_init(&web->front, gateway, fd, in, size, on_readable, on_limit, web) < 0) {
		free(web);
		return;
	}
	sp_relay_bound(fd);
	ev_io_init(&web->writable, on_writable, fd, EV_WRITE);
	web->writable.data = web;
	TAILQ_INSERT_TAIL(&gateway->webs, web, entry);
	look_for_head(web);
}
