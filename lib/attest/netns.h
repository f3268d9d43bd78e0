/* Look-ups of Unix sockets in the network namespaces of other processes. */
#ifndef SP_ATTEST_NETNS_H
#define SP_ATTEST_NETNS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A netlink socket in the namespace that `namespace_fd` (an open /proc/<pid>/ns/net) names; kept
 * for the next time, at most SP_NETNS_MAX of them. *ret_netlink stays ours. -EPERM without
 * CAP_SYS_ADMIN there, or -errno.
 */
int sp_netns_sockdiag(int namespace_fd, int *ret_netlink);

/* The same by the namespace's inode, if it is one of those that are kept. */
bool sp_netns_kept(uint64_t inode, int *ret_netlink);

#endif
