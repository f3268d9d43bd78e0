/*
 * Bytes between two ends under a lease (06-streams): every move inside the lease's bracket, by
 * system calls that do not block. Small moves go through one buffer of the process, a stream that
 * keeps sending through a pipe that the kernel fills and empties (splice(2)).
 *
 * Memory of one relay, buffers in the kernel counted: SP_RELAY_BOUND at the most, a few hundred
 * bytes when idle. What an end does not take is not read from the other.
 */
#ifndef SP_RELAY_RELAY_H
#define SP_RELAY_RELAY_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include "lease/lease.h"
#include "stream/frame.h"

#define SP_RELAY_CHUNK 49152u  /* one move; so much of a way waits for a slow end at the most */
#define SP_RELAY_BOUND 262144u /* both ways: a chunk, and the socket's buffers */

struct sp_relay;

/* An end: what is read from and what is written to, which may be the same. Non-blocking; a socket's
 * buffers are limited here. */
struct sp_relay_end {
	int in, out;
};

/* The kernel's buffers of one socket, bounded as a relay does it. */
void sp_relay_bound(int fd);

struct sp_relay_handlers {
	/*
	 * Nothing is moved any more. 0: an end has ended, and all that it sent was delivered;
	 * SP_E_TIMEOUT: the other did not take it, or did not end, in `limit_ms`; -errno. Called
	 * from the loop; frees the relay, closes the ends. (A lease that is cut calls its own
	 * handlers, not this.)
	 */
	void (*ended)(struct sp_relay *relay, int code, void *context);
	/* With half_close: this way has come to its end, pass it on. NULL: the socket's writing
	 * direction is shut. */
	void (*half)(struct sp_relay *relay, enum sp_lease_way way, void *context);
	/* With a reader: b's last frame. What `ended` is to be called with, once all before it was
	 * delivered. */
	int (*last)(const struct sp_frame *frame, void *context);
};

struct sp_relay_options {
	struct ev_loop *loop;
	struct sp_lease *lease;
	struct sp_relay_end a, b; /* the lease's ways: from a to b is towards the guest */
	/* False: the end of either is the end of both (Firecracker knows no half-closed
	 * connection), once what was read is delivered. True: it is passed on, and the other way
	 * goes on. */
	bool half_close;
	/*
	 * Not NULL: b is a guest's agent, and speaks frames (stream/frame.h); a does not. What a
	 * sends is framed, its end too; what b sends is read by this reader, borrowed, which may
	 * stand within a frame. Ends are passed on as with half_close, and the relay ends with b's
	 * last frame; SP_E_CLOSED: b has ended without it; SP_E_BAD_RECORD: its frames are none. An
	 * a that was reset, or b without its last frame, never looks complete to the other.
	 */
	struct sp_frame_reader *reader;
	/* The stream has no other relay on this machine: SP_RELAY_BOUND is all its own. */
	bool alone;
	/* From the first end on: how long the other may take in all, or with half_close be idle. 0:
	 * no limit. */
	int limit_ms;
};

/* Moves start with sp_relay_start. `options->lease` is borrowed. -ENOMEM or 0. */
int sp_relay_new(const struct sp_relay_options *options, const struct sp_relay_handlers *handlers,
    void *context, struct sp_relay **ret);

/* Bytes that were read of a way before: they go first, as they are. `bytes` is heap and stolen. */
void sp_relay_prime(struct sp_relay *relay, enum sp_lease_way way, char *bytes, size_t size);

void sp_relay_start(struct sp_relay *relay);

/* The lease may be entered again (its handler `resume`). */
void sp_relay_resume(struct sp_relay *relay);

/* Bytes that were read of a way, and are still to be delivered. -1: it delivers none any more. */
int64_t sp_relay_held(const struct sp_relay *relay, enum sp_lease_way way);

/* Now and then, about once a second: has an end gone that is not being read because the other is
 * slow? */
void sp_relay_check(struct sp_relay *relay);

/* Nothing is moved any more, what is buffered is thrown away (the lease's handler `cut`). Again:
 * nothing. */
void sp_relay_stop(struct sp_relay *relay);
void sp_relay_free(struct sp_relay *relay); /* NULL is fine; the ends stay open */

#endif
