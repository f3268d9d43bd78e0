/*
 * The client end of a stream (06-streams, Frames). It outlives a stream that was cut: the next one
 * goes on where input and output are. What is at its other side is its owner's: descriptors
 * (client/ends.h), or a connection that has frames of its own. Memory is bounded; what that side
 * does not take is not read from the stream.
 */
#ifndef SP_CLIENT_PUMP_H
#define SP_CLIENT_PUMP_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "stream/frame.h"
#include "stream/status.h"

struct sp_pump;

/* The other side. Called from the loop, or from within the pump's own functions. */
struct sp_side {
	/* A stream is open: input may be put. */
	void (*opened)(void *context, struct sp_pump *pump);
	/* It is no more: ended, cut or stopped. */
	void (*closed)(void *context);
	/* Output, or error: how many bytes were taken. Fewer than all: no more comes before
	 * sp_pump_resume. */
	size_t (*output)(void *context, enum sp_frame_type type, const char *bytes, size_t size);
	/* No more output comes, in this stream or another. */
	void (*output_end)(void *context);
	/* There is room for input again. */
	void (*room)(void *context);
	/* A line of our own (LF to be added) between those of the output, which are lines. */
	int (*say)(void *context, const char *line);
	/* Nobody takes output any more. */
	bool (*gone)(void *context);
};

enum sp_pump_ending {
	SP_PUMP_STATUS, /* the guest's last word has come */
	SP_PUMP_CUT,    /* the connection ended before it */
	SP_PUMP_CLOSED, /* nobody takes output any more, and it was not cut before */
	SP_PUMP_FAILED, /* what came is no stream, or the other side failed: `code` */
};

struct sp_pump_end {
	enum sp_pump_ending ending;
	struct sp_status status;
	int code;
};

/* The stream has ended, and is gone. */
typedef void sp_pump_fn(void *context, const struct sp_pump_end *end);

/* `side` and its context are borrowed. -ENOMEM or 0. */
int sp_pump_new(struct ev_loop *loop, const struct sp_side *side, void *side_context,
    sp_pump_fn *ended, void *context, struct sp_pump **ret);
void sp_pump_free(struct sp_pump *pump); /* NULL is fine */

/* An open stream: `fd` (not blocking) is taken, the `size` bytes that came with it are copied.
 * -ENOMEM or 0. */
int sp_pump_begin(struct sp_pump *pump, int fd, const char *rest, size_t size);

/* Bytes of input that sp_pump_put would take now; 0: none, or no stream is open. */
size_t sp_pump_room(const struct sp_pump *pump);

/* Asks for `room`, once there is some. */
void sp_pump_ask_room(struct sp_pump *pump);

/* Gives input; how many bytes were taken. After fewer than all `room` follows. */
size_t sp_pump_put(struct sp_pump *pump, const char *bytes, size_t size);

/* Of the open stream there is no more input. */
void sp_pump_end_input(struct sp_pump *pump);

/* While a stream is open: the terminal has this size now. */
void sp_pump_resize(struct sp_pump *pump, unsigned rows, unsigned cols);

/* Output is taken again. */
void sp_pump_resume(struct sp_pump *pump);

/* Ends the stream, if one is open, for this reason. */
void sp_pump_end(struct sp_pump *pump, enum sp_pump_ending ending, int code);

/* Was it cut, which may not have been read yet? False without a stream. Not from within
 * `output`. */
bool sp_pump_lost(struct sp_pump *pump);

/* Ends the stream, if one is open; nobody is told but the other side. */
void sp_pump_stop(struct sp_pump *pump);

/* Bytes of output that were taken, of all streams together. */
uint64_t sp_pump_received(const struct sp_pump *pump);

#endif
