/* Facts about an AF_UNIX socket from a copy of its descriptor (pidfd_getfd): unlike sock_diag's,
 * they cost the same however many sockets there are. */
#ifndef SP_ATTEST_COPIED_H
#define SP_ATTEST_COPIED_H

#include <sys/stat.h>
#include "attest/proc.h"
#include "attest/sockdiag.h"

/* A copy of a process's descriptor, CLOEXEC, the caller's. -EPERM: it needs the right to attach,
 * which Yama may keep from equals; -errno. */
int sp_copied_take(const struct sp_process *process, int number, int *ret_copy);

/* Inode, cookie, state and stream; the rest is as in {0}. -EPROTO: of another family; -errno. */
int sp_copied_facts(int copy, struct sp_socket *ret);

/* The file that it is bound to (SIOCUNIXFILE). -ENOENT: none; -EPERM: without CAP_NET_ADMIN in its
 * network namespace; -errno. */
int sp_copied_file(int copy, struct stat *ret);

#endif
