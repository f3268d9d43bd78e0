/* A channel's life: open, finishing (the last frame is on its way), closed (on_close is due).
 * Freeing happens in one place, after on_close, from the loop. */
#include "stream/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "stream/rest.h"

#define READS_A_TURN 4   /* so that one busy peer does not starve the others */
#define HANGUP_LOOK  0.5 /* seconds between looks for a peer that has gone while we do not read */
#define LINGER       2.0 /* seconds for the peer to close after our last frame */
/* For a line before the frames, an end and a status, whatever else is queued. */
#define OUT_RESERVE (2u * SP_FRAME_HEADER + SP_FRAME_CONTROL_MAX)
#define OUT_SIZE    (SP_CHANNEL_OUT + OUT_RESERVE)

struct sp_channel {
	struct ev_loop *loop;
	const struct sp_channel_handlers *handlers;
	void *context;
	int fd, code;
	enum sp_frame_from peer;
	struct sp_frame_reader reader;
	bool started, blocked, at_end, ended, finishing, closed, wants_room;
	ev_io readable, writable;
	ev_timer idle, hangup, limit;
	ev_prepare again, flush, last; /* never started: fed to the loop as events */
	double half_close;
	/* What was read and not taken: first `piece` bytes of payload, then bytes not looked at. */
	struct sp_rest in;
	size_t piece;
	char *out;
	size_t out_start, out_end;
};

static void close_with(struct sp_channel *channel, int code)
{
	if (channel->closed)
		return;
	channel->closed = true;
	if (channel->code == 0)
		channel->code = code;
	ev_io_stop(channel->loop, &channel->readable);
	ev_io_stop(channel->loop, &channel->writable);
	ev_feed_event(channel->loop, &channel->last, EV_CUSTOM);
}

static void on_last(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_channel *channel = watcher->data;

	(void)events;
	channel->handlers->on_close(channel, channel->code, channel->context);
	ev_timer_stop(loop, &channel->idle);
	ev_timer_stop(loop, &channel->hangup);
	ev_timer_stop(loop, &channel->limit);
	(void)ev_clear_pending(loop, &channel->again);
	(void)ev_clear_pending(loop, &channel->flush);
	(void)ev_clear_pending(loop, &channel->last);
	sp_rest_done(&channel->in);
	free(channel->out);
	sp_fd_close(&channel->fd);
	free(channel);
}

static void touch(struct sp_channel *channel)
{
	if (channel->half_close > 0 && !channel->finishing &&
	    (channel->ended || channel->reader.ended))
		ev_timer_again(channel->loop, &channel->idle);
}

/* Our own fault or the peer's, told where there is a frame to tell it in. */
static void fail(struct sp_channel *channel, int code, const char *message)
{
	struct sp_status status = sp_status_of_error(code, message);

	channel->code = code;
	if (channel->peer == SP_FRAME_FROM_CLIENT)
		sp_channel_finish(channel, &status);
	else
		close_with(channel, code);
}

static void on_idle(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	fail(watcher->data, SP_E_TIMEOUT, "half closed, and idle for too long");
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_channel *channel = watcher->data;

	(void)loop;
	(void)events;
	close_with(channel, channel->out_start == channel->out_end ? 0 : SP_E_TIMEOUT);
}

static void on_hangup(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_channel *channel = watcher->data;

	(void)loop;
	(void)events;
	if (sp_channel_lost(channel))
		close_with(channel, SP_E_CLOSED);
}

/* Reading, or looking from time to time whether the peer is still there. */
static void watch_peer(struct sp_channel *channel)
{
	if (channel->closed)
		return;
	if (channel->started && !channel->at_end && !channel->blocked && !channel->in.bytes) {
		ev_timer_stop(channel->loop, &channel->hangup);
		ev_io_start(channel->loop, &channel->readable);
	} else {
		ev_io_stop(channel->loop, &channel->readable);
		if (!ev_is_active(&channel->hangup))
			ev_timer_again(channel->loop, &channel->hangup);
	}
}

/* Hands one piece over; false when not all of it was taken. */
static bool hand_over(struct sp_channel *channel, const struct sp_frame *frame)
{
	size_t taken = channel->handlers->on_frame(channel, frame, channel->context);

	if (frame->type >= SP_FRAME_STATUS || taken >= frame->size || channel->closed ||
	    channel->finishing)
		return true;
	channel->piece = frame->size - taken;
	channel->blocked = true;
	return false;
}

/* Gives to on_frame what the bytes hold, until it takes no more. Returns the bytes that are done
 * with; the rest begins with what is left of a piece. */
static size_t deliver(struct sp_channel *channel, const char *bytes, size_t size)
{
	size_t used = 0;

	while (used < size && !channel->closed && !channel->finishing) {
		struct sp_frame frame = {channel->reader.type, bytes + used, channel->piece};
		struct sp_err err = {0};
		size_t n = channel->piece;
		int got = 1;

		if (channel->piece > 0)
			channel->piece = 0;
		else
			got = sp_frame_take(
			    &channel->reader, bytes + used, size - used, &n, &frame, &err);
		if (got < 0) {
			fail(channel, got, err.message);
			return size;
		}
		used += n;
		touch(channel);
		if (got == 1 && !hand_over(channel, &frame))
			return used - channel->piece;
	}
	return size;
}

/* What was kept goes before what is read. */
static void deliver_kept(struct sp_channel *channel)
{
	struct sp_rest *in = &channel->in;

	if (!channel->blocked && in->bytes) {
		in->start += deliver(channel, in->bytes + in->start, in->end - in->start);
		if (in->start == in->end)
			sp_rest_done(in);
	}
	watch_peer(channel);
}

static void on_again(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	deliver_kept(watcher->data);
}

static void come_to_end(struct sp_channel *channel)
{
	channel->at_end = true;
	if (!sp_frame_over(&channel->reader) && !channel->finishing)
		close_with(channel, SP_E_CLOSED);
	else if (channel->finishing && channel->out_start == channel->out_end)
		close_with(channel, 0);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_channel *channel = watcher->data;
	char bytes[SP_CHANNEL_IN];

	(void)loop;
	(void)events;
	for (int i = 0; i < READS_A_TURN && !channel->blocked && !channel->closed; i++) {
		ssize_t n = sp_read_some(channel->fd, bytes, sizeof(bytes));
		size_t done;
		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			if (n < 0)
				close_with(channel, (int)n);
			else
				come_to_end(channel);
			break;
		}
		done = deliver(channel, bytes, (size_t)n);
		if (sp_rest_keep(&channel->in, bytes + done, (size_t)n - done))
			close_with(channel, -ENOMEM);
		if ((size_t)n < sizeof(bytes))
			break;
	}
	watch_peer(channel);
}

static int out_room(struct sp_channel *channel)
{
	size_t waiting = channel->out_end - channel->out_start;

	if (!channel->out)
		channel->out = malloc(OUT_SIZE);
	if (!channel->out)
		return -ENOMEM;
	if (channel->out_start > 0)
		memmove(channel->out, channel->out + channel->out_start, waiting);
	channel->out_start = 0;
	channel->out_end = waiting;
	return 0;
}

/* The room is there: callers have looked. */
static void queue(struct sp_channel *channel, const void *bytes, size_t size)
{
	if (OUT_SIZE - channel->out_end < size || !channel->out)
		if (out_room(channel)) {
			close_with(channel, -ENOMEM);
			return;
		}
	if (channel->out_start == channel->out_end)
		ev_feed_event(channel->loop, &channel->flush, EV_CUSTOM);
	memcpy(channel->out + channel->out_end, bytes, size);
	channel->out_end += size;
}

static void queue_frame(
    struct sp_channel *channel, enum sp_frame_type type, const void *bytes, size_t size)
{
	unsigned char header[SP_FRAME_HEADER];

	sp_frame_header(type, size, header);
	queue(channel, header, sizeof(header));
	if (size > 0 && !channel->closed)
		queue(channel, bytes, size);
}

size_t sp_channel_room(const struct sp_channel *channel)
{
	size_t waiting = channel->out_end - channel->out_start;

	if (channel->finishing || channel->ended || channel->closed ||
	    waiting + SP_FRAME_HEADER >= SP_CHANNEL_OUT)
		return 0;
	return SP_CHANNEL_OUT - SP_FRAME_HEADER - waiting;
}

void sp_channel_ask_room(struct sp_channel *channel)
{
	channel->wants_room = true;
}

size_t sp_channel_put(
    struct sp_channel *channel, enum sp_frame_type type, const void *bytes, size_t size)
{
	size_t room = sp_channel_room(channel), fits = size < room ? size : room;

	channel->wants_room |= fits < size;
	if (fits == 0)
		return 0;
	queue_frame(channel, type, bytes, fits);
	return fits;
}

int sp_channel_line(struct sp_channel *channel, const char *line, size_t size)
{
	if (size >= sp_channel_room(channel))
		return SP_E_TOO_LARGE;
	queue(channel, line, size);
	if (!channel->closed)
		queue(channel, "\n", 1);
	return 0;
}

void sp_channel_end(struct sp_channel *channel)
{
	if (channel->ended || channel->finishing || channel->closed)
		return;
	queue_frame(channel, SP_FRAME_END, NULL, 0);
	channel->ended = true;
	touch(channel);
}

/* Our last word is queued: what the peer still sends is read and dropped, so that its end is seen.
 */
static void finish(struct sp_channel *channel)
{
	channel->finishing = true;
	ev_timer_stop(channel->loop, &channel->idle);
	ev_timer_start(channel->loop, &channel->limit);
	channel->started = true;
	sp_channel_resume(channel);
}

void sp_channel_finish(struct sp_channel *channel, const struct sp_status *status)
{
	char text[SP_FRAME_CONTROL_MAX];
	size_t size = sp_status_print(status, text);

	if (channel->finishing || channel->closed)
		return;
	if (size == 0) {
		close_with(channel, -ENOMEM);
		return;
	}
	queue_frame(channel, SP_FRAME_STATUS, text, size);
	finish(channel);
}

void sp_channel_refuse(struct sp_channel *channel, const char *line, size_t size)
{
	if (channel->finishing || channel->closed)
		return;
	if (sp_channel_line(channel, line, size))
		close_with(channel, SP_E_TOO_LARGE);
	else
		finish(channel);
}

/* All is written, the last frame too. */
static void drained(struct sp_channel *channel)
{
	free(sp_steal(&channel->out));
	channel->out_start = channel->out_end = 0;
	ev_io_stop(channel->loop, &channel->writable);
	if (!channel->finishing)
		return;
	/* Closing on bytes that nobody has read resets the connection, and a relay on the way would
	 * throw away what we said. A peer that has more to send is given time to read it. */
	if (channel->at_end || sp_frame_over(&channel->reader)) {
		close_with(channel, 0);
		return;
	}
	ev_timer_stop(channel->loop, &channel->limit);
	ev_timer_set(&channel->limit, LINGER, 0.);
	ev_timer_start(channel->loop, &channel->limit);
}

/* The peer takes no more. A guest may have said its last word before: reading will tell. */
static void output_failed(struct sp_channel *channel, int code)
{
	if (channel->peer == SP_FRAME_FROM_CLIENT) {
		close_with(channel, code == -EPIPE ? SP_E_CLOSED : code);
		return;
	}
	channel->ended = true;
	channel->out_start = channel->out_end;
	drained(channel);
}

static void flush(struct sp_channel *channel)
{
	while (channel->out_start < channel->out_end && !channel->closed) {
		ssize_t n = sp_write_some(channel->fd, channel->out + channel->out_start,
		    channel->out_end - channel->out_start);
		if (n == -EAGAIN)
			break;
		if (n < 0) {
			output_failed(channel, (int)n);
			return;
		}
		channel->out_start += (size_t)n;
		touch(channel);
	}
	if (channel->closed)
		return;
	if (channel->out_start == channel->out_end)
		drained(channel);
	else
		ev_io_start(channel->loop, &channel->writable);
	if (channel->wants_room && sp_channel_room(channel) >= SP_CHANNEL_OUT / 2) {
		channel->wants_room = false;
		channel->handlers->on_room(channel, channel->context);
	}
}

static void on_flush(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	flush(watcher->data);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	flush(watcher->data);
}

static void init_watchers(struct sp_channel *channel)
{
	ev_io_init(&channel->readable, on_readable, channel->fd, EV_READ);
	ev_io_init(&channel->writable, on_writable, channel->fd, EV_WRITE);
	ev_timer_init(&channel->idle, on_idle, 0., 0.);
	ev_timer_init(&channel->hangup, on_hangup, 0., HANGUP_LOOK);
	ev_timer_init(&channel->limit, on_limit, SP_CHANNEL_DRAIN, 0.);
	ev_prepare_init(&channel->again, on_again);
	ev_prepare_init(&channel->flush, on_flush);
	ev_prepare_init(&channel->last, on_last);
	/* After everything else that is pending in this turn: many frames make one write. */
	ev_set_priority(&channel->flush, EV_MINPRI);
	ev_set_priority(&channel->last, EV_MINPRI);
	channel->readable.data = channel->writable.data = channel;
	channel->idle.data = channel->hangup.data = channel->limit.data = channel;
	channel->again.data = channel->flush.data = channel->last.data = channel;
}

int sp_channel_new(struct ev_loop *loop, int fd, enum sp_frame_from peer,
    const struct sp_channel_handlers *handlers, void *context, struct sp_channel **ret)
{
	struct sp_channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return -ENOMEM;
	channel->loop = loop;
	channel->fd = fd;
	channel->peer = peer;
	channel->handlers = handlers;
	channel->context = context;
	sp_frame_reader_init(&channel->reader, peer);
	init_watchers(channel);
	watch_peer(channel);
	*ret = channel;
	return 0;
}

int sp_channel_start(struct sp_channel *channel, const char *rest, size_t size)
{
	if (sp_rest_keep(&channel->in, rest, size))
		return -ENOMEM;
	channel->started = true;
	sp_channel_resume(channel);
	return 0;
}

void sp_channel_resume(struct sp_channel *channel)
{
	channel->blocked = false;
	ev_feed_event(channel->loop, &channel->again, EV_CUSTOM);
}

void sp_channel_close(struct sp_channel *channel)
{
	close_with(channel, SP_E_CLOSED);
}

void sp_channel_half_close_limit(struct sp_channel *channel, double seconds)
{
	channel->half_close = seconds;
	channel->idle.repeat = seconds;
}

bool sp_channel_lost(struct sp_channel *channel)
{
	/* Only a guest says a last word before it goes. */
	bool guest = channel->peer == SP_FRAME_FROM_GUEST;

	if (!sp_rest_peer_gone(channel->fd))
		return false;
	if (guest && !channel->at_end)
		channel->at_end =
		    sp_rest_read(channel->fd, &channel->reader, channel->piece, &channel->in);
	return !guest || !channel->at_end;
}

int sp_channel_fd(const struct sp_channel *channel)
{
	return channel->fd;
}
