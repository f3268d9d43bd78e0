/*
 * Facts about one AF_UNIX socket by its inode, from the kernel's sock_diag (linux/unix_diag.h;
 * Linux >= 5.3 for the uid). A netlink socket sees the sockets of the network namespace it was made
 * in; an accepted socket lives in the namespace of the socket that connected to it.
 */
#ifndef SP_ATTEST_SOCKDIAG_H
#define SP_ATTEST_SOCKDIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sp_socket_state { SP_SOCKET_OTHER, SP_SOCKET_ESTABLISHED, SP_SOCKET_LISTENING };

struct sp_socket {
	uint32_t inode; /* sockfs; what "socket:[N]" of a descriptor says */
	uint64_t cookie;
	enum sp_socket_state state;
	bool stream;
	uint32_t peer; /* 0: none, or one that nobody has accepted yet */
	bool has_file; /* bound to, or accepted from, a path */
	/* Of that path's file. The device is the kernel's own number (major << 20 | minor), not
	 * stat's. */
	uint32_t file_device, file_inode;
	bool has_uid;
	uid_t uid; /* of who created or accepted it */
};

/* A netlink socket in the calling thread's network namespace. 0 or -errno. */
int sp_sockdiag_open(int *ret_netlink);

/* Looks one socket up, exactly. -ENOENT: none with this inode in that namespace. -EPROTO: an
 * answer to something else. -errno. */
int sp_sockdiag_find(int netlink, uint32_t inode, struct sp_socket *ret);

/* Calls `each` for every socket of that namespace that listens on a path, until it returns
 * non-zero, and returns that; 0 past the last; -errno. Nothing else may be asked for from within.
 */
typedef int sp_sockdiag_fn(void *context, const struct sp_socket *found);
int sp_sockdiag_walk(int netlink, sp_sockdiag_fn *each, void *context);

/* The kernel's answer to a question about `inode` with sequence number `sequence`. Pure. As
 * sp_sockdiag_find. */
int sp_sockdiag_parse(
    const void *answer, size_t size, uint32_t inode, uint32_t sequence, struct sp_socket *ret);

#endif
