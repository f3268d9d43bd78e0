/* Opening a store, and reading the records as they are on disk. */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "store/inner.h"

#define DIRECTORY_MODE 0750
#define SUFFIX         ".json"

static int open_directory(struct sp_store *store, const char *path, struct sp_err *err)
{
	struct stat info;

	store->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->directory < 0 || fstat(store->directory, &info) < 0)
		return sp_fail_errno(err, "%s", path);
	store->uid = info.st_uid;
	store->gid = info.st_gid;
	store->writer = geteuid() == 0 || geteuid() == store->uid;
	store->path = strdup(path);
	return store->path ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

/* The lock's file comes after all else, so that where it is the directory was made to last. */
static int make_directory(const char *path, struct sp_err *err)
{
	char lock[PATH_MAX];

	(void)snprintf(lock, sizeof(lock), "%s/" SP_LOCK_FILE, path);
	return access(lock, F_OK) == 0 ? 0 : sp_directory_make_lasting(path, DIRECTORY_MODE, err);
}

int sp_store_open(const char *directory, int flags, struct sp_store **ret, struct sp_err *err)
{
	struct sp_store *store = calloc(1, sizeof(*store));
	int bad = 0;

	if (!store)
		return sp_fail(err, -ENOMEM, "out of memory");
	store->directory = store->page_fd = store->lock_fd = store->writable_fd = store->slots_fd =
	    -1;
	store->boot = sp_page_boot();
	if (flags & SP_STORE_CREATE)
		bad = make_directory(directory, err);
	if (!bad)
		bad = open_directory(store, directory, err);
	if (!bad && store->writer)
		bad = sp_process_self(&store->self);
	if (!bad && flags & SP_STORE_CREATE) {
		bad = sp_store_lock(store, true, err);
		if (!bad)
			sp_store_unlock(store);
	}
	if (bad) {
		sp_store_close(store);
		return bad;
	}
	*ret = store;
	return 0;
}

void sp_store_close(struct sp_store *store)
{
	if (!store)
		return;
	sp_cached_free(store);
	sp_page_detach(store);
	sp_page_close(store);
	sp_fd_close(&store->slots_fd);
	sp_fd_close(&store->lock_fd);
	sp_fd_close(&store->directory);
	free(store->path);
	free(store);
}

const char *sp_store_path(const struct sp_store *store)
{
	return store->path;
}

bool sp_record_name(const char *sandbox, char name[SP_RECORD_NAME_SIZE])
{
	if (!sp_id_valid(sandbox))
		return false;
	(void)snprintf(name, SP_RECORD_NAME_SIZE, "%s" SUFFIX, sandbox);
	return true;
}

int sp_store_parse(const struct sp_store *store, const char *sandbox, char *text, size_t size,
    struct sp_record *ret, struct sp_err *err)
{
	struct sp_record record;
	int bad = sp_record_read(text, size, &record, err);

	if (bad)
		return sp_err_prefix(err, bad, "%s: %s" SUFFIX, store->path, sandbox);
	if (strcmp(record.identity.sandbox, sandbox) != 0) {
		bad = sp_fail(err, SP_E_BAD_RECORD, "%s/%s" SUFFIX ": is the record of %s",
		    store->path, sandbox, record.identity.sandbox);
		sp_record_done(&record);
		return bad;
	}
	*ret = record;
	return 0;
}

int sp_store_read(
    struct sp_store *store, const char *sandbox, struct sp_record *ret, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	size_t size = 0;
	int bad = sp_store_raw(store, sandbox, &text, &size, err);

	if (bad)
		return bad == SP_E_TOO_LARGE ? SP_E_BAD_RECORD : bad;
	return sp_store_parse(store, sandbox, text, size, ret, err);
}

int sp_store_raw(struct sp_store *store, const char *sandbox, char **ret_text, size_t *ret_size,
    struct sp_err *err)
{
	char name[SP_RECORD_NAME_SIZE];
	int bad;

	if (!sp_record_name(sandbox, name))
		return sp_fail(err, SP_E_BAD_RECORD, "`%.140s` is no id of a sandbox", sandbox);
	bad = sp_file_read(
	    store->directory, name, SP_FILE_NOFOLLOW, SP_RECORD_FILE_MAX, ret_text, ret_size, err);
	if (bad == -ENOENT)
		return sp_fail(err, SP_E_ABSENT, "%s: no record in %s", sandbox, store->path);
	return bad ? sp_err_prefix(err, bad, "%s", store->path) : 0;
}

struct names {
	char **list;
	size_t count, room;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static int names_add(struct names *names, const char *sandbox)
{
	if (names->count == names->room) {
		size_t room = names->room ? names->room * 2 : 64;
		char **larger = realloc(names->list, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		names->list = larger;
		names->room = room;
	}
	names->list[names->count] = strdup(sandbox);
	if (!names->list[names->count])
		return -ENOMEM;
	names->count++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void close_listing(DIR **listing)
{
	if (*listing)
		(void)closedir(*listing);
}

/* The sandboxes that have a record file, by name. What else lies in the directory is not ours. */
static int list_names(struct sp_store *store, struct names *names)
{
	sp_cleanup(close_listing) DIR *listing = NULL;
	int fd = openat(store->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	if (fd < 0)
		return -errno;
	listing = fdopendir(fd);
	if (!listing) {
		(void)close(fd);
		return -ENOMEM;
	}
	while ((void)(errno = 0), (entry = readdir(listing)) != NULL) {
		char sandbox[sizeof(entry->d_name)];
		size_t length = strlen(entry->d_name);
		if (length <= strlen(SUFFIX) ||
		    strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		memcpy(sandbox, entry->d_name, length - strlen(SUFFIX));
		sandbox[length - strlen(SUFFIX)] = '\0';
		int bad = sp_id_valid(sandbox) ? names_add(names, sandbox) : 0;
		if (bad)
			return bad;
	}
	if (errno)
		return -errno;
	if (names->count > 0)
		qsort(names->list, names->count, sizeof(*names->list), by_name);
	return 0;
}

static int give_record(
    struct sp_store *store, const char *sandbox, sp_store_each_fn *each, void *context)
{
	struct sp_record record;
	int bad = sp_store_read(store, sandbox, &record, NULL);

	if (bad == SP_E_ABSENT) /* went since it was listed */
		return 0;
	if (bad) {
		bad = each(context, sandbox, NULL);
		return bad < 0 ? bad : 0;
	}
	bad = each(context, sandbox, &record);
	sp_record_done(&record);
	return bad < 0 ? bad : 0;
}

int sp_store_walk(struct sp_store *store, sp_store_each_fn *each, void *context, struct sp_err *err)
{
	struct names names = {0};
	int bad = list_names(store, &names);

	if (bad)
		(void)sp_fail(err, bad, "%s: %s", store->path, strerror(-bad));
	for (size_t i = 0; !bad && i < names.count; i++) {
		bad = give_record(store, names.list[i], each, context);
		if (bad)
			(void)sp_fail(
			    err, bad, "%s: %s: %s", store->path, names.list[i], sp_code_text(bad));
	}
	names_done(&names);
	return bad;
}
