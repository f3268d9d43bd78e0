/* Look-up sockets in other network namespaces, kept for the next time. */
#include "attest/netns.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attest/attest.h"
#include "attest/errand.h"
#include "attest/sockdiag.h"
#include "base/limits.h"
#include "base/util.h"

static struct {
	uint64_t inode;
	int netlink;
} kept[SP_NETNS_MAX];
static unsigned kept_count, kept_next;

/* A kept netlink socket keeps its namespace alive, so an inode here cannot have been given away. */
static void keep(uint64_t inode, int netlink)
{
	unsigned at = kept_count < SP_NETNS_MAX ? kept_count++ : kept_next++ % SP_NETNS_MAX;

	if (kept[at].inode)
		(void)close(kept[at].netlink);
	kept[at].inode = inode;
	kept[at].netlink = netlink;
}

static int open_in(int namespace_fd, const struct stat *info, int *ret_netlink)
{
	struct sp_errand errand = {.namespace_fd = namespace_fd, .netlink = -1};
	struct stat own;
	int bad;

	/* No privilege is needed for the namespace that we are in. */
	if (stat("/proc/thread-self/ns/net", &own) == 0 && own.st_ino == info->st_ino &&
	    own.st_dev == info->st_dev)
		return sp_sockdiag_open(ret_netlink);
	bad = sp_errand_run(&errand);
	if (bad) {
		sp_fd_close(&errand.netlink);
		return bad;
	}
	*ret_netlink = errand.netlink;
	return 0;
}

bool sp_netns_kept(uint64_t inode, int *ret_netlink)
{
	for (unsigned i = 0; i < kept_count; i++)
		if (kept[i].inode == inode) {
			*ret_netlink = kept[i].netlink;
			return true;
		}
	return false;
}

int sp_netns_sockdiag(int namespace_fd, int *ret_netlink)
{
	struct stat info;
	int netlink = -1;
	int bad;

	if (fstat(namespace_fd, &info) < 0)
		return -errno;
	if (sp_netns_kept(info.st_ino, ret_netlink))
		return 0;
	bad = open_in(namespace_fd, &info, &netlink);
	if (bad)
		return bad;
	keep(info.st_ino, netlink);
	*ret_netlink = netlink;
	return 0;
}

void sp_attest_apart(void)
{
	struct stat own, first;

	if (stat("/proc/self/ns/net", &own) == 0 && stat("/proc/1/ns/net", &first) == 0 &&
	    (own.st_dev != first.st_dev || own.st_ino != first.st_ino))
		return;
	(void)unshare(CLONE_NEWNET); /* or else looking up costs more, and finds the same */
}
