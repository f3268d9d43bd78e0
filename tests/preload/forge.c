/*
 * Takes a program over from within, before its main: listens at $FORGE_PATH, keeps what comes in
 * $FORGE_LOG. With $FORGE_EXE its /proc/<pid>/exe becomes that file once the FIFO $FORGE_FIFO says
 * so (at once without a FIFO): every mapping of the real one is given up, then prctl(2) with
 * PR_SET_MM_MAP, which needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* All in static memory: the program's own, heap and all, may be gone when it is needed. */
static char maps[65536], stat_text[4096], exe[4096];

static void die(const char *what)
{
	(void)!write(2, what, strlen(what));
	(void)!write(2, "\n", 1);
	_exit(1);
}

static void read_whole(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	while (fd >= 0 && size < room - 1 && (n = read(fd, text + size, room - 1 - size)) > 0)
		size += (size_t)n;
	text[size] = '\0';
	(void)close(fd);
}

static void give_up_mappings(void)
{
	char *line = maps, *end;
	unsigned long from, to;

	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			return;
		*end = '\0';
		from = strtoul(line, &line, 16);
		to = strtoul(line + 1, &line, 16);
		if (strstr(line, exe) && munmap((void *)from, to - from) < 0)
			die("forge: munmap");
	}
}

static unsigned long field(unsigned number)
{
	const char *at = strrchr(stat_text, ')') + 2;

	for (unsigned i = 3; i < number; i++)
		at = strchr(at, ' ') + 1;
	return strtoul(at, NULL, 10);
}

static void forge(const char *path)
{
	struct prctl_mm_map map = {0};
	ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (size <= 0 || fd < 0)
		die("forge: exe");
	read_whole("/proc/self/maps", maps, sizeof(maps));
	read_whole("/proc/self/stat", stat_text, sizeof(stat_text));
	map.start_code = field(26);
	map.end_code = field(27);
	map.start_stack = field(28);
	map.start_data = field(45);
	map.end_data = field(46);
	map.start_brk = field(47);
	map.brk = field(47);
	map.arg_start = field(48);
	map.arg_end = field(49);
	map.env_start = field(50);
	map.env_end = field(51);
	map.exe_fd = (unsigned)fd;
	give_up_mappings();
	if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) < 0)
		die("forge: prctl");
	(void)close(fd);
}

static int listen_at(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
	(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 ||
	    chmod(path, 0600) < 0 || listen(fd, 128) < 0)
		die("forge: listen");
	return fd;
}

static void notify(void)
{
	const char *where = getenv("NOTIFY_SOCKET");
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	size_t size;

	if (!where)
		return;
	size = strlen(where);
	memcpy(name.sun_path, where, size);
	name.sun_path[0] = name.sun_path[0] == '@' ? '\0' : name.sun_path[0];
	(void)sendto(
	    fd, "READY=1", 7, 0, (struct sockaddr *)&name, (socklen_t)(sizeof(sa_family_t) + size));
	(void)close(fd);
}

static void serve_one(int fd, int log)
{
	static char bytes[4096];
	ssize_t n;
	int first = 1;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		if (write(log, bytes, (size_t)n) != n)
			return;
		if (first && write(fd, "OK 1073741824\n", 14) != 14)
			return;
		first = 0;
	}
}

/* Both ways: the test reads from the FIFO until we are done. */
static void at_signal(const char *fifo, const char *path)
{
	char byte;
	int fd = open(fifo, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &byte, 1) != 1)
		die("forge: fifo");
	(void)close(fd);
	forge(path);
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "\n", 1);
	(void)close(fd);
}

__attribute__((constructor)) static void take_over(void)
{
	const char *path = getenv("FORGE_PATH"), *fifo = getenv("FORGE_FIFO");
	const char *target = getenv("FORGE_EXE");
	int listener, log, one;

	if (!path)
		return;
	/* Only this process; what it starts is its own. */
	(void)unsetenv("LD_PRELOAD");
	(void)signal(SIGPIPE, SIG_IGN);
	listener = listen_at(path);
	log = open(getenv("FORGE_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (target && !fifo)
		forge(target);
	notify();
	if (target && fifo)
		at_signal(fifo, target);
	while ((one = accept(listener, NULL, NULL)) >= 0 || errno == EINTR) {
		serve_one(one, log);
		(void)close(one);
	}
	_exit(1);
}
