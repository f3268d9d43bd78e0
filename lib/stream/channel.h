/*
 * One end of a stream on a libev loop: a connection that carries frames both ways. Memory is
 * bounded and none is held while nothing waits: what its owner does not take stays unread, and what
 * does not fit is not accepted.
 */
#ifndef SP_STREAM_CHANNEL_H
#define SP_STREAM_CHANNEL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "stream/frame.h"
#include "stream/status.h"

#define SP_CHANNEL_IN  (16u * 1024u) /* read at a time, and kept when its owner does not take it */
#define SP_CHANNEL_OUT (32u * 1024u) /* of frames that wait for a slow reader */

struct sp_channel;

struct sp_channel_handlers {
	/*
	 * A frame, or a piece of one. Of input, output and error it returns how many bytes were
	 * taken; when fewer than all, nothing more comes before sp_channel_resume, and then first
	 * the rest. Of other frames the return does not count.
	 */
	size_t (*on_frame)(struct sp_channel *channel, const struct sp_frame *frame, void *context);
	/* There is room again after sp_channel_put took less than it was given, or it was asked
	 * for. */
	void (*on_room)(struct sp_channel *channel, void *context);
	/*
	 * Called exactly once, last; the channel is freed after it. 0: it came to its end by
	 * sp_channel_finish or sp_channel_refuse; SP_E_CLOSED: cut, by the peer or by
	 * sp_channel_close; SP_E_BAD_RECORD: the peer's frames were none; SP_E_TIMEOUT: half closed
	 * and idle for too long; or -errno.
	 */
	void (*on_close)(struct sp_channel *channel, int code, void *context);
};

/* Takes `fd`, non-blocking. Nothing is read until sp_channel_start. `peer` is who writes to us.
 * -ENOMEM or 0. */
int sp_channel_new(struct ev_loop *loop, int fd, enum sp_frame_from peer,
    const struct sp_channel_handlers *handlers, void *context, struct sp_channel **ret);

/* A line (LF added) before the first frame. SP_E_TOO_LARGE when it does not fit. */
int sp_channel_line(struct sp_channel *channel, const char *line, size_t size);

/* Begins to read, first `size` bytes that were read before (copied, at most SP_LINE_MAX). -ENOMEM
 * or 0. */
int sp_channel_start(struct sp_channel *channel, const char *rest, size_t size);

/* Payload bytes that one sp_channel_put would take now. */
size_t sp_channel_room(const struct sp_channel *channel);

/* Asks for on_room, once there is some: for an owner that does not read before it can put. */
void sp_channel_ask_room(struct sp_channel *channel);

/* Queues one frame of as many of the bytes as fit, and returns how many. Written at the end of the
 * loop's turn. */
size_t sp_channel_put(
    struct sp_channel *channel, enum sp_frame_type type, const void *bytes, size_t size);

/* Our direction ends, if it has not; the other goes on. */
void sp_channel_end(struct sp_channel *channel);

/* The guest's last word. What is queued goes out first, within SP_CHANNEL_DRAIN; then the
 * connection ends. Nothing more is given to on_frame. Only the first call counts. */
void sp_channel_finish(struct sp_channel *channel, const struct sp_status *status);
#define SP_CHANNEL_DRAIN 5.0 /* seconds */

/* The same with a line instead of a status: the stream was not opened. */
void sp_channel_refuse(struct sp_channel *channel, const char *line, size_t size);

/* Takes up again after on_frame did not take all. */
void sp_channel_resume(struct sp_channel *channel);

/* Cuts it: what is queued is dropped. */
void sp_channel_close(struct sp_channel *channel);

/* Once one direction has ended, how long the other may be without a byte. 0: for ever (the
 * default). */
void sp_channel_half_close_limit(struct sp_channel *channel, double seconds);

/* Not from within a handler: has the peer gone without its last frame? When it has gone after it,
 * what it said is still given to on_frame, however slowly that is taken. */
bool sp_channel_lost(struct sp_channel *channel);

int sp_channel_fd(const struct sp_channel *channel);

#endif
