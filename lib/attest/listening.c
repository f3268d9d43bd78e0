/* From a path to the listening socket behind it. */
#include "attest/listening.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include "attest/copied.h"
#include "attest/descriptors.h"
#include "attest/netns.h"
#include "attest/sockdiag.h"
#include "base/util.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* The directory's symlinks are resolved once, here; at verification there may be none. */
static int resolve(const char *path, char resolved[PATH_MAX], struct sp_err *err)
{
	const char *name = strrchr(path, '/');
	char directory[PATH_MAX], real[PATH_MAX];

	name = name ? name + 1 : path;
	if (snprintf(directory, sizeof(directory), "%.*s", (int)(name - path), path) >=
		(int)sizeof(directory) ||
	    name[0] == '\0')
		return sp_fail(err, SP_E_DENIED, "%s: not the path of a socket", path);
	if (!realpath(directory[0] ? directory : ".", real))
		return sp_fail_errno(err, "%s", path);
	if (snprintf(resolved, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name) >=
	    PATH_MAX)
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", path);
	return 0;
}

/* Do stat(2) and the kernel itself number the device of this file alike? On btrfs and overlayfs,
 * for example, they do not. */
static bool device_is_plain(int fd)
{
	static const long plain[] = {TMPFS_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC};
	struct statfs info;

	if (fstatfs(fd, &info) < 0)
		return false;
	for (size_t i = 0; i < SP_COUNT(plain); i++)
		if (info.f_type == plain[i])
			return true;
	return false;
}

static int read_file(
    const char *path, struct sp_listener *listener, bool *ret_plain, struct sp_err *err)
{
	sp_auto_fd int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s", path);
	if (!S_ISSOCK(info.st_mode))
		return sp_fail(err, SP_E_DENIED, "%s: not a socket", path);
	if (info.st_nlink != 1)
		return sp_fail(err, SP_E_DENIED, "%s: it has %u names; a socket must have one",
		    path, (unsigned)info.st_nlink);
	listener->path = path;
	listener->dev = info.st_dev;
	listener->ino = info.st_ino;
	listener->uid = info.st_uid;
	listener->mode = info.st_mode & 07777;
	*ret_plain = device_is_plain(fd);
	return 0;
}

struct candidates {
	const struct sp_process *process;
	struct sp_listener *listener;
	bool plain;      /* `device` is what sock_diag says of this file, for certain */
	uint32_t device; /* as the kernel numbers it; 0: any */
	int netlink;     /* -1: not needed yet */
	bool no_netlink; /* needed, and not to be had */
};

static int found_at(const struct candidates *candidates, int number, const struct sp_socket *found)
{
	struct sp_listener *listener = candidates->listener;

	listener->socket = found->inode;
	listener->cookie = found->cookie;
	listener->file_device = found->file_device;
	listener->file_inode = found->file_inode;
	listener->fd = number;
	return 1;
}

/* 1: it is the one; 0: it is not; -EAGAIN: a copy cannot tell; -errno. */
static int consider_copy(const struct candidates *candidates, int number)
{
	const struct sp_listener *listener = candidates->listener;
	sp_auto_fd int copy = -1;
	struct sp_socket found;
	struct stat file;
	int bad = sp_copied_take(candidates->process, number, &copy);

	if (bad)
		return -EAGAIN;
	/* Most sockets of a process do not listen, or are of another family. */
	if (sp_copied_facts(copy, &found) < 0 || found.state != SP_SOCKET_LISTENING ||
	    !found.stream)
		return 0;
	bad = candidates->plain ? sp_copied_file(copy, &file) : -EAGAIN;
	if (bad)
		return bad == -ENOENT ? 0 : -EAGAIN;
	if (file.st_dev != listener->dev || file.st_ino != listener->ino)
		return 0;
	found.file_device = candidates->device;
	found.file_inode = (uint32_t)file.st_ino;
	return found_at(candidates, number, &found);
}

static int open_netlink(struct candidates *candidates)
{
	sp_auto_fd int network = -1;
	int bad = candidates->netlink < 0 ? sp_process_network(candidates->process, &network) : 0;

	if (!bad && candidates->netlink < 0)
		bad = sp_netns_sockdiag(network, &candidates->netlink);
	candidates->no_netlink = bad != 0;
	return bad;
}

static int consider(void *context, int number, uint32_t inode)
{
	struct candidates *candidates = context;
	const struct sp_listener *listener = candidates->listener;
	struct sp_socket found;
	int done = consider_copy(candidates, number);

	if (done != -EAGAIN)
		return done;
	done = open_netlink(candidates);
	if (done)
		return done;
	if (sp_sockdiag_find(candidates->netlink, inode, &found) < 0 ||
	    found.state != SP_SOCKET_LISTENING || !found.stream || !found.has_file ||
	    found.file_inode != (uint32_t)listener->ino ||
	    (candidates->device && found.file_device != candidates->device))
		return 0;
	return found_at(candidates, number, &found);
}

/*
 * Among its descriptors, the listening socket that is bound to the file. Where the kernel's own
 * device number is another than stat's, the inode has to do, and the first connection proves the
 * rest.
 */
static int find(
    const struct sp_process *process, struct sp_listener *listener, bool plain, struct sp_err *err)
{
	struct candidates candidates = {.process = process,
	    .listener = listener,
	    .plain = plain,
	    .device = major(listener->dev) << 20 | minor(listener->dev),
	    .netlink = -1};
	int found = sp_descriptor_walk(process, consider, &candidates);

	if (found == 0 && !plain) {
		candidates.device = 0;
		found = sp_descriptor_walk(process, consider, &candidates);
	}
	if (found < 0)
		return sp_process_fail(err, found, process->pid,
		    candidates.no_netlink ? "network namespace" : "descriptors");
	if (found == 0)
		return sp_fail(err, SP_E_DENIED, "%s: pid %d does not listen there", listener->path,
		    (int)process->pid);
	return 0;
}

int sp_listener_read(const struct sp_process *process, const char *path, char text[PATH_MAX],
    struct sp_listener *ret, struct sp_err *err)
{
	bool plain = false;
	int bad = resolve(path, text, err);

	if (!bad)
		bad = read_file(text, ret, &plain, err);
	return bad ? bad : find(process, ret, plain, err);
}
