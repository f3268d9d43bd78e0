/*
 * One peer on a stream socket that speaks JSON Lines, on a libev loop: bounded input lines, a
 * bounded output queue, back-pressure both ways, time limits.
 */
#ifndef SP_NET_CONN_H
#define SP_NET_CONN_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"

struct sp_conn;

struct sp_conn_handlers {
	/* A line without its LF, NUL-terminated, valid during the call. `size` > max never comes:
	 * see on_too_long. */
	void (*on_line)(struct sp_conn *conn, char *line, size_t size, void *context);
	/* A line over the bound: it has been counted as one and is skipped. NULL: the connection
	 * ends. */
	void (*on_too_long)(struct sp_conn *conn, void *context);
	/* The peer ended its direction. What it sent has been delivered, but for a last line
	 * without LF, which is dropped. NULL: the connection ends. */
	void (*on_end)(struct sp_conn *conn, void *context);
	/* Called exactly once, last; `code` is 0 (sp_conn_close), SP_E_CLOSED, SP_E_TIMEOUT or
	 * -errno. The conn is freed after it. */
	void (*on_close)(struct sp_conn *conn, int code, void *context);
	/* Output has drained below half of its bound after sp_conn_full was true. May be NULL. */
	void (*on_drain)(struct sp_conn *conn, void *context);
};

/* Takes `fd`. Reading starts at once. -ENOMEM or 0. */
int sp_conn_new(struct ev_loop *loop, int fd, const struct sp_conn_handlers *handlers,
    void *context, struct sp_conn **ret);

/*
 * Queues a line (LF added). Written at the end of the loop's turn, together with others. Safe in
 * any handler. Once the conn has failed or been closed it is dropped silently. SP_E_TOO_LARGE when
 * the queue is over twice its bound: then close it.
 */
int sp_conn_put(struct sp_conn *conn, const char *line, size_t size);

/* Is more than the queue's bound (1 MiB) waiting for a slow reader? Stop producing until on_drain.
 */
bool sp_conn_full(const struct sp_conn *conn);

/* Writes what is queued right now as far as the socket takes it (for writes that a lease brackets).
 * Bytes still queued. */
size_t sp_conn_flush(struct sp_conn *conn);

/* Stops and starts reading: back-pressure on the peer. */
void sp_conn_pause(struct sp_conn *conn);
void sp_conn_resume(struct sp_conn *conn);

/* Ends it when no byte came or went for so long. 0: never (the default). */
void sp_conn_idle_limit(struct sp_conn *conn, double seconds);

/* Ends it: `drain` writes what is queued first (5 s at most; closing without `drain` cuts that
 * short). on_close comes later, from the loop. */
void sp_conn_close(struct sp_conn *conn, bool drain);

/* Frees it at once, what is queued is dropped, no handler is called. Not from within one. */
void sp_conn_free(struct sp_conn *conn);

/* Gives the descriptor up to the caller with its unread input (heap, may be NULL): for connections
 * that become streams. What is queued is flushed once; what the socket does not take is dropped. No
 * on_close comes. Returns the descriptor, or -ENOMEM: then the conn stays. */
int sp_conn_take(struct sp_conn *conn, char **ret_rest, size_t *ret_size);

int sp_conn_fd(const struct sp_conn *conn);
void *sp_conn_context(const struct sp_conn *conn);

#endif
