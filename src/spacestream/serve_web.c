/*
 * One connection: its bytes in and out, and how long each is waited for. Slowness has limits of
 * four kinds: no request (idle), a head, a body or a line that does not come to its end (whole),
 * a client that does not take its answer (idle), and one that does not go when all is said.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "net/socket.h"
#include "spacestream/serve.h"

#define PART_LIMIT 1. /* seconds for a client to read why it is refused, and to go */

static void end_work(struct web *web)
{
	if (web->work)
		web->work->end(web);
	web->work = NULL;
}

/* Whatever the request was holds nothing any more. */
static void let_go(struct web *web)
{
	end_work(web);
	web_body_end(web);
}

void web_free(struct web *web)
{
	struct server *server = web->server;

	ev_io_stop(server->loop, &web->readable);
	ev_io_stop(server->loop, &web->writable);
	ev_timer_stop(server->loop, &web->limit);
	let_go(web);
	TAILQ_REMOVE(&server->webs, web, link);
	server->connections--;
	sp_fd_close(&web->fd);
	free(web->out);
	free(web);
	sp_service_release(server->service);
	if (server->stopping && TAILQ_EMPTY(&server->webs))
		sp_service_exit(server->service);
}

/* What is under way must not look complete. */
static void cut(struct web *web)
{
	if (web->phase == WEB_BODY || web->phase == WEB_WORK)
		sp_socket_abort(web->fd);
	web_free(web);
}

static bool is_full(const struct web *web)
{
	return web->out_end - web->out_start > SERVE_OUT_FULL;
}

/* It is no longer among those who are silent. */
static void note_sign(struct web *web)
{
	struct webs *webs = &web->server->webs;

	TAILQ_REMOVE(webs, web, link);
	TAILQ_INSERT_TAIL(webs, web, link);
	web->sign_ms = sp_monotonic_ms();
}

void web_next(struct web *web)
{
	note_sign(web);
	let_go(web);
	web->lines = false;
	web->phase = web->keep_alive && !web->server->stopping ? WEB_HEAD : WEB_OVER;
}

/* --- limits --- */

static enum web_wait wait_of(const struct web *web)
{
	if (web->phase == WEB_OVER)
		return web->shut ? WAIT_PART : WAIT_READER;
	if (web->out_start < web->out_end)
		return WAIT_READER;
	if (web->phase == WEB_WORK)
		return web->work->limit(web) > 0 ? WAIT_WORK : WAIT_NOTHING;
	if (web->phase == WEB_HEAD)
		return web->size > 0 ? WAIT_WHOLE : WAIT_REQUEST;
	if (web->framed.done)
		return WAIT_NOTHING;
	if (!web->lines)
		return WAIT_WHOLE;
	/* A line that is whole waits for us. */
	if (web->op_count > 0)
		return WAIT_NOTHING;
	return web->body.start < web->body.end || web->body.skipping ? WAIT_WHOLE : WAIT_REQUEST;
}

static void set_limit(struct web *web)
{
	struct server *server = web->server;
	enum web_wait waits = wait_of(web);
	/* What goes out moves every limit: a request, or a part of its answer, is over. */
	bool same = waits == web->waits && web->waits_line == web->body.number;
	double seconds = (double)server->idle;

	if (same && !web->moved && ev_is_active(&web->limit))
		return;
	web->moved = false;
	web->waits = waits;
	web->waits_line = web->body.number;
	ev_timer_stop(server->loop, &web->limit);
	if (waits == WAIT_NOTHING)
		return;
	if (waits == WAIT_WHOLE)
		seconds = (double)server->whole;
	else if (waits == WAIT_PART)
		seconds = PART_LIMIT;
	else if (waits == WAIT_WORK)
		seconds = web->work->limit(web);
	ev_now_update(server->loop);
	ev_timer_set(&web->limit, seconds, 0.);
	ev_timer_start(server->loop, &web->limit);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct web *web = watcher->data;

	(void)loop;
	(void)events;
	if (web->waits == WAIT_WHOLE && !web->lines) {
		web_fail(web, 408, SP_ERROR_TIMEOUT, "no whole request came within --timeout");
		web_advance(web);
	} else if (web->waits == WAIT_WORK && web->work->late(web)) {
		web_advance(web);
	} else {
		cut(web);
	}
}

/* --- bytes --- */

static void throw_away(struct web *web)
{
	char bytes[4096];
	ssize_t n = sp_read_some(web->fd, bytes, sizeof(bytes));

	if (n == 0 || (n < 0 && n != -EAGAIN))
		web_free(web);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct web *web = watcher->data;
	ssize_t n;

	(void)loop;
	(void)events;
	if (web->phase == WEB_OVER) {
		throw_away(web);
		return;
	}
	n = sp_read_some(web->fd, web->in + web->size, sizeof(web->in) - web->size);
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		cut(web);
		return;
	}
	web->size += (size_t)n;
	web_advance(web);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	web_advance(watcher->data);
}

/* False: the client is gone. */
static bool flush(struct web *web)
{
	while (web->out_start < web->out_end) {
		ssize_t n = sp_write_some(
		    web->fd, web->out + web->out_start, web->out_end - web->out_start);
		if (n == -EAGAIN)
			return true;
		if (n < 0)
			return false;
		web->out_start += (size_t)n;
		web->moved = true;
	}
	web->out_start = web->out_end = 0;
	if (web->out_room > SERVE_OUT_FULL) {
		free(sp_steal(&web->out));
		web->out_room = 0;
	}
	if (web->phase == WEB_OVER && !web->shut) {
		web->shut = true;
		(void)shutdown(web->fd, SHUT_WR);
	}
	return true;
}

static void start_if(struct ev_loop *loop, ev_io *watcher, bool wanted)
{
	if (wanted)
		ev_io_start(loop, watcher);
	else
		ev_io_stop(loop, watcher);
}

static bool reads(const struct web *web)
{
	switch (web->phase) {
	case WEB_HEAD:
		return !is_full(web);
	case WEB_BODY:
		return !web->framed.done && web->size == 0 && !is_full(web);
	case WEB_WORK:
		return web->size < sizeof(web->in) && web->work->reads(web);
	default:
		return web->shut;
	}
}

static void watch(struct web *web)
{
	struct ev_loop *loop = web->server->loop;

	if (web->phase == WEB_OVER)
		end_work(web);
	start_if(loop, &web->readable, reads(web));
	start_if(loop, &web->writable, web->out_start < web->out_end);
	set_limit(web);
}

/* True: something was done, and more may be. */
static bool step(struct web *web)
{
	struct sp_err err = {0};
	ssize_t size;

	if (web->broken || web->phase == WEB_OVER || is_full(web))
		return false;
	if (web->phase == WEB_BODY)
		return web_body_step(web);
	if (web->phase == WEB_WORK)
		return web->work->step(web);
	if (web->server->stopping && web->size == 0) {
		web->phase = WEB_OVER;
		return false;
	}
	size = web->size > 0 ? sp_head_find(web->in, web->size, &err) : 0;
	if (size < 0)
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
	else if (size > 0) {
		note_sign(web);
		web_take_head(web, (size_t)size);
	} else if (web->server->stopping)
		web->phase = WEB_OVER;
	return size != 0;
}

void web_advance(struct web *web)
{
	size_t queued;
	bool again;

	do {
		while (step(web))
			;
		queued = web->out_end - web->out_start;
		if (web->broken || !flush(web)) {
			sp_socket_abort(web->fd);
			web_free(web);
			return;
		}
		/* There is room for what waited for it. */
		again = web->phase == WEB_WORK ? web->out_end - web->out_start < queued
					       : queued > SERVE_OUT_FULL && !is_full(web);
	} while (again);
	watch(web);
}

void web_stop(struct web *web)
{
	web->keep_alive = false;
	web_advance(web);
}

void web_accept(void *context, int fd)
{
	struct server *server = context;
	struct web *web = calloc(1, sizeof(*web));

	if (!web) {
		(void)close(fd);
		sp_service_release(server->service);
		return;
	}
	web->server = server;
	web->fd = fd;
	TAILQ_INIT(&web->ops);
	ev_io_init(&web->readable, on_readable, fd, EV_READ);
	ev_io_init(&web->writable, on_writable, fd, EV_WRITE);
	ev_init(&web->limit, on_limit);
	web->readable.data = web->writable.data = web->limit.data = web;
	TAILQ_INSERT_TAIL(&server->webs, web, link);
	web->sign_ms = sp_monotonic_ms();
	server->connections++;
	web_advance(web);
}
