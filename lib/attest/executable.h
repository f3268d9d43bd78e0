/* The executable of a pinned process: its file's tuple and the BLAKE2b-256 of its bytes. */
#ifndef SP_ATTEST_EXECUTABLE_H
#define SP_ATTEST_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "attest/proc.h"
#include "base/err.h"

#define SP_EXECUTABLE_HASH 32

struct sp_instant {
	int64_t seconds;
	uint32_t nanoseconds;
};

/* What stat(2) says of /proc/<pid>/exe. While it runs its bytes cannot be written (ETXTBSY), and
 * mtime and ctime move when somebody tried otherwise. */
struct sp_executable {
	dev_t dev;
	ino_t ino;
	uint64_t size;
	struct sp_instant mtime, ctime;
};

bool sp_executable_equal(const struct sp_executable *a, const struct sp_executable *b);

/* -errno; -ESRCH when it has exited. */
int sp_executable_read(const struct sp_process *process, struct sp_executable *ret);

/* Where it lay when it was started, for people only: "/usr/bin/x", or "/usr/bin/x (deleted)". */
int sp_executable_path(const struct sp_process *process, char *text, size_t room);

/*
 * The hash of the file that has this tuple, read through the process; remembered by the whole
 * tuple. At most SP_EXECUTABLE_MAX bytes. -EAGAIN: the file's tuple moved while it was read;
 * SP_E_TOO_LARGE; -errno.
 */
int sp_executable_hash(const struct sp_process *process, const struct sp_executable *tuple,
    uint8_t ret[SP_EXECUTABLE_HASH]);

#endif
