/* Addresses, strictly: a port has no leading zero, a number nothing behind it. */
#include "spacestream/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "net/tcp.h"
#include "net/unix.h"
#include "spacestream/held.h"

static int unblock(int fd, const char *address, struct sp_err *err)
{
	int bad = sp_descriptor_unblock(fd);

	return bad ? sp_fail(err, bad, "%s: %s", address, strerror(-bad)) : 0;
}

static int open_number(const char *address, struct sp_relay_end *ret, struct sp_err *err)
{
	int64_t number;
	int bad;

	if (!sp_number_parse(address + strlen("fd:"), 0, INT32_MAX, &number))
		return sp_fail(err, SP_E_USAGE, "%.64s: no number of a descriptor", address);
	bad = unblock((int)number, address, err);
	if (!bad)
		*ret = (struct sp_relay_end){(int)number, (int)number};
	return bad;
}

static int open_standard(struct sp_relay_end *ret, struct sp_err *err)
{
	int bad = unblock(STDIN_FILENO, "standard input", err);

	if (!bad)
		bad = unblock(STDOUT_FILENO, "standard output", err);
	if (!bad)
		*ret = (struct sp_relay_end){STDIN_FILENO, STDOUT_FILENO};
	return bad;
}

static int open_unix(
    const char *address, int timeout_ms, struct sp_relay_end *ret, struct sp_err *err)
{
	int fd;
	int bad = sp_unix_connect(address + strlen("unix:"), timeout_ms, &fd, err);

	if (!bad)
		*ret = (struct sp_relay_end){fd, fd};
	return bad;
}

static int connect_one(const struct addrinfo *to, int64_t until, int *ret_fd)
{
	sp_auto_fd int fd =
	    socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
	int failed = 0;
	socklen_t size = sizeof(failed);
	int ready;

	if (fd < 0)
		return -errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0) {
		int64_t left = until - sp_monotonic_ms();
		if (errno != EINPROGRESS)
			return -errno;
		ready = sp_poll_one(fd, POLLOUT, left > 0 ? (int)left : 0);
		if (ready < 0)
			return ready;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0 || failed)
			return failed ? -failed : -errno;
	}
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

static int open_tcp(
    const char *address, int timeout_ms, struct sp_relay_end *ret, struct sp_err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	int64_t until = sp_monotonic_ms() + timeout_ms;
	struct addrinfo *list;
	char host[SP_HOST_MAX + 1];
	const char *port;
	int bad, fd = -1;

	if (!sp_tcp_split(address + strlen("tcp:"), host, &port))
		return sp_fail(err, SP_E_USAGE, "%.300s: not tcp:HOST:PORT", address);
	bad = getaddrinfo(host, port, &hints, &list);
	if (bad)
		return sp_fail(err, SP_E_UNAVAILABLE, "%s: %s", address, gai_strerror(bad));
	bad = -EADDRNOTAVAIL;
	for (const struct addrinfo *at = list; at && bad; at = at->ai_next)
		bad = connect_one(at, until, &fd);
	freeaddrinfo(list);
	if (bad)
		return sp_fail(err, bad, "%s: %s", address, sp_code_text(bad));
	*ret = (struct sp_relay_end){fd, fd};
	return 0;
}

int address_open(const char *address, int timeout_ms, struct sp_relay_end *ret, struct sp_err *err)
{
	if (strcmp(address, "-") == 0)
		return open_standard(ret, err);
	if (strncmp(address, "fd:", 3) == 0)
		return open_number(address, ret, err);
	if (strncmp(address, "unix:", 5) == 0)
		return open_unix(address, timeout_ms, ret, err);
	if (strncmp(address, "tcp:", 4) == 0)
		return open_tcp(address, timeout_ms, ret, err);
	return sp_fail(
	    err, SP_E_USAGE, "%.64s: not an address: unix:PATH, tcp:HOST:PORT, fd:N or -", address);
}
