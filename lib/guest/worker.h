/*
 * Work that blocks, on file systems and in libraries, in a child process: what it stalls on, or is
 * made to do by what it reads, stays with it. It has its source, one pipe of data and nothing else
 * of the agent's descriptors.
 */
#ifndef SP_GUEST_WORKER_H
#define SP_GUEST_WORKER_H

#include <ev.h>
#include <stdbool.h>
#include "base/err.h"
#include "stream/status.h"

struct sp_worker;

/* Runs in the child, on its copy of `context`. `data` is read from or written to; *ret is how it
 * ended. */
typedef void sp_worker_fn(void *context, int source, int data, struct sp_status *ret);

/* It has ended; called once, from the loop. Not after sp_worker_forsake. */
typedef void sp_worker_done_fn(void *context, const struct sp_status *status);

/* `source` is borrowed. `gives`: the child writes data; else it reads. *ret_data is our end of that
 * pipe, non-blocking and the caller's. `loop` must be the default loop. 0 or -errno. */
int sp_worker_start(struct ev_loop *loop, int source, bool gives, sp_worker_fn *run,
    sp_worker_done_fn *done, void *context, struct sp_worker **ret, int *ret_data);

/* Nobody waits for it any more. It ends when it finds its pipe closed. */
void sp_worker_forsake(struct sp_worker *worker);

#endif
