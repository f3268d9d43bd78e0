/*
 * Where this process's connections are made from. sock_diag walks every Unix socket of a network
 * namespace to find one, and both ends of a connection live in its client's namespace: so they may
 * be made in corners, namespaces of our own (sp_attest_private, with CAP_SYS_ADMIN) that hold
 * SP_CORNER_CONNECTIONS each at the most. Finding them then costs the same however many there are,
 * here and on the whole machine. Otherwise the namespace that we are in serves.
 */
#ifndef SP_ATTEST_CORNER_H
#define SP_ATTEST_CORNER_H

struct sp_corner;

/*
 * A new AF_UNIX stream socket, CLOEXEC and non-blocking, the caller's. *ret_netlink looks up in its
 * namespace, and stays ours, until *ret_corner is left, which is when the socket has been closed. 0
 * or -errno.
 */
int sp_corner_client(int *ret_fd, int *ret_netlink, struct sp_corner **ret_corner);

void sp_corner_leave(struct sp_corner *corner); /* NULL is fine */

#endif
