/* One connection's life: lines at every boundary, back-pressure, closing and taking from within
 * handlers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/io.h"
#include "base/util.h"
#include "net/conn.h"

/* The near end is a conn whose handlers write down what they see; lines with a meaning act. */
struct near {
	struct ev_loop *loop;
	struct sp_conn *conn; /* NULL once on_close was called, or it was taken */
	int far;
	char log[512];
	size_t used, longest;
	int closes, code, taken;
	char *rest;
	size_t rest_size;
};

static void note(struct near *near, const char *text)
{
	near->used +=
	    (size_t)snprintf(near->log + near->used, sizeof(near->log) - near->used, "%s|", text);
	assert_true(near->used < sizeof(near->log));
}

static void act(struct near *near, const char *line)
{
	if (strcmp(line, "pause") == 0)
		sp_conn_pause(near->conn);
	else if (strcmp(line, "blink") == 0) {
		sp_conn_pause(near->conn);
		sp_conn_resume(near->conn);
	} else if (strcmp(line, "close") == 0)
		sp_conn_close(near->conn, false);
	else if (strcmp(line, "drain") == 0)
		sp_conn_close(near->conn, true);
	else if (strcmp(line, "echo") == 0)
		assert_int_equal(sp_conn_put(near->conn, "echo", 4), 0);
	else if (strcmp(line, "take") == 0) {
		near->taken = sp_conn_take(near->conn, &near->rest, &near->rest_size);
		near->conn = NULL;
	}
}

static void on_line(struct sp_conn *conn, char *line, size_t size, void *context)
{
	struct near *near = context;

	assert_ptr_equal(conn, near->conn);
	assert_ptr_equal(sp_conn_context(conn), near);
	near->longest = size > near->longest ? size : near->longest;
	assert_int_equal(line[size], '\0');
	if (size < 32)
		act(near, line);
	/* After the act: the line is valid during the whole call. */
	note(near, size < 32 ? line : "long");
	assert_int_equal(strlen(line), size);
}

static void on_too_long(struct sp_conn *conn, void *context)
{
	(void)conn;
	note(context, "!");
}

static void on_end(struct sp_conn *conn, void *context)
{
	(void)conn;
	note(context, "end");
}

static void on_close(struct sp_conn *conn, int code, void *context)
{
	struct near *near = context;

	assert_ptr_equal(conn, near->conn);
	/* Too late for anything, and harmless. */
	assert_int_equal(sp_conn_put(conn, "late", 4), 0);
	sp_conn_close(conn, true);
	near->closes++;
	near->code = code;
	near->conn = NULL;
}

static void on_drain(struct sp_conn *conn, void *context)
{
	(void)conn;
	note(context, "drained");
}

static const struct sp_conn_handlers ALL = {on_line, on_too_long, on_end, on_close, on_drain};
static const struct sp_conn_handlers FEW = {.on_line = on_line, .on_close = on_close};

static int setup(void **state)
{
	struct near *near = calloc(1, sizeof(*near));
	int fds[2];

	if (!near || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return -1;
	near->loop = ev_loop_new(EVFLAG_AUTO);
	near->far = fds[1];
	near->taken = -1;
	*state = near;
	return sp_conn_new(near->loop, fds[0], &ALL, near, &near->conn);
}

static void turn(struct near *near);

static int teardown(void **state)
{
	struct near *near = *state;

	if (near->conn) {
		sp_conn_close(near->conn, false);
		turn(near);
	}
	sp_fd_close(&near->far);
	sp_fd_close(&near->taken);
	free(near->rest);
	ev_loop_destroy(near->loop);
	free(near);
	return 0;
}

/* Runs the loop as long as anything is to be done at once. */
static void turn(struct near *near)
{
	for (int i = 0; i < 20; i++)
		(void)ev_run(near->loop, EVRUN_NOWAIT);
}

static void send_text(struct near *near, const char *text)
{
	assert_int_equal(sp_write_all(near->far, text, strlen(text), 1000), 0);
}

/* Writes more than a socket holds, with the loop reading meanwhile. */
static void send_many(struct near *near, char c, size_t count)
{
	static char bytes[65536];

	memset(bytes, c, sizeof(bytes));
	while (count > 0) {
		ssize_t n =
		    sp_write_some(near->far, bytes, count < sizeof(bytes) ? count : sizeof(bytes));
		if (n > 0)
			count -= (size_t)n;
		turn(near);
	}
}

static void received(struct near *near, const char *text)
{
	char bytes[256];
	ssize_t n = sp_read_some(near->far, bytes, sizeof(bytes) - 1);

	assert_true(n >= 0 || n == -EAGAIN);
	bytes[n > 0 ? n : 0] = '\0';
	assert_string_equal(bytes, text);
}

static void lines_come_whole_at_every_boundary(void **state)
{
	static const char text[] = "one\n\ntwo\nthree\r\n";
	struct near *near = *state;

	for (size_t step = 1; step < sizeof(text); step++) {
		near->used = 0;
		for (size_t at = 0; at < sizeof(text) - 1; at += step) {
			size_t left = sizeof(text) - 1 - at;
			assert_int_equal(
			    sp_write_all(near->far, text + at, step < left ? step : left, 1000), 0);
			turn(near);
		}
		assert_string_equal(near->log, "one||two|three\r|");
	}
}

/* However a line over the bound arrives, with its LF at once or long after, it is told once and
 * never delivered. */
static void a_line_too_long_is_told_once(void **state)
{
	static const size_t sizes[] = {SP_LINE_MAX - 1, SP_LINE_MAX, SP_LINE_MAX + 1,
	    SP_LINE_MAX + 2, SP_LINE_MAX + 4096, 2 * SP_LINE_MAX, 3 * SP_LINE_MAX + 7};
	struct near *near = *state;

	for (size_t i = 0; i < SP_COUNT(sizes); i++) {
		near->used = 0;
		send_many(near, 'x', sizes[i]);
		send_text(near, "\nok\n");
		turn(near);
		assert_string_equal(near->log, sizes[i] > SP_LINE_MAX ? "!|ok|" : "long|ok|");
	}
	assert_int_equal(near->longest, SP_LINE_MAX);
}

/* The buffer has grown to twice the bound by now: its LF arrives in the same read as the excess. */
static void a_line_a_little_too_long_is_never_delivered(void **state)
{
	struct near *near = *state;
	int room = 1 << 20;

	assert_int_equal(setsockopt(near->far, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	for (size_t over = 1; over < 40000; over = over * 3 + 1) {
		near->used = 0;
		send_many(near, 'x', SP_LINE_MAX - 5);
		sp_auto_free char *rest = malloc(over + 16);
		memset(rest, 'x', over + 5);
		(void)strcpy(rest + over + 5, "\nok\n");
		assert_int_equal(sp_write_all(near->far, rest, over + 9, 1000), 0);
		turn(near);
		assert_string_equal(near->log, "!|ok|");
	}
	assert_int_equal(near->longest, 2);
}

static void without_a_handler_a_line_too_long_ends_it(void **state)
{
	struct near *near = *state;
	int fds[2];

	sp_conn_close(near->conn, false);
	turn(near);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	(void)close(near->far);
	near->far = fds[1];
	assert_int_equal(sp_conn_new(near->loop, fds[0], &FEW, near, &near->conn), 0);
	for (size_t sent = 0; near->conn && sent < 8 * SP_LINE_MAX;) {
		char bytes[4096];
		memset(bytes, 'x', sizeof(bytes));
		ssize_t n = sp_write_some(near->far, bytes, sizeof(bytes));
		sent += n > 0 ? (size_t)n : 0;
		turn(near);
	}
	assert_int_equal(near->closes, 2);
	assert_int_equal(near->code, SP_E_TOO_LARGE);
}

static void a_pause_within_a_line_holds_the_next_ones(void **state)
{
	struct near *near = *state;

	send_text(near, "a\npause\nb\nc\n");
	turn(near);
	assert_string_equal(near->log, "a|pause|");
	send_text(near, "d\n");
	turn(near);
	assert_string_equal(near->log, "a|pause|");
	sp_conn_resume(near->conn);
	sp_conn_resume(near->conn);
	turn(near);
	assert_string_equal(near->log, "a|pause|b|c|d|");
}

static void a_pause_taken_back_within_a_line_changes_nothing(void **state)
{
	struct near *near = *state;

	send_text(near, "a\nblink\nb\nblink\nblink\nc\n");
	turn(near);
	assert_string_equal(near->log, "a|blink|b|blink|blink|c|");
}

static void what_came_before_the_end_is_delivered_first(void **state)
{
	struct near *near = *state;

	send_text(near, "a\npause\nb\nhalf");
	assert_int_equal(shutdown(near->far, SHUT_WR), 0);
	turn(near);
	assert_string_equal(near->log, "a|pause|");
	sp_conn_resume(near->conn);
	turn(near);
	/* The half line is dropped. */
	assert_string_equal(near->log, "a|pause|b|end|");
	assert_int_equal(near->closes, 0);
	/* The other direction goes on. */
	assert_int_equal(sp_conn_put(near->conn, "answer", 6), 0);
	turn(near);
	received(near, "answer\n");
	assert_string_equal(near->log, "a|pause|b|end|");
}

static void without_a_handler_the_end_ends_it(void **state)
{
	struct near *near = *state;
	int fds[2];

	sp_conn_close(near->conn, false);
	turn(near);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	(void)close(near->far);
	near->far = fds[1];
	assert_int_equal(sp_conn_new(near->loop, fds[0], &FEW, near, &near->conn), 0);
	send_text(near, "a\n");
	assert_int_equal(shutdown(near->far, SHUT_WR), 0);
	turn(near);
	assert_string_equal(near->log, "a|");
	assert_int_equal(near->code, SP_E_CLOSED);
}

static void a_close_within_a_line_stops_the_rest(void **state)
{
	struct near *near = *state;

	send_text(near, "a\nclose\nb\n");
	turn(near);
	assert_string_equal(near->log, "a|close|");
	assert_int_equal(near->closes, 1);
	assert_int_equal(near->code, 0);
	assert_null(near->conn);
}

static void a_draining_close_writes_what_is_queued(void **state)
{
	struct near *near = *state;

	send_text(near, "echo\necho\ndrain\necho\n");
	turn(near);
	assert_string_equal(near->log, "echo|echo|drain|");
	assert_int_equal(near->closes, 1);
	received(near, "echo\necho\n");
	received(near, "");
}

static void fill_queue(struct near *near)
{
	char line[4096];

	memset(line, 'q', sizeof(line));
	while (!sp_conn_full(near->conn))
		assert_int_equal(sp_conn_put(near->conn, line, sizeof(line)), 0);
}

static size_t read_some_away(struct near *near)
{
	static char bytes[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = sp_read_some(near->far, bytes, sizeof(bytes))) > 0)
		sum += (size_t)n;
	return sum;
}

static void a_slow_reader_fills_the_queue_and_drains_it(void **state)
{
	struct near *near = *state;
	char line[4096];
	size_t queued, sum = 0;

	memset(line, 'q', sizeof(line));
	fill_queue(near);
	turn(near);
	assert_int_equal(near->used, 0);
	while (sp_conn_put(near->conn, line, sizeof(line)) == 0)
		;
	assert_int_equal(sp_conn_put(near->conn, line, sizeof(line)), SP_E_TOO_LARGE);
	queued = sp_conn_flush(near->conn);
	assert_true(queued > 1024 * 1024 && queued <= 2 * 1024 * 1024);
	for (int i = 0; i < 1000 && sp_conn_flush(near->conn) > 0; i++) {
		sum += read_some_away(near);
		turn(near);
	}
	turn(near);
	sum += read_some_away(near);
	assert_string_equal(near->log, "drained|");
	assert_int_equal(sum % (sizeof(line) + 1), 0);
	assert_true(sum > 2 * 1024 * 1024 - 2 * sizeof(line));
	assert_false(sp_conn_full(near->conn));
	/* And it goes on. */
	assert_int_equal(sp_conn_put(near->conn, "x", 1), 0);
	turn(near);
	received(near, "x\n");
}

static void a_draining_close_can_be_cut_short(void **state)
{
	struct near *near = *state;

	fill_queue(near);
	sp_conn_close(near->conn, true);
	turn(near);
	assert_int_equal(near->closes, 0);
	/* Reading has stopped. */
	send_text(near, "a\n");
	turn(near);
	assert_int_equal(near->used, 0);
	sp_conn_close(near->conn, true);
	turn(near);
	assert_int_equal(near->closes, 0);
	sp_conn_close(near->conn, false);
	turn(near);
	assert_int_equal(near->closes, 1);
	assert_int_equal(near->code, 0);
}

static void a_peer_that_has_gone_ends_it(void **state)
{
	struct near *near = *state;

	sp_fd_close(&near->far);
	assert_int_equal(sp_conn_put(near->conn, "x", 1), 0);
	turn(near);
	assert_int_equal(near->closes, 1);
	assert_int_equal(near->code, -EPIPE);
}

static void many_lines_make_one_write(void **state)
{
	struct near *near = *state;
	int fds[2];
	char bytes[64];

	/* A packet socket shows where a write ends. */
	sp_conn_close(near->conn, false);
	turn(near);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	(void)close(near->far);
	near->far = fds[1];
	assert_int_equal(sp_conn_new(near->loop, fds[0], &ALL, near, &near->conn), 0);
	assert_int_equal(sp_write_some(near->far, "echo\necho\necho\n", 15), 15);
	turn(near);
	assert_int_equal(sp_read_some(near->far, bytes, sizeof(bytes)), 15);
}

static void a_taken_descriptor_comes_with_its_unread_input(void **state)
{
	struct near *near = *state;

	send_text(near, "echo\ntake\nraw bytes\nand");
	turn(near);
	assert_string_equal(near->log, "echo|take|");
	assert_int_equal(near->rest_size, 13);
	assert_memory_equal(near->rest, "raw bytes\nand", 13);
	assert_int_equal(near->closes, 0);
	/* What was queued before has gone out. */
	received(near, "echo\n");
	assert_int_equal(sp_write_all(near->taken, "stream", 6, 1000), 0);
	received(near, "stream");
	send_text(near, "more");
	turn(near);
	char bytes[8];
	assert_int_equal(sp_read_some(near->taken, bytes, 8), 4);
}

static void a_descriptor_without_unread_input_comes_alone(void **state)
{
	struct near *near = *state;

	send_text(near, "take\n");
	turn(near);
	assert_int_equal(near->rest_size, 0);
	assert_null(near->rest);
	assert_true(near->taken >= 0);
	assert_int_equal(near->closes, 0);
}

static void silence_beyond_its_limit_ends_it(void **state)
{
	struct near *near = *state;

	sp_conn_idle_limit(near->conn, 0.02);
	(void)ev_run(near->loop, 0);
	assert_int_equal(near->closes, 1);
	assert_int_equal(near->code, SP_E_TIMEOUT);
}

static void an_idle_limit_can_be_taken_back(void **state)
{
	struct near *near = *state;

	sp_conn_idle_limit(near->conn, 0.001);
	sp_conn_idle_limit(near->conn, 0);
	(void)poll(NULL, 0, 5);
	turn(near);
	assert_int_equal(near->closes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(lines_come_whole_at_every_boundary),
	    TEST(a_line_too_long_is_told_once),
	    TEST(a_line_a_little_too_long_is_never_delivered),
	    TEST(without_a_handler_a_line_too_long_ends_it),
	    TEST(a_pause_within_a_line_holds_the_next_ones),
	    TEST(a_pause_taken_back_within_a_line_changes_nothing),
	    TEST(what_came_before_the_end_is_delivered_first),
	    TEST(without_a_handler_the_end_ends_it),
	    TEST(a_close_within_a_line_stops_the_rest),
	    TEST(a_draining_close_writes_what_is_queued),
	    TEST(a_slow_reader_fills_the_queue_and_drains_it),
	    TEST(a_draining_close_can_be_cut_short),
	    TEST(a_peer_that_has_gone_ends_it),
	    TEST(many_lines_make_one_write),
	    TEST(a_taken_descriptor_comes_with_its_unread_input),
	    TEST(a_descriptor_without_unread_input_comes_alone),
	    TEST(silence_beyond_its_limit_ends_it),
	    TEST(an_idle_limit_can_be_taken_back),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("conn", tests, NULL, NULL);
}
