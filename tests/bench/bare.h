/*
 * The same four sockets with no checks at all: two relays that only pass bytes on, in the places of
 * manager and bridge, the second of which says to the VMM's socket whom it wants. Of the bench
 * alone: there is no switch in the product that makes it this.
 */
#ifndef SP_TESTS_BENCH_BARE_H
#define SP_TESTS_BENCH_BARE_H

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "bench.h"

static inline void bare_stop(const char *what)
{
	(void)fprintf(stderr, "%s: bare relay: %s: %s\n", program_invocation_short_name, what,
	    strerror(errno));
	exit(1);
}

static inline int bare_socket(const char *path, struct sockaddr_un *ret)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s", path);
	if (fd < 0)
		bare_stop(path);
	return fd;
}

static inline int bare_connect(const char *path)
{
	struct sockaddr_un at;
	int fd = bare_socket(path, &at);

	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		bare_stop(path);
	return fd;
}

static inline void bare_write(int fd, const char *bytes, size_t size)
{
	for (ssize_t n; size > 0; bytes += n, size -= (size_t)n)
		if ((n = write(fd, bytes, size)) <= 0)
			bare_stop("write");
}

/* Firecracker's handshake, from the host's side. */
static inline void bare_handshake(int fd)
{
	static const char ask[] = "CONNECT 5005\n";
	char byte = 0;

	bare_write(fd, ask, sizeof(ask) - 1);
	while (byte != '\n')
		if (read(fd, &byte, 1) != 1)
			bare_stop("no OK");
}

static inline void bare_pass(int a, int b)
{
	static char bytes[65536];
	struct pollfd ends[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};

	while (poll(ends, 2, -1) > 0)
		for (int i = 0; i < 2; i++)
			if (ends[i].revents) {
				ssize_t n = read(ends[i].fd, bytes, sizeof(bytes));
				if (n <= 0)
					return;
				bare_write(ends[!i].fd, bytes, (size_t)n);
			}
}

/* A relay of one connection, from whoever connects to `listen_at` first to `next`. Ends with the
 * caller. */
static inline pid_t bare_start(const char *listen_at, const char *next, bool vsock)
{
	struct sockaddr_un at;
	int listener = bare_socket(listen_at, &at), from, to;
	pid_t pid;

	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 4) < 0)
		bare_stop(listen_at);
	pid = fork();
	if (pid != 0) {
		(void)close(listener);
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	from = accept(listener, NULL, NULL);
	to = bare_connect(next);
	if (vsock)
		bare_handshake(to);
	bare_pass(from, to);
	_exit(0);
}

#endif
