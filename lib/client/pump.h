/*
 * The client end of a stream (06-streams, Frames): descriptors of this process on one side, frames
 * on the other. It outlives a stream that was cut: the next one goes on where input and output
 * are. Memory is bounded; what output does not take is not read from the stream.
 */
#ifndef SP_CLIENT_PUMP_H
#define SP_CLIENT_PUMP_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "stream/status.h"

struct sp_pump;

struct sp_pump_options {
	struct ev_loop *loop;
	int in, out, err; /* not blocking (base/io.h); taken */
	/* Output is lines: each is given out whole, and of one that a cut leaves half nothing. */
	bool lines;
};

enum sp_pump_ending {
	SP_PUMP_STATUS, /* the guest's last word has come */
	SP_PUMP_CUT,    /* the connection ended before it */
	SP_PUMP_CLOSED, /* nobody reads our output any more, and it was not cut before */
	SP_PUMP_FAILED, /* what came is no stream, or our output failed: `code` */
};

struct sp_pump_end {
	enum sp_pump_ending ending;
	struct sp_status status;
	int code;
};

struct sp_pump_handlers {
	/* Looks at input before it goes; how many of its bytes go. NULL: all. */
	size_t (*on_input)(void *context, const char *bytes, size_t size);
	/* The stream has ended, and is gone. */
	void (*on_end)(void *context, const struct sp_pump_end *end);
};

/* -ENOMEM or 0; `options`' descriptors are taken in either case. */
int sp_pump_new(const struct sp_pump_options *options, const struct sp_pump_handlers *handlers,
    void *context, struct sp_pump **ret);
void sp_pump_free(struct sp_pump *pump); /* NULL is fine */

/* An open stream: `fd` (not blocking) is taken, the `size` bytes that came with it are copied.
 * -ENOMEM or 0. */
int sp_pump_begin(struct sp_pump *pump, int fd, const char *rest, size_t size);

/* A line of our own (LF added) between those of the stream. SP_E_TOO_LARGE: it does not fit. */
int sp_pump_say(struct sp_pump *pump, const char *line);

/* While a stream is open: the terminal has this size now. */
void sp_pump_resize(struct sp_pump *pump, unsigned rows, unsigned cols);

/* Ends the stream, if one is open; on_end is not called. */
void sp_pump_stop(struct sp_pump *pump);

/* Nobody reads our output any more: it was a pipe or socket whose other end is gone. */
bool sp_pump_output_gone(const struct sp_pump *pump);

/* Bytes of output that were given out, of all streams together. */
uint64_t sp_pump_received(const struct sp_pump *pump);

#endif
