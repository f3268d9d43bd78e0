/* A session's descriptors: output into the ring as far as it may, input as far as it is taken. */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/session_inner.h"
#include "guest/value.h"
#include "record/json.h"

#define READ_SIZE    (16u * 1024u)
#define READS_A_TURN 4
#define READS_AT_END 64 /* a pipe's worth; one that is filled further has another writer */

static void close_output(struct sp_session *session, struct sp_session_pipe *pipe)
{
	ev_io_stop(session->sessions->loop, &pipe->io);
	sp_fd_close(&pipe->fd);
}

static void close_input(struct sp_session *session)
{
	ev_io_stop(session->sessions->loop, &session->in_io);
	sp_fd_close(&session->in);
}

void sp_session_close_pipes(struct sp_session *session)
{
	close_output(session, &session->out);
	close_output(session, &session->err);
	close_input(session);
}

/* How much may be read into the ring now, where it comes to lie in one piece. */
static size_t room(struct sp_session *session, char **ret_space)
{
	size_t fits, free_bytes = SP_RING_SIZE;

	*ret_space = sp_ring_space(&session->ring, &fits);
	if (session->listener)
		free_bytes -= (size_t)(session->ring.end - session->passed);
	else if (session->waits)
		free_bytes -= (size_t)session->ring.end;
	if (fits > free_bytes)
		fits = free_bytes;
	return fits < READ_SIZE ? fits : READ_SIZE;
}

/* One read. False when there is nothing more to be had for now, or for ever. */
static bool read_some(struct sp_session *session, struct sp_session_pipe *pipe)
{
	char *space;
	size_t fits = room(session, &space);
	ssize_t n;

	if (fits == 0) {
		ev_io_stop(session->sessions->loop, &pipe->io);
		return false;
	}
	if (session->exited && fits > pipe->left)
		fits = pipe->left;
	n = fits > 0 ? sp_read_some(pipe->fd, space, fits) : 0;
	if (n > 0) {
		sp_ring_add(&session->ring, (size_t)n, pipe->of_error);
		pipe->left -= session->exited ? (size_t)n : 0;
		return true;
	}
	/* What was written before the command ended is there at once; for what others, left behind
	 * in the background, may still write nobody waits. */
	if (n != -EAGAIN || session->exited)
		close_output(session, pipe);
	return false;
}

static void read_output(struct sp_session *session, struct sp_session_pipe *pipe)
{
	bool more = true;

	if (pipe->fd >= 0)
		ev_io_start(session->sessions->loop, &pipe->io);
	for (int i = 0; pipe->fd >= 0 && more && (i < READS_A_TURN || session->exited); i++)
		more = read_some(session, pipe);
}

static void settle(struct sp_session *session)
{
	if (!session->exited || session->ended || session->out.fd >= 0 || session->err.fd >= 0)
		return;
	session->ended = true;
	close_input(session);
	ev_timer_stop(session->sessions->loop, &session->timer);
	session->waits = false;
	if (!session->listener) {
		ev_timer_set(&session->timer, SP_SESSION_KEPT, 0.);
		ev_timer_start(session->sessions->loop, &session->timer);
	}
}

void sp_session_pump(struct sp_session *session)
{
	read_output(session, &session->out);
	read_output(session, &session->err);
	settle(session);
}

static void tell_output(struct sp_session *session)
{
	if (session->listener)
		session->listener->on_output(session->context);
}

static void on_output(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_session *session = watcher->data;
	struct sp_session_pipe *pipe = watcher == &session->out.io ? &session->out : &session->err;

	(void)loop;
	(void)events;
	read_output(session, pipe);
	settle(session);
	tell_output(session);
}

static void on_child(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct sp_session *session = watcher->data;

	(void)events;
	ev_child_stop(loop, watcher);
	session->exited = true;
	session->wait_status = watcher->rstatus;
	sp_session_pump(session);
	tell_output(session);
}

static void on_input(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_session *session = watcher->data;

	(void)events;
	ev_io_stop(loop, watcher);
	if (session->listener)
		session->listener->on_input(session->context);
}

void sp_session_watch(struct sp_session *session)
{
	struct ev_loop *loop = session->sessions->loop;

	ev_io_init(&session->out.io, on_output, session->out.fd, EV_READ);
	ev_io_init(&session->err.io, on_output, session->err.fd, EV_READ);
	ev_io_init(&session->in_io, on_input, session->in, EV_WRITE);
	ev_child_init(&session->child, on_child, session->pid, 0);
	session->out.io.data = session->err.io.data = session->in_io.data = session;
	session->child.data = session;
	ev_io_start(loop, &session->out.io);
	if (session->err.fd >= 0)
		ev_io_start(loop, &session->err.io);
	ev_child_start(loop, &session->child);
	session->waits = true;
	ev_now_update(loop);
	ev_timer_start(loop, &session->timer);
}

size_t sp_session_write(struct sp_session *session, const char *bytes, size_t size)
{
	ssize_t n = session->in >= 0 ? sp_write_some(session->in, bytes, size) : (ssize_t)size;

	if (n == -EAGAIN)
		n = 0;
	if (n < 0) {
		close_input(session);
		return size;
	}
	if ((size_t)n < size)
		ev_io_start(session->sessions->loop, &session->in_io);
	return (size_t)n;
}

void sp_session_end_input(struct sp_session *session)
{
	struct termios settings;

	if (!session->terminal) {
		close_input(session);
		return;
	}
	if (session->in >= 0 && tcgetattr(session->in, &settings) == 0 && settings.c_lflag & ICANON)
		(void)sp_write_some(session->in, &settings.c_cc[VEOF], 1);
}

int sp_session_resize(struct sp_session *session, const json_t *size, struct sp_err *err)
{
	int64_t rows = 0, cols = 0;
	const json_t *rows_json, *cols_json;
	const struct sp_json_field fields[] = {
	    {"rows", SP_JSON_INTEGER, false, &rows_json},
	    {"cols", SP_JSON_INTEGER, false, &cols_json},
	};
	struct winsize window = {0};
	int bad = sp_json_take(size, "size", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_number(rows_json, "rows", 1, UINT16_MAX, &rows, err)) ||
	    (bad = sp_value_number(cols_json, "cols", 1, UINT16_MAX, &cols, err)))
		return bad;
	if (!session->terminal)
		return sp_fail(err, -ENOTTY, "the session has no terminal");
	if (session->in < 0)
		return sp_fail(err, -ESRCH, "the session has ended");
	window.ws_row = (unsigned short)rows;
	window.ws_col = (unsigned short)cols;
	return ioctl(session->in, TIOCSWINSZ, &window) < 0 ? sp_fail_errno(err, "resize") : 0;
}
