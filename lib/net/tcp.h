/* TCP addresses, strictly read, and listening on them. */
#ifndef SP_NET_TCP_H
#define SP_NET_TCP_H

#include <stdbool.h>
#include "base/err.h"

#define SP_HOST_MAX 255

/* "HOST:PORT" or "[::1]:PORT": the port from 1 to 65535 without leading zeros, nothing behind it.
 * *ret_port points into `text`. */
bool sp_tcp_split(const char *text, char ret_host[SP_HOST_MAX + 1], const char **ret_port);

/*
 * Listens on the one address that a numeric host and a port are. The descriptor is CLOEXEC and
 * non-blocking. SP_E_USAGE: no such address; -errno.
 */
int sp_tcp_listen(const char *text, int *ret_fd, struct sp_err *err);

/*
 * For streams whose buffers are bounded, before it listens or connects (what is accepted inherits
 * it): small writes go at once, and segments are no larger than SP_TCP_SEGMENT. Loopback's would be
 * 64 KiB, more than a bounded window has room for, and each would wait for the peer's timer.
 */
#define SP_TCP_SEGMENT 8192
void sp_tcp_prepare(int fd);

/* Is what this socket is bound to a loopback address? A Unix socket is none, and no TCP either:
 * true. */
bool sp_tcp_is_local(int fd);

#endif
