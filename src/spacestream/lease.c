/* spacestream lease: a command whose standard input and output are relayed under a lease. When it
 * is cut, the command ends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "base/io.h"
#include "base/util.h"
#include "record/reason.h"
#include "spacestream/held.h"
#include "spacestream/verbs.h"

#define GRACE    2.0 /* seconds between SIGTERM and SIGKILL */
#define LEFTOVER 1.0 /* seconds for what still holds the command's output after it has ended */
/* What it has said until then is delivered, however long that takes. */

struct command {
	pid_t pid;
	int in, out; /* our ends of its pipes */
	ev_child child;
	ev_timer kill, leftover;
	bool exited, silent; /* its output has ended */
	uint64_t due;        /* bytes of output until its own end */
	int status;
};

static void finish_when_over(struct held *held)
{
	const struct command *command = held->context;

	if (command->exited && (command->silent || held->was_cut))
		ev_break(held->loop, EVBREAK_ALL);
}

static uint64_t output_due(const struct held *held)
{
	const struct command *command = held->context;
	int64_t read = held->was_cut ? -1 : sp_relay_held(held->relay, SP_LEASE_OUT);
	int unread = 0;

	if (read < 0)
		return 0;
	(void)ioctl(command->out, FIONREAD, &unread);
	return sp_lease_moved(held->lease, SP_LEASE_OUT) + (uint64_t)read + (unsigned)unread;
}

static bool is_due(const struct held *held)
{
	const struct command *command = held->context;

	return !held->was_cut && sp_relay_held(held->relay, SP_LEASE_OUT) >= 0 &&
	       sp_lease_moved(held->lease, SP_LEASE_OUT) < command->due;
}

static void on_child(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct held *held = watcher->data;
	struct command *command = held->context;

	(void)events;
	ev_child_stop(loop, watcher);
	command->exited = true;
	command->status = watcher->rstatus;
	command->due = output_due(held);
	ev_timer_start(loop, &command->leftover);
	finish_when_over(held);
}

static void on_leftover(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)events;
	if (!is_due(watcher->data))
		ev_break(loop, EVBREAK_ALL);
}

static void on_kill(struct ev_loop *loop, ev_timer *watcher, int events)
{
	const struct held *held = watcher->data;
	const struct command *command = held->context;

	(void)loop;
	(void)events;
	(void)kill(-command->pid, SIGKILL);
}

static void end_command(struct held *held, int number)
{
	struct command *command = held->context;

	if (command->exited) {
		/* Only its reader keeps us. */
		command->status = is_due(held) ? number : command->status;
		ev_break(held->loop, EVBREAK_ALL);
		return;
	}
	(void)kill(-command->pid, number);
	if (!ev_is_active(&command->kill))
		ev_timer_start(held->loop, &command->kill);
}

static void on_cut(struct held *held)
{
	struct command *command = held->context;

	sp_fd_close(&command->in);
	sp_fd_close(&command->out);
	end_command(held, SIGTERM);
	finish_when_over(held);
}

static void on_half(struct held *held, enum sp_lease_way way)
{
	struct command *command = held->context;

	if (way == SP_LEASE_IN) {
		sp_fd_close(&command->in);
		return;
	}
	command->silent = true;
	finish_when_over(held);
}

static void on_ended(struct held *held, int code)
{
	struct command *command = held->context;

	(void)code;
	command->silent = true;
	sp_fd_close(&command->in);
	finish_when_over(held);
}

static void become(char **argv, pid_t parent, const int in[2], const int out[2])
{
	static const int numbers[] = {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < SP_COUNT(numbers); i++)
		(void)signal(numbers[i], SIG_DFL);
	(void)setpgid(0, 0);
	/* Without us nobody would end it when its execution is replaced. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
		_exit(126);
	(void)unsetenv("NOTIFY_SOCKET");
	(void)execvp(argv[0], argv);
	(void)dprintf(STDERR_FILENO, "spacestream: lease: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void close_pair(int pair[2])
{
	sp_fd_close(&pair[0]);
	sp_fd_close(&pair[1]);
}

static int start_with(struct command *command, char **argv, int in[2], int out[2])
{
	pid_t parent;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    fcntl(in[1], F_SETFL, O_NONBLOCK) < 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	parent = getpid();
	command->pid = fork();
	if (command->pid < 0)
		return -errno;
	if (command->pid == 0)
		become(argv, parent, in, out);
	(void)setpgid(command->pid, command->pid);
	command->in = sp_steal_fd(&in[1]);
	command->out = sp_steal_fd(&out[0]);
	return 0;
}

static int start(struct command *command, char **argv, struct sp_err *err)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	int bad = start_with(command, argv, in, out);

	close_pair(in);
	close_pair(out);
	return bad ? sp_fail(err, bad, "%s: %s", argv[0], strerror(-bad)) : 0;
}

static void watch(struct held *held, struct command *command)
{
	ev_child_init(&command->child, on_child, command->pid, 0);
	ev_timer_init(&command->kill, on_kill, GRACE, 0.);
	ev_timer_init(&command->leftover, on_leftover, LEFTOVER, LEFTOVER);
	command->child.data = command->kill.data = command->leftover.data = held;
	ev_child_start(held->loop, &command->child);
}

/* The command's end is its own: no limit on how long it may work after our input has ended. */
static int run(struct held *held, struct command *command, struct sp_err *err)
{
	int bad = sp_descriptor_unblock(STDIN_FILENO);

	if (!bad)
		bad = sp_descriptor_unblock(STDOUT_FILENO);
	if (bad)
		return sp_fail(err, bad, "standard input and output: %s", strerror(-bad));
	bad = start(command, sp_cli_rest(held->cli), err);
	if (bad)
		return bad;
	watch(held, command);
	bad = held_relay(held, &(struct sp_relay_end){STDIN_FILENO, STDOUT_FILENO},
	    &(struct sp_relay_end){command->out, command->in}, 0);
	if (bad) {
		end_command(held, SIGKILL);
		return sp_fail(err, bad, "out of memory");
	}
	return 0;
}

static int exit_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int spacestream_lease(struct sp_cli *cli)
{
	static const struct held_handlers handlers = {on_cut, on_ended, on_half, end_command};
	struct command command = {.in = -1, .out = -1};
	struct held held = {.handlers = &handlers, .context = &command};
	struct sp_err err = {0};
	int exit_code = held_open(&held, cli, "lease");

	if (exit_code == 0 && run(&held, &command, &err))
		exit_code = sp_cli_fail(cli, &err);
	else if (exit_code == 0)
		exit_code = held_run(&held) ? SP_EXIT_CUT : exit_of(command.status);
	held_close(&held);
	sp_fd_close(&command.in);
	sp_fd_close(&command.out);
	return exit_code;
}
