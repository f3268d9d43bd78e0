/* TCP of bounded streams: what an accepted connection has inherited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "net/tcp.h"

static int option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, name, &value, &size), 0);
	return value;
}

/* On loopback a segment would be larger than the window of a bounded socket. */
static void accepted_connections_have_short_segments_and_no_delay(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	sp_auto_fd int listener = socket(AF_INET, SOCK_STREAM, 0);
	sp_auto_fd int client = socket(AF_INET, SOCK_STREAM, 0);
	sp_auto_fd int server = -1;

	(void)state;
	sp_tcp_prepare(listener);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	server = accept(listener, NULL, NULL);
	assert_true(server >= 0);
	assert_int_equal(option(server, TCP_NODELAY), 1);
	/* The client, which has set nothing, sends such. */
	assert_in_range(option(client, TCP_MAXSEG), 1, SP_TCP_SEGMENT);
}

static void a_unix_socket_is_left_alone(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	sp_tcp_prepare(ends[0]);
	assert_int_equal(sp_write_all(ends[0], "x", 1, 1000), 0);
	sp_fd_close(&ends[0]);
	sp_fd_close(&ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(accepted_connections_have_short_segments_and_no_delay),
	    cmocka_unit_test(a_unix_socket_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
