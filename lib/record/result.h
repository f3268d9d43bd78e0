/* Done records (01-records, Results): made here, judged here. Every maker returns a new reference,
 * NULL when out of memory. A message is cut at SP_ERR_MAX and made printable (base/text.h). */
#ifndef SP_RECORD_RESULT_H
#define SP_RECORD_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include "record/compare.h"
#include "record/out.h"
#include "record/reason.h"

/* `id` may be NULL: then the record has none. */
json_t *sp_result_ok(const char *id, json_t *result /* stolen */);
json_t *sp_result_refused(
    const char *id, enum sp_reason reason, enum sp_behind behind, const char *hop);
/* The same as text, without a tree: `id` is a string's JSON, compact (record/scan.h), or NULL. */
void sp_result_refused_put(const char *id, size_t id_size, enum sp_reason reason,
    enum sp_behind behind, const char *hop, struct sp_out *out);
/* `sent` is written for transport and timeout only. */
json_t *sp_result_error(const char *id, enum sp_error_kind kind, bool sent, const char *message);
json_t *sp_result_op_error(const char *id, int error_number, const char *message);
/* A bad line of a filter; `line` counts from 1. */
json_t *sp_result_bad_record(const char *id, size_t line, const char *message);

/* "ENOENT" and the like for an errno value; "EIO" for one without a name. */
const char *sp_errno_name(int error_number);

/*
 * Is this a well-formed done record, one of the five shapes, closed? `allow_request`: a `request`
 * member beside them is tolerated (between send and repair). *ret_exit (may be NULL) is the exit
 * code that it calls for.
 */
int sp_result_check(const json_t *record, bool allow_request, int *ret_exit, struct sp_err *err);

/* The exit code of any record a filter writes: that of a done record, 0 for others (01-records,
 * Exit codes). */
int sp_record_exit(const json_t *record);

#endif
