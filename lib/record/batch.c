/* One thread reads and writes, the others answer: what they work on is theirs until it comes back.
 */
#include "record/batch.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "record/reason.h"

#define AHEAD  4 /* batches for each thread, so that none waits while the oldest is written */
#define FEW    2 /* lines that are answered before another thread has woken up */
#define BEHIND 1 /* the NUL */

struct driver {
	struct sp_line_reader reader;
	int out;
	struct sp_pool_options options;
	struct sp_pool *pool;
	unsigned count, idle_count;
	struct sp_batch *batches; /* as many as the pool has room for, and the one being filled */
	struct sp_batch **idle;
	struct sp_batch *filling; /* NULL: none */
	int exit;
};

const char *sp_batch_line(const struct sp_batch *batch, unsigned index)
{
	return batch->lines[index].size == SP_BATCH_TOO_LONG
		   ? NULL
		   : batch->bytes + batch->lines[index].offset;
}

static int make_room(struct sp_batch *batch, size_t size)
{
	size_t room = batch->room ? batch->room : SP_BATCH_BYTES;
	char *larger;

	while (room < batch->used + size)
		room *= 2;
	if (room == batch->room)
		return 0;
	larger = realloc(batch->bytes, room);
	if (!larger)
		return -ENOMEM;
	batch->bytes = larger;
	batch->room = room;
	return 0;
}

static int add(struct sp_batch *batch, const char *line, size_t size, size_t number)
{
	int bad = line ? make_room(batch, size + BEHIND) : 0;

	if (bad)
		return bad;
	batch->lines[batch->count].offset = batch->used;
	batch->lines[batch->count].size = line ? size : SP_BATCH_TOO_LONG;
	batch->lines[batch->count++].number = number;
	if (line) {
		memcpy(batch->bytes + batch->used, line, size + BEHIND);
		batch->used += size + BEHIND;
	}
	return 0;
}

/* A batch that is done: its answers go out, it is empty again. */
static int finish(struct driver *driver, struct sp_batch *batch, struct sp_err *err)
{
	struct sp_line_writer *answers = &batch->answers;
	int bad =
	    answers->used > 0 ? sp_write_all(driver->out, answers->buffer, answers->used, -1) : 0;

	if (bad && bad != -EPIPE)
		(void)sp_fail(err, bad, "standard output: %s", sp_code_text(bad));
	driver->exit = sp_exit_worse(driver->exit, batch->exit);
	if (!bad && batch->code) {
		bad = batch->code;
		if (err)
			*err = batch->why;
	}
	batch->count = 0;
	batch->used = answers->used = 0;
	batch->exit = 0;
	driver->idle[driver->idle_count++] = batch;
	return bad;
}

/* Those at the head of the order; `wait` for all of them, or at least for room. */
static int take_back(struct driver *driver, bool all, struct sp_err *err)
{
	int bad = 0;

	while (!bad && sp_pool_open(driver->pool) > 0) {
		struct sp_batch *batch =
		    sp_pool_take(driver->pool, all || sp_pool_full(driver->pool));
		if (!batch)
			break;
		bad = finish(driver, batch, err);
	}
	return bad;
}

/* To a thread; next to nothing is answered from here, while nobody else has anything to do. */
static int hand_in(struct driver *driver, bool more, struct sp_err *err)
{
	struct sp_batch *batch = sp_steal(&driver->filling);

	if (!more && batch->count <= FEW && sp_pool_open(driver->pool) == 0) {
		driver->options.work(driver->options.contexts[0], batch);
		return finish(driver, batch, err);
	}
	sp_pool_put(driver->pool, batch);
	return take_back(driver, !more, err);
}

static bool is_full(const struct sp_batch *batch)
{
	return batch->count == SP_BATCH_LINES || batch->used >= SP_BATCH_BYTES;
}

/* One line, NULL for one that was too long, into the batch; further, when nothing else is at hand.
 */
static int take_line(struct driver *driver, const char *line, size_t size, struct sp_err *err)
{
	bool more;

	if (!driver->filling)
		driver->filling = driver->idle[--driver->idle_count];
	if (add(driver->filling, line, size, driver->reader.number) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	more = sp_line_at_hand(&driver->reader);
	return more && !is_full(driver->filling) ? 0 : hand_in(driver, more, err);
}

static int run_lines(struct driver *driver, struct sp_err *err)
{
	for (;;) {
		char *line = NULL;
		size_t size = 0;
		int bad, got = sp_line_next(&driver->reader, &line, &size);
		if (got == 0 && !driver->filling)
			return take_back(driver, true, err);
		if (got < 0 && got != SP_E_TOO_LARGE)
			bad = sp_fail(err, got, "standard input: %s", sp_code_text(got));
		else if (got == 0)
			bad = hand_in(driver, false, err);
		else
			bad = take_line(driver, got == 1 ? line : NULL, size, err);
		if (bad)
			return bad;
	}
}

static int prepare(struct driver *driver, int in)
{
	int bad = sp_line_reader_init(&driver->reader, in, SP_LINE_MAX);

	driver->count = driver->options.room + 1;
	driver->batches = calloc(driver->count, sizeof(*driver->batches));
	driver->idle = calloc(driver->count, sizeof(struct sp_batch *));
	if (!driver->batches || !driver->idle)
		return -ENOMEM;
	while (!bad && driver->idle_count < driver->count) {
		struct sp_batch *batch = &driver->batches[driver->idle_count];
		bad = sp_line_writer_init(&batch->answers, SP_LINES_KEPT);
		driver->idle[driver->idle_count++] = batch;
	}
	return bad ? bad : sp_pool_new(&driver->options, &driver->pool);
}

static void done(struct driver *driver)
{
	sp_pool_free(driver->pool);
	for (unsigned i = 0; driver->batches && i < driver->count; i++) {
		free(driver->batches[i].bytes);
		sp_line_writer_done(&driver->batches[i].answers);
	}
	free(driver->batches);
	free(driver->idle);
	sp_line_reader_done(&driver->reader);
}

int sp_batches_run(int in, int out, unsigned jobs, sp_pool_fn *answer, void *const *workers,
    int *ret_exit, struct sp_err *err)
{
	struct driver driver = {
	    .out = out,
	    .options = {.workers = jobs, .room = AHEAD * jobs, .work = answer, .contexts = workers},
	};
	int bad;

	if (jobs < 1 || jobs > SP_JOBS_MAX)
		return sp_fail(err, SP_E_USAGE, "%u jobs: not from 1 to %d", jobs, SP_JOBS_MAX);
	/* Before there is a second thread that could be the first to make an object. */
	json_object_seed(0);
	bad = prepare(&driver, in);
	bad = bad ? sp_fail(err, bad, "%u jobs: %s", jobs, sp_code_text(bad))
		  : run_lines(&driver, err);
	done(&driver);
	if (!bad || bad == -EPIPE)
		*ret_exit = driver.exit;
	return bad == -EPIPE ? 0 : bad;
}
