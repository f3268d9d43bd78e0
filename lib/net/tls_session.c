/* One TLS connection and the plain one behind it: its handshake, and the bytes between the two. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "net/socket.h"
#include "net/tls_private.h"

#define LOOK 1. /* seconds between two looks at `plain` */

/* Among those that shake hands still, or the others. */
static void take_out(struct sp_tls_session *session)
{
	struct sp_tls *tls = session->tls;

	if (session->plain >= 0) {
		TAILQ_REMOVE(&tls->sessions, session, entry);
	} else {
		TAILQ_REMOVE(&tls->shaking, session, entry);
		tls->shaking_count--;
	}
}

static void session_free(struct sp_tls_session *session)
{
	struct sp_tls *tls = session->tls;

	ev_io_stop(tls->loop, &session->client_io);
	ev_io_stop(tls->loop, &session->plain_io);
	ev_timer_stop(tls->loop, &session->timer);
	sp_openssl.SSL_free(session->ssl);
	take_out(session);
	sp_fd_close(&session->client);
	sp_fd_close(&session->plain);
	tls->count--;
	free(session);
}

void sp_tls_session_cut(struct sp_tls_session *session)
{
	sp_socket_abort(session->client);
	sp_socket_abort(session->plain);
	session_free(session);
}

static void fail(struct sp_tls_session *session)
{
	const struct sp_tls *tls = session->tls;

	session_free(session);
	tls->handlers->failed(tls->context);
}

/* Does it only have to wait? Then for what. */
static bool must_wait(struct sp_tls_session *session, int result)
{
	int code = sp_openssl.SSL_get_error(session->ssl, result);

	if (code == SSL_ERROR_WANT_READ)
		session->wants |= EV_READ;
	else if (code == SSL_ERROR_WANT_WRITE)
		session->wants |= EV_WRITE;
	else
		return false;
	return true;
}

/* --- each of these moves what goes at once; false: the connection is lost --- */

static bool take_from_client(struct sp_tls_session *session)
{
	struct sp_tls_buffer *in = &session->in;
	int n;

	if (session->client_ended || in->start < in->end)
		return true;
	n = sp_openssl.SSL_read(session->ssl, in->bytes, sizeof(in->bytes));
	if (n > 0) {
		in->start = 0;
		in->end = (size_t)n;
		return true;
	}
	/* An end without close_notify is none: somebody else may have sent it. */
	session->client_ended = sp_openssl.SSL_get_error(session->ssl, n) == SSL_ERROR_ZERO_RETURN;
	return session->client_ended || must_wait(session, n);
}

static bool give_to_plain(struct sp_tls_session *session)
{
	struct sp_tls_buffer *in = &session->in;

	if (in->start < in->end) {
		ssize_t n =
		    sp_write_some(session->plain, in->bytes + in->start, in->end - in->start);
		if (n < 0)
			return n == -EAGAIN;
		in->start += (size_t)n;
		if (in->start == in->end && !session->client_ended)
			session->wants |= EV_READ;
	}
	if (in->start == in->end && session->client_ended && !session->shut) {
		session->shut = true;
		return shutdown(session->plain, SHUT_WR) == 0;
	}
	return true;
}

static bool take_from_plain(struct sp_tls_session *session)
{
	struct sp_tls_buffer *out = &session->out;
	ssize_t n;

	if (session->plain_ended || out->start < out->end)
		return true;
	n = sp_read_some(session->plain, out->bytes, sizeof(out->bytes));
	if (n < 0)
		return n == -EAGAIN;
	out->start = 0;
	out->end = (size_t)n;
	session->plain_ended = n == 0;
	return true;
}

static bool give_to_client(struct sp_tls_session *session)
{
	struct sp_tls_buffer *out = &session->out;
	int n;

	if (out->start < out->end) {
		n = sp_openssl.SSL_write(
		    session->ssl, out->bytes + out->start, (int)(out->end - out->start));
		if (n <= 0)
			return must_wait(session, n);
		out->start += (size_t)n;
		if (out->start < out->end)
			session->wants |= EV_WRITE;
	}
	if (out->start == out->end && session->plain_ended && !session->notified) {
		n = sp_openssl.SSL_shutdown(session->ssl);
		if (n < 0)
			return must_wait(session, n);
		session->notified = true;
	}
	return true;
}

static void watch(struct sp_tls_session *session)
{
	struct ev_loop *loop = session->tls->loop;
	int plain = 0;

	if (session->plain >= 0) {
		if (session->in.start < session->in.end)
			plain |= EV_WRITE;
		if (session->out.start == session->out.end && !session->plain_ended)
			plain |= EV_READ;
	}
	ev_io_stop(loop, &session->client_io);
	ev_io_set(&session->client_io, session->client, session->wants);
	if (session->wants)
		ev_io_start(loop, &session->client_io);
	ev_io_stop(loop, &session->plain_io);
	ev_io_set(&session->plain_io, session->plain, plain);
	if (plain)
		ev_io_start(loop, &session->plain_io);
}

/* After a reset nothing of what is held goes on. */
static bool is_reset(const struct sp_tls_session *session)
{
	int events = sp_poll_one(session->plain, 0, 0);

	return events > 0 && (events & POLLERR) != 0;
}

static void move(struct sp_tls_session *session)
{
	session->wants = 0;
	sp_openssl.ERR_clear_error();
	if (is_reset(session) || !take_from_client(session) || !give_to_plain(session) ||
	    !take_from_plain(session) || !give_to_client(session))
		sp_tls_session_cut(session);
	else if (session->shut && session->notified)
		session_free(session);
	else
		watch(session);
}

static void on_move(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	move(watcher->data);
}

/* A client that takes nothing is no reason to miss that it was cut. */
static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	if (is_reset(watcher->data))
		sp_tls_session_cut(watcher->data);
}

static void begin(struct sp_tls_session *session)
{
	struct sp_tls *tls = session->tls;
	int ends[2];

	if (sp_tls_pair(ends) < 0) {
		fail(session);
		return;
	}
	take_out(session);
	session->plain = ends[0];
	TAILQ_INSERT_TAIL(&tls->sessions, session, entry);
	session->wants = EV_READ;
	ev_set_cb(&session->client_io, on_move);
	ev_timer_stop(tls->loop, &session->timer);
	ev_timer_init(&session->timer, on_look, LOOK, LOOK);
	ev_timer_start(tls->loop, &session->timer);
	watch(session);
	tls->handlers->accepted(tls->context, ends[1]);
}

static void on_handshake(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_tls_session *session = watcher->data;
	int result;

	(void)loop;
	(void)events;
	session->wants = 0;
	sp_openssl.ERR_clear_error();
	result = sp_openssl.SSL_accept(session->ssl);
	if (result == 1)
		begin(session);
	else if (must_wait(session, result))
		watch(session);
	else
		fail(session);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	fail(watcher->data);
}

void sp_tls_serve(struct sp_tls *tls, int fd, int limit_ms)
{
	struct sp_tls_session *session =
	    tls->count < SP_TLS_SESSIONS_MAX ? calloc(1, sizeof(*session)) : NULL;

	if (!session) {
		(void)close(fd);
		tls->handlers->failed(tls->context);
		return;
	}
	session->tls = tls;
	session->client = fd;
	session->plain = -1;
	session->wants = EV_READ;
	ev_io_init(&session->client_io, on_handshake, fd, EV_READ);
	ev_io_init(&session->plain_io, on_move, -1, 0);
	ev_timer_init(&session->timer, on_limit, (double)limit_ms / 1000., 0.);
	session->client_io.data = session->plain_io.data = session->timer.data = session;
	session->since_ms = sp_monotonic_ms();
	TAILQ_INSERT_TAIL(&tls->shaking, session, entry);
	tls->shaking_count++;
	tls->count++;
	session->ssl = sp_openssl.SSL_new(tls->shared);
	if (!session->ssl || sp_openssl.SSL_set_fd(session->ssl, fd) != 1) {
		fail(session);
		return;
	}
	ev_now_update(tls->loop);
	ev_timer_start(tls->loop, &session->timer);
	ev_io_start(tls->loop, &session->client_io);
}

unsigned sp_tls_shaking(const struct sp_tls *tls)
{
	return tls->shaking_count;
}

int64_t sp_tls_shaking_since(const struct sp_tls *tls)
{
	return TAILQ_FIRST(&tls->shaking)->since_ms;
}

void sp_tls_give_up(struct sp_tls *tls)
{
	fail(TAILQ_FIRST(&tls->shaking));
}
