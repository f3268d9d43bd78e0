/*
 * Stops a program at one point of an attestation, so that a test can act in the middle of it: at
 * $SP_STOP_AT ("connect": about to connect to a socket that was judged; "getfd": about to copy the
 * listener of a process, everything before it proven; "image": about to look at an mm pin;
 * "socket": about to look a socket up; "held": about to look at a descriptor of a process), the
 * $SP_STOP_COUNT-th time it gets there (default 1), a line is written to the FIFO $SP_STOP_TELL,
 * then the FIFO $SP_STOP_GO is read. Once a process.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int connect(int fd, const struct sockaddr *address, socklen_t size);
int pidfd_getfd(int pidfd, int number, unsigned flags);
static void stop_at(const char *point)
{
	static int seen;
	const char *wanted = getenv("SP_STOP_AT"), *count = getenv("SP_STOP_COUNT");
	char byte = '\n';
	int fd;

	if (!wanted || strcmp(wanted, point) != 0 || ++seen != (count ? atoi(count) : 1))
		return;
	fd = open(getenv("SP_STOP_TELL"), O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, &byte, 1) != 1)
		_exit(125);
	(void)close(fd);
	fd = open(getenv("SP_STOP_GO"), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &byte, 1) != 1)
		_exit(125);
	(void)close(fd);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	static const char judged[] = "/proc/self/fd/";
	const struct sockaddr_un *name = (const struct sockaddr_un *)address;
	int (*real)(int, const struct sockaddr *, socklen_t);

	*(void **)&real = dlsym(RTLD_NEXT, "connect");
	if (address->sa_family == AF_UNIX &&
	    strncmp(name->sun_path, judged, sizeof(judged) - 1) == 0)
		stop_at("connect");
	return real(fd, address, size);
}

int pidfd_getfd(int pidfd, int number, unsigned flags)
{
	int (*real)(int, int, unsigned);

	*(void **)&real = dlsym(RTLD_NEXT, "pidfd_getfd");
	stop_at("getfd");
	return real(pidfd, number, flags);
}

/* What is asked of the kernel about sockets has a netlink header. */
ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int);
	int domain = 0;
	socklen_t room = sizeof(domain);

	*(void **)&real = dlsym(RTLD_NEXT, "send");
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &room) == 0 && domain == AF_NETLINK)
		stop_at("socket");
	return real(fd, bytes, size, flags);
}

ssize_t readlinkat(int at, const char *restrict path, char *restrict room, size_t size)
{
	ssize_t (*real)(int, const char *, char *, size_t);

	*(void **)&real = dlsym(RTLD_NEXT, "readlinkat");
	if (strncmp(path, "fd/", 3) == 0)
		stop_at("held");
	return real(at, path, room, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
	ssize_t (*real)(int, void *, size_t, off_t);

	*(void **)&real = dlsym(RTLD_NEXT, "pread");
	if (size == 8 && at == 0)
		stop_at("image");
	return real(fd, bytes, size, at);
}
