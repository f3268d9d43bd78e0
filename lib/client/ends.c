/* Descriptors, and lines that are held until they are whole. */
#include "client/ends.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/limits.h"
#include "base/util.h"

#define READ_SIZE     (16 * 1024)
#define READS_A_TURN  4
#define LAST_LINES_MS 5000 /* for whole lines that output has not taken at the end */

struct sp_ends {
	struct ev_loop *loop;
	struct sp_pump *pump; /* NULL: no stream is open */
	int in, out, err;
	bool in_ended;
	ev_io readable, out_writable, err_writable, out_gone;
	ev_prepare closed; /* never started: fed to the loop as an event */
	bool is_gone;      /* nobody reads our output any more */
	size_t (*on_input)(void *context, const char *bytes, size_t size);
	void *context;
	bool lines;
	char *held; /* with `lines`: `due` bytes of whole lines, then a part of one */
	size_t held_size, due;
};

static void end_for(struct sp_ends *ends, enum sp_pump_ending ending, int code)
{
	if (ends->pump)
		sp_pump_end(ends->pump, ending, code);
}

/* A stream that was cut before our reader went has been cut: that may lie unread behind what he did
 * not take. */
static void on_closed(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_ends *ends = watcher->data;

	(void)loop;
	(void)events;
	if (ends->pump)
		end_for(ends, sp_pump_lost(ends->pump) ? SP_PUMP_CUT : SP_PUMP_CLOSED, 0);
}

static void output_gone(struct sp_ends *ends)
{
	ends->is_gone = true;
	ev_io_stop(ends->loop, &ends->out_gone);
	ev_feed_event(ends->loop, &ends->closed, EV_CUSTOM);
}

/* What a failed write comes to. */
static void output_failed(struct sp_ends *ends, int code)
{
	if (code == -EPIPE || code == -ECONNRESET)
		output_gone(ends);
	else
		end_for(ends, SP_PUMP_FAILED, code);
}

/* Nothing is ever read of a pipe that we write to, but its error is seen without a write. */
static void on_out_gone(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct pollfd one = {.fd = watcher->fd};

	(void)loop;
	(void)events;
	if (poll(&one, 1, 0) > 0 && one.revents & POLLERR)
		output_gone(watcher->data);
}

static bool is_pipe(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* As many bytes as it takes now; the rest when it is writable. All of them once it has failed. */
static size_t write_out(struct sp_ends *ends, ev_io *writable, const char *bytes, size_t size)
{
	ssize_t n = sp_write_some(writable->fd, bytes, size);

	if (n < 0 && n != -EAGAIN) {
		output_failed(ends, (int)n);
		return size;
	}
	if (n < (ssize_t)size)
		ev_io_start(ends->loop, writable);
	return n < 0 ? 0 : (size_t)n;
}

/* Writes whole lines out; true when none waits. */
static bool flush_lines(struct sp_ends *ends)
{
	size_t n = ends->due ? write_out(ends, &ends->out_writable, ends->held, ends->due) : 0;

	if (n > 0) {
		memmove(ends->held, ends->held + n, ends->held_size - n);
		ends->held_size -= n;
		ends->due -= n;
	}
	return ends->due == 0;
}

static size_t take_lines(struct sp_ends *ends, const char *bytes, size_t size)
{
	const char *lf;

	if (!flush_lines(ends))
		return 0;
	if (ends->held_size + size > SP_LINE_MAX) {
		end_for(ends, SP_PUMP_FAILED, SP_E_TOO_LARGE);
		return size;
	}
	memcpy(ends->held + ends->held_size, bytes, size);
	ends->held_size += size;
	lf = memrchr(ends->held, '\n', ends->held_size);
	ends->due = lf ? (size_t)(lf - ends->held) + 1 : 0;
	(void)flush_lines(ends);
	return size;
}

static size_t output(void *context, enum sp_frame_type type, const char *bytes, size_t size)
{
	struct sp_ends *ends = context;

	if (type == SP_FRAME_ERROR)
		return write_out(ends, &ends->err_writable, bytes, size);
	return ends->lines ? take_lines(ends, bytes, size)
			   : write_out(ends, &ends->out_writable, bytes, size);
}

/* The service or command says no more; a reader of ours shall see the end. */
static void output_end(void *context)
{
	struct sp_ends *ends = context;

	ev_io_stop(ends->loop, &ends->out_writable);
	ev_io_stop(ends->loop, &ends->out_gone);
	(void)shutdown(ends->out, SHUT_WR);
	sp_fd_close(&ends->out);
}

static void room(void *context)
{
	struct sp_ends *ends = context;

	if (!ends->in_ended)
		ev_io_start(ends->loop, &ends->readable);
}

static void opened(void *context, struct sp_pump *pump)
{
	struct sp_ends *ends = context;

	ends->pump = pump;
	if (ends->in_ended)
		sp_pump_end_input(pump);
	else
		ev_io_start(ends->loop, &ends->readable);
	if (ends->out >= 0 && is_pipe(ends->out))
		ev_io_start(ends->loop, &ends->out_gone);
}

static void closed(void *context)
{
	struct sp_ends *ends = context;

	ends->pump = NULL;
	ev_io_stop(ends->loop, &ends->readable);
	ev_io_stop(ends->loop, &ends->out_gone);
	ends->held_size = ends->due;
}

static int say(void *context, const char *line)
{
	struct sp_ends *ends = context;
	size_t size = strlen(line);

	if (!ends->lines || ends->held_size + size + 1 > SP_LINE_MAX)
		return SP_E_TOO_LARGE;
	memcpy(ends->held + ends->held_size, line, size);
	ends->held_size += size;
	ends->held[ends->held_size++] = '\n';
	ends->due = ends->held_size;
	(void)flush_lines(ends);
	return 0;
}

static bool gone(void *context)
{
	const struct sp_ends *ends = context;

	return ends->is_gone;
}

const struct sp_side sp_ends_side = {.opened = opened,
    .closed = closed,
    .output = output,
    .output_end = output_end,
    .room = room,
    .say = say,
    .gone = gone};

static void end_input(struct sp_ends *ends)
{
	ends->in_ended = true;
	ev_io_stop(ends->loop, &ends->readable);
	sp_pump_end_input(ends->pump);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_ends *ends = watcher->data;
	char bytes[READ_SIZE];

	(void)events;
	for (int i = 0; i < READS_A_TURN && ends->pump && !ends->in_ended; i++) {
		size_t fits = sp_pump_room(ends->pump), goes;
		ssize_t n;
		if (fits == 0) {
			sp_pump_ask_room(ends->pump);
			ev_io_stop(loop, watcher);
			return;
		}
		n = sp_read_some(ends->in, bytes, fits < sizeof(bytes) ? fits : sizeof(bytes));
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			end_input(ends);
			return;
		}
		goes = ends->on_input ? ends->on_input(ends->context, bytes, (size_t)n) : (size_t)n;
		/* The handler may have ended the stream. */
		if (goes > 0 && ends->pump)
			(void)sp_pump_put(ends->pump, bytes, goes);
	}
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_ends *ends = watcher->data;

	(void)events;
	ev_io_stop(loop, watcher);
	if (ends->lines && watcher == &ends->out_writable && !flush_lines(ends))
		return;
	if (ends->pump)
		sp_pump_resume(ends->pump);
}

int sp_ends_new(const struct sp_ends_options *options, struct sp_ends **ret)
{
	struct sp_ends *ends = calloc(1, sizeof(*ends));
	int in = options->in, out = options->out, error = options->err;

	if (!ends) {
		sp_fd_close(&in);
		sp_fd_close(&out);
		sp_fd_close(&error);
		return -ENOMEM;
	}
	ends->loop = options->loop;
	ends->in = options->in;
	ends->out = options->out;
	ends->err = options->err;
	ends->lines = options->lines;
	ends->on_input = options->on_input;
	ends->context = options->context;
	ev_io_init(&ends->readable, on_readable, ends->in, EV_READ);
	ev_io_init(&ends->out_writable, on_writable, ends->out, EV_WRITE);
	ev_io_init(&ends->err_writable, on_writable, ends->err, EV_WRITE);
	ev_io_init(&ends->out_gone, on_out_gone, ends->out, EV_READ);
	ev_prepare_init(&ends->closed, on_closed);
	ends->readable.data = ends->out_writable.data = ends->err_writable.data = ends;
	ends->out_gone.data = ends->closed.data = ends;
	ends->held = ends->lines ? malloc(SP_LINE_MAX) : NULL;
	if (ends->lines && !ends->held) {
		sp_ends_free(ends);
		return -ENOMEM;
	}
	*ret = ends;
	return 0;
}

void sp_ends_free(struct sp_ends *ends)
{
	if (!ends)
		return;
	ev_io_stop(ends->loop, &ends->out_writable);
	ev_io_stop(ends->loop, &ends->err_writable);
	(void)ev_clear_pending(ends->loop, &ends->closed);
	if (ends->due > 0)
		(void)sp_write_all(ends->out, ends->held, ends->due, LAST_LINES_MS);
	sp_fd_close(&ends->in);
	sp_fd_close(&ends->out);
	sp_fd_close(&ends->err);
	free(ends->held);
	free(ends);
}
