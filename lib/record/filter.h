/* The driver of a synchronous filter: one record a line in, one out, in order, bad lines answered
 * in place. */
#ifndef SP_RECORD_FILTER_H
#define SP_RECORD_FILTER_H

#include <jansson.h>
#include <stddef.h>
#include "base/err.h"

/*
 * Answers one record. `record` is a reference the function may read, change and keep; *ret is the
 * record to write, a new reference (json_incref(record) passes it on). To call the record bad,
 * return SP_E_BAD_RECORD with err set: the driver writes the bad-record line. Any other negative
 * code ends the filter.
 */
typedef int sp_filter_fn(void *context, json_t *record, json_t **ret, struct sp_err *err);

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

#endif
