/* Which descriptor of a pinned process is a given socket. */
#ifndef SP_ATTEST_DESCRIPTORS_H
#define SP_ATTEST_DESCRIPTORS_H

#include <stdint.h>
#include "attest/proc.h"

/*
 * Finds a descriptor of the process that is the socket with this inode: first at `guess` (-1:
 * none), then where this process was seen to close one, then near those of that `kind` that were
 * found before, then among all of them. 0 and the number, -ENOENT, -E2BIG (not among the first
 * SP_DESCRIPTORS_MAX), or -errno (-EACCES, -EPERM: not ours to look into).
 */
enum sp_descriptor_kind { SP_DESCRIPTOR_ACCEPTED, SP_DESCRIPTOR_LISTENER, SP_DESCRIPTOR_KINDS };
int sp_descriptor_find(const struct sp_process *process, uint32_t inode, int guess,
    enum sp_descriptor_kind kind, int *ret_number);

/* The process has, or soon will have, closed this descriptor: a socket it is given next may get its
 * number. */
void sp_descriptor_freed(const struct sp_process *process, int number);

/* The inode of "socket:[N]"; 0 for any other text. Pure. */
uint32_t sp_descriptor_socket(const char *link);

/* Calls `each` for every socket among its descriptors until it returns non-zero, and returns that;
 * 0 past the last; -E2BIG past SP_DESCRIPTORS_MAX of them; -errno. */
typedef int sp_descriptor_fn(void *context, int number, uint32_t inode);
int sp_descriptor_walk(const struct sp_process *process, sp_descriptor_fn *each, void *context);

#endif
