/* The process's pipes: a bounded number, a few kept. */
#include "relay/pipes.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"

#define BUDGET_FILE "/proc/sys/fs/pipe-user-pages-soft"
#define PIPE_PAGES  16 /* of a pipe within the budget; over it the kernel gives one or two */
#define PIPE_BYTES  (PIPE_PAGES * 4096)
#define SHARE       8 /* one process takes an eighth of its user's budget */
#define PIPES_MAX   256
#define KEPT_MAX    8

static struct {
	bool known;
	unsigned most, taken, kept_count;
	int kept[KEPT_MAX][2];
} pipes;

static unsigned most_pipes(void)
{
	sp_auto_fd int fd = open(BUDGET_FILE, O_RDONLY | O_CLOEXEC);
	char text[32] = {0};
	unsigned long pages = 0;
	unsigned long most;

	if (fd >= 0 && sp_read_some(fd, text, sizeof(text) - 1) > 0)
		pages = strtoul(text, NULL, 10);
	most = pages / PIPE_PAGES / SHARE;
	/* 0: no limit is set. */
	return pages == 0 || most > PIPES_MAX ? PIPES_MAX : (unsigned)most;
}

bool sp_pipe_take(int ret_pipe[2])
{
	int made[2];

	if (!pipes.known)
		pipes.most = most_pipes();
	pipes.known = true;
	if (pipes.kept_count > 0) {
		pipes.kept_count--;
		ret_pipe[0] = pipes.kept[pipes.kept_count][0];
		ret_pipe[1] = pipes.kept[pipes.kept_count][1];
		return true;
	}
	if (pipes.taken >= pipes.most || pipe2(made, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	if (fcntl(made[1], F_GETPIPE_SZ) < PIPE_BYTES) {
		/* The budget is used up, by us or by others of this user. */
		sp_fd_close(&made[0]);
		sp_fd_close(&made[1]);
		return false;
	}
	pipes.taken++;
	ret_pipe[0] = made[0];
	ret_pipe[1] = made[1];
	return true;
}

void sp_pipe_give(int pipe[2], bool clean)
{
	if (pipe[0] < 0)
		return;
	if (clean && pipes.kept_count < KEPT_MAX) {
		pipes.kept[pipes.kept_count][0] = sp_steal_fd(&pipe[0]);
		pipes.kept[pipes.kept_count++][1] = sp_steal_fd(&pipe[1]);
		return;
	}
	sp_fd_close(&pipe[0]);
	sp_fd_close(&pipe[1]);
	pipes.taken--;
}
