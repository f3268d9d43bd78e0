/* Pinning a process, and the parsers of what procfs says of it. */
#include "attest/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "attest/level.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"

#define EXITING 0x4 /* PF_EXITING, as the kernel has shown it since 2.6 */

/* 1: pinned; 0: nothing there to pin, or an exec came in between. */
static int pin_image(struct sp_process *process)
{
	sp_fd_close(&process->image);
	process->image = openat(process->directory, "pagemap", O_RDONLY | O_CLOEXEC);
	if (process->image < 0)
		return errno == ESRCH ? 0 : -errno;
	return sp_process_same_image(process);
}

/* One that is just ending has lost its memory a moment before we are told of its end. It is not
 * waited for: whose thread leader has ended could make a server wait for each connection. */
static bool is_ending(const struct sp_process *process)
{
	struct sp_process_stat stat;
	int bad = sp_process_read_stat(process, &stat);

	return bad ? bad == -ESRCH : (stat.flags & EXITING) && stat.threads <= 1;
}

static int pin(struct sp_process *process)
{
	char path[32];
	struct stat info;
	int pinned;

	if (process->pidfd < 0)
		process->pidfd = pidfd_open(process->pid, 0);
	if (process->pidfd < 0 || fstat(process->pidfd, &info) < 0)
		return -errno;
	process->pidfs = sp_level_probe() == SP_LEVEL_FULL ? info.st_ino : 0;
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)process->pid);
	process->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process->directory < 0)
		/* Alive but not shown (hidepid): a missing right, not a missing process. */
		return errno == ENOENT && sp_process_alive(process) ? -EACCES : -errno;
	/* Alive now: so the directory was of this process, not of a later one of this number. */
	if (!sp_process_alive(process))
		return -ESRCH;
	pinned = pin_image(process);
	if (pinned == 0)
		pinned = pin_image(process);
	if (pinned != 0)
		return pinned < 0 ? pinned : 0;
	/* Alive, and twice nothing: its thread leader has ended, the rest runs on; or the kernel
	 * runs it. */
	return sp_process_alive(process) && !is_ending(process) ? -ENODATA : -ESRCH;
}

int sp_process_pin(pid_t pid, int pidfd, struct sp_process *ret)
{
	struct sp_process process = {.pid = pid, .pidfd = pidfd, .directory = -1, .image = -1};
	int bad = pid > 0 ? pin(&process) : -ESRCH;

	if (bad == -ENOENT)
		bad = -ESRCH;
	if (bad)
		sp_process_unpin(&process);
	else
		*ret = process;
	return bad;
}

void sp_process_unpin(struct sp_process *process)
{
	sp_fd_close(&process->pidfd);
	sp_fd_close(&process->directory);
	sp_fd_close(&process->image);
}

bool sp_process_alive(const struct sp_process *process)
{
	return sp_poll_one(process->pidfd, POLLIN, 0) == SP_E_TIMEOUT;
}

int sp_process_same_image(const struct sp_process *process)
{
	char entry[8];
	ssize_t size = pread(process->image, entry, sizeof(entry), 0);

	if (size < 0)
		return errno == ESRCH ? 0 : -errno;
	return size == sizeof(entry);
}

int sp_process_read_text(
    const struct sp_process *process, const char *name, char *text, size_t room)
{
	sp_auto_fd int fd = openat(process->directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	size = sp_read_some(fd, text, room - 1);
	if (size < 0)
		return (int)size;
	text[size] = '\0';
	return size > 0 ? 0 : -ESRCH;
}

int sp_process_fail(struct sp_err *err, int code, pid_t pid, const char *what)
{
	if (code == -EACCES || code == -EPERM)
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "pid %d: no right to read its %s; run as its uid, or with CAP_SYS_PTRACE "
		    "(and CAP_SYS_ADMIN when namespaces differ)",
		    (int)pid, what);
	if (code == -ESRCH)
		return sp_fail(
		    err, SP_E_DENIED, "pid %d: no such process, or it has exited", (int)pid);
	if (code == -ENODATA)
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "pid %d: nothing to look at: its thread leader has ended, or the kernel runs "
		    "it",
		    (int)pid);
	if (code == -E2BIG)
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "pid %d: it has more threads or descriptors than are looked at", (int)pid);
	return sp_fail(err, SP_E_UNAVAILABLE, "pid %d: %s: %s", (int)pid, what, sp_code_text(code));
}

static const char *skip_fields(const char *at, unsigned count)
{
	while (at && count-- > 0) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

static bool take_number(const char *at, char end, uint64_t *ret)
{
	char *stop;

	if (!at || *at < '0' || *at > '9')
		return false;
	errno = 0;
	*ret = strtoull(at, &stop, 10);
	return errno == 0 && (*stop == end || *stop == '\0');
}

int sp_process_stat_parse(const char *text, struct sp_process_stat *ret)
{
	/* The name in parentheses may hold anything, parentheses too: the last one ends it. */
	const char *state = strrchr(text, ')');
	struct sp_process_stat stat;
	uint64_t threads;

	if (!state || state[1] != ' ' || !state[2] || state[3] != ' ')
		return -EPROTO;
	state += 2;
	stat.state = *state;
	if (!take_number(skip_fields(state, 9 - 3), ' ', &stat.flags) ||
	    !take_number(skip_fields(state, 20 - 3), ' ', &threads) || threads > INT32_MAX ||
	    !take_number(skip_fields(state, 22 - 3), ' ', &stat.start_time) ||
	    !take_number(skip_fields(state, 28 - 3), ' ', &stat.start_stack))
		return -EPROTO;
	stat.threads = (unsigned)threads;
	*ret = stat;
	return 0;
}

int sp_process_read_stat(const struct sp_process *process, struct sp_process_stat *ret)
{
	char text[2048];
	int bad = sp_process_read_text(process, "stat", text, sizeof(text));

	return bad ? bad : sp_process_stat_parse(text, ret);
}

/* The `column`-th number of the line that starts with `name`. */
static bool find_number(const char *text, const char *name, unsigned column, uint64_t *ret)
{
	const char *at = strstr(text, name);

	if (!at)
		return false;
	at += strlen(name);
	while (column-- > 0 && at) {
		at = strchr(at, '\t');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return false;
	return take_number(at, '\t', ret) || take_number(at, '\n', ret);
}

int sp_process_status_parse(const char *text, struct sp_process_status *ret)
{
	uint64_t tracer, uid, gid;

	/* A process's name stands on the first line with its line feeds escaped: a line of these
	 * names is the kernel's. */
	if (!find_number(text, "\nTracerPid:", 1, &tracer) ||
	    !find_number(text, "\nUid:", 2, &uid) || !find_number(text, "\nGid:", 2, &gid) ||
	    tracer > INT32_MAX || uid > UINT32_MAX || gid > UINT32_MAX)
		return -EPROTO;
	ret->tracer = (pid_t)tracer;
	ret->uid = (uid_t)uid;
	ret->gid = (gid_t)gid;
	return 0;
}

static int read_status(
    const struct sp_process *process, const char *name, struct sp_process_status *ret)
{
	char text[4096];
	int bad = sp_process_read_text(process, name, text, sizeof(text));

	return bad ? bad : sp_process_status_parse(text, ret);
}

int sp_process_read_status(const struct sp_process *process, struct sp_process_status *ret)
{
	return read_status(process, "status", ret);
}

static int tracer_of_threads(const struct sp_process *process, DIR *threads, pid_t *ret)
{
	struct sp_process_status status;
	struct dirent *entry;
	unsigned seen = 0;
	char name[64];

	while ((entry = readdir(threads))) {
		if (entry->d_name[0] == '.')
			continue;
		if (++seen > SP_THREADS_MAX)
			return -E2BIG;
		(void)snprintf(name, sizeof(name), "task/%.16s/status", entry->d_name);
		int bad = read_status(process, name, &status);
		if (bad == -ESRCH)
			continue; /* a thread that ended meanwhile */
		if (bad)
			return bad;
		if (status.tracer) {
			*ret = status.tracer;
			return 0;
		}
	}
	*ret = 0;
	return 0;
}

int sp_process_tracer(const struct sp_process *process, unsigned threads, pid_t *ret)
{
	struct sp_process_status status;
	DIR *directory;
	int fd, bad;

	if (threads <= 1) {
		bad = sp_process_read_status(process, &status);
		if (!bad)
			*ret = status.tracer;
		return bad;
	}
	fd = openat(process->directory, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		bad = -errno;
		sp_fd_close(&fd);
		return bad;
	}
	bad = tracer_of_threads(process, directory, ret);
	(void)closedir(directory);
	return bad;
}

/* By the link's text, "net:[4026531840]": to follow it would make the kernel make an inode. */
static int read_namespace(const struct sp_process *process, const char *name, uint64_t *ret)
{
	char link[64];
	ssize_t size = readlinkat(process->directory, name, link, sizeof(link) - 1);
	const char *number;

	if (size < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	link[size] = '\0';
	number = strchr(link, '[');
	return number && take_number(number + 1, ']', ret) ? 0 : -EPROTO;
}

int sp_process_read_namespaces(const struct sp_process *process, struct sp_namespaces *ret)
{
	struct sp_namespaces found;
	const struct {
		const char *name;
		uint64_t *ret;
	} all[] = {{"ns/net", &found.net}, {"ns/mnt", &found.mnt}, {"ns/pid", &found.pid},
	    {"ns/user", &found.user}};
	int bad = 0;

	for (size_t i = 0; i < SP_COUNT(all) && !bad; i++)
		bad = read_namespace(process, all[i].name, all[i].ret);
	if (bad)
		return bad;
	*ret = found;
	return 0;
}

int sp_process_network(const struct sp_process *process, int *ret_fd)
{
	int fd = openat(process->directory, "ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_fd = fd;
	return 0;
}

int sp_process_read_cgroup(const struct sp_process *process, char *text, size_t room)
{
	char file[4096];
	int bad = sp_process_read_text(process, "cgroup", file, sizeof(file));
	const char *line, *path;

	if (bad)
		return bad;
	line = strncmp(file, "0::", 3) == 0 ? file : strstr(file, "\n0::");
	line = line ? line : file;
	path = strchr(line, '/');
	if (!path)
		return -EPROTO;
	(void)snprintf(text, room, "%.*s", (int)strcspn(path, "\n"), path);
	return 0;
}

const char *sp_boot_id(void)
{
	static char id[37];
	sp_auto_fd int fd = -1;

	if (id[0])
		return id;
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sp_read_exact(fd, id, 36, 1000) < 0 || !sp_uuid_valid(id)) {
		id[0] = '\0';
		return NULL;
	}
	return id;
}
