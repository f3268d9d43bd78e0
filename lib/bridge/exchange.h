/* Hello and rekey over a socket, from the bridge's side, for callers that may wait; and one line of
 * them taken off a socket, for those that may not. */
#ifndef SP_BRIDGE_EXCHANGE_H
#define SP_BRIDGE_EXCHANGE_H

#include "bridge/hello.h"

/* Starts as {0}. */
struct sp_short_line {
	char text[SP_HELLO_LINE_MAX]; /* without its LF */
	size_t size;
};

/* Takes what is at hand of one line off a non-blocking stream socket, and nothing behind its LF. 1:
 * whole; 0: more must come; SP_E_CLOSED, SP_E_TOO_LARGE, -errno. */
int sp_short_line_take(int fd, struct sp_short_line *line);

/* The hello of a guest on a fresh connection. 0, SP_E_DENIED (another guest, or none of ours),
 * SP_E_BAD_RECORD, SP_E_TIMEOUT, SP_E_CLOSED, -errno. */
int sp_hello_exchange(int fd, const uint8_t key[SP_GUEST_KEY_SIZE],
    const struct sp_guest_name *name, const struct sp_guest_link *link, int timeout_ms,
    struct sp_err *err);

/* Hands a guest its name and key, under its current key (NULL: it has none yet), and has it prove
 * that it took them. Errors as above; SP_E_DENIED also when it refuses. */
int sp_rekey_exchange(int fd, const uint8_t *current, const uint8_t key[SP_GUEST_KEY_SIZE],
    const struct sp_guest_name *name, const struct sp_guest_link *link, int timeout_ms,
    struct sp_err *err);

#endif
