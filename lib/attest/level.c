/* What this kernel has of the facilities that attestation rests on, found out by use. */
#include "attest/level.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include "attest/sockdiag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"

#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif

static const char *const NAMES[] = {
    [SP_LEVEL_NONE] = "none",
    [SP_LEVEL_LAUNCH_PIDFD] = "launch-pidfd",
    [SP_LEVEL_PIDFD] = "pidfd",
    [SP_LEVEL_FULL] = "full",
};

static bool probe_proc(void)
{
	struct statfs info;
	char self[32];
	ssize_t size;
	int64_t pid;

	if (statfs("/proc", &info) < 0 || info.f_type != PROC_SUPER_MAGIC)
		return false;
	/* A /proc of another pid namespace numbers processes in its own way, and names us by that
	 * number, or not at all. */
	size = readlink("/proc/self", self, sizeof(self) - 1);
	if (size <= 0)
		return false;
	self[size] = '\0';
	return sp_number_parse(self, 1, INT32_MAX, &pid) && pid == getpid();
}

static void probe_pidfd(struct sp_facilities *facilities)
{
	sp_auto_fd int fd = pidfd_open(getpid(), 0);
	struct statfs info;

	/* Alive: nothing to read, within no time. */
	facilities->pidfd = fd >= 0 && sp_poll_one(fd, POLLIN, 0) == SP_E_TIMEOUT;
	facilities->pidfs =
	    facilities->pidfd && fstatfs(fd, &info) == 0 && info.f_type == PID_FS_MAGIC;
}

static bool probe_image(void)
{
	sp_auto_fd int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char entry[8];

	return fd >= 0 && pread(fd, entry, sizeof(entry), 0) == sizeof(entry);
}

static bool probe_diag(int end, int other)
{
	sp_auto_fd int netlink = -1;
	struct sp_socket found;
	struct stat own, peer;

	return sp_sockdiag_open(&netlink) == 0 && fstat(end, &own) == 0 &&
	       fstat(other, &peer) == 0 &&
	       sp_sockdiag_find(netlink, (uint32_t)own.st_ino, &found) == 0 &&
	       found.peer == (uint32_t)peer.st_ino;
}

static void probe_sockets(struct sp_facilities *facilities)
{
	int pair[2];
	int pidfd = -1;
	uint64_t cookie;
	socklen_t size = sizeof(pidfd);

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	facilities->peerpidfd =
	    getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0 && pidfd >= 0;
	sp_fd_close(&pidfd);
	size = sizeof(cookie);
	facilities->cookie = getsockopt(pair[0], SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0;
	facilities->sockdiag = probe_diag(pair[0], pair[1]);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

void sp_facilities_probe(struct sp_facilities *ret)
{
	struct sp_facilities facilities = {.proc = probe_proc(), .image = probe_image()};

	probe_pidfd(&facilities);
	probe_sockets(&facilities);
	*ret = facilities;
}

enum sp_level sp_level_of(const struct sp_facilities *facilities)
{
	if (!facilities->proc || !facilities->pidfd || !facilities->image ||
	    !facilities->sockdiag || !facilities->cookie)
		return SP_LEVEL_NONE;
	if (!facilities->peerpidfd)
		return SP_LEVEL_LAUNCH_PIDFD;
	return facilities->pidfs ? SP_LEVEL_FULL : SP_LEVEL_PIDFD;
}

static const struct {
	const char *name;
	size_t offset;
} FACILITIES[] = {
    {"/proc of this pid namespace", offsetof(struct sp_facilities, proc)},
    {"pidfd_open", offsetof(struct sp_facilities, pidfd)},
    {"SO_PEERPIDFD", offsetof(struct sp_facilities, peerpidfd)},
    {"pidfs", offsetof(struct sp_facilities, pidfs)},
    {"/proc/<pid>/pagemap", offsetof(struct sp_facilities, image)},
    {"UNIX_DIAG", offsetof(struct sp_facilities, sockdiag)},
    {"SO_COOKIE", offsetof(struct sp_facilities, cookie)},
};

bool sp_facilities_row(
    const struct sp_facilities *facilities, unsigned n, const char **ret_name, bool *ret_has)
{
	if (n >= SP_COUNT(FACILITIES))
		return false;
	*ret_name = FACILITIES[n].name;
	*ret_has = *(const bool *)((const char *)facilities + FACILITIES[n].offset);
	return true;
}

void sp_facilities_missing(const struct sp_facilities *facilities, char *text, size_t room)
{
	const char *name;
	size_t used = 0;
	bool has;

	text[0] = '\0';
	for (unsigned i = 0; sp_facilities_row(facilities, i, &name, &has); i++)
		if (!has && used < room) {
			int n = snprintf(text + used, room - used, "%s%s", used ? ", " : "", name);
			used += n > 0 ? (size_t)n : 0;
		}
}

enum sp_level sp_level_probe(void)
{
	static enum sp_level level;
	static bool probed;

	if (!probed) {
		struct sp_facilities facilities;
		sp_facilities_probe(&facilities);
		level = sp_level_of(&facilities);
		probed = true;
	}
	return level;
}

const char *sp_level_name(enum sp_level level)
{
	return NAMES[level];
}

bool sp_level_parse(const char *name, enum sp_level *ret)
{
	for (enum sp_level i = SP_LEVEL_LAUNCH_PIDFD; i <= SP_LEVEL_FULL; i++)
		if (strcmp(NAMES[i], name) == 0) {
			*ret = i;
			return true;
		}
	return false;
}
