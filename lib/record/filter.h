/* The driver of a synchronous filter: one record a line in, one out, in order, bad lines answered
 * in place. */
#ifndef SP_RECORD_FILTER_H
#define SP_RECORD_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "record/lines.h"
#include "record/out.h"

/*
 * Answers one record. `record` is a reference the function may read, change and keep; *ret is the
 * record to write, a new reference (json_incref(record) passes it on). To call the record bad,
 * return SP_E_BAD_RECORD with err set: the driver writes the bad-record line. Any other negative
 * code ends the filter.
 */
typedef int sp_filter_fn(void *context, json_t *record, json_t **ret, struct sp_err *err);

/*
 * The same of a line that is of a usual shape, without a tree: adds the answer to `out`, which has
 * room for SP_QUICK_MORE bytes more than the line, and sets *ret_exit to what it calls for. The
 * answer is, byte for byte, what sp_filter_fn's would be. False: the line is not judged, and
 * nothing has been done; what stands in `out` counts for nothing.
 */
#define SP_QUICK_MORE (8u * 1024u)
typedef bool sp_filter_quick_fn(
    void *context, const char *line, size_t size, struct sp_out *out, int *ret_exit);

/* Optional work before answers are written out (a group commit): when no further input is at hand,
 * and when enough have come together. Negative, with err set: they are not. May be NULL. */
typedef int sp_filter_flush_fn(void *context, struct sp_err *err);

/*
 * Runs to the end of input. *ret_exit is the code that the records written call for (01-records). A
 * closed output ends it quietly with 0 and *ret_exit as far as it got. Returns 0 or a negative code
 * with err set.
 */
int sp_filter_run(int in, int out, sp_filter_fn *answer, sp_filter_flush_fn *flush, void *context,
    int *ret_exit, struct sp_err *err);

struct sp_filter {
	sp_filter_quick_fn *quick; /* tried first; NULL: none */
	sp_filter_fn *answer;
	unsigned jobs; /* threads that answer, 1 to SP_JOBS_MAX; 1: no other than this one */
	void *const *contexts; /* one each: a thread calls both functions with its own alone */
};

/* The same by several threads: each answers what it is given by itself, the order stays. */
int sp_filter_run_jobs(
    int in, int out, const struct sp_filter *filter, int *ret_exit, struct sp_err *err);

/* One line's answer into a writer; `line` NULL is one that was too long. *exit becomes what the
 * answer calls for, where that is worse. For drivers. */
int sp_filter_line(const struct sp_filter *filter, void *context, const char *line, size_t size,
    size_t number, struct sp_line_writer *writer, int *exit, struct sp_err *err);

#endif
