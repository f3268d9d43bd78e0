/* The line reader at every boundary, and the writer's batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "record/lines.h"

struct pipe_ends {
	int read, write;
};

static struct pipe_ends new_pipe(int flags)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | flags), 0);
	return (struct pipe_ends){fds[0], fds[1]};
}

static void put(int fd, const char *text, size_t size)
{
	assert_int_equal(sp_write_all(fd, text, size, 1000), 0);
}

/* What the reader makes of `text`, written and closed: "line|line|", "!" for one too long. */
static char *read_all(const char *text, size_t size, size_t max, size_t step)
{
	struct pipe_ends ends = new_pipe(O_NONBLOCK);
	struct sp_line_reader reader;
	char *seen = calloc(1, 2 * size + 64), *at = seen, *line;
	size_t given = 0, length, number = 0;
	int got;

	assert_int_equal(sp_line_reader_init(&reader, ends.read, max), 0);
	while ((got = sp_line_next(&reader, &line, &length)) != 0) {
		if (got == -EAGAIN) {
			size_t n = step < size - given ? step : size - given;
			put(ends.write, text + given, n);
			given += n;
			if (given == size)
				sp_fd_close(&ends.write);
			continue;
		}
		assert_int_equal(reader.number, ++number);
		if (got == 1) {
			assert_int_equal(line[length], '\0');
			memcpy(at, line, length);
			at += length;
		} else {
			assert_int_equal(got, SP_E_TOO_LARGE);
			*at++ = '!';
		}
		*at++ = '|';
	}
	assert_int_equal(sp_line_next(&reader, &line, &length), 0);
	sp_line_reader_done(&reader);
	sp_fd_close(&ends.read);
	sp_fd_close(&ends.write);
	return seen;
}

static void lines_are_split_the_same_at_every_offset(void **state)
{
	static const struct {
		const char *text, *seen;
	} cases[] = {
	    {"a\n", "a|"},
	    {"a", "a|"},
	    {"\n", "|"},
	    {"\n\n", "||"},
	    {"a\n\nb", "a||b|"},
	    {"a\r\nb\r\n", "a\r|b\r|"},
	    {"12345678\n", "12345678|"},
	    {"12345678", "12345678|"},
	    {"123456789\n", "!|"},
	    {"123456789", "!|"},
	    {"a\n123456789\nb\n", "a|!|b|"},
	    {"123456789\n123456789\n", "!|!|"},
	    {"123456789012345678901234567890\n12345678\n", "!|12345678|"},
	    {"123456789012345678901234567890\n\n1", "!||1|"},
	    {"123456789012345678901234567890", "!|"},
	    {"a\n123456789012345678901234567890\n", "a|!|"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		for (size_t step = 1; step <= strlen(cases[i].text); step++) {
			sp_auto_free char *seen =
			    read_all(cases[i].text, strlen(cases[i].text), 8, step);
			if (strcmp(seen, cases[i].seen) != 0)
				fail_msg("%s by %zu: %s", cases[i].text, step, seen);
		}
}

/* The longest line that is, between two short ones, in pieces of every kind of size. */
static void lines_that_are_given_are_those_that_were_read(void **state)
{
	static char text[2 + SP_LINE_MAX + 1 + 2];
	static const size_t steps[] = {1, 4096, 16384, 65536};

	(void)state;
	memset(text, 'x', sizeof(text));
	text[1] = text[2 + SP_LINE_MAX] = text[sizeof(text) - 1] = '\n';
	for (size_t i = 0; i < SP_COUNT(steps); i++) {
		size_t given = 0, length, sizes[4], count = 0;
		struct sp_line_reader reader;
		char *line;
		int got;
		assert_int_equal(sp_line_reader_init(&reader, -1, SP_LINE_MAX), 0);
		while ((got = sp_line_take(&reader, &line, &length)) != 0) {
			size_t left = sizeof(text) - given, n = steps[i] < left ? steps[i] : left;
			if (got == 1 && count < SP_COUNT(sizes))
				sizes[count++] = length;
			if (got == 1)
				continue;
			assert_int_equal(got, -EAGAIN);
			assert_int_equal(sp_line_give(&reader, text + given, n), 0);
			given += n;
			reader.ended = given == sizeof(text);
		}
		assert_int_equal(count, 3);
		assert_true(sizes[0] == 1 && sizes[1] == SP_LINE_MAX && sizes[2] == 1);
		sp_line_reader_done(&reader);
	}
}

static void nothing_is_no_line(void **state)
{
	struct pipe_ends ends = new_pipe(0);
	struct sp_line_reader reader;
	char *line;
	size_t size;

	(void)state;
	sp_fd_close(&ends.write);
	assert_int_equal(sp_line_reader_init(&reader, ends.read, 8), 0);
	assert_true(sp_line_at_hand(&reader));
	assert_int_equal(sp_line_next(&reader, &line, &size), 0);
	assert_int_equal(reader.number, 0);
	sp_line_reader_done(&reader);
	sp_fd_close(&ends.read);
}

static void a_nul_byte_ends_no_line(void **state)
{
	struct pipe_ends ends = new_pipe(0);
	struct sp_line_reader reader;
	char *line;
	size_t size;

	(void)state;
	put(ends.write, "a\0b\n", 4);
	assert_int_equal(sp_line_reader_init(&reader, ends.read, 8), 0);
	assert_int_equal(sp_line_next(&reader, &line, &size), 1);
	assert_int_equal(size, 3);
	assert_memory_equal(line, "a\0b", 4);
	sp_line_reader_done(&reader);
	sp_fd_close(&ends.read);
	sp_fd_close(&ends.write);
}

struct writing {
	int fd;
	const char *text;
	size_t size;
};

static void *write_and_close(void *context)
{
	struct writing *writing = context;

	(void)sp_write_all(writing->fd, writing->text, writing->size, -1);
	(void)close(writing->fd);
	return NULL;
}

/* Around the real bound, where the buffer grows and lines cross reads. */
static void the_longest_line_is_exact(void **state)
{
	static const int over[] = {-1, 0, 1, 70000};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(over); i++) {
		size_t length = (size_t)((int)SP_LINE_MAX + over[i]), size = 0;
		struct pipe_ends ends = new_pipe(0);
		struct sp_line_reader reader;
		sp_auto_free char *text = malloc(length + 4);
		struct writing writing = {ends.write, text, length + 4};
		pthread_t thread;
		char *line;
		memset(text, 'x', length);
		memcpy(text + length, "\nok\n", 4);
		assert_int_equal(pthread_create(&thread, NULL, write_and_close, &writing), 0);
		assert_int_equal(sp_line_reader_init(&reader, ends.read, SP_LINE_MAX), 0);
		assert_int_equal(
		    sp_line_next(&reader, &line, &size), over[i] > 0 ? SP_E_TOO_LARGE : 1);
		assert_int_equal(size, over[i] > 0 ? 0 : length);
		assert_int_equal(sp_line_next(&reader, &line, &size), 1);
		assert_string_equal(line, "ok");
		assert_int_equal(sp_line_next(&reader, &line, &size), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_true(reader.room <= SP_LINE_MAX + 1 + 64 * 1024);
		sp_line_reader_done(&reader);
		sp_fd_close(&ends.read);
	}
}

/* The contract that keeps filters from waiting with answers unwritten: half a line is not at hand,
 * nor is the rest of one too long. */
static void at_hand_means_that_next_does_not_wait(void **state)
{
	struct pipe_ends ends = new_pipe(0);
	struct sp_line_reader reader;
	char *line;
	size_t size;

	(void)state;
	assert_int_equal(sp_line_reader_init(&reader, ends.read, 8), 0);
	assert_false(sp_line_at_hand(&reader));
	put(ends.write, "one\nha", 6);
	assert_true(sp_line_at_hand(&reader));
	assert_int_equal(sp_line_next(&reader, &line, &size), 1);
	assert_string_equal(line, "one");
	assert_false(sp_line_at_hand(&reader));
	put(ends.write, "l", 1);
	assert_false(sp_line_at_hand(&reader));
	put(ends.write, "f\n1234", 6);
	assert_true(sp_line_at_hand(&reader));
	assert_int_equal(sp_line_next(&reader, &line, &size), 1);
	assert_string_equal(line, "half");
	put(ends.write, "56789", 5);
	assert_true(sp_line_at_hand(&reader));
	assert_int_equal(sp_line_next(&reader, &line, &size), SP_E_TOO_LARGE);
	put(ends.write, "0123456789", 10);
	assert_false(sp_line_at_hand(&reader));
	put(ends.write, "0\n", 2);
	assert_false(sp_line_at_hand(&reader));
	put(ends.write, "last", 4);
	assert_false(sp_line_at_hand(&reader));
	sp_fd_close(&ends.write);
	assert_true(sp_line_at_hand(&reader));
	assert_int_equal(sp_line_next(&reader, &line, &size), 1);
	assert_string_equal(line, "last");
	assert_true(sp_line_at_hand(&reader));
	assert_int_equal(sp_line_next(&reader, &line, &size), 0);
	assert_int_equal(reader.number, 4);
	sp_line_reader_done(&reader);
	sp_fd_close(&ends.read);
}

static void a_descriptor_that_fails_says_so(void **state)
{
	sp_auto_fd int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sp_line_reader reader;
	char *line;
	size_t size;

	(void)state;
	assert_int_equal(sp_line_reader_init(&reader, fd, 8), 0);
	assert_true(sp_line_at_hand(&reader));
	assert_int_equal(sp_line_next(&reader, &line, &size), -EISDIR);
	sp_line_reader_done(&reader);
}

static size_t waiting_in(int fd, char *bytes, size_t room)
{
	ssize_t n = sp_read_some(fd, bytes, room);

	return n > 0 ? (size_t)n : 0;
}

static void answers_are_written_in_batches(void **state)
{
	struct pipe_ends ends = new_pipe(O_NONBLOCK);
	struct sp_line_writer writer;
	char bytes[64];

	(void)state;
	assert_int_equal(sp_line_writer_init(&writer, ends.write), 0);
	assert_int_equal(sp_line_flush(&writer), 0);
	assert_int_equal(sp_line_put(&writer, "one", 3), 0);
	assert_int_equal(sp_line_put(&writer, "", 0), 0);
	assert_int_equal(waiting_in(ends.read, bytes, sizeof(bytes)), 0);
	assert_int_equal(sp_line_flush(&writer), 0);
	assert_int_equal(waiting_in(ends.read, bytes, sizeof(bytes)), 5);
	assert_memory_equal(bytes, "one\n\n", 5);
	sp_line_writer_done(&writer);
	sp_fd_close(&ends.read);
	sp_fd_close(&ends.write);
}

static void *count_bytes(void *context)
{
	static char bytes[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(*(int *)context, bytes, sizeof(bytes))) > 0)
		sum += (size_t)n;
	return (void *)(uintptr_t)sum;
}

/* Lines of every size around the batch's, as text and as JSON; `{"a":"xxx"}` has 8 bytes more than
 * its x. */
static void no_size_of_line_is_lost(void **state)
{
	static const size_t sizes[] = {1, 65518, 65519, 65520, 65526, 65527, 65528, 65535, 65536,
	    65537, 200000, 3, SP_LINE_MAX};
	struct pipe_ends ends = new_pipe(0);
	struct sp_line_writer writer;
	sp_auto_free char *text = malloc(SP_LINE_MAX + 1);
	size_t expected = 0;
	pthread_t thread;
	void *sum;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, count_bytes, &ends.read), 0);
	assert_int_equal(sp_line_writer_init(&writer, ends.write), 0);
	for (size_t i = 0; i < SP_COUNT(sizes); i++) {
		sp_auto_json json_t *json = NULL;
		memset(text, 'x', sizes[i]);
		text[sizes[i]] = '\0';
		json = json_pack("{ss}", "a", text);
		assert_int_equal(sp_line_put(&writer, text, sizes[i]), 0);
		assert_int_equal(sp_line_put_json(&writer, json), 0);
		assert_int_equal(sp_line_put_json(&writer, json), 0);
		expected += sizes[i] + 1 + 2 * (sizes[i] + 8 + 1);
	}
	assert_int_equal(sp_line_flush(&writer), 0);
	sp_line_writer_done(&writer);
	sp_fd_close(&ends.write);
	assert_int_equal(pthread_join(thread, &sum), 0);
	assert_int_equal((uintptr_t)sum, expected);
	sp_fd_close(&ends.read);
}

static void the_first_error_stays(void **state)
{
	struct pipe_ends ends = new_pipe(0);
	struct sp_line_writer writer;
	sp_auto_json json_t *json = json_pack("{si}", "a", 1);

	(void)state;
	sp_fd_close(&ends.read);
	assert_int_equal(sp_line_writer_init(&writer, ends.write), 0);
	assert_int_equal(sp_line_put(&writer, "x", 1), 0);
	assert_int_equal(sp_line_flush(&writer), -EPIPE);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(sp_line_put_json(&writer, json), -EPIPE);
	assert_int_equal(sp_line_put(&writer, "x", 1), -EPIPE);
	assert_int_equal(sp_line_flush(&writer), -EPIPE);
	sp_line_writer_done(&writer);
	sp_fd_close(&ends.write);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_split_the_same_at_every_offset),
	    cmocka_unit_test(lines_that_are_given_are_those_that_were_read),
	    cmocka_unit_test(nothing_is_no_line),
	    cmocka_unit_test(a_nul_byte_ends_no_line),
	    cmocka_unit_test(the_longest_line_is_exact),
	    cmocka_unit_test(at_hand_means_that_next_does_not_wait),
	    cmocka_unit_test(a_descriptor_that_fails_says_so),
	    cmocka_unit_test(answers_are_written_in_batches),
	    cmocka_unit_test(no_size_of_line_is_lost),
	    cmocka_unit_test(the_first_error_stays),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
