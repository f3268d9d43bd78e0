/* Line in, record through, line out; flushed before every wait. */
#include "record/filter.h"

#include <errno.h>
#include "base/util.h"
#include "record/batch.h"
#include "record/json.h"
#include "record/result.h"

struct run {
	struct sp_line_reader reader;
	struct sp_line_writer writer;
	const struct sp_filter *filter;
	sp_filter_flush_fn *flush;
	void *context;
	int exit;
	bool flushed; /* nothing was answered since */
	struct sp_err why;
};

/* A full batch is written out, in the middle of the work: what must come before that, first. */
static int before_writing(void *context)
{
	struct run *run = context;

	if (run->flushed || !run->flush)
		return 0;
	return run->flush(run->context, &run->why);
}

static int put(struct sp_line_writer *writer, const json_t *record, int *exit, struct sp_err *err)
{
	int bad = record ? sp_line_put_json(writer, record) : -ENOMEM;

	if (bad)
		return sp_fail(err, bad, "standard output: %s", sp_code_text(bad));
	*exit = sp_exit_worse(*exit, sp_record_exit(record));
	return 0;
}

static int put_bad(
    struct sp_line_writer *writer, size_t number, const char *why, int *exit, struct sp_err *err)
{
	sp_auto_json json_t *line = sp_result_bad_record(NULL, number, why);

	return put(writer, line, exit, err);
}

/* Through a tree. */
static int answer_record(const struct sp_filter *filter, void *context, const char *line,
    size_t size, size_t number, struct sp_line_writer *writer, int *exit, struct sp_err *err)
{
	sp_auto_json json_t *record = NULL, *out = NULL;
	struct sp_err why = {0};
	int bad = sp_json_parse(line, size, &record, &why);

	if (!bad)
		bad = filter->answer(context, record, &out, &why);
	if (bad == SP_E_BAD_RECORD)
		return put_bad(writer, number, why.message, exit, err);
	if (bad) {
		if (err)
			*err = why;
		return bad;
	}
	return put(writer, out, exit, err);
}

int sp_filter_line(const struct sp_filter *filter, void *context, const char *line, size_t size,
    size_t number, struct sp_line_writer *writer, int *exit, struct sp_err *err)
{
	int bad = 0, calls_for;

	if (!line)
		return put_bad(writer, number, "line longer than 256 KiB", exit, err);
	if (filter->quick) {
		struct sp_out out;
		bad = sp_line_room(writer, size + SP_QUICK_MORE, &out);
		if (bad)
			return sp_fail(err, bad, "standard output: %s", sp_code_text(bad));
		if (filter->quick(context, line, size, &out, &calls_for) && out.used <= out.room) {
			*exit = sp_exit_worse(*exit, calls_for);
			sp_line_took(writer, out.used);
			return 0;
		}
	}
	return answer_record(filter, context, line, size, number, writer, exit, err);
}

/* What could not be committed has words of its own. */
static int output_failed(const struct run *run, int bad, struct sp_err *err)
{
	if (run->why.code && err)
		*err = run->why;
	return run->why.code || bad == -EPIPE
		   ? bad
		   : sp_fail(err, bad, "standard output: %s", sp_code_text(bad));
}

static int answer_line(struct run *run, const char *line, size_t size, struct sp_err *err)
{
	struct sp_err why = {0};
	int bad = sp_filter_line(run->filter, run->context, line, size, run->reader.number,
	    &run->writer, &run->exit, &why);

	if (!bad)
		run->flushed = false;
	else if (run->writer.failed)
		return output_failed(run, bad, err);
	else if (err)
		*err = why;
	return bad;
}

static int flush(struct run *run, struct sp_err *err)
{
	int bad = run->flush ? run->flush(run->context, err) : 0;

	if (bad)
		return bad;
	run->flushed = true;
	bad = sp_line_flush(&run->writer);
	return bad ? output_failed(run, bad, err) : 0;
}

static int run_lines(struct run *run, struct sp_err *err)
{
	for (;;) {
		char *line = NULL;
		size_t size = 0;
		int bad = sp_line_at_hand(&run->reader) ? 0 : flush(run, err);
		if (bad)
			return bad;
		int got = sp_line_next(&run->reader, &line, &size);
		if (got == 0)
			return flush(run, err);
		if (got < 0 && got != SP_E_TOO_LARGE)
			bad = sp_fail(err, got, "standard input: %s", sp_code_text(got));
		else
			bad = answer_line(run, got == 1 ? line : NULL, size, err);
		if (bad) {
			/* What was answered before the failure is not lost with it, nor written
			 * before it is committed. */
			(void)flush(run, NULL);
			return bad;
		}
	}
}

static int run_alone(int in, int out, const struct sp_filter *filter, sp_filter_flush_fn *flush_fn,
    int *ret_exit, struct sp_err *err)
{
	struct run run = {.filter = filter, .flush = flush_fn, .context = filter->contexts[0]};
	int bad = sp_line_reader_init(&run.reader, in, SP_LINE_MAX);

	if (!bad)
		bad = sp_line_writer_init(&run.writer, out);
	run.writer.before = before_writing;
	run.writer.context = &run;
	bad = bad ? sp_fail(err, bad, "out of memory") : run_lines(&run, err);
	sp_line_reader_done(&run.reader);
	sp_line_writer_done(&run.writer);
	if (!bad || bad == -EPIPE)
		*ret_exit = run.exit;
	return bad == -EPIPE ? 0 : bad;
}

int sp_filter_run(int in, int out, sp_filter_fn *answer, sp_filter_flush_fn *flush_fn,
    void *context, int *ret_exit, struct sp_err *err)
{
	const struct sp_filter filter = {.answer = answer, .jobs = 1, .contexts = &context};

	return run_alone(in, out, &filter, flush_fn, ret_exit, err);
}

struct job {
	const struct sp_filter *filter;
	void *context;
};

static void answer_batch(void *worker, void *piece)
{
	const struct job *job = worker;
	struct sp_batch *batch = piece;

	for (unsigned i = 0; i < batch->count && !batch->code; i++) {
		const char *line = sp_batch_line(batch, i);
		batch->code = sp_filter_line(job->filter, job->context, line, batch->lines[i].size,
		    batch->lines[i].number, &batch->answers, &batch->exit, &batch->why);
	}
}

int sp_filter_run_jobs(
    int in, int out, const struct sp_filter *filter, int *ret_exit, struct sp_err *err)
{
	struct job jobs[SP_JOBS_MAX];
	void *workers[SP_JOBS_MAX];

	if (filter->jobs == 1)
		return run_alone(in, out, filter, NULL, ret_exit, err);
	for (unsigned i = 0; i < filter->jobs && i < SP_JOBS_MAX; i++) {
		jobs[i] = (struct job){filter, filter->contexts[i]};
		workers[i] = &jobs[i];
	}
	return sp_batches_run(in, out, filter->jobs, answer_batch, workers, ret_exit, err);
}
