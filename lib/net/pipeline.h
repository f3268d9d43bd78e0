/* The driver of a filter with requests in flight: answers in the order of the records, up to
 * `window` of them open, on a libev loop. */
#ifndef SP_NET_PIPELINE_H
#define SP_NET_PIPELINE_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include "base/err.h"
#include "record/batch.h"

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

/*
 * The same of a line that is of a usual shape, without a tree: true when it has been begun, with
 * the turn answered now or later. False: not judged, nothing has been done.
 */
typedef bool sp_turn_quick_fn(void *context, struct sp_turn *turn, const char *line, size_t size);

/* Room in the turn for an answer that is put together there, at least `size` bytes, and the answer:
 * the first `used` of them, which are a well-formed record without LF. It stays as it is until
 * then, and is used again for later records. NULL: out of memory. */
char *sp_turn_room(struct sp_turn *turn, size_t size);
void sp_turn_answer_room(struct sp_turn *turn, size_t used, int exit);

/* The line that the record was read from, sp_turn_size bytes: only within `start`. */
const char *sp_turn_line(const struct sp_turn *turn);

/* Runs to the end of input and of all turns, `window` from 1 to SP_WINDOW_MAX (else SP_E_USAGE). A
 * turn not answered when it ends early must not be answered later. Output is flushed when nothing
 * further is at hand. See sp_filter_run for the rest. */
int sp_pipeline_run(struct ev_loop *loop, int in, int out, unsigned window, sp_turn_fn *start,
    void *context, int *ret_exit, struct sp_err *err);

/* What a pipeline is made of. */
struct sp_pipeline_options {
	struct ev_loop *loop;
	unsigned window;
	sp_turn_quick_fn *quick; /* tried first; NULL: none */
	sp_turn_fn *start;
	void *context;
};

/* The same with a quick look first. */
int sp_pipeline_run_quick(
    int in, int out, const struct sp_pipeline_options *options, int *ret_exit, struct sp_err *err);

/* A pipeline that has no input and output of its own, for filters of several threads, each with
 * such a one and a loop of its own: it answers the lines of a batch, and runs its loop for so long.
 * SP_E_USAGE for the window, -ENOMEM, or 0. */
struct sp_pipeline;
int sp_pipeline_new(const struct sp_pipeline_options *options, struct sp_pipeline **ret);
void sp_pipeline_free(struct sp_pipeline *pipeline);
void sp_pipeline_answer(struct sp_pipeline *pipeline, struct sp_batch *batch);

#endif
