/*
 * Paths of requests, resolved inside the guest's root: openat2 with RESOLVE_IN_ROOT and
 * RESOLVE_NO_MAGICLINKS (Linux >= 5.6), so that no `..`, symlink, absolute symlink or magic link of
 * /proc leads out, however the tree changes meanwhile. All codes are 0 or -errno.
 */
#ifndef SP_GUEST_PATH_H
#define SP_GUEST_PATH_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

/* Opens the root directory itself. -ENOSYS with words where the kernel has no openat2. */
int sp_root_open(const char *directory, int *ret_fd, struct sp_err *err);

/* Opens a path inside the root; O_CLOEXEC is added. `mode` counts with O_CREAT only. -ELOOP at a
 * magic link, -EAGAIN when the tree was moved under every try. */
int sp_root_resolve(int root, const char *path, int flags, mode_t mode, int *ret_fd);

/* The same below a directory, through no symlink at all, without O_CREAT: -ELOOP at one, -EXDEV for
 * a path that leads out. */
int sp_beneath_resolve(int directory, const char *path, int flags, int *ret_fd);

/* A directory entry to be made, replaced or taken away: its directory, pinned, and its name there.
 */
struct sp_place {
	int directory;           /* O_PATH; -1: none */
	char name[NAME_MAX + 1]; /* one component, never "." or ".." */
	bool slash;              /* the path ended with one: a directory was meant */
};
void sp_place_done(struct sp_place *place);
#define sp_auto_place sp_cleanup(sp_place_done)

/*
 * Where the last component of a path lies. A symlink there is the entry itself. -EINVAL for "." and
 * "..", -EBUSY for the root, -ENAMETOOLONG, and whatever resolving the directory gave.
 */
int sp_place_find(int root, const char *path, struct sp_place *ret);

/* The same, after following symlinks at the end, dangling ones too: where open(O_CREAT) would make
 * the file. -ELOOP after 40, or at a magic link. */
int sp_place_follow(int root, const char *path, struct sp_place *ret);

#endif
