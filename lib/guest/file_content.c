/* read and write: the contents of regular files, and of nothing else: opening a FIFO or a device
 * could block the agent or set something off. */
#include "guest/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sodium/randombytes.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/path.h"
#include "guest/value.h"
#include "record/json.h"

static int check_regular(const struct stat *info, struct sp_err *err)
{
	if (S_ISREG(info->st_mode))
		return 0;
	return sp_fail(err, S_ISDIR(info->st_mode) ? -EISDIR : -EINVAL, "not a regular file");
}

static int fail(struct sp_err *err, int code, const char *what)
{
	return sp_fail(err, code, "%s: %s", what, sp_code_text(code));
}

/* One byte more than asked for tells whether the end was reached: st_size is 0 in procfs. */
static ssize_t read_range(int fd, char *bytes, size_t limit, off_t offset)
{
	size_t got = 0;

	while (got <= limit) {
		ssize_t n = pread(fd, bytes + got, limit + 1 - got, offset + (off_t)got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int range_result(size_t got, bool more, const char *bytes, off_t file_size, json_t **ret)
{
	sp_auto_json json_t *object = json_object();

	if (!object || json_object_set_new(object, "size", json_integer(file_size)) ||
	    json_object_set_new(object, "eof", json_boolean(!more)) ||
	    sp_value_put(object, "text", bytes, got, SP_LINE_MAX - SP_ANSWER_FRAME))
		return -ENOMEM;
	*ret = sp_steal(&object);
	return 0;
}

/* No more memory than the file is large, where it says so. */
static int read_result(int fd, off_t offset, size_t limit, off_t file_size, json_t **ret)
{
	char *bytes;
	ssize_t got;
	bool more;
	int bad;

	if (file_size > 0 && offset < file_size && (size_t)(file_size - offset) < limit)
		limit = (size_t)(file_size - offset);
	bytes = malloc(limit + 1);
	if (!bytes)
		return -ENOMEM;
	got = read_range(fd, bytes, limit, offset);
	more = got > (ssize_t)limit;
	if (offset + got > file_size)
		file_size = offset + got;
	bad = got < 0 ? (int)got : range_result((size_t)got - more, more, bytes, file_size, ret);
	free(bytes);
	return bad;
}

int sp_file_op_read(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	const json_t *text, *data, *at, *most;
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	    {"offset", SP_JSON_INTEGER, true, &at},
	    {"limit", SP_JSON_INTEGER, true, &most},
	};
	int64_t offset = 0, limit = SP_READ_MAX;
	sp_auto_fd int fd = -1;
	char path[PATH_MAX];
	struct stat info;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", path, err)) ||
	    (bad = sp_value_number(at, "offset", 0, SP_INT_MAX, &offset, err)) ||
	    (bad = sp_value_number(most, "limit", 0, SP_INT_MAX, &limit, err)))
		return bad;
	if (limit > SP_READ_MAX)
		limit = SP_READ_MAX;
	bad = sp_root_resolve(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd);
	if (bad || fstat(fd, &info) < 0)
		return fail(err, bad ? bad : -errno, "open");
	bad = check_regular(&info, err);
	if (bad)
		return bad;
	bad = read_result(fd, offset, (size_t)limit, info.st_size, ret);
	return bad ? fail(err, bad, "read") : 0;
}

struct write_args {
	char path[PATH_MAX];
	char *bytes; /* owned */
	size_t size;
	bool append, create, exclusive, has_mode;
	mode_t mode;
};

static void write_args_done(struct write_args *args)
{
	free(args->bytes);
}

static int take_write(const json_t *args, struct write_args *ret, struct sp_err *err)
{
	const json_t *path, *path_data, *text, *data, *append, *create, *exclusive;
	const json_t *mode = json_object_get(args, "mode");
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &path},
	    {"path_data", SP_JSON_STRING, true, &path_data},
	    {"text", SP_JSON_STRING, true, &text},
	    {"data", SP_JSON_STRING, true, &data},
	    {"mode", json_is_string(mode) ? SP_JSON_STRING : SP_JSON_INTEGER, true, &mode},
	    {"append", SP_JSON_BOOL, true, &append},
	    {"create", SP_JSON_BOOL, true, &create},
	    {"exclusive", SP_JSON_BOOL, true, &exclusive},
	};
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(path, path_data, "path", ret->path, err)) ||
	    (bad = sp_value_mode(mode, &ret->mode, err)))
		return bad;
	ret->has_mode = mode != NULL;
	ret->append = json_is_true(append);
	ret->create = !json_is_false(create);
	ret->exclusive = json_is_true(exclusive);
	if (ret->exclusive && !ret->create)
		return sp_fail(err, SP_E_BAD_RECORD, "exclusive: means create");
	return sp_value_bytes(text, data, "contents", &ret->bytes, &ret->size, err);
}

static int append(int root, const struct write_args *args, off_t *ret_size, struct sp_err *err)
{
	int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | (args->create ? O_CREAT : 0) |
		    (args->exclusive ? O_EXCL : 0);
	sp_auto_fd int fd = -1;
	struct stat info;
	int bad = sp_root_resolve(root, args->path, flags, 0666, &fd);

	if (bad || fstat(fd, &info) < 0)
		return fail(err, bad ? bad : -errno, "open");
	bad = check_regular(&info, err);
	if (bad)
		return bad;
	bad = sp_write_all(fd, args->bytes, args->size, 0);
	if (!bad && args->has_mode && fchmod(fd, args->mode) < 0)
		bad = -errno;
	if (bad || fstat(fd, &info) < 0)
		return fail(err, bad ? bad : -errno, "append");
	*ret_size = info.st_size;
	return 0;
}

/* May what is there be replaced? *ret_mode is that of the new file, *ret_old is for its owner. */
static int check_target(const struct sp_place *place, const struct write_args *args,
    struct stat *ret_old, mode_t *ret_mode, struct sp_err *err)
{
	mode_t mask = umask(022);
	int bad;

	(void)umask(mask);
	*ret_mode = args->has_mode ? args->mode : 0666 & ~mask;
	if (place->slash)
		return fail(err, -EISDIR, "write");
	if (fstatat(place->directory, place->name, ret_old, AT_SYMLINK_NOFOLLOW) < 0) {
		ret_old->st_nlink = 0;
		if (errno == ENOENT && args->create)
			return 0;
		return fail(err, -errno, "write");
	}
	if (args->exclusive)
		return fail(err, -EEXIST, "write");
	bad = check_regular(ret_old, err);
	if (bad)
		return bad;
	/* Replacing needs only the directory's permission; writing would need the file's. */
	if (faccessat(place->directory, place->name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
		return fail(err, -errno, "write");
	if (!args->has_mode)
		*ret_mode = ret_old->st_mode & 01777;
	return 0;
}

static int fill(int fd, const struct write_args *args, const struct stat *old, mode_t mode)
{
	int bad = sp_write_all(fd, args->bytes, args->size, 0);

	/* The owner is kept where we may; a stranger's file in our name is no failure. */
	if (!bad && old->st_nlink > 0 && fchown(fd, old->st_uid, old->st_gid) < 0 && errno != EPERM)
		bad = -errno;
	if (!bad && (fchmod(fd, mode) < 0 || fdatasync(fd) < 0))
		bad = -errno;
	return bad;
}

/* A reader sees the old file or the new one, whole, also after a crash. */
static int replace(int root, const struct write_args *args, struct sp_err *err)
{
	sp_auto_place struct sp_place place = {.directory = -1};
	sp_auto_fd int fd = -1;
	struct stat old = {0};
	char aside[32];
	mode_t mode;
	int bad = args->exclusive ? sp_place_find(root, args->path, &place)
				  : sp_place_follow(root, args->path, &place);

	if (bad)
		return fail(err, bad == -EBUSY || bad == -EINVAL ? -EISDIR : bad, "write");
	bad = check_target(&place, args, &old, &mode, err);
	if (bad)
		return bad;
	(void)snprintf(
	    aside, sizeof(aside), ".sp-%08x%08x", randombytes_random(), randombytes_random());
	fd = openat(
	    place.directory, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(err, -errno, "write");
	bad = fill(fd, args, &old, mode);
	if (!bad && renameat2(place.directory, aside, place.directory, place.name,
			args->exclusive ? RENAME_NOREPLACE : 0) < 0)
		bad = -errno;
	if (!bad)
		return 0;
	(void)unlinkat(place.directory, aside, 0);
	return fail(err, bad, "write");
}

int sp_file_op_write(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	sp_cleanup(write_args_done) struct write_args take = {.bytes = NULL};
	off_t size;
	json_t *object;
	int bad = take_write(args, &take, err);

	if (bad)
		return bad;
	size = (off_t)take.size;
	bad = take.append ? append(root, &take, &size, err) : replace(root, &take, err);
	if (bad)
		return bad;
	object = json_pack("{s:I}", "size", (json_int_t)size);
	if (!object)
		return sp_fail(err, -ENOMEM, "out of memory");
	*ret = object;
	return 0;
}
