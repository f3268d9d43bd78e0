/* What a process listens on: the socket file at a path, and which of its descriptors is bound to
 * it. */
#ifndef SP_ATTEST_LISTENING_H
#define SP_ATTEST_LISTENING_H

#include <limits.h>
#include "attest/evidence.h"
#include "attest/proc.h"
#include "base/err.h"

/*
 * Reads the whole of *ret. Its path is `path` with the directory's symlinks resolved, in `text`.
 * SP_E_DENIED: no socket, one with several names, or not one of this process; SP_E_UNAVAILABLE: the
 * kernel, or a missing right, keeps it from being known.
 *
 * Costs the same however many sockets the machine has where their descriptors can be copied and
 * asked for their file (CAP_SYS_PTRACE and CAP_NET_ADMIN), else one sock_diag look-up.
 */
int sp_listener_read(const struct sp_process *process, const char *path, char text[PATH_MAX],
    struct sp_listener *ret, struct sp_err *err);

#endif
