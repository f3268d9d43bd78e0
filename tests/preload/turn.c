/*
 * A server that listens at $TURN_PATH, and turns on SIGUSR1. $TURN_HOW says how:
 *     exec      executes its own program anew
 *     become    executes $TURN_PROGRAM, as attacks inherit (tests/fixtures/attacks)
 *     fork      stops; a child accepts, greets like a server that is well, and keeps what comes
 *     relisten  the same, and the child calls listen() again
 * Every connection stays open; after an exec the listener is descriptor 3, handed over as
 * LISTEN_FDS says. What turned says so by a line to the FIFO $TURN_DONE; what a child or another
 * program gets is kept in $TURN_LOOT.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WORDS    64
#define LISTENER 3

static const char *how, *path;
static char line[8192], listen_pid[32];
static char *arguments[WORDS], *environment[WORDS * 4];
static char *other[] = {NULL, "inherit", "3", NULL, NULL};

static bool listens(int fd)
{
	int listening = 0;
	socklen_t size = sizeof(listening);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening;
}

static int find_listener(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_un name = {0};
		socklen_t size = sizeof(name) - 1;
		if (listens(fd) && getsockname(fd, (struct sockaddr *)&name, &size) == 0 &&
		    strcmp(name.sun_path, path) == 0)
			return fd;
	}
	return -1;
}

/* What has the descriptor that the listener must have moves away. */
static void place_listener(void)
{
	int listener = find_listener();

	if (listener < 0 ||
	    (listener != LISTENER && ((fcntl(LISTENER, F_GETFD) >= 0 && dup(LISTENER) < 0) ||
					 dup2(listener, LISTENER) < 0)))
		_exit(125);
	/* The new image makes its other listeners itself. */
	for (int fd = 3; fd < 1024; fd++)
		if (fd == LISTENER || !listens(fd))
			(void)fcntl(fd, F_SETFD, 0);
}

static void tell(void)
{
	int fd = open(getenv("TURN_DONE"), O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "\n", 1) != 1)
		_exit(125);
	(void)close(fd);
}

static void serve(int listener)
{
	static const char greeting[] = "{\"bridge\":\"ready\"}\n";
	int loot = open(getenv("TURN_LOOT"), O_WRONLY | O_APPEND | O_CLOEXEC);
	char bytes[4096];
	ssize_t n;

	tell();
	for (;;) {
		struct pollfd come = {.fd = listener, .events = POLLIN};
		(void)poll(&come, 1, -1);
		int fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		if (write(fd, greeting, sizeof(greeting) - 1) < 0)
			_exit(125);
		while ((n = read(fd, bytes, sizeof(bytes))) > 0)
			if (write(loot, bytes, (size_t)n) != n)
				_exit(125);
		(void)close(fd);
	}
}

static void divide(void)
{
	int listener = find_listener();
	pid_t parent = getpid();

	if (fork() != 0) {
		(void)raise(SIGSTOP);
		return;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getppid() != parent || (strcmp(how, "relisten") == 0 && listen(listener, 128) < 0))
		_exit(125);
	serve(listener);
}

static void on_signal(int number)
{
	sigset_t all;

	(void)number;
	if (strcmp(how, "fork") == 0 || strcmp(how, "relisten") == 0) {
		divide();
		return;
	}
	(void)sigemptyset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	place_listener();
	if (strcmp(how, "become") == 0)
		(void)execve(other[0], other, environment);
	else
		(void)execve("/proc/self/exe", arguments, environment);
	_exit(125);
}

static void read_arguments(void)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, line, sizeof(line) - 1), at = 0;

	(void)close(fd);
	for (int i = 0; at < size && i < WORDS - 1; i++) {
		arguments[i] = line + at;
		at += (ssize_t)strlen(line + at) + 1;
	}
}

static void make_environment(void)
{
	int count = 0;

	(void)snprintf(listen_pid, sizeof(listen_pid), "LISTEN_PID=%d", (int)getpid());
	for (char **at = environ; *at && count < WORDS * 4 - 4; at++)
		if (strncmp(*at, "NOTIFY_SOCKET=", 14) != 0 && strncmp(*at, "LISTEN_", 7) != 0)
			environment[count++] = *at;
	environment[count++] = "LISTEN_FDS=1";
	environment[count++] = listen_pid;
	environment[count++] = "TURNED=1";
}

__attribute__((constructor)) static void prepare(void)
{
	how = getenv("TURN_HOW");
	path = getenv("TURN_PATH");
	if (!how || !path)
		return;
	if (getenv("TURNED")) {
		tell();
		return;
	}
	read_arguments();
	make_environment();
	other[0] = getenv("TURN_PROGRAM");
	other[3] = getenv("TURN_LOOT");
	(void)signal(SIGUSR1, on_signal);
}
