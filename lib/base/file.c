/* Files that matter: opened once and judged by descriptor, replaced whole or not at all. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sodium/utils.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/util.h"

static int check_secret(const struct stat *info, const char *path, struct sp_err *err)
{
	if (info->st_mode & 077)
		return sp_fail(err, SP_E_BAD_KEY,
		    "%s: mode %04o lets others read a secret; run: chmod 600 %s", path,
		    (unsigned)(info->st_mode & 07777), path);
	if (info->st_uid != geteuid() && info->st_uid != 0 && geteuid() != 0)
		return sp_fail(err, SP_E_BAD_KEY, "%s: a secret of another user (uid %u)", path,
		    (unsigned)info->st_uid);
	return 0;
}

int sp_file_open(int at, const char *path, int flags, int *ret_fd, struct sp_err *err)
{
	int nofollow = flags & (SP_FILE_SECRET | SP_FILE_NOFOLLOW) ? O_NOFOLLOW : 0;
	/* O_NONBLOCK: opening a FIFO without a writer returns at once; then fstat refuses it. */
	sp_auto_fd int fd =
	    openat(at, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | nofollow);
	struct stat info;

	if (fd < 0)
		return sp_fail_errno(err, "%s", path);
	if (fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s", path);
	if (!S_ISREG(info.st_mode))
		return sp_fail(err, -EINVAL, "%s: not a regular file", path);
	if (flags & SP_FILE_SECRET) {
		int bad = check_secret(&info, path, err);
		if (bad)
			return bad;
	}
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

void sp_secret_free(char *data, size_t size)
{
	if (data)
		sodium_memzero(data, size);
	free(data);
}

/* Reads up to `max` bytes; one more byte tells a file that is larger, or growing, from one that
 * fits. */
static int read_bounded(int fd, char *data, size_t max, size_t *ret_size)
{
	size_t size = 0;

	while (size <= max) {
		ssize_t n = sp_read_some(fd, data + size, max + 1 - size);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		size += (size_t)n;
	}
	if (size > max)
		return SP_E_TOO_LARGE;
	*ret_size = size;
	return 0;
}

int sp_file_read(int at, const char *path, int flags, size_t max, char **ret_data, size_t *ret_size,
    struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	struct stat info;
	size_t room, size = 0;
	char *data;
	int bad = sp_file_open(at, path, flags, &fd, err);

	if (bad)
		return bad;
	if (fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s", path);
	/* procfs says 0: then give the whole bound. */
	room = info.st_size > 0 && (size_t)info.st_size < max ? (size_t)info.st_size : max;
	data = malloc(room + 2);
	if (!data)
		return sp_fail(err, -ENOMEM, "%s: out of memory", path);
	bad = read_bounded(fd, data, room, &size);
	if (bad) {
		sp_secret_free(data, room + 2);
		if (bad != SP_E_TOO_LARGE)
			return sp_fail(err, bad, "%s: %s", path, strerror(-bad));
		if (room < max)
			return sp_fail(err, bad, "%s: grew while it was read", path);
		return sp_fail(err, bad, "%s: larger than %zu bytes", path, max);
	}
	data[size] = '\0';
	*ret_data = data;
	*ret_size = size;
	return 0;
}

static int directory_of(const char *path, char *directory, size_t size)
{
	const char *slash = strrchr(path, '/');
	int n;

	if (!slash)
		n = snprintf(directory, size, ".");
	else if (slash == path)
		n = snprintf(directory, size, "/");
	else
		n = snprintf(directory, size, "%.*s", (int)(slash - path), path);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int sp_file_sync_directory(int at, const char *path, struct sp_err *err)
{
	char directory[PATH_MAX];
	sp_auto_fd int fd = -1;

	if (directory_of(path, directory, sizeof(directory)) < 0)
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", path);
	fd = openat(at, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return sp_fail_errno(err, "%s: sync of the directory", directory);
	return 0;
}

/* Writes and syncs a file that this call has just created; takes it away again when that fails. */
static int fill_new(
    int at, const char *path, mode_t mode, const void *data, size_t size, struct sp_err *err)
{
	sp_auto_fd int fd =
	    openat(at, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	int bad;

	if (fd < 0)
		return sp_fail_errno(err, "%s", path);
	bad = fchmod(fd, mode) < 0 ? -errno : sp_write_all(fd, data, size, -1);
	if (!bad && fsync(fd) < 0)
		bad = -errno;
	if (bad) {
		(void)unlinkat(at, path, 0);
		return sp_fail(err, bad, "%s: %s", path, sp_code_text(bad));
	}
	return 0;
}

int sp_file_create(
    int at, const char *path, mode_t mode, const void *data, size_t size, struct sp_err *err)
{
	int bad = fill_new(at, path, mode, data, size, err);

	return bad ? bad : sp_file_sync_directory(at, path, err);
}

int sp_file_replace(
    int at, const char *path, mode_t mode, const void *data, size_t size, struct sp_err *err)
{
	char aside[PATH_MAX];
	int n = snprintf(aside, sizeof(aside), "%s.new", path);
	int bad;

	if (n < 0 || (size_t)n >= sizeof(aside))
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", path);
	/* What a crash left aside goes, whatever it is: a link or a FIFO must not be written
	 * through. */
	if (unlinkat(at, aside, 0) < 0 && errno != ENOENT)
		return sp_fail_errno(err, "%s", aside);
	bad = fill_new(at, aside, mode, data, size, err);
	if (bad)
		return bad;
	if (renameat(at, aside, at, path) < 0) {
		bad = sp_fail_errno(err, "%s", path);
		(void)unlinkat(at, aside, 0);
		return bad;
	}
	return sp_file_sync_directory(at, path, err);
}

/* After mkdir failed: was it only because the directory is there? errno tells why not. */
static bool is_directory(const char *path)
{
	struct stat info;

	if (errno != EEXIST || stat(path, &info) < 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(info.st_mode);
}

/* Of a level that was there before, its maker is to say whether it lasts; but he may have been
 * killed first. Where nobody but him may look, it is left to him. */
static int sync_level(const char *path, bool made, struct sp_err *err)
{
	int bad = sp_file_sync_directory(AT_FDCWD, path, made ? err : NULL);

	return made ? bad : 0;
}

static int make_levels(const char *path, mode_t mode, bool lasting, struct sp_err *err)
{
	char partial[PATH_MAX];
	size_t length = strlen(path);
	/* A level is made only when those above it last: later runs need look at no more than one.
	 */
	bool anew = lasting && access(path, F_OK) < 0;

	if (length == 0 || length >= sizeof(partial))
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", path);
	memcpy(partial, path, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (partial[i] != '/' && partial[i] != '\0')
			continue;
		char kept = partial[i];
		partial[i] = '\0';
		bool made = mkdir(partial, mode) == 0;
		if (made ? chmod(partial, mode) < 0 : !is_directory(partial))
			return sp_fail_errno(err, "%s", partial);
		int bad = anew || (lasting && kept == '\0') ? sync_level(partial, made, err) : 0;
		if (bad)
			return bad;
		partial[i] = kept;
	}
	return 0;
}

int sp_directory_make(const char *path, mode_t mode, struct sp_err *err)
{
	return make_levels(path, mode, false, err);
}

int sp_directory_make_lasting(const char *path, mode_t mode, struct sp_err *err)
{
	return make_levels(path, mode, true, err);
}
