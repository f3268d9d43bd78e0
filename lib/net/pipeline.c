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

struct pipeline;

struct sp_turn {
	struct pipeline *pipeline;
	const char *line; /* while it is started */
	size_t size;      /* of its line */
	size_t number;    /* of its line, from 1 */
	json_t *answer;   /* or */
	char *text;
	size_t text_size;
	int text_exit;
	bool answered;
};

struct pipeline {
	struct ev_loop *loop;
	struct sp_line_reader reader;
	struct sp_line_writer writer;
	ev_io readable;
	ev_prepare before_wait, pump_due;
	sp_turn_fn *start;
	void *context;
	struct sp_turn *turns;
	unsigned window, head, open;
	int exit, failed;
	struct sp_err *err;
};

static void fail(struct pipeline *pipeline, int code)
{
	pipeline->failed = code;
	ev_break(pipeline->loop, EVBREAK_ALL);
}

static void output_failed(struct pipeline *pipeline, int code)
{
	if (code != -EPIPE)
		(void)sp_fail(pipeline->err, code, "standard output: %s", sp_code_text(code));
	fail(pipeline, code);
}

static int write_answer(struct pipeline *pipeline, const struct sp_turn *turn)
{
	int exit, bad = -ENOMEM;

	if (turn->text)
		bad = sp_line_put(&pipeline->writer, turn->text, turn->text_size);
	else if (turn->answer)
		bad = sp_line_put_json(&pipeline->writer, turn->answer);
	if (bad)
		return bad;
	exit = turn->text ? turn->text_exit : sp_record_exit(turn->answer);
	pipeline->exit = sp_exit_worse(pipeline->exit, exit);
	return 0;
}

static void drop_answer(struct sp_turn *turn)
{
	json_decref(turn->answer);
	free(turn->text);
}

/* Writes the answers that are due: those at the head of the ring. */
static void write_due(struct pipeline *pipeline)
{
	while (
	    pipeline->open > 0 && pipeline->turns[pipeline->head].answered && !pipeline->failed) {
		struct sp_turn *turn = &pipeline->turns[pipeline->head];
		int bad = write_answer(pipeline, turn);
		if (bad)
			output_failed(pipeline, bad);
		drop_answer(turn);
		*turn = (struct sp_turn){.pipeline = pipeline};
		pipeline->head = (pipeline->head + 1) % pipeline->window;
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
	ev_feed_event(turn->pipeline->loop, &turn->pipeline->pump_due, EV_CUSTOM);
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

static void start_turn(struct pipeline *pipeline, const char *line, size_t size)
{
	struct sp_turn *turn =
	    &pipeline->turns[(pipeline->head + pipeline->open) % pipeline->window];
	sp_auto_json json_t *record = NULL;
	struct sp_err why = {0};
	int bad;

	*turn = (struct sp_turn){
	    .pipeline = pipeline, .line = line, .size = size, .number = pipeline->reader.number};
	pipeline->open++;
	if (line)
		bad = sp_json_parse(line, size, &record, &why);
	else
		bad = sp_fail(&why, SP_E_BAD_RECORD, "line longer than 256 KiB");
	if (!bad)
		bad = pipeline->start(pipeline->context, turn, record, &why);
	turn->line = NULL;
	if (bad == SP_E_BAD_RECORD) {
		sp_turn_answer(turn, sp_result_bad_record(NULL, turn->number, why.message));
	} else if (bad) {
		if (pipeline->err)
			*pipeline->err = why;
		fail(pipeline, bad);
	}
}

/* As many records as the window takes. Stops reading while it is full, ends the loop when all is
 * done. */
static void pump(struct pipeline *pipeline)
{
	for (;;) {
		char *line = NULL;
		size_t size = 0;
		int got;
		write_due(pipeline);
		if (pipeline->failed)
			return;
		if (pipeline->open == pipeline->window) {
			ev_io_stop(pipeline->loop, &pipeline->readable);
			return;
		}
		got = sp_line_take(&pipeline->reader, &line, &size);
		if (got == -EAGAIN) {
			ev_io_start(pipeline->loop, &pipeline->readable);
			return;
		}
		if (got == 0) {
			ev_io_stop(pipeline->loop, &pipeline->readable);
			if (pipeline->open == 0)
				ev_break(pipeline->loop, EVBREAK_ALL);
			return;
		}
		start_turn(pipeline, got == 1 ? line : NULL, size);
	}
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct pipeline *pipeline = watcher->data;
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
	struct pipeline *pipeline = watcher->data;
	int bad;

	(void)loop;
	(void)events;
	/* An answer given by another watcher of this kind is due before the wait, too. */
	write_due(pipeline);
	bad = sp_line_flush(&pipeline->writer);
	if (bad && !pipeline->failed)
		output_failed(pipeline, bad);
}

static void run(struct pipeline *pipeline, int in)
{
	ev_io_init(&pipeline->readable, on_readable, in, EV_READ);
	ev_prepare_init(&pipeline->before_wait, on_before_wait);
	ev_prepare_init(&pipeline->pump_due, on_pump_due);
	pipeline->readable.data = pipeline->before_wait.data = pipeline->pump_due.data = pipeline;
	ev_set_priority(&pipeline->before_wait, EV_MINPRI);
	ev_set_priority(&pipeline->pump_due, EV_MINPRI);
	ev_io_start(pipeline->loop, &pipeline->readable);
	ev_prepare_start(pipeline->loop, &pipeline->before_wait);
	(void)ev_run(pipeline->loop, 0);
	ev_io_stop(pipeline->loop, &pipeline->readable);
	ev_prepare_stop(pipeline->loop, &pipeline->before_wait);
	(void)ev_clear_pending(pipeline->loop, &pipeline->pump_due);
}

int sp_pipeline_run(struct ev_loop *loop, int in, int out, unsigned window, sp_turn_fn *start,
    void *context, int *ret_exit, struct sp_err *err)
{
	struct pipeline pipeline = {
	    .loop = loop, .start = start, .context = context, .window = window, .err = err};
	int bad = 0;

	if (window < 1 || window > SP_WINDOW_MAX)
		return sp_fail(
		    err, SP_E_USAGE, "a window of %u: not from 1 to %d", window, SP_WINDOW_MAX);
	pipeline.turns = calloc(window, sizeof(*pipeline.turns));
	if (!pipeline.turns || sp_line_reader_init(&pipeline.reader, in, SP_LINE_MAX) < 0 ||
	    sp_line_writer_init(&pipeline.writer, out) < 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	if (!bad) {
		run(&pipeline, in);
		bad = pipeline.failed;
		if (sp_line_flush(&pipeline.writer) && !bad)
			bad = pipeline.writer.failed;
	}
	for (unsigned i = 0; pipeline.turns && i < window; i++)
		drop_answer(&pipeline.turns[i]);
	free(pipeline.turns);
	sp_line_reader_done(&pipeline.reader);
	sp_line_writer_done(&pipeline.writer);
	if (!bad || bad == -EPIPE)
		*ret_exit = pipeline.exit;
	return bad == -EPIPE ? 0 : bad;
}
