/* The read and write loops: partial transfers, ends, time limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/io.h"
#include "base/util.h"

#define LARGE (3u * 1024u * 1024u)

struct pair {
	int near, far;
};

static struct pair new_pair(bool blocking)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX,
			     SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0, fds),
	    0);
	return (struct pair){fds[0], fds[1]};
}

static void close_pair(struct pair *pair)
{
	sp_fd_close(&pair->near);
	sp_fd_close(&pair->far);
}

static void a_read_tells_bytes_nothing_and_the_end_apart(void **state)
{
	struct pair pair = new_pair(false);
	char bytes[8];

	(void)state;
	assert_int_equal(sp_read_some(pair.near, bytes, 8), -EAGAIN);
	assert_int_equal(sp_write_some(pair.far, "abc", 3), 3);
	assert_int_equal(sp_read_some(pair.near, bytes, 8), 3);
	sp_fd_close(&pair.far);
	assert_int_equal(sp_read_some(pair.near, bytes, 8), 0);
	assert_int_equal(sp_write_some(pair.near, "x", 1), -EPIPE);
	assert_int_equal(sp_read_some(-1, bytes, 8), -EBADF);
	close_pair(&pair);
}

static void *drain(void *context)
{
	int fd = *(int *)context;
	static char bytes[4096];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) != 0) {
		if (n > 0)
			sum += (size_t)n;
		else
			(void)sp_poll_one(fd, POLLIN, -1);
	}
	return (void *)(uintptr_t)sum;
}

/* More than a socket's buffer holds, so that writes are partial and EAGAIN comes. */
static void all_is_written_however_slowly_it_is_read(void **state)
{
	struct pair pair = new_pair(false);
	sp_auto_free char *bytes = calloc(1, LARGE);
	pthread_t thread;
	void *sum;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, drain, &pair.far), 0);
	assert_int_equal(sp_write_all(pair.near, bytes, LARGE, 30000), 0);
	sp_fd_close(&pair.near);
	assert_int_equal(pthread_join(thread, &sum), 0);
	assert_int_equal((uintptr_t)sum, LARGE);
	close_pair(&pair);
}

static void a_write_that_nobody_reads_ends(void **state)
{
	struct pair pair = new_pair(false);
	sp_auto_free char *bytes = calloc(1, LARGE);

	(void)state;
	assert_int_equal(sp_write_all(pair.near, bytes, LARGE, 0), SP_E_TIMEOUT);
	assert_int_equal(sp_write_all(pair.near, bytes, LARGE, 20), SP_E_TIMEOUT);
	sp_fd_close(&pair.far);
	assert_int_equal(sp_write_all(pair.near, bytes, 1, 20), -EPIPE);
	assert_int_equal(sp_write_all(pair.near, bytes, 0, 0), 0);
	close_pair(&pair);
}

static void a_full_disk_is_an_error(void **state)
{
	sp_auto_fd int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(sp_write_all(fd, "x", 1, -1), -ENOSPC);
}

static void exactly_means_exactly(void **state)
{
	struct pair pair = new_pair(false);
	char bytes[8];

	(void)state;
	assert_int_equal(sp_write_all(pair.far, "abcde", 5, -1), 0);
	assert_int_equal(sp_read_exact(pair.near, bytes, 3, 1000), 0);
	assert_memory_equal(bytes, "abc", 3);
	assert_int_equal(sp_read_exact(pair.near, bytes, 3, 10), SP_E_TIMEOUT);
	assert_int_equal(sp_write_all(pair.far, "fg", 2, -1), 0);
	sp_fd_close(&pair.far);
	assert_int_equal(sp_read_exact(pair.near, bytes, 2, 1000), 0);
	assert_memory_equal(bytes, "fg", 2);
	assert_int_equal(sp_read_exact(pair.near, bytes, 1, 1000), SP_E_CLOSED);
	assert_int_equal(sp_read_exact(pair.near, bytes, 0, 0), 0);
	close_pair(&pair);
}

static void a_poll_says_what_it_saw(void **state)
{
	struct pair pair = new_pair(true);

	(void)state;
	assert_int_equal(sp_poll_one(pair.near, POLLIN, 0), SP_E_TIMEOUT);
	assert_int_equal(sp_poll_one(pair.near, POLLOUT, 0), POLLOUT);
	sp_fd_close(&pair.far);
	assert_true(sp_poll_one(pair.near, POLLIN, 0) & POLLHUP);
	close_pair(&pair);
}

static void on_alarm(int number)
{
	(void)number;
}

/* Signals interrupt every wait below; none of them may shorten or end it. */
static void signals_do_not_end_a_wait(void **state)
{
	struct sigaction action = {.sa_handler = on_alarm}, before;
	struct itimerval often = {{0, 2000}, {0, 2000}}, off = {0};
	struct pair pair = new_pair(true);
	int64_t began = sp_monotonic_ms();
	char byte;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(sp_poll_one(pair.near, POLLIN, 50), SP_E_TIMEOUT);
	assert_int_equal(sp_read_exact(pair.near, &byte, 1, 50), SP_E_TIMEOUT);
	assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_true(sp_monotonic_ms() - began >= 98);
	close_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_read_tells_bytes_nothing_and_the_end_apart),
	    cmocka_unit_test(all_is_written_however_slowly_it_is_read),
	    cmocka_unit_test(a_write_that_nobody_reads_ends),
	    cmocka_unit_test(a_full_disk_is_an_error),
	    cmocka_unit_test(exactly_means_exactly),
	    cmocka_unit_test(a_poll_says_what_it_saw),
	    cmocka_unit_test(signals_do_not_end_a_wait),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
