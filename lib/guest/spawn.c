/* fork and execve, with execve's error brought back through a pipe that closes when it succeeds. */
#include "guest/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"

#define PIPE_BYTES (16 * 1024)

#define FIRST_OTHER 3

/* The agent ignores SIGPIPE and SIGXFSZ, and that would be inherited. */
static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Ours are CLOEXEC; whoever started the agent may have left it others. `report`, which becomes the
 * first above the standard ones, is CLOEXEC as well. */
static int close_others(int *report)
{
	if (*report != FIRST_OTHER) {
		if (dup3(*report, FIRST_OTHER, O_CLOEXEC) < 0)
			return errno;
		*report = FIRST_OTHER;
	}
	return close_range(FIRST_OTHER + 1, ~0U, 0) < 0 ? errno : 0;
}

static int become(const struct sp_exec_args *args, const int descriptors[3], bool terminal,
    const struct rlimit *files, int *report)
{
	int bad;

	if (setsid() < 0 || fchdir(args->directory) < 0)
		return errno;
	for (int i = 0; i < 3; i++)
		if (dup2(descriptors[i], i) < 0)
			return errno;
	if (terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
		return errno;
	bad = close_others(report);
	if (bad)
		return bad;
	if (setrlimit(RLIMIT_NOFILE, files) < 0)
		return errno;
	reset_signals();
	(void)execve(args->program, args->argv, args->environment);
	return errno;
}

/* Closed without a byte: execve has closed it. */
static int await_start(int fd, pid_t pid)
{
	int number = 0;
	ssize_t n = sp_read_some(fd, &number, sizeof(number));

	if (n == 0)
		return 0;
	(void)waitpid(pid, NULL, 0);
	return n == sizeof(number) && number > 0 ? -number : -EIO;
}

int sp_spawn_pipe(bool ours_reads, int *ret_ours, int *ret_theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* A stream's share of kernel memory is bounded; where the kernel will not, it stays 64 KiB.
	 */
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	*ret_ours = ends[ours_reads ? 0 : 1];
	*ret_theirs = ends[ours_reads ? 1 : 0];
	return fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int sp_spawn(const struct sp_exec_args *args, const int descriptors[3], bool terminal,
    const struct rlimit *files, pid_t *ret_pid)
{
	int ends[2], bad;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	sp_auto_fd int reading = ends[0];
	sp_auto_fd int writing = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		int number = become(args, descriptors, terminal, files, &writing);
		(void)!write(writing, &number, sizeof(number));
		_exit(127);
	}
	sp_fd_close(&writing);
	bad = await_start(reading, pid);
	if (!bad)
		*ret_pid = pid;
	return bad;
}
