/*
 * A connection's life: open, draining (what is queued goes out), ending (on_close is due). Handlers
 * run from the loop only; freeing happens in one place, finish(), after the last of them.
 */
#include "net/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"

#define FIRST_ROOM   4096u
#define QUEUE_BOUND  (1024u * 1024u)
#define KEPT_ROOM    (256u * 1024u)
#define DRAIN_LIMIT  5.0
#define READS_A_TURN 4 /* so that one busy peer does not starve the others */

struct sp_conn {
	struct ev_loop *loop;
	const struct sp_conn_handlers *handlers;
	void *context;
	int fd, code;
	bool paused, ended, end_told, skipping, draining, ending, taken, was_full;
	ev_io readable, writable;
	ev_prepare again, flush, finish; /* never started: fed to the loop as events */
	ev_timer idle, drain_limit;
	double idle_seconds;
	char *in;
	size_t in_start, in_scanned, in_end, in_room;
	char *out;
	size_t out_start, out_end, out_room;
};

static void end_with(struct sp_conn *conn, int code)
{
	if (conn->ending)
		return;
	conn->ending = true;
	conn->code = code;
	ev_io_stop(conn->loop, &conn->readable);
	ev_io_stop(conn->loop, &conn->writable);
	ev_feed_event(conn->loop, &conn->finish, EV_CUSTOM);
}

static void release(struct sp_conn *conn)
{
	ev_io_stop(conn->loop, &conn->readable);
	ev_io_stop(conn->loop, &conn->writable);
	ev_timer_stop(conn->loop, &conn->idle);
	ev_timer_stop(conn->loop, &conn->drain_limit);
	(void)ev_clear_pending(conn->loop, &conn->again);
	(void)ev_clear_pending(conn->loop, &conn->flush);
	(void)ev_clear_pending(conn->loop, &conn->finish);
	free(conn->in);
	free(conn->out);
	sp_fd_close(&conn->fd);
	free(conn);
}

static void on_finish(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_conn *conn = watcher->data;

	(void)loop;
	(void)events;
	if (!conn->taken)
		conn->handlers->on_close(conn, conn->code, conn->context);
	release(conn);
}

static void touch(struct sp_conn *conn)
{
	if (conn->idle_seconds > 0)
		ev_timer_again(conn->loop, &conn->idle);
}

static void on_idle(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	end_with(watcher->data, SP_E_TIMEOUT);
}

static void on_drain_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	end_with(watcher->data, 0);
}

static void report_too_long(struct sp_conn *conn)
{
	if (conn->handlers->on_too_long)
		conn->handlers->on_too_long(conn, conn->context);
	else
		end_with(conn, SP_E_TOO_LARGE);
}

/* One whole line from the buffer to its handler. False when there is none. */
static bool deliver_one(struct sp_conn *conn)
{
	size_t size;
	char *line,
	    *lf = conn->in_end > conn->in_scanned
		      ? memchr(conn->in + conn->in_scanned, '\n', conn->in_end - conn->in_scanned)
		      : NULL;

	if (!lf) {
		conn->in_scanned = conn->in_end;
		return false;
	}
	line = conn->in + conn->in_start;
	size = (size_t)(lf - line);
	conn->in_start = conn->in_scanned = (size_t)(lf - conn->in) + 1;
	if (conn->skipping) {
		conn->skipping = false;
	} else if (size > SP_LINE_MAX) {
		report_too_long(conn);
	} else {
		*lf = '\0';
		conn->handlers->on_line(conn, line, size, conn->context);
	}
	return true;
}

/* The buffer holds no LF, and more than a line may have: the line is told once, the rest of it
 * dropped as it comes. */
static void skip_too_long(struct sp_conn *conn)
{
	bool known = conn->skipping;

	conn->in_start = conn->in_scanned = conn->in_end = 0;
	conn->skipping = true;
	if (!known)
		report_too_long(conn);
}

static bool may_read(const struct sp_conn *conn)
{
	return !conn->paused && !conn->ending && !conn->draining;
}

static void deliver(struct sp_conn *conn)
{
	while (may_read(conn) && deliver_one(conn))
		;
	if (!may_read(conn))
		return;
	if (conn->skipping || conn->in_end - conn->in_start > SP_LINE_MAX)
		skip_too_long(conn);
	if (!may_read(conn))
		return;
	if (conn->ended && !conn->end_told) {
		conn->end_told = true;
		if (conn->handlers->on_end)
			conn->handlers->on_end(conn, conn->context);
		else
			end_with(conn, SP_E_CLOSED);
	}
}

/* Room behind in_end; an idle connection gives a grown buffer back. */
static int make_room(struct sp_conn *conn)
{
	size_t pending = conn->in_end - conn->in_start;

	if (conn->in && conn->in_start > 0) {
		memmove(conn->in, conn->in + conn->in_start, pending);
		conn->in_scanned -= conn->in_start;
		conn->in_end = pending;
		conn->in_start = 0;
	}
	if (conn->in_end == conn->in_room) {
		size_t room = conn->in_room ? conn->in_room * 2 : FIRST_ROOM;
		char *larger = realloc(conn->in, room);
		if (!larger)
			return -ENOMEM;
		conn->in = larger;
		conn->in_room = room;
	}
	return 0;
}

static void shrink(struct sp_conn *conn)
{
	if (conn->in_room > 16 * FIRST_ROOM && conn->in_start == conn->in_end) {
		free(conn->in);
		conn->in = NULL;
		conn->in_start = conn->in_scanned = conn->in_end = conn->in_room = 0;
	}
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_conn *conn = watcher->data;

	(void)loop;
	(void)events;
	for (int i = 0; i < READS_A_TURN && may_read(conn) && !conn->ended; i++) {
		ssize_t n = make_room(conn);
		size_t room = conn->in_room - conn->in_end;
		if (n == 0)
			n = sp_read_some(conn->fd, conn->in + conn->in_end, room);
		if (n == -EAGAIN)
			break;
		if (n < 0) {
			end_with(conn, (int)n);
			return;
		}
		touch(conn);
		conn->ended = n == 0;
		conn->in_end += (size_t)n;
		deliver(conn);
		if ((size_t)n < room)
			break;
	}
	if (conn->ended)
		ev_io_stop(conn->loop, &conn->readable);
	shrink(conn);
}

static void on_again(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	deliver(watcher->data);
}

size_t sp_conn_flush(struct sp_conn *conn)
{
	while (conn->out_start < conn->out_end && !conn->ending) {
		ssize_t n = sp_write_some(
		    conn->fd, conn->out + conn->out_start, conn->out_end - conn->out_start);
		if (n == -EAGAIN)
			break;
		if (n < 0) {
			end_with(conn, (int)n);
			return 0;
		}
		conn->out_start += (size_t)n;
		touch(conn);
	}
	if (conn->out_start == conn->out_end) {
		conn->out_start = conn->out_end = 0;
		/* Grown for a reader that was slow once. */
		if (conn->out_room > KEPT_ROOM) {
			free(sp_steal(&conn->out));
			conn->out_room = 0;
		}
	}
	return conn->out_end - conn->out_start;
}

static void drained(struct sp_conn *conn, size_t left)
{
	if (left == 0)
		ev_io_stop(conn->loop, &conn->writable);
	else
		ev_io_start(conn->loop, &conn->writable);
	if (left == 0 && conn->draining)
		end_with(conn, 0);
	if (conn->was_full && left < QUEUE_BOUND / 2 && !conn->ending && !conn->draining) {
		conn->was_full = false;
		if (conn->handlers->on_drain)
			conn->handlers->on_drain(conn, conn->context);
	}
}

static void flush_and_watch(struct sp_conn *conn)
{
	size_t left = sp_conn_flush(conn);

	if (!conn->ending)
		drained(conn, left);
}

static void on_flush(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	flush_and_watch(watcher->data);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	flush_and_watch(watcher->data);
}

int sp_conn_new(struct ev_loop *loop, int fd, const struct sp_conn_handlers *handlers,
    void *context, struct sp_conn **ret)
{
	struct sp_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return -ENOMEM;
	conn->loop = loop;
	conn->fd = fd;
	conn->handlers = handlers;
	conn->context = context;
	ev_io_init(&conn->readable, on_readable, fd, EV_READ);
	ev_io_init(&conn->writable, on_writable, fd, EV_WRITE);
	ev_prepare_init(&conn->again, on_again);
	ev_prepare_init(&conn->flush, on_flush);
	ev_prepare_init(&conn->finish, on_finish);
	/* After everything else that is pending in this turn: many lines make one write. */
	ev_set_priority(&conn->flush, EV_MINPRI);
	ev_set_priority(&conn->finish, EV_MINPRI);
	ev_timer_init(&conn->idle, on_idle, 0., 0.);
	ev_timer_init(&conn->drain_limit, on_drain_limit, DRAIN_LIMIT, 0.);
	conn->readable.data = conn->writable.data = conn;
	conn->again.data = conn->flush.data = conn->finish.data = conn;
	conn->idle.data = conn->drain_limit.data = conn;
	ev_io_start(loop, &conn->readable);
	*ret = conn;
	return 0;
}

static int out_room(struct sp_conn *conn, size_t size)
{
	size_t queued = conn->out_end - conn->out_start;
	size_t room = conn->out_room ? conn->out_room : FIRST_ROOM;
	char *larger;

	if (queued + size > 2 * QUEUE_BOUND)
		return SP_E_TOO_LARGE;
	if (conn->out_end + size <= conn->out_room)
		return 0;
	if (conn->out_start > 0) {
		memmove(conn->out, conn->out + conn->out_start, queued);
		conn->out_start = 0;
		conn->out_end = queued;
	}
	while (room < queued + size)
		room *= 2;
	if (room == conn->out_room)
		return 0;
	larger = realloc(conn->out, room);
	if (!larger)
		return -ENOMEM;
	conn->out = larger;
	conn->out_room = room;
	return 0;
}

int sp_conn_put(struct sp_conn *conn, const char *line, size_t size)
{
	int bad;

	if (conn->ending || conn->draining)
		return 0;
	bad = out_room(conn, size + 1);
	if (bad)
		return bad;
	if (conn->out_start == conn->out_end)
		ev_feed_event(conn->loop, &conn->flush, EV_CUSTOM);
	memcpy(conn->out + conn->out_end, line, size);
	conn->out[conn->out_end + size] = '\n';
	conn->out_end += size + 1;
	conn->was_full |= conn->out_end - conn->out_start > QUEUE_BOUND;
	return 0;
}

bool sp_conn_full(const struct sp_conn *conn)
{
	return conn->out_end - conn->out_start > QUEUE_BOUND;
}

void sp_conn_pause(struct sp_conn *conn)
{
	conn->paused = true;
	ev_io_stop(conn->loop, &conn->readable);
}

void sp_conn_resume(struct sp_conn *conn)
{
	if (!conn->paused)
		return;
	conn->paused = false;
	if (!may_read(conn))
		return;
	if (!conn->ended)
		ev_io_start(conn->loop, &conn->readable);
	ev_feed_event(conn->loop, &conn->again, EV_CUSTOM);
}

void sp_conn_idle_limit(struct sp_conn *conn, double seconds)
{
	conn->idle_seconds = seconds;
	conn->idle.repeat = seconds > 0 ? seconds : 0.;
	ev_timer_again(conn->loop, &conn->idle);
}

void sp_conn_close(struct sp_conn *conn, bool drain)
{
	if (!drain || conn->out_start == conn->out_end) {
		end_with(conn, 0);
		return;
	}
	if (conn->ending || conn->draining)
		return;
	conn->draining = true;
	ev_io_stop(conn->loop, &conn->readable);
	ev_timer_start(conn->loop, &conn->drain_limit);
	ev_feed_event(conn->loop, &conn->flush, EV_CUSTOM);
}

void sp_conn_free(struct sp_conn *conn)
{
	release(conn);
}

/* Often called from on_line: the conn itself, with the line, goes only once its handlers have
 * returned. */
int sp_conn_take(struct sp_conn *conn, char **ret_rest, size_t *ret_size)
{
	size_t size = conn->in_end - conn->in_start;
	char *rest = size > 0 ? malloc(size) : NULL;

	if (size > 0 && !rest)
		return -ENOMEM;
	if (size > 0)
		memcpy(rest, conn->in + conn->in_start, size);
	(void)sp_conn_flush(conn);
	*ret_rest = rest;
	*ret_size = size;
	conn->taken = true;
	end_with(conn, 0);
	return sp_steal_fd(&conn->fd);
}

int sp_conn_fd(const struct sp_conn *conn)
{
	return conn->fd;
}

void *sp_conn_context(const struct sp_conn *conn)
{
	return conn->context;
}
