/* The guard is a fork of us that has nothing but the terminal and one end of a pipe. */
#include "spacestream/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"

/* Another session than the terminal's: no job control stops what we do to it. */
static void stand_guard(int line, int terminal, const struct termios *before)
{
	char told;

	(void)setsid();
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_IGN);
	if (sp_read_some(line, &told, 1) == 0)
		(void)tcsetattr(terminal, TCSANOW, before);
	_exit(0);
}

/* Neither our sockets nor anything that a reader of ours waits for the end of stays open in it. */
static void close_others(int line, int terminal)
{
	int low = line < terminal ? line : terminal, high = line < terminal ? terminal : line;

	if (low > 0)
		(void)syscall(SYS_close_range, 0u, (unsigned)low - 1, 0u);
	if (high > low + 1)
		(void)syscall(SYS_close_range, (unsigned)low + 1, (unsigned)high - 1, 0u);
	(void)syscall(SYS_close_range, (unsigned)high + 1, ~0u, 0u);
}

int guard_start(struct guard *guard, int terminal, struct sp_err *err)
{
	int line[2], status;
	pid_t pid;

	if (tcgetattr(terminal, &guard->before) < 0)
		return sp_fail_errno(err, "standard input: a terminal without attributes");
	if (pipe2(line, O_CLOEXEC) < 0)
		return sp_fail_errno(err, "pipe");
	pid = fork();
	if (pid == 0) {
		/* Nobody's child, so that nobody who waits for all of theirs waits for it. */
		if (fork() == 0) {
			close_others(line[0], terminal);
			stand_guard(line[0], terminal, &guard->before);
		}
		_exit(0);
	}
	(void)close(line[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		(void)close(line[1]);
		return sp_fail_errno(err, "fork");
	}
	guard->terminal = terminal;
	guard->line = line[1];
	return 0;
}

int guard_raw(struct guard *guard, struct sp_err *err)
{
	struct termios raw = guard->before;

	cfmakeraw(&raw);
	if (tcsetattr(guard->terminal, TCSADRAIN, &raw) < 0)
		return sp_fail_errno(err, "standard input: raw mode");
	guard->raw = true;
	return 0;
}

void guard_restore(struct guard *guard)
{
	if (guard->raw)
		(void)tcsetattr(guard->terminal, TCSADRAIN, &guard->before);
	guard->raw = false;
}

void guard_end(struct guard *guard)
{
	if (guard->line <= 0)
		return;
	guard_restore(guard);
	(void)sp_write_some(guard->line, "", 1);
	sp_fd_close(&guard->line);
}
