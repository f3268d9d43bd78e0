/* Reads and writes that mean what they say. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

ssize_t sp_read_some(int fd, void *buffer, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buffer, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t sp_write_some(int fd, const void *data, size_t size)
{
	ssize_t n;

	do
		n = write(fd, data, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void sp_descriptors_raise(struct rlimit *ret_before)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		limit = (struct rlimit){1024, 4096};
	if (ret_before)
		*ret_before = limit;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t sp_monotonic_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int sp_descriptor_unblock(int fd)
{
	struct stat info;
	char place[32];
	int flags = fcntl(fd, F_GETFL), own;

	if (flags < 0 || fstat(fd, &info) < 0)
		return -errno;
	if (flags & O_NONBLOCK || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
		return 0;
	/* Opened anew it is ours: whoever else reads or writes it blocks as before. */
	(void)snprintf(place, sizeof(place), "/proc/self/fd/%d", fd);
	own = S_ISSOCK(info.st_mode)
		  ? -1
		  : open(place, (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0) {
		int bad = dup3(own, fd, O_CLOEXEC) < 0 ? -errno : 0;
		(void)close(own);
		return bad;
	}
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

int64_t sp_monotonic_ms(void)
{
	return sp_monotonic_us() / 1000;
}

static int time_left(int64_t deadline)
{
	int64_t left = deadline - sp_monotonic_ms();

	return left > 0 ? (int)left : 0;
}

int sp_poll_one(int fd, short events, int timeout_ms)
{
	struct pollfd one = {.fd = fd, .events = events};
	int64_t deadline = sp_monotonic_ms() + timeout_ms;

	for (;;) {
		int n = poll(&one, 1, timeout_ms < 0 ? -1 : time_left(deadline));
		if (n > 0)
			return one.revents;
		if (n == 0)
			return SP_E_TIMEOUT;
		if (errno != EINTR)
			return -errno;
	}
}

int sp_write_all(int fd, const void *data, size_t size, int timeout_ms)
{
	const char *at = data;
	int64_t deadline = sp_monotonic_ms() + timeout_ms;

	while (size > 0) {
		ssize_t n = sp_write_some(fd, at, size);
		if (n == -EAGAIN) {
			int ready =
			    sp_poll_one(fd, POLLOUT, timeout_ms < 0 ? -1 : time_left(deadline));
			if (ready < 0)
				return ready;
			continue;
		}
		if (n < 0)
			return (int)n;
		/* Neither progress nor an error: some devices do that for ever. */
		if (n == 0)
			return -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int sp_read_exact(int fd, void *buffer, size_t size, int timeout_ms)
{
	char *at = buffer;
	int64_t deadline = sp_monotonic_ms() + timeout_ms;

	while (size > 0) {
		int ready = sp_poll_one(fd, POLLIN, timeout_ms < 0 ? -1 : time_left(deadline));
		if (ready < 0)
			return ready;
		ssize_t n = sp_read_some(fd, at, size);
		if (n == -EAGAIN)
			continue;
		if (n < 0)
			return (int)n;
		if (n == 0)
			return SP_E_CLOSED;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}
