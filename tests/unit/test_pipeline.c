/* Many records in flight: whatever order they end in, answers keep the order of the records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/io.h"
#include "base/util.h"
#include "net/pipeline.h"
#include "record/json.h"
#include "record/reason.h"
#include "record/result.h"

#define HELD_MAX 64

/* Turns that are held are answered from a timer, each time one of them by chance. */
struct work {
	struct ev_loop *loop;
	ev_timer timer;
	ev_prepare prepare; /* answers from the phase before the wait instead */
	struct {
		struct sp_turn *turn;
		json_t *record; /* or the answer stands in the turn's room: */
		size_t size;
	} held[HELD_MAX];
	unsigned count, most, started, seed;
};

static unsigned chance(struct work *work, unsigned below)
{
	work->seed = work->seed * 1103515245u + 12345u;
	return (work->seed >> 16) % below;
}

static void answer_one(struct work *work)
{
	unsigned i;

	if (work->count == 0)
		return;
	i = chance(work, work->count);
	if (work->held[i].size)
		sp_turn_answer_room(work->held[i].turn, work->held[i].size, SP_EXIT_REFRESH);
	else
		sp_turn_answer(work->held[i].turn, work->held[i].record);
	work->held[i] = work->held[--work->count];
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	answer_one(watcher->data);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	answer_one(watcher->data);
}

static int start(void *context, struct sp_turn *turn, json_t *record, struct sp_err *err)
{
	struct work *work = context;
	const char *what = json_string_value(json_object_get(record, "do"));

	work->started++;
	if (what && strcmp(what, "bad") == 0)
		return sp_fail(err, SP_E_BAD_RECORD, "no good");
	if (what && strcmp(what, "stop") == 0)
		return sp_fail(err, SP_E_UNAVAILABLE, "the disk burns");
	if (what && strcmp(what, "deny") == 0) {
		sp_turn_answer(
		    turn, sp_result_refused(NULL, SP_REASON_SANDBOX, SP_BEHIND_NONE, "h"));
		return 0;
	}
	if (what && strcmp(what, "nothing") == 0) {
		sp_turn_answer(turn, NULL);
		return 0;
	}
	if (what && strcmp(what, "now") == 0) {
		sp_turn_answer(turn, json_incref(record));
		return 0;
	}
	assert_true(work->count < HELD_MAX);
	work->held[work->count].turn = turn;
	work->held[work->count].size = 0;
	work->held[work->count++].record = json_incref(record);
	work->most = work->count > work->most ? work->count : work->most;
	return 0;
}

/* `{"q":…` is put into the turn's room, in two steps, and held there. */
static bool start_quickly(void *context, struct sp_turn *turn, const char *line, size_t size)
{
	struct work *work = context;
	size_t pad = 1 + chance(work, 3) * 3000;
	char *room;

	if (size < 5 || strncmp(line, "{\"q\":", 5) != 0)
		return false;
	work->started++;
	room = sp_turn_room(turn, size);
	assert_non_null(room);
	memcpy(room, line, size);
	room = sp_turn_room(turn, size + pad);
	assert_non_null(room);
	assert_memory_equal(room, line, size);
	memcpy(room + size - 1, " }", 2);
	assert_true(work->count < HELD_MAX);
	work->held[work->count].turn = turn;
	work->held[work->count].record = NULL;
	work->held[work->count++].size = size + 1;
	work->most = work->count > work->most ? work->count : work->most;
	return true;
}

static int setup(void **state)
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		return -1;
	work->loop = ev_loop_new(EVFLAG_AUTO);
	work->seed = 42;
	ev_timer_init(&work->timer, on_timer, 0.0001, 0.0001);
	ev_prepare_init(&work->prepare, on_prepare);
	work->timer.data = work->prepare.data = work;
	ev_timer_start(work->loop, &work->timer);
	*state = work;
	return 0;
}

static int teardown(void **state)
{
	struct work *work = *state;

	for (unsigned i = 0; i < work->count; i++)
		json_decref(work->held[i].record);
	ev_timer_stop(work->loop, &work->timer);
	ev_prepare_stop(work->loop, &work->prepare);
	ev_loop_destroy(work->loop);
	free(work);
	return 0;
}

static int file_with(const char *text, size_t size)
{
	int fd = memfd_create("in", MFD_CLOEXEC);

	assert_int_equal(sp_write_all(fd, text, size, -1), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static char output[1 << 20];
static struct sp_err err;
static int exit_code;

static int run(struct work *work, const char *text, unsigned window)
{
	sp_auto_fd int in = file_with(text, strlen(text)), out = file_with("", 0);
	ssize_t n;
	int code;

	err = (struct sp_err){0};
	exit_code = -77;
	code = sp_pipeline_run(work->loop, in, out, window, start, work, &exit_code, &err);
	n = pread(out, output, sizeof(output) - 1, 0);
	assert_true(n >= 0);
	output[n] = '\0';
	return code;
}

static void answers_keep_the_order_of_the_records(void **state)
{
	static const unsigned windows[] = {1, 2, 3, 7, 64};
	struct work *work = *state;
	char text[16384];

	for (size_t w = 0; w < SP_COUNT(windows); w++) {
		size_t used = 0;
		work->most = 0;
		for (int i = 0; i < 500; i++)
			used +=
			    (size_t)snprintf(text + used, sizeof(text) - used, "{\"n\":%d}\n", i);
		assert_int_equal(run(work, text, windows[w]), 0);
		assert_int_equal(exit_code, 0);
		assert_string_equal(output, text);
		/* The window is used, and kept to. */
		assert_int_equal(work->most, windows[w]);
	}
}

static void every_kind_of_answer_has_its_place(void **state)
{
	struct work *work = *state;

	assert_int_equal(run(work,
			     "{\"n\":1}\n{\"do\":\"bad\"}\n[]\n{\"do\":\"now\"}\n{\"n\":2}\n"
			     "{\"do\":\"deny\"}\n\n{\"n\":3}",
			     64),
	    0);
	assert_string_equal(output,
	    "{\"n\":1}\n"
	    "{\"status\":\"error\",\"error\":\"bad-record\",\"line\":2,\"message\":\"no good\"}\n"
	    "{\"status\":\"error\",\"error\":\"bad-record\",\"line\":3,"
	    "\"message\":\"not a JSON object\"}\n"
	    "{\"do\":\"now\"}\n"
	    "{\"n\":2}\n"
	    "{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"sandbox\",\"hop\":\"h\"}\n"
	    "{\"status\":\"error\",\"error\":\"bad-record\",\"line\":7,"
	    "\"message\":\"byte 0: '[' or '{' expected near end of file\"}\n"
	    "{\"n\":3}\n");
	assert_int_equal(exit_code, SP_EXIT_BAD);
}

static void nothing_in_is_nothing_out(void **state)
{
	assert_int_equal(run(*state, "", 4), 0);
	assert_string_equal(output, "");
	assert_int_equal(exit_code, 0);
}

static void a_line_too_long_is_answered_in_its_place(void **state)
{
	struct work *work = *state;
	size_t size = 10 * 1024 * 1024;
	sp_auto_free char *text = malloc(size + 1);

	memset(text, 'x', size);
	memcpy(text, "{\"n\":1}\n", 8);
	(void)strcpy(text + size - 9, "\n{\"n\":2}\n");
	assert_int_equal(run(work, text, 4), 0);
	assert_string_equal(output, "{\"n\":1}\n"
				    "{\"status\":\"error\",\"error\":\"bad-record\",\"line\":2,"
				    "\"message\":\"line longer than 256 KiB\"}\n"
				    "{\"n\":2}\n");
}

static void a_window_has_bounds(void **state)
{
	struct work *work = *state;

	assert_int_equal(run(work, "{}\n", 0), SP_E_USAGE);
	assert_string_equal(err.message, "a window of 0: not from 1 to 4096");
	assert_int_equal(run(work, "{}\n", SP_WINDOW_MAX + 1), SP_E_USAGE);
	assert_int_equal(exit_code, -77);
	assert_int_equal(run(work, "{}\n", SP_WINDOW_MAX), 0);
	assert_string_equal(output, "{}\n");
}

static void another_failure_ends_it_after_the_answers_before(void **state)
{
	struct work *work = *state;

	assert_int_equal(
	    run(work, "{\"do\":\"now\"}\n{\"do\":\"stop\"}\n{\"n\":1}\n", 4), SP_E_UNAVAILABLE);
	assert_string_equal(err.message, "the disk burns");
	assert_string_equal(output, "{\"do\":\"now\"}\n");
	assert_int_equal(work->started, 2);
	assert_int_equal(exit_code, -77);
	assert_int_equal(run(work, "{\"do\":\"nothing\"}\n", 4), -ENOMEM);
}

static void a_closed_output_ends_it_quietly(void **state)
{
	struct work *work = *state;
	sp_auto_fd int in = file_with("{\"do\":\"now\"}\n{\"n\":1}\n", 21);
	int fds[2], exit = -77;
	struct sp_err why = {0};

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	sp_fd_close(&fds[0]);
	assert_int_equal(sp_pipeline_run(work->loop, in, fds[1], 1, start, work, &exit, &why), 0);
	assert_string_equal(why.message, "");
	assert_int_equal(exit, 0);
	sp_fd_close(&fds[1]);
}

static void a_full_disk_is_an_error(void **state)
{
	struct work *work = *state;
	sp_auto_fd int in = file_with("{\"n\":1}\n", 8), out = open("/dev/full", O_WRONLY);
	struct sp_err why = {0};
	int exit = -77;

	assert_int_equal(
	    sp_pipeline_run(work->loop, in, out, 1, start, work, &exit, &why), -ENOSPC);
	assert_string_equal(why.message, "standard output: No space left on device");
}

static void an_unreadable_input_is_an_error(void **state)
{
	struct work *work = *state;
	sp_auto_fd int in = open("/", O_RDONLY | O_CLOEXEC), out = file_with("", 0);
	struct sp_err why = {0};
	int exit = -77;

	assert_int_equal(
	    sp_pipeline_run(work->loop, in, out, 1, start, work, &exit, &why), -EISDIR);
	assert_string_equal(why.message, "standard input: Is a directory");
}

/* A peer that sends its next record only when it has the answer to the last one: here a child. */
static void converse(int in, int out)
{
	char line[64], answer[64];

	for (int i = 0; i < 100; i++) {
		int n = snprintf(line, sizeof(line), "{\"n\":%d}\n", i);
		if (sp_write_all(in, line, (size_t)n, 10000) < 0 ||
		    sp_read_exact(out, answer, (size_t)n, 10000) < 0 ||
		    memcmp(line, answer, (size_t)n) != 0)
			_exit(1);
	}
	_exit(0);
}

static void check_conversation(struct work *work)
{
	int in[2], out[2], exit = -77, status;
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(in[0]);
		(void)close(out[0]);
		converse(in[1], out[1]);
	}
	(void)close(in[1]);
	(void)close(out[1]);
	assert_int_equal(
	    sp_pipeline_run(work->loop, in[0], out[0], 4, start, work, &exit, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	(void)close(in[0]);
	(void)close(out[0]);
}

static void answers_are_flushed_before_every_wait(void **state)
{
	check_conversation(*state);
}

/* ... also those given just before the wait, by a watcher that runs then. */
static void answers_from_the_last_moment_are_flushed_too(void **state)
{
	struct work *work = *state;

	ev_timer_stop(work->loop, &work->timer);
	ev_prepare_start(work->loop, &work->prepare);
	check_conversation(work);
}

/* Lines of both kinds and bad ones, and what comes of them. */
static size_t mixed(char *text, char *wanted, size_t room, int lines)
{
	size_t used = 0, wanted_used = 0;

	for (int i = 0; i < lines; i++) {
		used += (size_t)snprintf(text + used, room - used,
		    i % 3   ? "{\"q\":%d}\n"
		    : i % 2 ? "{\"n\":%d}\n"
			    : "{\"do\":\"bad\",\"n\":%d}\n",
		    i);
		wanted_used += (size_t)snprintf(wanted + wanted_used, room - wanted_used,
		    i % 3   ? "{\"q\":%d }\n"
		    : i % 2 ? "{\"n\":%d}\n"
			    : "{\"status\":\"error\",\"error\":\"bad-record\",\"line\":%d,"
			      "\"message\":\"no good\"}\n",
		    i % 3 || i % 2 ? i : i + 1);
	}
	return used;
}

static void what_is_answered_in_its_room_has_its_place_too(void **state)
{
	static char text[32768], wanted[65536];
	struct work *work = *state;
	struct sp_pipeline_options options = {
	    .loop = work->loop, .quick = start_quickly, .start = start, .context = work};
	size_t size = mixed(text, wanted, sizeof(text), 300);

	for (options.window = 1; options.window <= HELD_MAX; options.window *= 4) {
		sp_auto_fd int in = file_with(text, size), out = file_with("", 0);
		ssize_t n;
		exit_code = -77;
		assert_int_equal(sp_pipeline_run_quick(in, out, &options, &exit_code, NULL), 0);
		assert_int_equal(exit_code, SP_EXIT_BAD);
		n = pread(out, output, sizeof(output) - 1, 0);
		output[n] = '\0';
		assert_string_equal(output, wanted);
	}
}

static void answer_batch(void *worker, void *piece)
{
	sp_pipeline_answer(worker, piece);
}

/* Threads, each with a pipeline of its own. */
static void batches_are_answered_like_lines(void **state)
{
	static char text[32768], wanted[65536];
	struct sp_pipeline *pipelines[3];
	void *works[3], *workers[3];
	size_t size = mixed(text, wanted, sizeof(text), 300);
	ssize_t n;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(setup(&works[i]), 0);
		struct work *work = works[i];
		struct sp_pipeline_options options = {
		    work->loop, 1 + 4 * i, start_quickly, start, work};
		assert_int_equal(sp_pipeline_new(&options, &pipelines[i]), 0);
		workers[i] = pipelines[i];
	}
	for (unsigned jobs = 1; jobs <= 3; jobs++) {
		sp_auto_fd int in = file_with(text, size), out = file_with("", 0);
		exit_code = -77;
		assert_int_equal(
		    sp_batches_run(in, out, jobs, answer_batch, workers, &exit_code, NULL), 0);
		assert_int_equal(exit_code, SP_EXIT_BAD);
		n = pread(out, output, sizeof(output) - 1, 0);
		output[n] = '\0';
		assert_string_equal(output, wanted);
	}
	sp_auto_fd int in = file_with("{\"n\":1}\n{\"do\":\"stop\"}\n{\"n\":2}\n", 30);
	sp_auto_fd int out = file_with("", 0);
	err = (struct sp_err){0};
	assert_int_equal(
	    sp_batches_run(in, out, 3, answer_batch, workers, &exit_code, &err), SP_E_UNAVAILABLE);
	assert_string_equal(err.message, "the disk burns");
	for (unsigned i = 0; i < 3; i++) {
		sp_pipeline_free(pipelines[i]);
		(void)teardown(&works[i]);
	}
	sp_pipeline_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(answers_keep_the_order_of_the_records),
	    TEST(what_is_answered_in_its_room_has_its_place_too),
	    TEST(batches_are_answered_like_lines),
	    TEST(every_kind_of_answer_has_its_place),
	    TEST(nothing_in_is_nothing_out),
	    TEST(a_line_too_long_is_answered_in_its_place),
	    TEST(a_window_has_bounds),
	    TEST(another_failure_ends_it_after_the_answers_before),
	    TEST(a_closed_output_ends_it_quietly),
	    TEST(a_full_disk_is_an_error),
	    TEST(an_unreadable_input_is_an_error),
	    TEST(answers_are_flushed_before_every_wait),
	    TEST(answers_from_the_last_moment_are_flushed_too),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
