/* A child in a session of its own, with nothing of the agent's but three descriptors. */
#ifndef SP_GUEST_SPAWN_H
#define SP_GUEST_SPAWN_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "guest/exec_args.h"

/* Descriptors for the child's 0, 1 and 2, each above 2; borrowed. `terminal`: its 0 is one, and
 * becomes its controlling terminal. `files` is its RLIMIT_NOFILE. 0 once the program runs, or
 * -errno of what kept it from running. */
int sp_spawn(const struct sp_exec_args *args, const int descriptors[3], bool terminal,
    const struct rlimit *files, pid_t *ret_pid);

/* A pipe between us and a child. Ours is non-blocking, the child's is not; both are the caller's.
 * 0 or -errno. */
int sp_spawn_pipe(bool ours_reads, int *ret_ours, int *ret_theirs);

#endif
