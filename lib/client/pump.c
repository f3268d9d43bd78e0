/* Input is read when the stream has room for it, the stream when output has. */
#include "client/pump.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/limits.h"
#include "base/util.h"
#include "stream/channel.h"

#define READ_SIZE     (16 * 1024)
#define READS_A_TURN  4
#define LAST_LINES_MS 5000 /* for whole lines that output has not taken at the end */

/* A stream, which ends a little later than it is given up. */
struct attached {
	struct sp_pump *pump; /* NULL: given up */
	struct sp_channel *channel;
	bool has_status;
	struct sp_status status;
	enum sp_pump_ending ending; /* what we ended it for; SP_PUMP_CUT: we did not */
	int code;
};

struct sp_pump {
	struct ev_loop *loop;
	const struct sp_pump_handlers *handlers;
	void *context;
	struct attached *attached; /* NULL: none is open */
	int in, out, err;
	bool in_ended;
	ev_io readable, out_writable, err_writable, out_gone;
	ev_prepare closed; /* never started: fed to the loop as an event */
	bool is_gone;      /* nobody reads our output any more */
	uint64_t received;
	bool lines;
	char *held; /* with `lines`: `due` bytes of whole lines, then a part of one */
	size_t held_size, due;
};

static void end_for(struct sp_pump *pump, enum sp_pump_ending ending, int code)
{
	struct attached *attached = pump->attached;

	if (!attached || attached->ending != SP_PUMP_CUT)
		return;
	attached->ending = ending;
	attached->code = code;
	sp_channel_close(attached->channel);
}

/* A stream that was cut before our reader went has been cut: that may lie unread behind what he did
 * not take. */
static void on_closed(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_pump *pump = watcher->data;
	bool lost = pump->attached && sp_channel_lost(pump->attached->channel);

	(void)loop;
	(void)events;
	end_for(pump, lost ? SP_PUMP_CUT : SP_PUMP_CLOSED, 0);
}

static void output_gone(struct sp_pump *pump)
{
	pump->is_gone = true;
	ev_io_stop(pump->loop, &pump->out_gone);
	ev_feed_event(pump->loop, &pump->closed, EV_CUSTOM);
}

/* What a failed write comes to. */
static void output_failed(struct sp_pump *pump, int code)
{
	if (code == -EPIPE || code == -ECONNRESET)
		output_gone(pump);
	else
		end_for(pump, SP_PUMP_FAILED, code);
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
static size_t write_out(struct sp_pump *pump, ev_io *writable, const char *bytes, size_t size)
{
	ssize_t n = sp_write_some(writable->fd, bytes, size);

	if (n < 0 && n != -EAGAIN) {
		output_failed(pump, (int)n);
		return size;
	}
	if (n < (ssize_t)size)
		ev_io_start(pump->loop, writable);
	return n < 0 ? 0 : (size_t)n;
}

/* Writes whole lines out; true when none waits. */
static bool flush_lines(struct sp_pump *pump)
{
	size_t n = pump->due ? write_out(pump, &pump->out_writable, pump->held, pump->due) : 0;

	if (n > 0) {
		memmove(pump->held, pump->held + n, pump->held_size - n);
		pump->held_size -= n;
		pump->due -= n;
	}
	return pump->due == 0;
}

static size_t take_lines(struct sp_pump *pump, const char *bytes, size_t size)
{
	const char *lf;

	if (!flush_lines(pump))
		return 0;
	if (pump->held_size + size > SP_LINE_MAX) {
		end_for(pump, SP_PUMP_FAILED, SP_E_TOO_LARGE);
		return size;
	}
	memcpy(pump->held + pump->held_size, bytes, size);
	pump->held_size += size;
	lf = memrchr(pump->held, '\n', pump->held_size);
	pump->due = lf ? (size_t)(lf - pump->held) + 1 : 0;
	(void)flush_lines(pump);
	return size;
}

/* The service or command says no more; a reader of ours shall see the end. */
static void close_out(struct sp_pump *pump)
{
	ev_io_stop(pump->loop, &pump->out_writable);
	ev_io_stop(pump->loop, &pump->out_gone);
	(void)shutdown(pump->out, SHUT_WR);
	sp_fd_close(&pump->out);
}

static void take_status(struct attached *attached, const struct sp_frame *frame)
{
	int bad = sp_status_parse(frame->data, frame->size, &attached->status, NULL);

	attached->has_status = !bad;
	end_for(attached->pump, bad ? SP_PUMP_FAILED : SP_PUMP_STATUS, bad);
}

static size_t on_frame(struct sp_channel *channel, const struct sp_frame *frame, void *context)
{
	struct attached *attached = context;
	struct sp_pump *pump = attached->pump;
	size_t taken = frame->size;

	(void)channel;
	if (!pump)
		return taken;
	if (frame->type == SP_FRAME_STATUS)
		take_status(attached, frame);
	else if (frame->type == SP_FRAME_END)
		close_out(pump);
	else if (frame->type == SP_FRAME_OUTPUT && pump->lines)
		taken = take_lines(pump, frame->data, frame->size);
	else if (frame->type == SP_FRAME_OUTPUT)
		taken = write_out(pump, &pump->out_writable, frame->data, frame->size);
	else if (frame->type == SP_FRAME_ERROR)
		taken = write_out(pump, &pump->err_writable, frame->data, frame->size);
	if (frame->type == SP_FRAME_OUTPUT || frame->type == SP_FRAME_ERROR)
		pump->received += taken;
	return taken;
}

static void on_room(struct sp_channel *channel, void *context)
{
	struct attached *attached = context;

	(void)channel;
	if (attached->pump && !attached->pump->in_ended)
		ev_io_start(attached->pump->loop, &attached->pump->readable);
}

static void on_close(struct sp_channel *channel, int code, void *context)
{
	struct attached *attached = context;
	struct sp_pump *pump = attached->pump;
	struct sp_pump_end end = {
	    .ending = attached->ending, .status = attached->status, .code = attached->code};

	(void)channel;
	if (pump) {
		if (end.ending == SP_PUMP_CUT && (code == SP_E_BAD_RECORD || code == -ENOMEM))
			end = (struct sp_pump_end){.ending = SP_PUMP_FAILED, .code = code};
		pump->attached = NULL;
		ev_io_stop(pump->loop, &pump->readable);
		ev_io_stop(pump->loop, &pump->out_gone);
		pump->held_size = pump->due;
		pump->handlers->on_end(pump->context, &end);
	}
	free(attached);
}

static void end_input(struct sp_pump *pump)
{
	pump->in_ended = true;
	ev_io_stop(pump->loop, &pump->readable);
	sp_channel_end(pump->attached->channel);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_pump *pump = watcher->data;
	char bytes[READ_SIZE];

	(void)events;
	for (int i = 0; i < READS_A_TURN && pump->attached && !pump->in_ended; i++) {
		struct sp_channel *channel = pump->attached->channel;
		size_t room = sp_channel_room(channel), goes;
		ssize_t n;
		if (room == 0) {
			sp_channel_ask_room(channel);
			ev_io_stop(loop, watcher);
			return;
		}
		n = sp_read_some(pump->in, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			end_input(pump);
			return;
		}
		goes = pump->handlers->on_input
			   ? pump->handlers->on_input(pump->context, bytes, (size_t)n)
			   : (size_t)n;
		/* The handler may have ended the stream. */
		if (goes > 0 && pump->attached)
			(void)sp_channel_put(pump->attached->channel, SP_FRAME_INPUT, bytes, goes);
	}
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_pump *pump = watcher->data;

	(void)events;
	ev_io_stop(loop, watcher);
	if (pump->lines && watcher == &pump->out_writable && !flush_lines(pump))
		return;
	if (pump->attached)
		sp_channel_resume(pump->attached->channel);
}

int sp_pump_new(const struct sp_pump_options *options, const struct sp_pump_handlers *handlers,
    void *context, struct sp_pump **ret)
{
	struct sp_pump *pump = calloc(1, sizeof(*pump));
	int in = options->in, out = options->out, error = options->err;

	if (!pump) {
		sp_fd_close(&in);
		sp_fd_close(&out);
		sp_fd_close(&error);
		return -ENOMEM;
	}
	pump->loop = options->loop;
	pump->handlers = handlers;
	pump->context = context;
	pump->in = options->in;
	pump->out = options->out;
	pump->err = options->err;
	pump->lines = options->lines;
	ev_io_init(&pump->readable, on_readable, pump->in, EV_READ);
	ev_io_init(&pump->out_writable, on_writable, pump->out, EV_WRITE);
	ev_io_init(&pump->err_writable, on_writable, pump->err, EV_WRITE);
	ev_io_init(&pump->out_gone, on_out_gone, pump->out, EV_READ);
	ev_prepare_init(&pump->closed, on_closed);
	pump->readable.data = pump->out_writable.data = pump->err_writable.data = pump;
	pump->out_gone.data = pump->closed.data = pump;
	pump->held = pump->lines ? malloc(SP_LINE_MAX) : NULL;
	if (pump->lines && !pump->held) {
		sp_pump_free(pump);
		return -ENOMEM;
	}
	*ret = pump;
	return 0;
}

void sp_pump_free(struct sp_pump *pump)
{
	if (!pump)
		return;
	sp_pump_stop(pump);
	ev_io_stop(pump->loop, &pump->out_writable);
	ev_io_stop(pump->loop, &pump->err_writable);
	(void)ev_clear_pending(pump->loop, &pump->closed);
	if (pump->due > 0)
		(void)sp_write_all(pump->out, pump->held, pump->due, LAST_LINES_MS);
	sp_fd_close(&pump->in);
	sp_fd_close(&pump->out);
	sp_fd_close(&pump->err);
	free(pump->held);
	free(pump);
}

int sp_pump_begin(struct sp_pump *pump, int fd, const char *rest, size_t size)
{
	static const struct sp_channel_handlers handlers = {
	    .on_frame = on_frame, .on_room = on_room, .on_close = on_close};
	struct attached *attached = calloc(1, sizeof(*attached));

	if (!attached || sp_channel_new(pump->loop, fd, SP_FRAME_FROM_GUEST, &handlers, attached,
			     &attached->channel) < 0) {
		free(attached);
		sp_fd_close(&fd);
		return -ENOMEM;
	}
	attached->pump = pump;
	attached->ending = SP_PUMP_CUT;
	pump->attached = attached;
	if (sp_channel_start(attached->channel, rest, size) < 0) {
		sp_pump_stop(pump);
		return -ENOMEM;
	}
	if (pump->in_ended)
		sp_channel_end(attached->channel);
	else
		ev_io_start(pump->loop, &pump->readable);
	if (pump->out >= 0 && is_pipe(pump->out))
		ev_io_start(pump->loop, &pump->out_gone);
	return 0;
}

int sp_pump_say(struct sp_pump *pump, const char *line)
{
	size_t size = strlen(line);

	if (!pump->lines || pump->held_size + size + 1 > SP_LINE_MAX)
		return SP_E_TOO_LARGE;
	memcpy(pump->held + pump->held_size, line, size);
	pump->held_size += size;
	pump->held[pump->held_size++] = '\n';
	pump->due = pump->held_size;
	(void)flush_lines(pump);
	return 0;
}

void sp_pump_resize(struct sp_pump *pump, unsigned rows, unsigned cols)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"rows\":%u,\"cols\":%u}", rows, cols);

	/* With a stream so full of input that this does not fit, the next change is told. */
	if (pump->attached && sp_channel_room(pump->attached->channel) >= (size_t)n)
		(void)sp_channel_put(pump->attached->channel, SP_FRAME_RESIZE, text, (size_t)n);
}

void sp_pump_stop(struct sp_pump *pump)
{
	struct attached *attached = sp_steal(&pump->attached);

	if (!attached)
		return;
	attached->pump = NULL;
	ev_io_stop(pump->loop, &pump->readable);
	ev_io_stop(pump->loop, &pump->out_gone);
	sp_channel_close(attached->channel);
}

bool sp_pump_output_gone(const struct sp_pump *pump)
{
	return pump->is_gone;
}

uint64_t sp_pump_received(const struct sp_pump *pump)
{
	return pump->received;
}
