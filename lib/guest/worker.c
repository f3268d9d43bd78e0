/* fork without execve. The result comes back through a pipe, in one write. */
#include "guest/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/spawn.h"

#define KEPT 3 /* source, data, result: they become the first three after the standard ones */

struct sp_worker {
	struct ev_loop *loop;
	ev_child child;
	int result;
	sp_worker_done_fn *done; /* NULL: forsaken */
	void *context;
};

static struct sp_status read_result(const struct sp_worker *worker, int wait_status)
{
	char text[SP_FRAME_CONTROL_MAX], words[64];
	ssize_t n = sp_read_some(worker->result, text, sizeof(text));
	struct sp_status status;

	if (n > 0 && sp_status_parse(text, (size_t)n, &status, NULL) == 0)
		return status;
	if (WIFSIGNALED(wait_status))
		(void)snprintf(
		    words, sizeof(words), "the worker died of signal %d", WTERMSIG(wait_status));
	else
		(void)snprintf(words, sizeof(words), "the worker ended without a word");
	return sp_status_of_error(-EIO, words);
}

static void on_child(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct sp_worker *worker = watcher->data;
	struct sp_status status = read_result(worker, watcher->rstatus);

	(void)events;
	ev_child_stop(loop, watcher);
	if (worker->done)
		worker->done(worker->context, &status);
	sp_fd_close(&worker->result);
	free(worker);
}

/* Keeps three descriptors, in this order, and closes all others: a connection's end must not stay
 * open here. */
static int keep(int fds[KEPT])
{
	for (int i = 0; i < KEPT; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1 + KEPT);
		if (fds[i] < 0)
			return -errno;
	}
	for (int i = 0; i < KEPT; i++) {
		if (dup2(fds[i], STDERR_FILENO + 1 + i) < 0)
			return -errno;
		fds[i] = STDERR_FILENO + 1 + i;
	}
	return close_range(STDERR_FILENO + 1 + KEPT, ~0U, 0) < 0 ? -errno : 0;
}

static void work(int fds[KEPT], sp_worker_fn *run, void *context)
{
	struct sp_status status = {.kind = SP_STATUS_EXIT};
	char text[SP_FRAME_CONTROL_MAX];
	sigset_t none;
	int bad = keep(fds);

	for (int i = 1; i < NSIG; i++)
		if (i != SIGPIPE && i != SIGXFSZ)
			(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (bad)
		status = sp_status_of_error(bad, NULL);
	else
		run(context, fds[0], fds[1], &status);
	(void)!write(fds[2], text, sp_status_print(&status, text));
	_exit(0);
}

int sp_worker_start(struct ev_loop *loop, int source, bool gives, sp_worker_fn *run,
    sp_worker_done_fn *done, void *context, struct sp_worker **ret, int *ret_data)
{
	sp_auto_fd int ours = -1;
	sp_auto_fd int theirs = -1;
	sp_auto_fd int result = -1;
	sp_auto_fd int result_end = -1;
	struct sp_worker *worker;
	int bad = sp_spawn_pipe(gives, &ours, &theirs);
	pid_t pid;

	if (!bad)
		bad = sp_spawn_pipe(true, &result, &result_end);
	if (bad)
		return bad;
	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return -ENOMEM;
	pid = fork();
	if (pid == 0)
		work((int[]){source, theirs, result_end}, run, context);
	if (pid < 0) {
		free(worker);
		return -errno;
	}
	*worker = (struct sp_worker){
	    .loop = loop, .result = sp_steal_fd(&result), .done = done, .context = context};
	ev_child_init(&worker->child, on_child, pid, 0);
	worker->child.data = worker;
	ev_child_start(loop, &worker->child);
	*ret = worker;
	*ret_data = sp_steal_fd(&ours);
	return 0;
}

void sp_worker_forsake(struct sp_worker *worker)
{
	worker->done = NULL;
}
