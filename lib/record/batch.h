/* The driver of a filter by several threads: lines are given to them in batches, and their answers
 * written in the order of the lines. */
#ifndef SP_RECORD_BATCH_H
#define SP_RECORD_BATCH_H

#include <stddef.h>
#include "base/err.h"
#include "base/pool.h"
#include "record/lines.h"

#define SP_BATCH_LINES 128
#define SP_BATCH_BYTES (64u * 1024u) /* from which on no line is added */

/* Lines, and what one thread makes of them. */
struct sp_batch {
	unsigned count;
	struct {
		size_t offset, size, number; /* number from 1; size SP_BATCH_TOO_LONG: no line */
	} lines[SP_BATCH_LINES];
	char *bytes; /* of the lines, a NUL behind each */
	size_t used, room;
	struct sp_line_writer answers; /* one for each line, in their order */
	int exit;                      /* what they call for */
	int code;                      /* negative: the filter ends behind these answers, ... */
	struct sp_err why;             /* ... for this */
};
#define SP_BATCH_TOO_LONG ((size_t)-1)

/* NULL: it was longer than a line may be. */
const char *sp_batch_line(const struct sp_batch *batch, unsigned index);

/*
 * Runs to the end of input, as sp_filter_run. `jobs` from 1 to SP_JOBS_MAX (else SP_E_USAGE), a
 * worker each. `answer` answers all lines of the struct sp_batch that is its piece, by what its
 * worker alone has; the driver's own thread calls it too, with the first worker's, while no thread
 * has anything to do.
 */
int sp_batches_run(int in, int out, unsigned jobs, sp_pool_fn *answer, void *const *workers,
    int *ret_exit, struct sp_err *err);

#endif
