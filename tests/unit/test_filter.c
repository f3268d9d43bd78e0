/* The driver of filters: one line out for each line in, whatever comes in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/io.h"
#include "base/util.h"
#include "record/filter.h"
#include "record/json.h"
#include "record/reason.h"
#include "record/result.h"

struct script {
	int flushes, flush_code;
};

/* `{"do":…}`: what the test wants to happen to this record. */
static int answer(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	const char *what = json_string_value(json_object_get(record, "do"));

	(void)context;
	if (!what)
		*ret = json_incref(record);
	else if (strcmp(what, "bad") == 0)
		return sp_fail(err, SP_E_BAD_RECORD, "caf\xc3 no");
	else if (strcmp(what, "stop") == 0)
		return sp_fail(err, SP_E_UNAVAILABLE, "the disk burns");
	else if (strcmp(what, "deny") == 0)
		*ret = sp_result_refused(NULL, SP_REASON_SANDBOX, SP_BEHIND_NONE, "here");
	else if (strcmp(what, "refresh") == 0)
		*ret = sp_result_refused(NULL, SP_REASON_ABSENT, SP_BEHIND_NONE, "here");
	else if (strcmp(what, "fail") == 0)
		*ret = sp_result_error(NULL, SP_ERROR_TIMEOUT, true, "late");
	return 0;
}

static int on_flush(void *context, struct sp_err *err)
{
	struct script *script = context;

	script->flushes++;
	return script->flush_code ? sp_fail(err, script->flush_code, "no commit") : 0;
}

struct outcome {
	int code, exit;
	char out[4096], message[SP_ERR_MAX];
};

static int file_with(const char *text, size_t size)
{
	int fd = memfd_create("in", MFD_CLOEXEC);

	assert_int_equal(sp_write_all(fd, text, size, -1), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* `{"q":…` is answered without a tree. */
static bool quick(void *context, const char *line, size_t size, struct sp_out *out, int *ret_exit)
{
	(void)context;
	/* What is left undone must not be seen. */
	sp_out_text(out, "left");
	if (size < 5 || strncmp(line, "{\"q\":", 5) != 0)
		return false;
	out->used -= strlen("left");
	sp_out_text(out, "{\"quick\":");
	sp_out_put(out, line + 5, size - 5);
	*ret_exit = line[5] == '7' ? SP_EXIT_DENY : SP_EXIT_DONE;
	return true;
}

static struct outcome run_by(int in, unsigned jobs, struct script *script)
{
	static void *contexts[SP_JOBS_MAX];
	const struct sp_filter filter = {
	    .quick = quick, .answer = answer, .jobs = jobs, .contexts = contexts};
	sp_auto_fd int out = file_with("", 0);
	struct outcome outcome = {.exit = -77};
	struct sp_err err = {0};
	ssize_t n;

	assert_int_equal(lseek(in, 0, SEEK_SET), 0);
	if (jobs)
		outcome.code = sp_filter_run_jobs(in, out, &filter, &outcome.exit, &err);
	else
		outcome.code = sp_filter_run(
		    in, out, answer, script ? on_flush : NULL, script, &outcome.exit, &err);
	n = pread(out, outcome.out, sizeof(outcome.out) - 1, 0);
	assert_true(n >= 0);
	(void)strcpy(outcome.message, err.message);
	return outcome;
}

/* By one thread, and to the same end by several. */
static struct outcome run(const char *text, size_t size, struct script *script)
{
	sp_auto_fd int in = file_with(text, size);
	struct outcome outcome = run_by(in, 0, script);

	for (unsigned jobs = 1; !script && jobs <= 3; jobs++) {
		struct outcome other = run_by(in, jobs, NULL);
		assert_int_equal(other.code, outcome.code);
		assert_int_equal(other.exit, outcome.exit);
		assert_string_equal(other.out, outcome.out);
		assert_string_equal(other.message, outcome.message);
	}
	return outcome;
}

#define BAD(line, message)                                                                         \
	"{\"status\":\"error\",\"error\":\"bad-record\",\"line\":" #line ",\"message\":\"" message \
	"\"}\n"

static void every_line_has_its_answer(void **state)
{
	static const struct {
		const char *in, *out;
		int exit;
	} cases[] = {
	    {"", "", SP_EXIT_DONE},
	    {"{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n", SP_EXIT_DONE},
	    {"{\"a\":1}", "{\"a\":1}\n", SP_EXIT_DONE},
	    {"{\"a\":1}\r\n", "{\"a\":1}\n", SP_EXIT_DONE},
	    {"{\"do\":\"bad\"}\n{\"a\":1}\n", BAD(1, "caf? no") "{\"a\":1}\n", SP_EXIT_BAD},
	    {"{\"a\":1}\n[]\n{\"a\":2}\n", "{\"a\":1}\n" BAD(2, "not a JSON object") "{\"a\":2}\n",
		SP_EXIT_BAD},
	    {"{\"a\":1}\n{\"a\":1.5}",
		"{\"a\":1}\n" BAD(2, "byte 7: a number with a fraction or an exponent"),
		SP_EXIT_BAD},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct outcome outcome = run(cases[i].in, strlen(cases[i].in), NULL);
		assert_int_equal(outcome.code, 0);
		assert_int_equal(outcome.exit, cases[i].exit);
		assert_string_equal(outcome.out, cases[i].out);
	}
}

static void the_worst_answer_speaks(void **state)
{
	static const struct {
		const char *in;
		int exit;
	} cases[] = {
	    {"{\"do\":\"fail\"}\n{}\n", SP_EXIT_FAILED},
	    {"{\"do\":\"fail\"}\n{\"do\":\"refresh\"}\n{}\n", SP_EXIT_REFRESH},
	    {"{\"do\":\"deny\"}\n{\"do\":\"refresh\"}\n", SP_EXIT_DENY},
	    {"{\"do\":\"deny\"}\nx\n{\"do\":\"fail\"}\n", SP_EXIT_BAD},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		assert_int_equal(run(cases[i].in, strlen(cases[i].in), NULL).exit, cases[i].exit);
}

static void noise_is_answered_line_by_line(void **state)
{
	char noise[1000];
	unsigned seed = 42, lines = 0, answers = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++) {
		seed = seed * 1103515245u + 12345u;
		noise[i] = (char)(seed >> 16);
		if (i % 100 == 99)
			noise[i] = '\n';
		lines += noise[i] == '\n';
	}
	struct outcome outcome = run(noise, sizeof(noise), NULL);
	assert_int_equal(outcome.code, 0);
	assert_int_equal(outcome.exit, SP_EXIT_BAD);
	for (const char *c = outcome.out; *c; c++)
		answers += *c == '\n';
	assert_int_equal(answers, lines);
}

static void a_line_too_long_is_answered_in_its_place(void **state)
{
	size_t size = 10 * 1024 * 1024;
	sp_auto_free char *text = malloc(size);

	(void)state;
	memset(text, 'x', size);
	memcpy(text, "{\"a\":1}\n", 8);
	memcpy(text + size - 9, "\n{\"a\":2}\n", 9);
	struct outcome outcome = run(text, size, NULL);
	assert_int_equal(outcome.code, 0);
	assert_string_equal(
	    outcome.out, "{\"a\":1}\n" BAD(2, "line longer than 256 KiB") "{\"a\":2}\n");
	outcome = run(text + 8, size - 17, NULL);
	assert_string_equal(outcome.out, BAD(1, "line longer than 256 KiB"));
}

static void a_failure_ends_it_after_the_answers_before(void **state)
{
	static const char in[] = "{\"a\":1}\n{\"do\":\"stop\"}\n{\"a\":2}\n";
	struct script script = {0};
	struct outcome outcome = run(in, sizeof(in) - 1, &script);

	(void)state;
	assert_string_equal(run(in, sizeof(in) - 1, NULL).out, outcome.out);
	assert_int_equal(outcome.code, SP_E_UNAVAILABLE);
	assert_string_equal(outcome.message, "the disk burns");
	assert_string_equal(outcome.out, "{\"a\":1}\n");
	assert_int_equal(outcome.exit, -77);
	assert_int_equal(script.flushes, 1);
}

/* A group commit that fails: the answers that hang on it are not given. */
static void without_its_commit_no_answer_is_written(void **state)
{
	struct script script = {.flush_code = SP_E_UNAVAILABLE};
	struct outcome outcome = run("{\"a\":1}\n", 8, &script);

	(void)state;
	assert_int_equal(outcome.code, SP_E_UNAVAILABLE);
	assert_string_equal(outcome.message, "no commit");
	assert_string_equal(outcome.out, "");
	outcome = run("{\"a\":1}\n{\"do\":\"stop\"}\n", 22, &script);
	assert_int_equal(outcome.code, SP_E_UNAVAILABLE);
	assert_string_equal(outcome.message, "the disk burns");
	assert_string_equal(outcome.out, "");
}

static void *const NOTHING[2] = {NULL, NULL};
static const struct sp_filter BY_TWO = {
    .quick = quick, .answer = answer, .jobs = 2, .contexts = NOTHING};

/* They come together to more than is kept: it is written out in between, after a commit of its own.
 */
static void so_many_answers_are_written_after_a_commit_too(void **state)
{
	enum { LINES = 100000 };
	struct script script = {.flush_code = SP_E_UNAVAILABLE};
	char *text = malloc(LINES * 8 + 1);
	struct outcome outcome;

	(void)state;
	for (int i = 0; i < LINES; i++)
		memcpy(text + (size_t)i * 8, "{\"a\":1}\n", 8);
	outcome = run(text, (size_t)LINES * 8, &script);
	assert_int_equal(outcome.code, SP_E_UNAVAILABLE);
	assert_string_equal(outcome.message, "no commit");
	assert_string_equal(outcome.out, "");
	script.flush_code = 0;
	outcome = run(text, (size_t)LINES * 8, &script);
	assert_int_equal(outcome.code, 0);
	assert_true(outcome.out[0] == '{');
	free(text);
}

/* Lines of all kinds, so many that every thread is given some: the n-th answer is the n-th line's.
 */
static void the_order_stays_whoever_answers(void **state)
{
	enum { LINES = 20000 };
	static const char *const kinds[][2] = {
	    {"{\"q\":", "{\"quick\":"}, {"{\"a\":", "{\"a\":"}, {"{ \"q\" : ", "{\"q\":"}};
	char *text = malloc(LINES * 32), *wanted = malloc(LINES * 32),
	     *written = malloc(LINES * 32);
	void *contexts[SP_JOBS_MAX] = {NULL};
	struct sp_filter filter = {.quick = quick, .answer = answer, .contexts = contexts};
	int size = 0, wanted_size = 0;

	(void)state;
	for (int i = 0; i < LINES; i++) {
		const char *const *kind = kinds[i % 3];
		size += sprintf(text + size, "%s%d}\n", kind[0], 10 + i);
		wanted_size += sprintf(wanted + wanted_size, "%s%d}\n", kind[1], 10 + i);
	}
	for (filter.jobs = 1; filter.jobs <= 5; filter.jobs += 2) {
		sp_auto_fd int in = file_with(text, (size_t)size), out = file_with("", 0);
		int exit = -77;
		assert_int_equal(sp_filter_run_jobs(in, out, &filter, &exit, NULL), 0);
		assert_int_equal(exit, SP_EXIT_DENY);
		assert_int_equal(pread(out, written, LINES * 32, 0), wanted_size);
		assert_memory_equal(written, wanted, (size_t)wanted_size);
	}
	free(text);
	free(wanted);
	free(written);
}

static void jobs_have_a_bound(void **state)
{
	void *contexts[SP_JOBS_MAX + 1] = {NULL};
	struct sp_filter filter = {.answer = answer, .contexts = contexts};
	sp_auto_fd int in = file_with("{}\n", 3), out = file_with("", 0);
	int exit = -77;

	(void)state;
	assert_int_equal(sp_filter_run_jobs(in, out, &filter, &exit, NULL), SP_E_USAGE);
	filter.jobs = SP_JOBS_MAX + 1;
	assert_int_equal(sp_filter_run_jobs(in, out, &filter, &exit, NULL), SP_E_USAGE);
	assert_int_equal(exit, -77);
}

static void a_closed_output_ends_it_quietly(void **state)
{
	sp_auto_fd int in = file_with("{}\n{}\n", 6);
	int fds[2], exit = -77;
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	sp_fd_close(&fds[0]);
	assert_int_equal(sp_filter_run(in, fds[1], answer, NULL, NULL, &exit, &err), 0);
	assert_int_equal(exit, 0);
	assert_string_equal(err.message, "");
	assert_int_equal(lseek(in, 0, SEEK_SET), 0);
	exit = -77;
	assert_int_equal(sp_filter_run_jobs(in, fds[1], &BY_TWO, &exit, &err), 0);
	assert_int_equal(exit, 0);
	assert_string_equal(err.message, "");
	sp_fd_close(&fds[1]);
}

static void a_full_disk_is_an_error(void **state)
{
	sp_auto_fd int in = file_with("{}\n", 3), out = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct sp_err err = {0};
	int exit = -77;

	(void)state;
	assert_int_equal(sp_filter_run(in, out, answer, NULL, NULL, &exit, &err), -ENOSPC);
	assert_string_equal(err.message, "standard output: No space left on device");
	assert_int_equal(exit, -77);
	assert_int_equal(lseek(in, 0, SEEK_SET), 0);
	err = (struct sp_err){0};
	assert_int_equal(sp_filter_run_jobs(in, out, &BY_TWO, &exit, &err), -ENOSPC);
	assert_string_equal(err.message, "standard output: No space left on device");
	assert_int_equal(exit, -77);
}

static void an_unreadable_input_is_an_error(void **state)
{
	sp_auto_fd int in = open("/", O_RDONLY | O_CLOEXEC), out = file_with("", 0);
	struct sp_err err = {0};
	int exit = -77;

	(void)state;
	assert_int_equal(sp_filter_run(in, out, answer, NULL, NULL, &exit, &err), -EISDIR);
	assert_string_equal(err.message, "standard input: Is a directory");
	err = (struct sp_err){0};
	assert_int_equal(sp_filter_run_jobs(in, out, &BY_TWO, &exit, &err), -EISDIR);
	assert_string_equal(err.message, "standard input: Is a directory");
}

struct filter_ends {
	int in, out, exit;
	bool jobs;
};

static void *run_filter(void *context)
{
	struct filter_ends *ends = context;

	if (ends->jobs)
		(void)sp_filter_run_jobs(ends->in, ends->out, &BY_TWO, &ends->exit, NULL);
	else
		(void)sp_filter_run(ends->in, ends->out, answer, NULL, NULL, &ends->exit, NULL);
	sp_fd_close(&ends->out);
	return NULL;
}

static void expect(int fd, const char *text)
{
	char bytes[512];

	assert_int_equal(sp_read_exact(fd, bytes, strlen(text), 10000), 0);
	assert_memory_equal(bytes, text, strlen(text));
}

/* A peer that waits for each answer, with half of its next line, or the rest of one too long,
 * already sent. */
static void wait_for_answers(bool jobs)
{
	int in[2], out[2];
	struct filter_ends ends;
	pthread_t thread;
	sp_auto_free char *rest = malloc(SP_LINE_MAX + 2);

	memset(rest, 'x', SP_LINE_MAX + 2);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out), 0);
	ends = (struct filter_ends){in[0], out[0], -1, jobs};
	assert_int_equal(sp_write_all(in[1], "{\"a\":1}\n{\"a\"", 12, -1), 0);
	assert_int_equal(pthread_create(&thread, NULL, run_filter, &ends), 0);
	expect(out[1], "{\"a\":1}\n");
	assert_int_equal(sp_write_all(in[1], ":2}\nxxxx", 8, -1), 0);
	expect(out[1], "{\"a\":2}\n");
	assert_int_equal(sp_write_all(in[1], rest, SP_LINE_MAX + 2, -1), 0);
	expect(out[1], BAD(3, "line longer than 256 KiB"));
	assert_int_equal(sp_write_all(in[1], "xxx\n{\"a\":4}\n", 12, -1), 0);
	expect(out[1], "{\"a\":4}\n");
	sp_fd_close(&in[1]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ends.exit, SP_EXIT_BAD);
	sp_fd_close(&in[0]);
	sp_fd_close(&out[1]);
}

static void answers_do_not_wait_for_half_a_line(void **state)
{
	(void)state;
	wait_for_answers(false);
	wait_for_answers(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_line_has_its_answer),
	    cmocka_unit_test(the_worst_answer_speaks),
	    cmocka_unit_test(noise_is_answered_line_by_line),
	    cmocka_unit_test(a_line_too_long_is_answered_in_its_place),
	    cmocka_unit_test(a_failure_ends_it_after_the_answers_before),
	    cmocka_unit_test(without_its_commit_no_answer_is_written),
	    cmocka_unit_test(so_many_answers_are_written_after_a_commit_too),
	    cmocka_unit_test(the_order_stays_whoever_answers),
	    cmocka_unit_test(jobs_have_a_bound),
	    cmocka_unit_test(a_closed_output_ends_it_quietly),
	    cmocka_unit_test(a_full_disk_is_an_error),
	    cmocka_unit_test(an_unreadable_input_is_an_error),
	    cmocka_unit_test(answers_do_not_wait_for_half_a_line),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
