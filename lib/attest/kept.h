/*
 * Processes kept since they were first looked at. Where a pidfd has no inode that tells it from one
 * of a later process (levels below `full`), a pid, a start time and a stack may all come again; a
 * pidfd that was kept cannot: as long as it is alive, everything opened by this number is of its
 * process.
 */
#ifndef SP_ATTEST_KEPT_H
#define SP_ATTEST_KEPT_H

#include "attest/evidence.h"
#include "attest/proc.h"

/*
 * `process` was just pinned for this evidence. The first time its pidfd is kept, for the life of
 * our own process. 1: it is the one that was kept, or the first; 0: the one that was kept has
 * exited. SP_E_TOO_LARGE: SP_KEPT_MAX live ones are kept already; -errno.
 */
int sp_kept_look(const struct sp_evidence *evidence, const struct sp_process *process);

#endif
