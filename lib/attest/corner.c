/* Corners: filled one after the other, refilled before another is made, closed when empty. */
#include "attest/corner.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>
#include "attest/attest.h"
#include "attest/errand.h"
#include "attest/sockdiag.h"
#include "base/limits.h"
#include "base/util.h"

struct sp_corner {
	LIST_ENTRY(sp_corner) entry;
	int namespace_fd, netlink;
	unsigned used; /* connections that live */
	unsigned ready_count;
	int ready[SP_ERRAND_CLIENTS]; /* sockets for the next ones */
};

static LIST_HEAD(, sp_corner) corners = LIST_HEAD_INITIALIZER(corners);
static bool wanted, refused;

static void close_corner(struct sp_corner *corner)
{
	while (corner->ready_count > 0)
		(void)close(corner->ready[--corner->ready_count]);
	sp_fd_close(&corner->netlink);
	sp_fd_close(&corner->namespace_fd);
	free(corner);
}

/* What was made before it failed stays the corner's. */
static int fill(struct sp_corner *corner)
{
	struct sp_errand errand = {.namespace_fd = corner->namespace_fd,
	    .netlink = corner->netlink,
	    .wanted = SP_ERRAND_CLIENTS};
	int bad = sp_errand_run(&errand);

	corner->namespace_fd = errand.namespace_fd;
	corner->netlink = errand.netlink;
	memcpy(corner->ready, errand.clients, errand.count * sizeof(corner->ready[0]));
	corner->ready_count = errand.count;
	return bad;
}

static int make_corner(struct sp_corner **ret)
{
	struct sp_corner *corner = calloc(1, sizeof(*corner));
	int bad;

	if (!corner)
		return -ENOMEM;
	corner->namespace_fd = corner->netlink = -1;
	bad = fill(corner);
	if (bad) {
		close_corner(corner);
		return bad;
	}
	LIST_INSERT_HEAD(&corners, corner, entry);
	*ret = corner;
	return 0;
}

/* The emptiest; NULL: there is none at all. */
static struct sp_corner *find_corner(void)
{
	struct sp_corner *corner, *best = NULL;

	LIST_FOREACH(corner, &corners, entry)
	if (!best || corner->used < best->used)
		best = corner;
	return best;
}

/* One with room, or a new one. When no other is to be had, the emptiest takes more: looking up
 * costs more there, and finds the same. */
static int choose(struct sp_corner **ret)
{
	struct sp_corner *corner = find_corner();
	int bad = 0;

	if (!corner || corner->used >= SP_CORNER_CONNECTIONS)
		bad = make_corner(&corner);
	if (!corner)
		return bad;
	if (corner->ready_count == 0)
		bad = fill(corner);
	if (corner->ready_count == 0)
		return bad;
	*ret = corner;
	return 0;
}

/* The namespace we are in, when we may make no other. */
static int client_here(int *ret_fd, int *ret_netlink)
{
	static int netlink = -1;
	sp_auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int bad = fd < 0 ? -errno : 0;

	if (!bad && netlink < 0)
		bad = sp_sockdiag_open(&netlink);
	if (bad)
		return bad;
	*ret_fd = sp_steal_fd(&fd);
	*ret_netlink = netlink;
	return 0;
}

void sp_attest_private(void)
{
	wanted = true;
}

int sp_corner_client(int *ret_fd, int *ret_netlink, struct sp_corner **ret_corner)
{
	struct sp_corner *corner = NULL;

	if (wanted && !refused) {
		int bad = choose(&corner);
		if (bad && !LIST_EMPTY(&corners))
			return bad;
		refused = bad != 0;
	}
	*ret_corner = NULL;
	if (!corner)
		return client_here(ret_fd, ret_netlink);
	corner->used++;
	*ret_fd = corner->ready[--corner->ready_count];
	*ret_netlink = corner->netlink;
	*ret_corner = corner;
	return 0;
}

void sp_corner_leave(struct sp_corner *corner)
{
	bool only = corner && LIST_FIRST(&corners) == corner && !LIST_NEXT(corner, entry);

	if (!corner || --corner->used > 0 || only)
		return;
	LIST_REMOVE(corner, entry);
	close_corner(corner);
}
