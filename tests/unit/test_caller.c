/* The in-order client: answers find their questions; every failure is told once, and to all whom it
 * concerns. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/io.h"
#include "base/util.h"
#include "net/caller.h"
#include "net/unix.h"

#define SLOTS 512

static char directory[] = "/tmp/test-caller-XXXXXX", path[sizeof(directory) + 8];
static pid_t server;

/* What the server does with a connection: answers each line by itself, `eat` lines not at all, then
 * it closes. */
struct behaviour {
	unsigned answers; /* lines answered, then... */
	bool half;        /* half a line */
	bool hold;        /* stay silent until the client goes */
};

static void serve_connection(int fd, struct behaviour behaviour)
{
	FILE *in = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	unsigned answered = 0;

	while (answered < behaviour.answers && (n = getline(&line, &room, in)) > 0) {
		if (sp_write_all(fd, line, (size_t)n, 10000) < 0)
			break;
		answered++;
	}
	if (behaviour.half && getline(&line, &room, in) > 0)
		(void)sp_write_all(fd, "half", 4, 1000);
	while (behaviour.hold && getline(&line, &room, in) > 0)
		;
	free(line);
	(void)fclose(in);
}

/* Serves one connection after the other, each by its row. */
static void start_server(const struct behaviour *rows, size_t count)
{
	int fd;

	assert_int_equal(sp_unix_listen(path, 0600, &fd, NULL), 0);
	server = fork();
	assert_true(server >= 0);
	if (server > 0) {
		(void)close(fd);
		return;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < count; i++) {
		int one;
		if (sp_poll_one(fd, 1 /* POLLIN */, 10000) < 0)
			_exit(1);
		one = accept(fd, NULL, NULL);
		serve_connection(one, rows[i]);
	}
	_exit(0);
}

static int end_server(void **state)
{
	(void)state;
	if (server > 0) {
		(void)kill(server, SIGKILL);
		(void)waitpid(server, NULL, 0);
	}
	server = 0;
	(void)unlink(path);
	return 0;
}

static struct {
	unsigned count;
	int codes[SLOTS];
	char lines[SLOTS][64];
	struct ev_loop *loop;
	unsigned wanted;
} seen;

static void answered(void *context, int code, const char *line, size_t size)
{
	unsigned slot = (unsigned)(uintptr_t)context;

	assert_true(seen.codes[slot] == 1); /* not told before */
	seen.codes[slot] = code;
	(void)snprintf(seen.lines[slot], sizeof(seen.lines[slot]), "%.*s", (int)size, line);
	if (++seen.count == seen.wanted)
		ev_break(seen.loop, EVBREAK_ALL);
}

static struct sp_caller *begin(unsigned wanted, int timeout_ms)
{
	struct sp_caller *caller;

	seen.loop = ev_loop_new(EVFLAG_AUTO);
	seen.count = 0;
	seen.wanted = wanted;
	for (unsigned i = 0; i < SLOTS; i++)
		seen.codes[i] = 1;
	assert_int_equal(sp_caller_new(seen.loop, path, timeout_ms, &caller, NULL), 0);
	return caller;
}

static void ask(struct sp_caller *caller, unsigned slot)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "question %u", slot);

	sp_caller_ask(caller, line, (size_t)n, answered, (void *)(uintptr_t)slot);
}

static void end(struct sp_caller *caller)
{
	sp_caller_free(caller);
	(void)ev_run(seen.loop, EVRUN_NOWAIT); /* the conn's end */
	ev_loop_destroy(seen.loop);
}

static void answers_find_their_questions(void **state)
{
	const struct behaviour rows[] = {{.answers = 400}};
	struct sp_caller *caller;
	char expected[32];

	(void)state;
	start_server(rows, 1);
	caller = begin(400, 10000);
	for (unsigned i = 0; i < 400; i++)
		ask(caller, i);
	assert_int_equal(seen.count, 0);
	(void)ev_run(seen.loop, 0);
	for (unsigned i = 0; i < 400; i++) {
		(void)snprintf(expected, sizeof(expected), "question %u", i);
		assert_int_equal(seen.codes[i], 0);
		assert_string_equal(seen.lines[i], expected);
	}
	end(caller);
}

static void a_lost_connection_fails_what_was_open_and_the_next_question_connects_again(void **state)
{
	const struct behaviour rows[] = {{.answers = 1}, {.answers = 1}};
	struct sp_caller *caller;

	(void)state;
	start_server(rows, 2);
	caller = begin(3, 10000);
	for (unsigned i = 0; i < 3; i++)
		ask(caller, i);
	(void)ev_run(seen.loop, 0);
	assert_int_equal(seen.codes[0], 0);
	assert_true(seen.codes[1] < 0);
	assert_true(seen.codes[2] < 0);
	seen.wanted = 4;
	ask(caller, 3);
	(void)ev_run(seen.loop, 0);
	assert_int_equal(seen.codes[3], 0);
	assert_string_equal(seen.lines[3], "question 3");
	end(caller);
}

static void silence_is_a_timeout_for_all_that_wait_behind_it(void **state)
{
	const struct behaviour rows[] = {{.hold = true}, {.answers = 1}};
	struct sp_caller *caller;

	(void)state;
	start_server(rows, 2);
	caller = begin(2, 50);
	ask(caller, 0);
	ask(caller, 1);
	(void)ev_run(seen.loop, 0);
	assert_int_equal(seen.codes[0], SP_E_TIMEOUT);
	assert_int_equal(seen.codes[1], SP_E_TIMEOUT);
	end(caller);
}

/* A filter whose output is full comes back to its loop late: to answers that came in time, or with
 * questions that were not written in time. */
static void time_in_which_we_were_held_up_does_not_count(void **state)
{
	const struct behaviour rows[] = {{.answers = 8}};
	struct sp_caller *caller;

	for (unsigned written = 0; written < 2; written++) {
		start_server(rows, 1);
		caller = begin(8, 1000);
		for (unsigned i = 0; i < 8; i++)
			ask(caller, i);
		if (written)
			(void)ev_run(seen.loop, EVRUN_NOWAIT);
		(void)usleep(1200000);
		(void)ev_run(seen.loop, 0);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(seen.codes[i], 0);
		end(caller);
		(void)end_server(state);
	}
}

static void nobody_there_is_told_later_and_never_from_within(void **state)
{
	struct sp_caller *caller = begin(1, 1000);

	(void)state;
	ask(caller, 0);
	assert_int_equal(seen.count, 0);
	(void)ev_run(seen.loop, 0);
	assert_int_equal(seen.codes[0], -ENOENT);
	assert_non_null(strstr(seen.lines[0], path));
	end(caller);
}

static void more_than_a_connection_holds_waits_for_room(void **state)
{
	const struct behaviour rows[] = {{.answers = 100}};
	struct sp_caller *caller;
	char *large = malloc(100000);

	(void)state;
	start_server(rows, 1);
	caller = begin(100, 20000);
	memset(large, 'x', 100000);
	for (unsigned i = 0; i < 100; i++)
		sp_caller_ask(caller, large, 100000, answered, (void *)(uintptr_t)i);
	(void)ev_run(seen.loop, 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(seen.codes[i], 0);
	free(large);
	end(caller);
}

static void freed_with_open_questions_it_calls_nobody(void **state)
{
	const struct behaviour rows[] = {{.hold = true}};
	struct sp_caller *caller;

	(void)state;
	start_server(rows, 1);
	caller = begin(1, 10000);
	ask(caller, 0);
	end(caller);
	assert_int_equal(seen.count, 0);
}

static void one_question_without_a_loop(void **state)
{
	const struct behaviour rows[] = {{.answers = 1}, {.half = true}, {.hold = true}};
	char *line = NULL;

	(void)state;
	assert_int_equal(sp_call_once(path, 1000, "a", 1, &line, NULL), -ENOENT);
	start_server(rows, 3);
	assert_int_equal(sp_call_once(path, 10000, "hello", 5, &line, NULL), 0);
	assert_string_equal(line, "hello");
	free(line);
	line = NULL;
	assert_int_equal(sp_call_once(path, 10000, "hello", 5, &line, NULL), SP_E_CLOSED);
	assert_int_equal(sp_call_once(path, 50, "hello", 5, &line, NULL), SP_E_TIMEOUT);
	assert_null(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(answers_find_their_questions, end_server),
	    cmocka_unit_test_teardown(
		a_lost_connection_fails_what_was_open_and_the_next_question_connects_again,
		end_server),
	    cmocka_unit_test_teardown(silence_is_a_timeout_for_all_that_wait_behind_it, end_server),
	    cmocka_unit_test_teardown(time_in_which_we_were_held_up_does_not_count, end_server),
	    cmocka_unit_test_teardown(nobody_there_is_told_later_and_never_from_within, end_server),
	    cmocka_unit_test_teardown(more_than_a_connection_holds_waits_for_room, end_server),
	    cmocka_unit_test_teardown(freed_with_open_questions_it_calls_nobody, end_server),
	    cmocka_unit_test_teardown(one_question_without_a_loop, end_server),
	};
	int failed;

	(void)signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(directory))
		return 1;
	(void)snprintf(path, sizeof(path), "%s/sock", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(directory);
	return failed;
}
