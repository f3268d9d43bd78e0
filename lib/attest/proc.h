/*
 * A pinned process (04-bridge): a pidfd, its /proc directory proved to be of the same process, and
 * the mm pin that tells an exec. Everything is read through these, never by number again.
 */
#ifndef SP_ATTEST_PROC_H
#define SP_ATTEST_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

struct sp_process {
	pid_t pid;      /* in our pid namespace */
	int pidfd;      /* readable once it has exited */
	int directory;  /* /proc/<pid>, O_PATH */
	int image;      /* /proc/<pid>/pagemap, opened before anything was read */
	uint64_t pidfs; /* inode of the pidfd, never reused (Linux >= 6.9); 0 below that level */
};
#define SP_PROCESS_NONE                                                                            \
	{                                                                                          \
		0, -1, -1, -1, 0                                                                   \
	}

/*
 * Pins a live process. `pidfd` is taken when it is not -1 (also on failure), otherwise opened.
 * Errors: -ESRCH (it has exited), -EPERM or -EACCES (not ours to look into), -ENODATA (a dead
 * thread leader: nothing can be read), -errno.
 */
int sp_process_pin(pid_t pid, int pidfd, struct sp_process *ret);
void sp_process_unpin(struct sp_process *process);

/* Says why `what` of a process could not be read, by a code of the functions here: SP_E_DENIED when
 * it has exited, else SP_E_UNAVAILABLE. Returns that. */
int sp_process_fail(struct sp_err *err, int code, pid_t pid, const char *what);

bool sp_process_alive(const struct sp_process *process);

/* 1: still the image it was pinned with; 0: it has called exec, or has exited; -errno. */
int sp_process_same_image(const struct sp_process *process);

/* A small file of its directory ("stat") in one read, as seq_file gives it; cut at `room`, which
 * has a NUL too. -ESRCH: it has exited; -errno. */
int sp_process_read_text(
    const struct sp_process *process, const char *name, char *text, size_t room);

/* /proc/<pid>/stat, proc(5) fields 3, 9, 20, 22 and 28. */
struct sp_process_stat {
	char state;
	uint64_t flags;
	unsigned threads;
	uint64_t start_time;  /* clock ticks since boot */
	uint64_t start_stack; /* chosen anew by each exec; 0: hidden from us */
};
int sp_process_stat_parse(const char *text, struct sp_process_stat *ret); /* pure; -EPROTO */
int sp_process_read_stat(const struct sp_process *process, struct sp_process_stat *ret);

/* /proc/<pid>/status: effective ids, as SO_PEERCRED names them. */
struct sp_process_status {
	uid_t uid;
	gid_t gid;
	pid_t tracer; /* 0: nobody */
};
int sp_process_status_parse(const char *text, struct sp_process_status *ret); /* pure; -EPROTO */
int sp_process_read_status(const struct sp_process *process, struct sp_process_status *ret);

/* Who traces any thread of it; 0: nobody. `threads` as read from stat: one thread needs no walk.
 * -E2BIG: more than SP_THREADS_MAX threads, so nobody can say. -errno. */
int sp_process_tracer(const struct sp_process *process, unsigned threads, pid_t *ret);

struct sp_namespaces {
	uint64_t net, mnt, pid, user; /* inodes */
};
int sp_process_read_namespaces(const struct sp_process *process, struct sp_namespaces *ret);

/* An open /proc/<pid>/ns/net, the caller's. */
int sp_process_network(const struct sp_process *process, int *ret_fd);

/* The path in the unified hierarchy ("0::"), else the first line's. Cut at `room`. */
int sp_process_read_cgroup(const struct sp_process *process, char *text, size_t room);

/* /proc/sys/kernel/random/boot_id, read once. NULL: unreadable. */
const char *sp_boot_id(void);

#endif
