/* Copied descriptors, asked what they are. */
#include "attest/copied.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/un.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include "base/util.h"

int sp_copied_take(const struct sp_process *process, int number, int *ret_copy)
{
	int copy = pidfd_getfd(process->pidfd, number, 0);

	if (copy < 0)
		return -errno;
	*ret_copy = copy;
	return 0;
}

static int ask(int copy, int name, int *ret)
{
	socklen_t size = sizeof(*ret);

	return getsockopt(copy, SOL_SOCKET, name, ret, &size) < 0 ? -errno : 0;
}

int sp_copied_facts(int copy, struct sp_socket *ret)
{
	struct sp_socket found = {0};
	struct stat info;
	socklen_t size = sizeof(found.cookie);
	int listening = 0, family = 0, type = 0;
	int bad = ask(copy, SO_ACCEPTCONN, &listening);

	if (!bad)
		bad = ask(copy, SO_DOMAIN, &family);
	if (!bad)
		bad = ask(copy, SO_TYPE, &type);
	if (bad)
		return bad;
	if (family != AF_UNIX)
		return -EPROTO;
	if (fstat(copy, &info) < 0 ||
	    getsockopt(copy, SOL_SOCKET, SO_COOKIE, &found.cookie, &size) < 0)
		return -errno;
	found.inode = (uint32_t)info.st_ino;
	found.state = listening ? SP_SOCKET_LISTENING : SP_SOCKET_OTHER;
	found.stream = type == SOCK_STREAM;
	*ret = found;
	return 0;
}

int sp_copied_file(int copy, struct stat *ret)
{
	sp_auto_fd int file = ioctl(copy, SIOCUNIXFILE);

	return file < 0 || fstat(file, ret) < 0 ? -errno : 0;
}
