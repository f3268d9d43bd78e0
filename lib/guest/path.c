/* The only place of the guest agent that turns a path into a descriptor. */
#include "guest/path.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/util.h"

/* The kernel answers EAGAIN to a resolution with `..` that raced with a rename: a tree that is
 * moved all the time must not keep the agent busy. */
#define RESOLVE_TRIES 64
#define SYMLINKS_MAX  40

static int resolve(int directory, const char *path, struct open_how *how, int *ret_fd)
{
	for (int i = 0; i < RESOLVE_TRIES; i++) {
		long fd = syscall(SYS_openat2, directory, path, how, sizeof(*how));
		if (fd >= 0) {
			*ret_fd = (int)fd;
			return 0;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

int sp_root_resolve(int root, const char *path, int flags, mode_t mode, int *ret_fd)
{
	struct open_how how = {
	    .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
	    .mode = flags & O_CREAT ? mode : 0,
	    .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return resolve(root, path, &how, ret_fd);
}

int sp_beneath_resolve(int directory, const char *path, int flags, int *ret_fd)
{
	struct open_how how = {
	    .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return resolve(directory, path, &how, ret_fd);
}

int sp_root_open(const char *directory, int *ret_fd, struct sp_err *err)
{
	sp_auto_fd int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sp_auto_fd int probe = -1;
	int bad;

	if (fd < 0)
		return sp_fail_errno(err, "%s", directory);
	bad = sp_root_resolve(fd, ".", O_PATH | O_DIRECTORY, 0, &probe);
	if (bad == -ENOSYS || bad == -EPERM)
		return sp_fail(err, bad,
		    "%s: openat2 does not work here: Linux 5.6 or later is needed, and no "
		    "seccomp filter that forbids it",
		    directory);
	if (bad)
		return sp_fail(err, bad, "%s: %s", directory, sp_code_text(bad));
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

void sp_place_done(struct sp_place *place)
{
	sp_fd_close(&place->directory);
}

/* Cuts a path into its directory ("." when it has none) and its last component. */
static int split(const char *path, char directory[PATH_MAX], struct sp_place *place)
{
	size_t length = strlen(path), start;

	if (length == 0)
		return -ENOENT;
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	place->slash = path[length - 1] == '/';
	while (length > 0 && path[length - 1] == '/')
		length--;
	if (length == 0)
		return -EBUSY;
	for (start = length; start > 0 && path[start - 1] != '/'; start--)
		;
	if (length - start > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(place->name, path + start, length - start);
	place->name[length - start] = '\0';
	if (strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0)
		return -EINVAL;
	memcpy(directory, path, start);
	memcpy(directory + start, start ? "" : ".", start ? 1 : 2);
	return 0;
}

int sp_place_find(int root, const char *path, struct sp_place *ret)
{
	struct sp_place place = {.directory = -1};
	char directory[PATH_MAX];
	int bad = split(path, directory, &place);

	if (!bad)
		bad = sp_root_resolve(root, directory, O_PATH | O_DIRECTORY, 0, &place.directory);
	if (bad)
		return bad;
	*ret = place;
	return 0;
}

/* What a symlink at the end of `path` leads to, as a path from the root; the kernel resolves it
 * there again. 0: no symlink, 1: *path is the next one. */
static int step(const struct sp_place *place, char path[PATH_MAX])
{
	char target[PATH_MAX], directory[PATH_MAX];
	struct sp_place unused;
	ssize_t n = readlinkat(place->directory, place->name, target, sizeof(target) - 1);
	int length;

	if (n < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : -errno;
	target[n] = '\0';
	if (split(path, directory, &unused) < 0)
		return -ENAMETOOLONG;
	length = snprintf(path, PATH_MAX, "%s%s%s", target[0] == '/' ? "" : directory,
	    target[0] == '/' ? "" : "/", target);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 1;
}

int sp_place_follow(int root, const char *path, struct sp_place *ret)
{
	char current[PATH_MAX];
	sp_auto_fd int whole = -1;
	int bad = sp_root_resolve(root, path, O_PATH, 0, &whole);

	/* Reading links as text would walk through a magic link; the kernel refuses it here. */
	if (bad && bad != -ENOENT)
		return bad;
	if (strlen(path) >= sizeof(current))
		return -ENAMETOOLONG;
	memcpy(current, path, strlen(path) + 1);
	for (int i = 0; i <= SYMLINKS_MAX; i++) {
		struct sp_place place = {.directory = -1};
		bad = sp_place_find(root, current, &place);
		if (bad)
			return bad;
		bad = step(&place, current);
		if (bad == 0) {
			*ret = place;
			return 0;
		}
		sp_place_done(&place);
		if (bad < 0)
			return bad;
	}
	return -ELOOP;
}
