/* Unix sockets by path, however long the path, and without trusting what lies there. */
#include "net/unix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include "base/io.h"
#include "base/util.h"

#define BACKLOG 1024

static void set_path(struct sockaddr_un *address, const char *path)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, strlen(path) + 1);
}

/* The address of a socket that is there: of one with a long path through a descriptor of the
 * socket, which *held then is. */
static int address_of(const char *path, struct sockaddr_un *address, int *held, struct sp_err *err)
{
	char place[SP_UNIX_PATH_MAX + 1];

	if (!*path)
		return sp_fail(err, -EINVAL, "an empty socket path");
	if (strlen(path) <= SP_UNIX_PATH_MAX) {
		set_path(address, path);
		return 0;
	}
	*held = open(path, O_PATH | O_CLOEXEC);
	if (*held < 0)
		return sp_fail_errno(err, "%s", path);
	(void)snprintf(place, sizeof(place), "/proc/self/fd/%d", *held);
	set_path(address, place);
	return 0;
}

/* A full backlog answers EAGAIN to a non-blocking connect, and no poll tells when there is room:
 * hence the short waits. */
static int connect_within(int fd, const struct sockaddr_un *address, int timeout_ms)
{
	int64_t deadline = sp_monotonic_ms() + timeout_ms;

	for (;;) {
		if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		if (sp_monotonic_ms() >= deadline)
			return SP_E_TIMEOUT;
		(void)poll(NULL, 0, 2);
	}
}

int sp_unix_connect(const char *path, int timeout_ms, int *ret_fd, struct sp_err *err)
{
	struct sockaddr_un address;
	sp_auto_fd int held = -1;
	sp_auto_fd int fd = -1;
	int bad = address_of(path, &address, &held, err);

	if (bad)
		return bad;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sp_fail_errno(err, "socket");
	bad = connect_within(fd, &address, timeout_ms);
	if (bad)
		return sp_fail(err, bad, "%s: %s", path, sp_code_text(bad));
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

/* Makes way for a new socket: a stale one is taken away, a living one and everything else is left
 * alone. */
static int clear_path(const char *path, struct sp_err *err)
{
	sp_auto_fd int probe = -1, held = -1;
	struct sockaddr_un address;
	struct stat info;
	int bad;

	if (lstat(path, &info) < 0)
		return errno == ENOENT ? 0 : sp_fail_errno(err, "%s", path);
	if (!S_ISSOCK(info.st_mode))
		return sp_fail(err, -EEXIST, "%s: there is something that is no socket", path);
	bad = address_of(path, &address, &held, err);
	if (bad)
		return bad;
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return sp_fail_errno(err, "socket");
	if (connect(probe, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
	    errno == EAGAIN)
		return sp_fail(err, -EADDRINUSE, "%s: another process listens there", path);
	if (errno != ECONNREFUSED)
		return sp_fail_errno(err, "%s", path);
	return unlink(path) < 0 && errno != ENOENT ? sp_fail_errno(err, "%s", path) : 0;
}

/* bind(2) at a path that fits no address: in its directory under a short name, then moved. */
static int bind_long(int fd, const char *path)
{
	static unsigned count;
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX], name[64], place[SP_UNIX_PATH_MAX + 1];
	struct sockaddr_un address;
	sp_auto_fd int directory = -1;
	int n = snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path + 1) : 1,
	    slash ? path : ".");

	if (n < 0 || (size_t)n >= sizeof(parent))
		return -ENAMETOOLONG;
	directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -errno;
	(void)snprintf(name, sizeof(name), ".socket-%ld-%u", (long)getpid(), count++);
	(void)snprintf(place, sizeof(place), "/proc/self/fd/%d/%s", directory, name);
	set_path(&address, place);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	if (renameat2(directory, name, directory, slash ? slash + 1 : path, RENAME_NOREPLACE) < 0) {
		n = -errno;
		(void)unlinkat(directory, name, 0);
		return n;
	}
	return 0;
}

static int bind_at(int fd, const char *path)
{
	struct sockaddr_un address;

	if (strlen(path) > SP_UNIX_PATH_MAX)
		return bind_long(fd, path);
	set_path(&address, path);
	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

int sp_unix_listen(const char *path, mode_t mode, int *ret_fd, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	int bad = *path ? clear_path(path, err) : sp_fail(err, -EINVAL, "an empty socket path");

	if (bad)
		return bad;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sp_fail_errno(err, "socket");
	/* The socket takes its mode from the descriptor at bind time, so nobody connects before the
	 * mode is right. */
	bad = fchmod(fd, mode) < 0 ? -errno : bind_at(fd, path);
	if (bad)
		return sp_fail(err, bad, "%s: %s", path, sp_code_text(bad));
	if (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0) {
		bad = sp_fail_errno(err, "%s", path);
		(void)unlink(path);
		return bad;
	}
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

int sp_unix_peer(int fd, struct ucred *ret)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	*ret = peer;
	return 0;
}
