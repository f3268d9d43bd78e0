/*
 * Answers on the way back, matched by number (01-records, Results): whoever passes requests on
 * numbers them, and believes of what comes back only what that neighbour may say. Pure.
 */
#ifndef SP_BRIDGE_ANSWER_H
#define SP_BRIDGE_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

/* One answer; borrows from its line. */
struct sp_answer {
	uint64_t number;
	json_t *record;     /* owned; NULL: a well-formed `ok` for which none had to be made */
	const char *result; /* of such an `ok`: its bytes, as they were written */
	size_t result_size;
};

/*
 * A line whose `id` is a number that we may have given. *ret is for sp_answer_done. SP_E_BAD_RECORD
 * for anything else: it cannot be matched, and nothing after it can be trusted.
 */
int sp_answer_read(const char *line, size_t size, struct sp_answer *ret, struct sp_err *err);
void sp_answer_done(struct sp_answer *answer);

/* What a guest may say: `ok` and `error op`, closed. SP_E_BAD_RECORD names what it said. */
int sp_answer_of_guest(const struct sp_answer *answer, struct sp_err *err);

/* A guest's word that this connection is a stream from here on: `{"id","status":"open","from"?}`,
 * closed. *ret_from (NULL: nobody wants it) is the position in the whole output at which that of a
 * session begins; -1: not said. */
bool sp_answer_of_stream(const struct sp_answer *answer, int64_t *ret_from);

/* What a manager may say on a connection that is no stream: every done record but `open`, without
 * `request`, closed. */
int sp_answer_of_manager(const struct sp_answer *answer, struct sp_err *err);

/* Is it a well-formed `open`? Where a stream was asked for, a manager may say so. */
bool sp_answer_is_open(const struct sp_answer *answer);

/* Of one that was believed. */
bool sp_answer_is_ok(const struct sp_answer *answer);

/*
 * An answer that was believed, under another id: `id` is a JSON string as text, with its quotes;
 * NULL: under none. Heap, NUL-terminated, without LF. NULL: out of memory.
 */
char *sp_answer_under(const struct sp_answer *answer, const char *id, size_t *ret_size);

#endif
