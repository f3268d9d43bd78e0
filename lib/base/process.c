/* Processes by pidfd: identity, and whether they have ended. */
#include "base/process.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/util.h"

static int open_pidfd(uint64_t pid, uint64_t *ret_inode)
{
	sp_auto_fd int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return -errno;
	*ret_inode = info.st_ino;
	return sp_steal_fd(&fd);
}

int sp_process_self(struct sp_process *ret)
{
	struct sp_process self = {.pid = (uint64_t)getpid()};
	sp_auto_fd int fd = open_pidfd(self.pid, &self.inode);

	if (fd < 0)
		return fd;
	*ret = self;
	return 0;
}

bool sp_process_gone(const struct sp_process *process)
{
	uint64_t inode = 0;
	sp_auto_fd int fd = open_pidfd(process->pid, &inode);
	struct pollfd one = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return fd == -ESRCH || fd == -EINVAL;
	/* Readable: it has ended and waits for its parent. */
	return inode != process->inode || poll(&one, 1, 0) > 0;
}
