/* A process named so that a reused pid is not taken for it: pid and pidfs inode (Linux >= 6.9;
 * below that every pidfd has the same inode and the pid alone must do). */
#ifndef SP_BASE_PROCESS_H
#define SP_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct sp_process {
	uint64_t pid, inode;
};

/* This process, as seen in its own pid namespace. 0 or -errno. */
int sp_process_self(struct sp_process *ret);

/* Has it ended? A pid that means nothing in this pid namespace has; when the kernel will not say,
 * it has not. */
bool sp_process_gone(const struct sp_process *process);

#endif
