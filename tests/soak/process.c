/* Daemons that are waited for, tools that are run, filters; none outlives us. */
#include "soak.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"

#define PATIENCE_MS 120000
#define PATHS       32

extern char **environ;

void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "soak: %s: %s\n", what, why);
	exit(2);
}

const char *path(const char *format, ...)
{
	static _Thread_local char buffers[PATHS][1024];
	static _Thread_local unsigned next;
	char *buffer = buffers[next++ % PATHS];
	int n = snprintf(buffer, sizeof(*buffers), "%s/", soak.directory);
	va_list arguments;

	va_start(arguments, format);
	n += vsnprintf(buffer + n, sizeof(*buffers) - (size_t)n, format, arguments);
	va_end(arguments);
	if ((size_t)n >= sizeof(*buffers))
		die(buffer, "too long");
	return buffer;
}

void pause_us(int64_t us)
{
	struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

/* What a child is made with; all of it before it is there: it shares our threads' locks. */
struct plan {
	const char *const *argv;
	char **env;
	int in, out, err;
};

static void plan_env(struct plan *plan, const char *const more[], const char *notify)
{
	size_t count = 0, at = 0;

	while (environ[count])
		count++;
	plan->env = calloc(count + 16, sizeof(*plan->env));
	if (!plan->env)
		die("environment", "out of memory");
	for (size_t i = 0; i < count; i++)
		plan->env[at++] = environ[i];
	for (size_t i = 0; more && more[i] && i < 14; i++)
		plan->env[at++] = (char *)(uintptr_t)more[i];
	if (notify)
		plan->env[at] = (char *)(uintptr_t)notify;
}

static void become(const struct plan *plan)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(plan->in, 0) < 0 || dup2(plan->out, 1) < 0 || dup2(plan->err, 2) < 0)
		_exit(126);
	(void)execvpe(
	    plan->argv[0], (char *const *)(uintptr_t)plan->argv, plan->env ? plan->env : environ);
	_exit(127);
}

static pid_t spawn(const struct plan *plan)
{
	pid_t pid = fork();

	if (pid == 0)
		become(plan);
	if (pid < 0)
		die("fork", strerror(errno));
	return pid;
}

static int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		die("pidfd_open", strerror(errno));
	return fd;
}

static int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die("/dev/null", strerror(errno));
	return fd;
}

static int open_log(const char *name)
{
	const char *at = path("log/%s", name);
	int fd = open(at, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		die(at, strerror(errno));
	return fd;
}

static int notify_socket(char *text, size_t room)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(sa_family_t); /* an abstract name of the kernel's choice */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, size) < 0)
		die("notify socket", strerror(errno));
	size = sizeof(name);
	(void)getsockname(fd, (struct sockaddr *)&name, &size);
	(void)snprintf(text, room, "NOTIFY_SOCKET=@%.*s", (int)(size - sizeof(sa_family_t) - 1),
	    name.sun_path + 1);
	return fd;
}

static bool await_ready(int notify, int pidfd)
{
	struct pollfd both[2] = {{.fd = notify, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	int64_t end = sp_monotonic_ms() + PATIENCE_MS;
	char text[512];

	while (sp_monotonic_ms() < end) {
		if (poll(both, 2, 1000) < 0 && errno != EINTR)
			return false;
		ssize_t n = recv(notify, text, sizeof(text) - 1, 0);
		if (n > 0) {
			text[n] = '\0';
			if (strstr(text, "READY=1"))
				return true;
		} else if (both[1].revents) {
			return false;
		}
	}
	return false;
}

bool daemon_start(
    struct daemon *daemon, const char *name, const char *const argv[], const char *const env[])
{
	char text[160];
	sp_auto_fd int notify = notify_socket(text, sizeof(text)), null = open_null(),
		       log = open_log(name);
	sp_auto_free char **whole = NULL;
	sp_auto_fd int pidfd = -1;
	struct plan plan = {.argv = argv, .in = null, .out = log, .err = log};

	plan_env(&plan, env, text);
	whole = plan.env;
	(void)snprintf(daemon->name, sizeof(daemon->name), "%s", name);
	daemon->pid = spawn(&plan);
	pidfd = pidfd_of(daemon->pid);
	if (await_ready(notify, pidfd))
		return true;
	(void)fprintf(stderr, "soak: %s did not become ready\n", name);
	return false;
}

void daemon_signal(const struct daemon *daemon, int signal)
{
	if (daemon->pid > 0)
		(void)kill(daemon->pid, signal);
}

/* What libfaketime leaves behind of a process that was killed. */
static void forget_clock(pid_t pid)
{
	char name[64];

	if (!soak.faketime)
		return;
	(void)snprintf(name, sizeof(name), "/dev/shm/faketime_shm_%d", (int)pid);
	(void)unlink(name);
	(void)snprintf(name, sizeof(name), "/dev/shm/sem.faketime_sem_%d", (int)pid);
	(void)unlink(name);
}

void daemon_end(struct daemon *daemon, int signal)
{
	int status = 0;

	if (daemon->pid <= 0)
		return;
	if (waitpid(daemon->pid, &status, WNOHANG) == daemon->pid) {
		note("died %" PRId64 " %s %d", now_us(), daemon->name, status);
	} else {
		sp_auto_fd int pidfd = pidfd_of(daemon->pid);
		(void)kill(daemon->pid, signal);
		if (sp_poll_one(pidfd, POLLIN, PATIENCE_MS) < 0) {
			note("died %" PRId64 " %s stuck", now_us(), daemon->name);
			(void)kill(daemon->pid, SIGKILL);
		}
		(void)waitpid(daemon->pid, &status, 0);
		if (signal == SIGTERM && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
			note("died %" PRId64 " %s %d", now_us(), daemon->name, status);
	}
	forget_clock(daemon->pid);
	daemon->pid = 0;
}

static void make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe", strerror(errno));
}

/* Feeds it, hears it, and ends it when its time is over. False: it was. */
static bool converse(
    int in, int out, const char *input, int64_t deadline_us, char *text, size_t *used)
{
	size_t left = input ? strlen(input) : 0;

	(void)sp_descriptor_unblock(in);
	if (left == 0)
		sp_fd_close(&in);
	for (;;) {
		struct pollfd both[2] = {
		    {.fd = in, .events = POLLOUT}, {.fd = out, .events = POLLIN}};
		int64_t us = deadline_us - sp_monotonic_us();
		struct timespec wait = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
		if (us <= 0) {
			sp_fd_close(&in);
			return false;
		}
		if (ppoll(both, 2, &wait, NULL) < 0)
			continue;
		if (in >= 0 && both[0].revents) {
			ssize_t n = sp_write_some(in, input, left);
			input += n > 0 ? n : 0;
			left -= n > 0 ? (size_t)n : 0;
			if (left == 0 || (n < 0 && n != -EAGAIN))
				sp_fd_close(&in);
		}
		if (both[1].revents) {
			ssize_t n = sp_read_some(out, text + *used, TOOL_MAX - *used);
			if (n <= 0)
				break;
			*used += (size_t)n;
		}
	}
	sp_fd_close(&in);
	return true;
}

int tool(const char *const argv[], const char *input, int64_t kill_us, char **ret_out)
{
	int in[2], out[2], status = 0;
	sp_auto_fd int log = open_log("tools"), heard = -1;
	sp_auto_free char *text = malloc(TOOL_MAX + 1);
	size_t used = 0;
	pid_t pid;
	bool ended;

	if (!text)
		die(argv[0], "out of memory");
	make_pipe(in);
	make_pipe(out);
	struct plan plan = {.argv = argv, .in = in[0], .out = out[1], .err = log};
	pid = spawn(&plan);
	(void)close(in[0]);
	(void)close(out[1]);
	heard = out[0];
	ended = converse(in[1], heard, input,
	    sp_monotonic_us() + (kill_us >= 0 ? kill_us : (int64_t)PATIENCE_MS * 1000), text,
	    &used);
	if (!ended) {
		(void)kill(pid, SIGKILL);
		if (kill_us < 0)
			note("died %" PRId64 " %s-%s stuck", now_us(), argv[0], argv[1]);
	}
	if (waitpid(pid, &status, 0) < 0)
		die(argv[0], strerror(errno));
	text[used] = '\0';
	if (ret_out)
		*ret_out = sp_steal(&text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

pid_t filter_start(const char *name, const char *const argv[], int *ret_in, int *ret_out)
{
	int in[2], out[2];
	sp_auto_fd int log = open_log(name);
	pid_t pid;

	make_pipe(in);
	make_pipe(out);
	struct plan plan = {.argv = argv, .in = in[0], .out = out[1], .err = log};
	pid = spawn(&plan);
	(void)close(in[0]);
	(void)close(out[1]);
	(void)fcntl(in[1], F_SETFL, O_NONBLOCK);
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	*ret_in = in[1];
	*ret_out = out[0];
	return pid;
}
