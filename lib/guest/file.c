/* stat, mkdir, rename, chmod: operations of one system call, once the path is resolved. */
#include "guest/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/util.h"
#include "guest/path.h"
#include "guest/value.h"
#include "record/json.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static int fail(struct sp_err *err, int code, const char *what)
{
	return sp_fail(err, code, "%s: %s", what, sp_code_text(code));
}

static int give_nothing(json_t **ret, struct sp_err *err)
{
	json_t *object = json_object();

	if (!object)
		return sp_fail(err, -ENOMEM, "out of memory");
	*ret = object;
	return 0;
}

int sp_file_op_stat(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	const json_t *text, *data;
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	};
	sp_auto_json json_t *object = json_object();
	sp_auto_fd int fd = -1;
	char path[PATH_MAX];
	struct stat info;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", path, err)))
		return bad;
	bad = sp_root_resolve(root, path, O_PATH, 0, &fd);
	if (!bad && fstat(fd, &info) < 0)
		bad = -errno;
	if (bad)
		return fail(err, bad, "stat");
	if (!object || sp_value_put_stat(object, &info))
		return sp_fail(err, -ENOMEM, "out of memory");
	*ret = sp_steal(&object);
	return 0;
}

/* Makes each directory of the path that is missing. Every prefix is resolved from the root again,
 * so that symlinks in it mean what they mean to the kernel. */
static int make_parents(int root, char path[PATH_MAX])
{
	for (char *end = path; *end;) {
		struct sp_place place = {.directory = -1};
		sp_auto_fd int there = -1;
		char kept;
		int bad;

		while (*end == '/')
			end++;
		while (*end && *end != '/')
			end++;
		kept = *end;
		*end = '\0';
		bad = sp_root_resolve(root, path, O_PATH | O_DIRECTORY, 0, &there);
		if (bad == -ENOENT) {
			bad = sp_place_find(root, path, &place);
			if (!bad && mkdirat(place.directory, place.name, 0777) < 0)
				bad = errno == EEXIST ? 0 : -errno;
			sp_place_done(&place);
		}
		*end = kept;
		if (bad)
			return bad;
	}
	/* A dangling symlink at the end lets mkdirat say EEXIST without a directory being there. */
	sp_auto_fd int made = -1;
	return sp_root_resolve(root, path, O_PATH | O_DIRECTORY, 0, &made);
}

static int make_one(int root, const char *path)
{
	sp_auto_place struct sp_place place = {.directory = -1};
	int bad = sp_place_find(root, path, &place);

	if (bad == -EBUSY || bad == -EINVAL)
		return -EEXIST;
	if (!bad && mkdirat(place.directory, place.name, 0777) < 0)
		bad = -errno;
	return bad;
}

int sp_file_op_mkdir(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	const json_t *text, *data, *parents;
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	    {"parents", SP_JSON_BOOL, true, &parents},
	};
	char path[PATH_MAX];
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", path, err)))
		return bad;
	bad = json_is_true(parents) ? make_parents(root, path) : make_one(root, path);
	return bad ? fail(err, bad, "mkdir") : give_nothing(ret, err);
}

int sp_file_op_rename(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	const json_t *from, *from_data, *to, *to_data;
	const struct sp_json_field fields[] = {
	    {"from", SP_JSON_STRING, true, &from},
	    {"from_data", SP_JSON_STRING, true, &from_data},
	    {"to", SP_JSON_STRING, true, &to},
	    {"to_data", SP_JSON_STRING, true, &to_data},
	};
	sp_auto_place struct sp_place old = {.directory = -1};
	sp_auto_place struct sp_place new = {.directory = -1};
	char path[PATH_MAX];
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(from, from_data, "from", path, err)))
		return bad;
	bad = sp_place_find(root, path, &old);
	if (bad)
		return fail(err, bad, "from");
	bad = sp_value_path(to, to_data, "to", path, err);
	if (bad)
		return bad;
	bad = sp_place_find(root, path, &new);
	if (bad)
		return fail(err, bad, "to");
	if (renameat(old.directory, old.name, new.directory, new.name) < 0)
		return fail(err, -errno, "rename");
	return give_nothing(ret, err);
}

/* fchmod refuses O_PATH descriptors. fchmodat2 is of Linux 6.6; before it, procfs leads there. */
static int change_mode(int fd, mode_t mode)
{
	char link[64];

	if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode) < 0 ? -errno : 0;
}

int sp_file_op_chmod(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	const json_t *text, *data, *value = json_object_get(args, "mode");
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	    {"mode", json_is_string(value) ? SP_JSON_STRING : SP_JSON_INTEGER, false, &value},
	};
	sp_auto_fd int fd = -1;
	char path[PATH_MAX];
	mode_t mode = 0;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", path, err)) ||
	    (bad = sp_value_mode(value, &mode, err)))
		return bad;
	bad = sp_root_resolve(root, path, O_PATH, 0, &fd);
	if (!bad)
		bad = change_mode(fd, mode);
	return bad ? fail(err, bad, "chmod") : give_nothing(ret, err);
}
