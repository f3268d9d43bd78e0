/* Looks at the path, the connection, and who holds its other end: steps 1, 2, 5 and 6. */
#include "attest/look.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include "attest/copied.h"
#include "attest/corner.h"
#include "attest/descriptors.h"
#include "attest/level.h"
#include "attest/netns.h"
#include "attest/sockdiag.h"
#include "base/io.h"
#include "base/util.h"

#define ENDING_MS 100

static int open_file(const char *path)
{
	struct open_how how = {
	    .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

void sp_look_path(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;
	struct stat info;

	attestation->file = open_file(attestation->judged.target->path);
	if (attestation->file < 0 || fstat(attestation->file, &info) < 0) {
		sight->file.code = -errno;
		return;
	}
	sight->file.code = 0;
	sight->file.kind = S_ISSOCK(info.st_mode)  ? SP_FILE_SOCKET
			   : S_ISLNK(info.st_mode) ? SP_FILE_SYMLINK
						   : SP_FILE_OTHER;
	sight->file.dev = info.st_dev;
	sight->file.ino = info.st_ino;
	sight->file.uid = info.st_uid;
	sight->file.mode = info.st_mode & 07777;
	sight->file.links = (uint32_t)info.st_nlink;
}

/* Through the descriptor: whatever lies at the path by now, this connects to what was judged. */
static int connect_to(const struct sp_attestation *attestation)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d", attestation->file);
	return connect(attestation->fd, (struct sockaddr *)&name, sizeof(name)) < 0 ? -errno : 0;
}

void sp_look_connect(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;
	struct stat info;
	int bad = sp_corner_client(&attestation->fd, &attestation->netlink, &attestation->corner);

	if (!bad)
		bad = connect_to(attestation);
	sp_fd_close(&attestation->file);
	sight->connection.busy = bad == -EAGAIN;
	if (!bad && fstat(attestation->fd, &info) < 0)
		bad = -errno;
	if (!bad)
		sight->own.inode = (uint32_t)info.st_ino;
	sight->connection.code = sight->connection.busy ? 0 : bad;
}

void sp_look_credentials(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	int bad = getsockopt(attestation->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);

	sight->credentials.code = bad < 0 ? -errno : 0;
	sight->credentials.pid = peer.pid;
	sight->credentials.uid = peer.uid;
	sight->credentials.gid = peer.gid;
}

void sp_look_peer_process(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;
	socklen_t size = sizeof(attestation->peer_pidfd);
	struct stat info;

	sight->peer_process.code = 0;
	if (sight->level.level < SP_LEVEL_PIDFD)
		return;
	if (getsockopt(attestation->fd, SOL_SOCKET, SO_PEERPIDFD, &attestation->peer_pidfd, &size) <
	    0)
		/* Before 6.16 a listener that has been reaped has no pidfd to give. */
		sight->peer_process.code = errno == EINVAL ? -ESRCH : -errno;
	else if (fstat(attestation->peer_pidfd, &info) < 0)
		sight->peer_process.code = -errno;
	else
		sight->peer_process.pidfs = info.st_ino;
}

/* Our own end as it is now. `ended`: its peer has gone. */
static void look_own(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;
	bool held = attestation->fd >= 0; /* else it is a bridge's, which may close it any time */
	int bad = sp_sockdiag_find(attestation->netlink, sight->own.inode, &sight->own.socket);

	sight->own.ended = bad == -ENOENT && !held;
	/* What we hold is there: not finding it is a fault of the look-up. */
	sight->own.code = bad == -ENOENT ? (held ? -EPROTO : 0) : bad;
	if (bad || sight->own.socket.peer != 0)
		return;
	/* A peer that has gone shows no inode either, but says nothing about who it was. It loses
	 * its inode a moment before we are told of its end, and may be preempted in between. Of a
	 * bridge's connection, which we do not hold, nobody tells us; but it was accepted once, or
	 * the bridge would not have said so. */
	sight->own.ended = !held || sp_poll_one(attestation->fd, 0, ENDING_MS) > 0;
}

void sp_look_peer_socket(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	look_own(attestation);
	if (sight->own.code || sight->own.ended || sight->own.socket.peer == 0)
		return;
	sight->peer.code =
	    sp_sockdiag_find(attestation->netlink, sight->own.socket.peer, &sight->peer.socket);
	/* It may have gone between the two looks. */
	if (sight->peer.code == -ENOENT)
		look_own(attestation);
}

/* Who closed it holds it no more: that is no sign of another who has it. */
void sp_look_peer_held(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	sight->held.code = sp_descriptor_find(&attestation->process, sight->peer.socket.inode,
	    sight->held.number, SP_DESCRIPTOR_ACCEPTED, &sight->held.number);
	if (sight->held.code == -ENOENT && attestation->netlink >= 0)
		look_own(attestation);
}

/* A copy of its descriptor answers at once, however many sockets there are. */
static int facts_by_copy(const struct sp_process *process, int number, struct sp_socket *ret)
{
	sp_auto_fd int copy = -1;
	int bad = sp_copied_take(process, number, &copy);

	return bad ? bad : sp_copied_facts(copy, ret);
}

static int facts_by_diag(const struct sp_process *process, uint32_t inode, struct sp_socket *ret)
{
	sp_auto_fd int network = -1;
	int netlink;
	int bad = sp_process_network(process, &network);

	if (!bad)
		bad = sp_netns_sockdiag(network, &netlink);
	return bad ? bad : sp_sockdiag_find(netlink, inode, ret);
}

void sp_look_listener(struct sp_attestation *attestation)
{
	const struct sp_listener *target = attestation->judged.target;
	struct sp_sight *sight = &attestation->judged.sight;
	int bad = sp_descriptor_find(&attestation->process, target->socket, target->fd,
	    SP_DESCRIPTOR_LISTENER, &sight->listener.number);

	/* Copying needs the right to attach, which Yama may keep from equals; looking does not. */
	if (!bad && facts_by_copy(
			&attestation->process, sight->listener.number, &sight->listener.socket) < 0)
		bad = facts_by_diag(&attestation->process, target->socket, &sight->listener.socket);
	sight->listener.code = bad;
}

void sp_look_listener_row(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;
	struct sp_socket row;

	if (!sight->listener.code &&
	    facts_by_diag(&attestation->process, sight->listener.socket.inode, &row) == 0)
		sight->listener.socket = row;
}
