/*
 * The live leases of a node: each process that holds leases answers for them on a Unix socket of
 * its own, <run_dir>/leases/<role>.<pid>.sock, mode 0600. A socket that nobody listens on is a dead
 * process's: it shows nothing, and is taken away.
 *
 * One line in, lines out, the end:
 *   {"ask":"list"} or {"ask":"list","sandbox":S}       a lease a line (sp_lease_json)
 *   {"ask":"cancel","lease":ID} or {"ask":"cancel","sandbox":S}   {"cancelled":N}
 */
#ifndef SP_LEASE_LIVE_H
#define SP_LEASE_LIVE_H

#include "lease/lease.h"

struct sp_lease_live;

#define SP_LIVE_DIRECTORY "leases" /* under [space] run_dir */
#define SP_LIVE_ASKERS    4        /* connections served at once by one process */

/* Answers from the set's loop for this set from now on. The directory is made when it is missing.
 */
int sp_lease_live_open(
    struct sp_lease_set *set, const char *run_dir, struct sp_lease_live **ret, struct sp_err *err);
void sp_lease_live_close(struct sp_lease_live *live); /* NULL is fine */

/*
 * Asks every process of the node in turn, `timeout_ms` for each line, and gives each line of their
 * answers to `each` (new references, stolen). `question` is borrowed. A negative return of `each`
 * ends it and is returned. SP_E_UNAVAILABLE: one of them did not answer (it is named; the others
 * were asked all the same). No directory: nobody to ask, 0.
 */
int sp_lease_live_ask(const char *run_dir, json_t *question, int timeout_ms, sp_lease_each_fn *each,
    void *context, struct sp_err *err);

#endif
