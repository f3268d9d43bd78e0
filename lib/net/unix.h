/* Unix stream sockets: long paths, stale sockets, peers. Every descriptor is CLOEXEC and
 * non-blocking. */
#ifndef SP_NET_UNIX_H
#define SP_NET_UNIX_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/err.h"

/*
 * Connects within `timeout_ms`. Paths beyond SP_UNIX_PATH_MAX, and file names too, are fine here
 * and below: they go through descriptors. Errors: -ENOENT, -ECONNREFUSED (nobody listens),
 * SP_E_TIMEOUT (its backlog stays full), -errno. Proves nothing about who answers.
 */
int sp_unix_connect(const char *path, int timeout_ms, int *ret_fd, struct sp_err *err);

/*
 * Binds and listens. A socket that nobody listens on is replaced; one that answers is -EADDRINUSE;
 * anything that is no socket is refused. `mode` is set on the socket before it listens.
 */
int sp_unix_listen(const char *path, mode_t mode, int *ret_fd, struct sp_err *err);

/* SO_PEERCRED: who connected, or who last called listen(). */
int sp_unix_peer(int fd, struct ucred *ret);

#endif
