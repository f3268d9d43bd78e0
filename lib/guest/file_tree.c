/* list and remove: directories walked by descriptor, never following a symlink, as deep and as long
 * as bounds allow. */
#include "guest/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/text.h"
#include "base/util.h"
#include "guest/path.h"
#include "guest/value.h"
#include "guest/walk.h"
#include "record/json.h"

#define ENTRY_FRAME 128 /* an entry's line without its name */
#define EMPTY_TRIES 8   /* rounds over a directory that others fill while it is emptied */

static int fail(struct sp_err *err, int code, const char *what)
{
	if (code == -ELOOP)
		return sp_fail(
		    err, code, "%s: nested deeper than %d directories", what, SP_FILE_WALK_DEPTH);
	return sp_fail(err, code, "%s: %s", what, sp_code_text(code));
}

struct listed {
	char *name;
	struct stat info;
};

struct listing {
	struct sp_walk walk;
	bool recursive, truncated;
	size_t count, limit, room; /* room: bytes left in the line */
	struct listed *entries;
};

static void listing_free(struct listing *listing)
{
	sp_walk_done(&listing->walk);
	for (size_t i = 0; i < listing->count; i++)
		free(listing->entries[i].name);
	free(listing->entries);
	free(listing);
}

/* 0: added or passed over; SP_E_TOO_LARGE: the answer is full. */
static int list_entry(struct listing *listing, const struct dirent *entry)
{
	struct listed one;
	char path[PATH_MAX];
	int directory = dirfd(sp_walk_top(&listing->walk)->directory);
	size_t length, takes;
	int bad;

	if (fstatat(directory, entry->d_name, &one.info, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (listing->count == listing->limit)
		return SP_E_TOO_LARGE;
	if (sp_walk_name(&listing->walk, entry->d_name, path))
		return SP_E_TOO_LARGE;
	one.name = strdup(path);
	if (!one.name)
		return -ENOMEM;
	length = strlen(one.name);
	takes = ENTRY_FRAME + (sp_utf8_valid(one.name, length) ? sp_text_escaped(one.name, length)
							       : sp_base64_room(length, false));
	if (takes > listing->room) {
		free(one.name);
		return SP_E_TOO_LARGE;
	}
	listing->room -= takes;
	listing->entries[listing->count++] = one;
	if (!listing->recursive || !S_ISDIR(one.info.st_mode))
		return 0;
	bad = sp_walk_enter(&listing->walk, directory, entry->d_name);
	if (bad == -ENOMEM)
		return bad;
	/* What may not be looked into, or lies too deep, makes the list incomplete, not void. */
	listing->truncated |= bad != 0 && bad != -ENOENT;
	return 0;
}

static int list_all(struct listing *listing)
{
	while (listing->walk.depth > 0) {
		int bad = 0;
		struct dirent *entry = sp_walk_next(sp_walk_top(&listing->walk)->directory, &bad);

		if (entry)
			bad = list_entry(listing, entry);
		else if (!bad)
			sp_walk_pop(&listing->walk);
		if (bad == SP_E_TOO_LARGE) {
			listing->truncated = true;
			return 0;
		}
		if (bad)
			return bad;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

static json_t *list_result(struct listing *listing)
{
	sp_auto_json json_t *entries = json_array();

	qsort(listing->entries, listing->count, sizeof(*listing->entries), by_name);
	for (size_t i = 0; i < listing->count; i++) {
		const struct listed *one = &listing->entries[i];
		sp_auto_json json_t *object = json_object();
		if (!object ||
		    sp_value_put(object, "name", one->name, strlen(one->name), SIZE_MAX) ||
		    sp_value_put_stat(object, &one->info) || json_array_append(entries, object))
			return NULL;
	}
	return json_pack("{s:O, s:b}", "entries", entries, "truncated", (int)listing->truncated);
}

static int take_list(
    const json_t *args, char path[PATH_MAX], struct listing *listing, struct sp_err *err)
{
	const json_t *text, *data, *recursive, *limit;
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	    {"recursive", SP_JSON_BOOL, true, &recursive},
	    {"limit", SP_JSON_INTEGER, true, &limit},
	};
	int64_t most = SP_FILE_LIST_MAX;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", path, err)) ||
	    (bad = sp_value_number(limit, "limit", 0, SP_INT_MAX, &most, err)))
		return bad;
	listing->recursive = json_is_true(recursive);
	listing->limit = most > SP_FILE_LIST_MAX ? SP_FILE_LIST_MAX : (size_t)most;
	listing->room = SP_LINE_MAX - SP_ANSWER_FRAME;
	listing->entries = calloc(listing->limit + 1, sizeof(*listing->entries));
	return listing->entries ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

static int list_path(
    int root, const json_t *args, struct listing *listing, json_t **ret, struct sp_err *err)
{
	char path[PATH_MAX];
	int fd, bad = take_list(args, path, listing, err);

	if (bad)
		return bad;
	bad = sp_root_resolve(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, &fd);
	if (bad)
		return sp_fail(err, bad, "list: %s", sp_code_text(bad));
	bad = sp_walk_push(&listing->walk, fd, "");
	if (!bad)
		bad = list_all(listing);
	if (bad)
		return fail(err, bad, "list");
	*ret = list_result(listing);
	return *ret ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

int sp_file_op_list(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	struct listing *listing = calloc(1, sizeof(*listing));
	json_t *result = NULL;
	int bad;

	if (!listing)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = list_path(root, args, listing, &result, err);
	listing_free(listing);
	if (!bad)
		*ret = result;
	return bad;
}

struct sp_removal {
	struct sp_place place;
	unsigned tries;
	struct sp_walk walk;
};

void sp_removal_free(struct sp_removal *removal)
{
	if (!removal)
		return;
	sp_walk_done(&removal->walk);
	sp_place_done(&removal->place);
	free(removal);
}

/* A file, a symlink or an empty directory. */
static int remove_one(int directory, const char *name)
{
	if (unlinkat(directory, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 0;
	return errno == ENOTDIR ? -EPERM : -errno;
}

int sp_removal_new(int root, const json_t *args, struct sp_removal **ret, struct sp_err *err)
{
	const json_t *text, *data, *recursive;
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	    {"recursive", SP_JSON_BOOL, true, &recursive},
	};
	sp_auto_place struct sp_place place = {.directory = -1};
	struct sp_removal *removal;
	char path[PATH_MAX];
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", path, err)))
		return bad;
	bad = sp_place_find(root, path, &place);
	if (!bad)
		bad = remove_one(place.directory, place.name);
	if (!bad) {
		*ret = NULL;
		return 0;
	}
	if (!json_is_true(recursive) || (bad != -ENOTEMPTY && bad != -EEXIST))
		return sp_fail(err, bad, "remove: %s", sp_code_text(bad));
	removal = calloc(1, sizeof(*removal));
	bad = removal ? sp_walk_enter(&removal->walk, place.directory, place.name) : -ENOMEM;
	if (bad) {
		free(removal);
		return fail(err, bad, "remove");
	}
	removal->place = place;
	place.directory = -1;
	*ret = removal;
	return 0;
}

/* The directory at the top has been read to its end. */
static int remove_top(struct sp_removal *removal)
{
	struct sp_walk *walk = &removal->walk;
	struct sp_walk_level *top = sp_walk_top(walk);
	int above = walk->depth > 1 ? dirfd(walk->levels[walk->depth - 2].directory)
				    : removal->place.directory;

	if (unlinkat(above, top->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
		if (errno != ENOTEMPTY || ++removal->tries > EMPTY_TRIES)
			return -errno;
		rewinddir(top->directory);
		return 0;
	}
	removal->tries = 0;
	sp_walk_pop(walk);
	return 0;
}

static int remove_entry(struct sp_removal *removal, const struct dirent *entry)
{
	int directory = dirfd(sp_walk_top(&removal->walk)->directory);
	int bad = remove_one(directory, entry->d_name);

	if (bad == -ENOTEMPTY || bad == -EEXIST)
		bad = sp_walk_enter(&removal->walk, directory, entry->d_name);
	return bad == -ENOENT ? 0 : bad;
}

int sp_removal_step(struct sp_removal *removal, unsigned entries, struct sp_err *err)
{
	for (unsigned i = 0; i < entries && removal->walk.depth > 0; i++) {
		int bad = 0;
		struct dirent *entry = sp_walk_next(sp_walk_top(&removal->walk)->directory, &bad);

		if (entry)
			bad = remove_entry(removal, entry);
		else if (!bad)
			bad = remove_top(removal);
		if (bad)
			return fail(err, bad, "remove");
	}
	return removal->walk.depth == 0;
}
