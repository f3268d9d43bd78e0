/* Line in, record through, line out; flushed before every wait. */
#include "record/filter.h"

#include <errno.h>
#include "base/util.h"
#include "record/json.h"
#include "record/lines.h"
#include "record/result.h"

struct run {
	struct sp_line_reader reader;
	struct sp_line_writer writer;
	sp_filter_fn *answer;
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

static int output_failed(const struct run *run, int bad, struct sp_err *err)
{
	if (run->why.code && err)
		*err = run->why;
	return run->why.code || bad == -EPIPE
		   ? bad
		   : sp_fail(err, bad, "standard output: %s", sp_code_text(bad));
}

static int put(struct run *run, const json_t *record, struct sp_err *err)
{
	int bad = record ? sp_line_put_json(&run->writer, record) : -ENOMEM;

	if (bad)
		return output_failed(run, bad, err);
	run->flushed = false;
	run->exit = sp_exit_worse(run->exit, sp_record_exit(record));
	return 0;
}

static int put_bad(struct run *run, const char *why, struct sp_err *err)
{
	sp_auto_json json_t *line = sp_result_bad_record(NULL, run->reader.number, why);

	return put(run, line, err);
}

static int answer_line(struct run *run, const char *line, size_t size, struct sp_err *err)
{
	sp_auto_json json_t *record = NULL, *out = NULL;
	struct sp_err why = {0};
	int bad = sp_json_parse(line, size, &record, &why);

	if (!bad)
		bad = run->answer(run->context, record, &out, &why);
	if (bad == SP_E_BAD_RECORD)
		return put_bad(run, why.message, err);
	if (bad) {
		if (err)
			*err = why;
		return bad;
	}
	return put(run, out, err);
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
		char *line;
		size_t size;
		int bad = sp_line_at_hand(&run->reader) ? 0 : flush(run, err);
		if (bad)
			return bad;
		int got = sp_line_next(&run->reader, &line, &size);
		if (got == 0)
			return flush(run, err);
		if (got == SP_E_TOO_LARGE)
			bad = put_bad(run, "line longer than 256 KiB", err);
		else if (got < 0)
			bad = sp_fail(err, got, "standard input: %s", sp_code_text(got));
		else
			bad = answer_line(run, line, size, err);
		if (bad) {
			/* What was answered before the failure is not lost with it, nor written
			 * before it is committed. */
			(void)flush(run, NULL);
			return bad;
		}
	}
}

int sp_filter_run(int in, int out, sp_filter_fn *answer, sp_filter_flush_fn *flush_fn,
    void *context, int *ret_exit, struct sp_err *err)
{
	struct run run = {.answer = answer, .flush = flush_fn, .context = context};
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
