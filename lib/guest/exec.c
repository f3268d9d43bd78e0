/* A running command on the loop: three pipes, a child, a clock. */
#include "guest/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/exec_args.h"
#include "guest/exec_result.h"
#include "guest/spawn.h"

#define CHUNK         (16 * 1024)
#define CHUNKS_A_TURN 4
#define CHUNKS_AT_END 64 /* a pipe's worth; one that is filled further has another writer */

struct stream {
	ev_io io;
	int fd;
	struct sp_output output;
};

struct sp_exec {
	struct ev_loop *loop;
	struct sp_exec_args args;
	pid_t pid;
	struct stream out, err;
	int in;
	size_t written;
	ev_io in_io;
	ev_child child;
	ev_timer timer;
	bool timed_out, cancelled;
	sp_exec_fn *done;
	void *context;
};

static void stop_stream(struct sp_exec *exec, struct stream *stream)
{
	ev_io_stop(exec->loop, &stream->io);
	sp_fd_close(&stream->fd);
}

static void stop_input(struct sp_exec *exec)
{
	ev_io_stop(exec->loop, &exec->in_io);
	sp_fd_close(&exec->in);
}

static void release(struct sp_exec *exec)
{
	stop_input(exec);
	stop_stream(exec, &exec->out);
	stop_stream(exec, &exec->err);
	ev_child_stop(exec->loop, &exec->child);
	ev_timer_stop(exec->loop, &exec->timer);
	free(exec->out.output.bytes);
	free(exec->err.output.bytes);
	sp_exec_args_done(&exec->args);
	free(exec);
}

/* Keeps what the limit allows and forgets the rest: the command must not stall on a full pipe. */
static void keep(struct sp_output *output, size_t limit, const char *bytes, size_t size)
{
	size_t fits = limit - output->size < size ? limit - output->size : size;

	if (output->size + fits > output->room) {
		size_t room = output->room ? output->room * 2 : 4096;
		char *larger;
		while (room < output->size + fits)
			room *= 2;
		larger = realloc(output->bytes, room);
		if (!larger)
			fits = output->room - output->size;
		else {
			output->bytes = larger;
			output->room = room;
		}
	}
	if (fits > 0)
		memcpy(output->bytes + output->size, bytes, fits);
	output->size += fits;
	output->cut |= fits < size;
}

static void pump(struct sp_exec *exec, struct stream *stream, int chunks)
{
	char chunk[CHUNK];

	while (chunks-- > 0 && stream->fd >= 0) {
		ssize_t n = sp_read_some(stream->fd, chunk, sizeof(chunk));
		if (n == -EAGAIN)
			return;
		if (n <= 0)
			stop_stream(exec, stream);
		else
			keep(&stream->output, (size_t)exec->args.limit, chunk, (size_t)n);
	}
}

static void on_output(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_exec *exec = watcher->data;

	(void)loop;
	(void)events;
	pump(exec, watcher == &exec->out.io ? &exec->out : &exec->err, CHUNKS_A_TURN);
}

static void on_input(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_exec *exec = watcher->data;
	ssize_t n = sp_write_some(
	    exec->in, exec->args.input + exec->written, exec->args.input_size - exec->written);

	(void)loop;
	(void)events;
	if (n == -EAGAIN)
		return;
	if (n > 0)
		exec->written += (size_t)n;
	if (n < 0 || exec->written == exec->args.input_size)
		stop_input(exec);
}

static void kill_all(const struct sp_exec *exec, int number)
{
	(void)kill(-exec->pid, number);
}

static void on_time(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_exec *exec = watcher->data;

	(void)loop;
	(void)events;
	exec->timed_out = true;
	kill_all(exec, SIGKILL);
}

static const struct sp_output *output_of(const struct stream *stream)
{
	static const struct sp_output nothing = {.bytes = (char *)(uintptr_t) ""};

	return stream->output.bytes ? &stream->output : &nothing;
}

/* Output written before the end is in the pipes by now. Whoever else holds them, left behind in the
 * background, is not waited for. */
static void on_child(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct sp_exec *exec = watcher->data;
	struct sp_err err = {0};
	bool timed_out = exec->timed_out && WIFSIGNALED(watcher->rstatus);
	json_t *result;

	(void)loop;
	(void)events;
	if (exec->cancelled) {
		(void)sp_fail(&err, SP_E_CLOSED, "nobody waits for it any more");
		exec->done(exec->context, err.code, NULL, &err);
		release(exec);
		return;
	}
	pump(exec, &exec->out, CHUNKS_AT_END);
	pump(exec, &exec->err, CHUNKS_AT_END);
	result = sp_exec_result(
	    watcher->rstatus, output_of(&exec->out), output_of(&exec->err), timed_out);
	if (!result)
		(void)sp_fail(&err, -ENOMEM, "out of memory");
	exec->done(exec->context, err.code, result, &err);
	release(exec);
}

void sp_exec_cancel(struct sp_exec *exec)
{
	exec->cancelled = true;
	kill_all(exec, SIGTERM);
	stop_input(exec);
	stop_stream(exec, &exec->out);
	stop_stream(exec, &exec->err);
	ev_timer_stop(exec->loop, &exec->timer);
	ev_timer_set(&exec->timer, SP_EXEC_GRACE, 0.);
	ev_timer_start(exec->loop, &exec->timer);
}

void sp_exec_kill(struct sp_exec *exec)
{
	kill_all(exec, SIGKILL);
}

static void watch(struct sp_exec *exec)
{
	ev_io_init(&exec->out.io, on_output, exec->out.fd, EV_READ);
	ev_io_init(&exec->err.io, on_output, exec->err.fd, EV_READ);
	ev_io_init(&exec->in_io, on_input, exec->in, EV_WRITE);
	ev_child_init(&exec->child, on_child, exec->pid, 0);
	ev_timer_init(&exec->timer, on_time, (double)exec->args.timeout_ms / 1000., 0.);
	exec->out.io.data = exec->err.io.data = exec->in_io.data = exec;
	exec->child.data = exec->timer.data = exec;
	ev_io_start(exec->loop, &exec->out.io);
	ev_io_start(exec->loop, &exec->err.io);
	if (exec->in >= 0)
		ev_io_start(exec->loop, &exec->in_io);
	ev_child_start(exec->loop, &exec->child);
	/* The loop's idea of now may be old when a turn took long. */
	ev_now_update(exec->loop);
	ev_timer_start(exec->loop, &exec->timer);
}

static int start(struct sp_exec *exec, const struct rlimit *files)
{
	sp_auto_fd int in = -1;
	sp_auto_fd int out = -1;
	sp_auto_fd int err = -1;
	int bad = 0;

	if (exec->args.input_size > 0)
		bad = sp_spawn_pipe(false, &exec->in, &in);
	else if ((in = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		bad = -errno;
	if (!bad)
		bad = sp_spawn_pipe(true, &exec->out.fd, &out);
	if (!bad)
		bad = sp_spawn_pipe(true, &exec->err.fd, &err);
	if (bad)
		return bad;
	return sp_spawn(&exec->args, (int[]){in, out, err}, false, files, &exec->pid);
}

static void discard(struct sp_exec **exec)
{
	if (*exec) {
		sp_fd_close(&(*exec)->in);
		sp_fd_close(&(*exec)->out.fd);
		sp_fd_close(&(*exec)->err.fd);
		sp_exec_args_done(&(*exec)->args);
		free(*exec);
	}
}

int sp_exec_start(struct ev_loop *loop, int root, const struct rlimit *files, const json_t *args,
    sp_exec_fn *done, void *context, struct sp_exec **ret, struct sp_err *err)
{
	sp_cleanup(discard) struct sp_exec *exec = calloc(1, sizeof(*exec));
	int bad;

	if (!exec)
		return sp_fail(err, -ENOMEM, "out of memory");
	*exec = (struct sp_exec){.loop = loop,
	    .args = {.directory = -1},
	    .in = -1,
	    .out = {.fd = -1},
	    .err = {.fd = -1},
	    .done = done,
	    .context = context};
	bad = sp_exec_args_take(root, args, SP_EXEC_RUN, &exec->args, err);
	if (bad)
		return bad;
	bad = start(exec, files);
	if (bad)
		return sp_fail(err, bad, "%.128s: %s", exec->args.argv[0], sp_code_text(bad));
	watch(exec);
	*ret = sp_steal(&exec);
	return 0;
}
