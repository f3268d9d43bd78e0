/* An errand into another network namespace. Inside lib/attest only. */
#ifndef SP_ATTEST_ERRAND_H
#define SP_ATTEST_ERRAND_H

#define SP_ERRAND_CLIENTS 16 /* sockets made at once: one thread for so many connections */

struct sp_errand {
	int namespace_fd;               /* where to; -1: a new one, which is put here */
	int netlink;                    /* that looks up there; -1: to be made */
	unsigned wanted;                /* client sockets, at most SP_ERRAND_CLIENTS */
	unsigned count;                 /* made */
	int clients[SP_ERRAND_CLIENTS]; /* AF_UNIX stream, CLOEXEC, non-blocking */
};

/*
 * A thread that lives for this one call enters the namespace and makes them: the process itself is
 * never elsewhere, whatever fails. 0, with one client at least where some are wanted, or -errno
 * (-EPERM without CAP_SYS_ADMIN there); what was made before it failed stays in `errand`.
 */
int sp_errand_run(struct sp_errand *errand);

#endif
