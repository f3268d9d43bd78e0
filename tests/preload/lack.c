/*
 * Takes facilities of the kernel away from a program: $SP_LACK is a list, separated by commas, of
 * pidfd_open, peerpidfd, pidfs, pagemap, sockdiag, diagpeer, cookie, proc, getfd, netns, openat2,
 * unixfile, inotify. Each then fails as it does on a kernel, or with rights, that do not have it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/un.h>
#include <linux/unix_diag.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int pidfd_open(pid_t pid, unsigned flags);
int pidfd_getfd(int pidfd, int number, unsigned flags);
int openat(int at, const char *path, int flags, ...);
int open(const char *path, int flags, ...);
int setns(int fd, int kind);
int ioctl(int fd, unsigned long request, ...);
int unshare(int flags);

#define REAL(name) dlsym(RTLD_NEXT, #name)

static bool lacks(const char *name)
{
	const char *at = getenv("SP_LACK");
	size_t size = strlen(name);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == size && strncmp(at, name, size) == 0)
			return true;
	return false;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

int pidfd_open(pid_t pid, unsigned flags)
{
	int (*real)(pid_t, unsigned);

	*(void **)&real = REAL(pidfd_open);
	return lacks("pidfd_open") ? fail(ENOSYS) : real(pid, flags);
}

int pidfd_getfd(int pidfd, int number, unsigned flags)
{
	int (*real)(int, int, unsigned);

	*(void **)&real = REAL(pidfd_getfd);
	return lacks("getfd") ? fail(EPERM) : real(pidfd, number, flags);
}

/* As when this user has no instance left. */
int inotify_init1(int flags)
{
	int (*real)(int);

	*(void **)&real = REAL(inotify_init1);
	return lacks("inotify") ? fail(EMFILE) : real(flags);
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...);
	va_list more;
	void *argument;

	va_start(more, request);
	argument = va_arg(more, void *);
	va_end(more);
	*(void **)&real = REAL(ioctl);
	return request == SIOCUNIXFILE && lacks("unixfile") ? fail(EPERM)
							    : real(fd, request, argument);
}

int setns(int fd, int kind)
{
	int (*real)(int, int);

	*(void **)&real = REAL(setns);
	return lacks("netns") ? fail(EPERM) : real(fd, kind);
}

int unshare(int flags)
{
	int (*real)(int);

	*(void **)&real = REAL(unshare);
	return lacks("netns") ? fail(EPERM) : real(flags);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	int (*real)(int, int, int, void *, socklen_t *);

	*(void **)&real = REAL(getsockopt);
	if (level == SOL_SOCKET && ((name == 77 /* SO_PEERPIDFD */ && lacks("peerpidfd")) ||
				       (name == SO_COOKIE && lacks("cookie"))))
		return fail(ENOPROTOOPT);
	return real(fd, level, name, value, size);
}

int socket(int family, int type, int protocol)
{
	int (*real)(int, int, int);

	*(void **)&real = REAL(socket);
	if (family == AF_NETLINK && protocol == NETLINK_SOCK_DIAG && lacks("sockdiag"))
		return fail(EPROTONOSUPPORT);
	return real(family, type, protocol);
}

/* A kernel that knows nothing of peers leaves the attribute out. */
static void hide_peer(char *answer, ssize_t size)
{
	struct nlmsghdr *head = (struct nlmsghdr *)answer;
	ssize_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));

	if (size < at || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return;
	while (at + (ssize_t)sizeof(struct rtattr) <= size) {
		struct rtattr *attribute = (struct rtattr *)(answer + at);
		if (attribute->rta_type == UNIX_DIAG_PEER)
			attribute->rta_type = 0xff;
		at += RTA_ALIGN(attribute->rta_len);
		if (attribute->rta_len == 0)
			return;
	}
}

ssize_t recv(int fd, void *bytes, size_t room, int flags)
{
	ssize_t (*real)(int, void *, size_t, int);
	ssize_t size;

	*(void **)&real = REAL(recv);
	size = real(fd, bytes, room, flags);
	if (lacks("diagpeer"))
		hide_peer(bytes, size);
	return size;
}

int statfs(const char *path, struct statfs *info)
{
	int (*real)(const char *, struct statfs *);
	int bad;

	*(void **)&real = REAL(statfs);
	bad = real(path, info);
	if (strcmp(path, "/proc") == 0 && lacks("proc"))
		info->f_type = 0;
	return bad;
}

int fstatfs(int fd, struct statfs *info)
{
	int (*real)(int, struct statfs *);
	int bad;

	*(void **)&real = REAL(fstatfs);
	bad = real(fd, info);
	if (info->f_type == 0x50494446 && lacks("pidfs"))
		info->f_type = 0x09041934; /* anon_inodefs, as before Linux 6.9 */
	return bad;
}

static bool is_pagemap(const char *path)
{
	size_t size = strlen(path);

	return size >= 7 && strcmp(path + size - 7, "pagemap") == 0 && lacks("pagemap");
}

int openat(int at, const char *path, int flags, ...)
{
	int (*real)(int, const char *, int, ...);
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	*(void **)&real = REAL(openat);
	return is_pagemap(path) ? fail(ENOENT) : real(at, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...);
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	*(void **)&real = REAL(open);
	return is_pagemap(path) ? fail(ENOENT) : real(path, flags, mode);
}

long syscall(long number, ...)
{
	long (*real)(long, ...);
	va_list more;
	long a[6];

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	*(void **)&real = REAL(syscall);
	if (number == SYS_openat2 && lacks("openat2"))
		return fail(ENOSYS);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
