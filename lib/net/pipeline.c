/*
 * A ring of turns: started in the order of the records, answered in any order, written in the first
 * order. Standard input is read only when it is readable, as other processes share its descriptor
 * and it must stay blocking.
 */
#include "net/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include "base/util.h"
#include "record/json.h"
#include "record/lines.h"
#include "record/result.h"

#define ROOM_KEPT 4096 /* bytes of a turn */

struct sp_turn {
	struct sp_pipeline *pipeline;
	const char *line; /* while it is started */
	size_t size;      /* of its line */
	size_t number;    /* of its line, from 1 */
	json_t *answer;   /* or */
	char *text;
	size_t text_size;
	int text_exit;
	bool answered, in_room; /* the answer stands in the room */
	char *room;             /* stays from record to record */
	size_t room_size;
};

struct sp_pipeline {
	struct sp_pipeline_options options;
	struct sp_batch *batch; /* what lines come from; NULL: the reader */
	unsigned batch_next;
	struct sp_line_reader reader;
	struct sp_line_writer writer, *answers; /* where they go: this one, or the batch's */
	ev_io readable;
	ev_prepare before_wait, pump_due;
	struct sp_turn *turns;
	unsigned head, open;
	int exit, failed;
	struct sp_err *err;
};

static void fail(struct sp_pipeline *pipeline, int code)
{
	pipeline->failed = code;
	ev_break(pipeline->options.loop, EVBREAK_ALL);
}

static void output_failed(struct sp_pipeline *pipeline, int code)
{
	if (code != -EPIPE)
		(void)sp_fail(pipeline->err, code, "standard output: %s", sp_code_text(code));
	fail(pipeline, code);
}

static int write_answer(struct sp_pipeline *pipeline, const struct sp_turn *turn)
{
	const char *text = turn->in_room ? turn->room : turn->text;
	int exit, bad = -ENOMEM;

	if (text)
		bad = sp_line_put(pipeline->answers, text, turn->text_size);
	else if (turn->answer)
		bad = sp_line_put_json(pipeline->answers, turn->answer);
	if (bad)
		return bad;
	exit = text ? turn->text_exit : sp_record_exit(turn->answer);
	pipeline->exit = sp_exit_worse(pipeline->exit, exit);
	return 0;
}

static void drop_answer(struct sp_turn *turn)
{
	json_decref(turn->answer);
	free(turn->text);
	turn->answer = NULL;
	turn->text = NULL;
}

/* For the next record: but for its room, unless that has grown for once. */
static void clear_turn(struct sp_pipeline *pipeline, struct sp_turn *turn)
{
	struct sp_turn empty = {.pipeline = pipeline};

	drop_answer(turn);
	if (turn->room_size > ROOM_KEPT) {
		free(turn->room);
	} else {
		empty.room = turn->room;
		empty.room_size = turn->room_size;
	}
	*turn = empty;
}

/* Writes the answers that are due: those at the head of the ring. */
static void write_due(struct sp_pipeline *pipeline)
{
	while (
	    pipeline->open > 0 && pipeline->turns[pipeline->head].answered && !pipeline->failed) {
		struct sp_turn *turn = &pipeline->turns[pipeline->head];
		int bad = write_answer(pipeline, turn);
		if (bad)
			output_failed(pipeline, bad);
		clear_turn(pipeline, turn);
		pipeline->head = (pipeline->head + 1) % pipeline->options.window;
		pipeline->open--;
	}
}

size_t sp_turn_size(const struct sp_turn *turn)
{
	return turn->size;
}

const char *sp_turn_line(const struct sp_turn *turn)
{
	return turn->line;
}

size_t sp_turn_number(const struct sp_turn *turn)
{
	return turn->number;
}

static void answered(struct sp_turn *turn)
{
	turn->answered = true;
	/* Not from here: an answer may come from within start(), and callers may hold state of
	 * their own. */
	ev_feed_event(turn->pipeline->options.loop, &turn->pipeline->pump_due, EV_CUSTOM);
}

void sp_turn_answer(struct sp_turn *turn, json_t *answer)
{
	turn->answer = answer;
	answered(turn);
}

void sp_turn_answer_text(struct sp_turn *turn, char *text, size_t size, int exit)
{
	turn->text = text;
	turn->text_size = size;
	turn->text_exit = exit;
	answered(turn);
}

char *sp_turn_room(struct sp_turn *turn, size_t size)
{
	char *larger = turn->room_size >= size ? turn->room : realloc(turn->room, size);

	if (!larger)
		return NULL;
	turn->room = larger;
	turn->room_size = turn->room_size >= size ? turn->room_size : size;
	return larger;
}

void sp_turn_answer_room(struct sp_turn *turn, size_t used, int exit)
{
	turn->in_room = true;
	turn->text_size = used;
	turn->text_exit = exit;
	answered(turn);
}

static void start_slowly(struct sp_pipeline *pipeline, struct sp_turn *turn)
{
	sp_auto_json json_t *record = NULL;
	struct sp_err why = {0};
	int bad;

	if (turn->line)
		bad = sp_json_parse(turn->line, turn->size, &record, &why);
	else
		bad = sp_fail(&why, SP_E_BAD_RECORD, "line longer than 256 KiB");
	if (!bad)
		bad = pipeline->options.start(pipeline->options.context, turn, record, &why);
	if (bad == SP_E_BAD_RECORD) {
		sp_turn_answer(turn, sp_result_bad_record(NULL, turn->number, why.message));
	} else if (bad) {
		if (pipeline->err)
			*pipeline->err = why;
		fail(pipeline, bad);
	}
}

static void start_turn(struct sp_pipeline *pipeline, const char *line, size_t size, size_t number)
{
	const struct sp_pipeline_options *options = &pipeline->options;
	struct sp_turn *turn =
	    &pipeline->turns[(pipeline->head + pipeline->open) % options->window];

	turn->line = line;
	turn->size = size;
	turn->number = number;
	pipeline->open++;
	if (!line || !options->quick || !options->quick(options->context, turn, line, size))
		start_slowly(pipeline, turn);
	turn->line = NULL;
}

/* As sp_line_take. */
static int next_line(
    struct sp_pipeline *pipeline, char **ret_line, size_t *ret_size, size_t *ret_number)
{
	struct sp_batch *batch = pipeline->batch;
	unsigned next = pipeline->batch_next;
	int got;

	if (!batch) {
		got = sp_line_take(&pipeline->reader, ret_line, ret_size);
		*ret_number = pipeline->reader.number;
		return got;
	}
	if (next == batch->count)
		return 0;
	pipeline->batch_next++;
	*ret_number = batch->lines[next].number;
	*ret_size = batch->lines[next].size;
	if (*ret_size == SP_BATCH_TOO_LONG)
		return SP_E_TOO_LARGE;
	*ret_line = batch->bytes + batch->lines[next].offset;
	return 1;
}

/* As many records as the window takes. Stops reading while it is full, ends the loop when all is
 * done. */
static void pump(struct sp_pipeline *pipeline)
{
	for (;;) {
		char *line = NULL;
		size_t size = 0, number = 0;
		int got;
		write_due(pipeline);
		if (pipeline->failed)
			return;
		if (pipeline->open == pipeline->options.window) {
			ev_io_stop(pipeline->options.loop, &pipeline->readable);
			return;
		}
		got = next_line(pipeline, &line, &size, &number);
		if (got == -EAGAIN) {
			ev_io_start(pipeline->options.loop, &pipeline->readable);
			return;
		}
		if (got == 0) {
			ev_io_stop(pipeline->options.loop, &pipeline->readable);
			if (pipeline->open == 0)
				ev_break(pipeline->options.loop, EVBREAK_ALL);
			return;
		}
		start_turn(pipeline, got == 1 ? line : NULL, size, number);
	}
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_pipeline *pipeline = watcher->data;
	int bad = sp_line_fill(&pipeline->reader);

	(void)loop;
	(void)events;
	if (bad && bad != -EAGAIN) {
		(void)sp_fail(pipeline->err, bad, "standard input: %s", sp_code_text(bad));
		fail(pipeline, bad);
		return;
	}
	pump(pipeline);
}

static void on_pump_due(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	pump(watcher->data);
}

static void on_before_wait(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_pipeline *pipeline = watcher->data;
	int bad;

	(void)loop;
	(void)events;
	/* An answer given by another watcher of this kind is due before the wait, too. */
	write_due(pipeline);
	bad = sp_line_flush(&pipeline->writer);
	if (bad && !pipeline->failed)
		output_failed(pipeline, bad);
}

/* The turns, and the watcher that every pipeline has. */
static int prepare(const struct sp_pipeline_options *options, struct sp_pipeline *pipeline)
{
	if (options->window < 1 || options->window > SP_WINDOW_MAX)
		return SP_E_USAGE;
	pipeline->options = *options;
	pipeline->turns = calloc(options->window, sizeof(*pipeline->turns));
	if (!pipeline->turns)
		return -ENOMEM;
	for (unsigned i = 0; i < options->window; i++)
		pipeline->turns[i].pipeline = pipeline;
	ev_io_init(&pipeline->readable, on_readable, -1, EV_READ);
	ev_prepare_init(&pipeline->pump_due, on_pump_due);
	ev_set_priority(&pipeline->pump_due, EV_MINPRI);
	pipeline->readable.data = pipeline->pump_due.data = pipeline;
	return 0;
}

static void done(struct sp_pipeline *pipeline)
{
	for (unsigned i = 0; pipeline->turns && i < pipeline->options.window; i++) {
		drop_answer(&pipeline->turns[i]);
		free(pipeline->turns[i].room);
	}
	free(pipeline->turns);
}

static void run(struct sp_pipeline *pipeline, int in)
{
	struct ev_loop *loop = pipeline->options.loop;

	ev_io_set(&pipeline->readable, in, EV_READ);
	ev_prepare_init(&pipeline->before_wait, on_before_wait);
	pipeline->before_wait.data = pipeline;
	ev_set_priority(&pipeline->before_wait, EV_MINPRI);
	ev_io_start(loop, &pipeline->readable);
	ev_prepare_start(loop, &pipeline->before_wait);
	(void)ev_run(loop, 0);
	ev_io_stop(loop, &pipeline->readable);
	ev_prepare_stop(loop, &pipeline->before_wait);
	(void)ev_clear_pending(loop, &pipeline->pump_due);
}

static int run_descriptors(struct sp_pipeline *pipeline, int in, int out, struct sp_err *err)
{
	int bad = sp_line_reader_init(&pipeline->reader, in, SP_LINE_MAX);

	if (!bad)
		bad = sp_line_writer_init(&pipeline->writer, out);
	if (bad)
		return sp_fail(err, bad, "out of memory");
	pipeline->answers = &pipeline->writer;
	pipeline->err = err;
	run(pipeline, in);
	bad = pipeline->failed;
	if (sp_line_flush(&pipeline->writer) && !bad)
		bad = pipeline->writer.failed;
	return bad;
}

int sp_pipeline_run_quick(
    int in, int out, const struct sp_pipeline_options *options, int *ret_exit, struct sp_err *err)
{
	struct sp_pipeline pipeline = {.turns = NULL};
	int bad = prepare(options, &pipeline);

	if (bad == SP_E_USAGE)
		return sp_fail(err, SP_E_USAGE, "a window of %u: not from 1 to %d", options->window,
		    SP_WINDOW_MAX);
	bad = bad ? sp_fail(err, bad, "out of memory") : run_descriptors(&pipeline, in, out, err);
	done(&pipeline);
	sp_line_reader_done(&pipeline.reader);
	sp_line_writer_done(&pipeline.writer);
	if (!bad || bad == -EPIPE)
		*ret_exit = pipeline.exit;
	return bad == -EPIPE ? 0 : bad;
}

int sp_pipeline_run(struct ev_loop *loop, int in, int out, unsigned window, sp_turn_fn *start,
    void *context, int *ret_exit, struct sp_err *err)
{
	const struct sp_pipeline_options options = {
	    .loop = loop, .window = window, .start = start, .context = context};

	return sp_pipeline_run_quick(in, out, &options, ret_exit, err);
}

int sp_pipeline_new(const struct sp_pipeline_options *options, struct sp_pipeline **ret)
{
	struct sp_pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int bad = pipeline ? prepare(options, pipeline) : -ENOMEM;

	if (bad)
		free(pipeline);
	else
		*ret = pipeline;
	return bad;
}

void sp_pipeline_free(struct sp_pipeline *pipeline)
{
	if (!pipeline)
		return;
	(void)ev_clear_pending(pipeline->options.loop, &pipeline->pump_due);
	done(pipeline);
	free(pipeline);
}

void sp_pipeline_answer(struct sp_pipeline *pipeline, struct sp_batch *batch)
{
	struct ev_loop *loop = pipeline->options.loop;

	batch->code = pipeline->failed;
	if (batch->code)
		return;
	pipeline->batch = batch;
	pipeline->batch_next = 0;
	pipeline->answers = &batch->answers;
	pipeline->err = &batch->why;
	pipeline->exit = SP_EXIT_DONE;
	/* What has come while the loop stood still: a connection's end, perhaps. */
	(void)ev_run(loop, EVRUN_NOWAIT);
	ev_feed_event(loop, &pipeline->pump_due, EV_CUSTOM);
	(void)ev_run(loop, 0);
	batch->exit = pipeline->exit;
	batch->code = pipeline->failed;
	if (!batch->code && pipeline->open > 0)
		batch->code = pipeline->failed =
		    sp_fail(&batch->why, SP_E_UNAVAILABLE, "records that nobody answers");
}
