/* The driver of a filter with requests in flight: answers in the order of the records, up to
 * `window` of them open, on a libev loop. */
#ifndef SP_NET_PIPELINE_H
#define SP_NET_PIPELINE_H

#include <ev.h>
#include <jansson.h>
#include "base/err.h"

struct sp_turn; /* one record's place in the order */

/*
 * Starts work on one record. Either answer the turn now or later, exactly once, with
 * sp_turn_answer, and return 0; or return SP_E_BAD_RECORD (err set) without having answered: the
 * driver writes the bad-record line. Other codes end the filter. `record` is borrowed for the call
 * (incref to keep).
 */
typedef int sp_turn_fn(void *context, struct sp_turn *turn, json_t *record, struct sp_err *err);

/* Bytes of the line that the record came in, without its LF; from within sp_turn_fn. */
size_t sp_turn_size(const struct sp_turn *turn);

/* Which line of the input it is, from 1: a record that is found bad later is answered with it. */
size_t sp_turn_number(const struct sp_turn *turn);

/* `answer` is stolen. */
void sp_turn_answer(struct sp_turn *turn, json_t *answer);

/* The same with a line that was made without a tree: `text` is heap and stolen, without LF, a
 * well-formed record; `exit` is what it calls for. */
void sp_turn_answer_text(struct sp_turn *turn, char *text, size_t size, int exit);

/* The line that the record was read from, sp_turn_size bytes: only within `start`. */
const char *sp_turn_line(const struct sp_turn *turn);

/* Runs to the end of input and of all turns, `window` from 1 to SP_WINDOW_MAX (else SP_E_USAGE). A
 * turn not answered when it ends early must not be answered later. Output is flushed when nothing
 * further is at hand. See sp_filter_run for the rest. */
int sp_pipeline_run(struct ev_loop *loop, int in, int out, unsigned window, sp_turn_fn *start,
    void *context, int *ret_exit, struct sp_err *err);

#endif
