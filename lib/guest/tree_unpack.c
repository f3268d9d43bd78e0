/* A tar stream into a directory. Every entry is made beside its name and renamed there; what a
 * directory is to have at last, it gets when nothing more goes into it. */
#include <errno.h>
#include <fcntl.h>
#include <sodium/randombytes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/io.h"
#include "base/libarchive.h"
#include "base/util.h"
#include "guest/path.h"
#include "guest/tree.h"

#define READ_SIZE (64 * 1024)

/* A directory of the archive, until its end. */
struct later {
	SLIST_ENTRY(later) entry;
	mode_t mode;
	struct timespec times[2];
	char name[];
};

struct unpack {
	const struct sp_libarchive *la;
	struct archive *reader;
	int directory, in;
	const struct sp_tree_limits *limits;
	struct sp_tree_counts counts;
	SLIST_HEAD(, later) later; /* the last first, so that the inner come before the outer */
	char parent_name[PATH_MAX];
	int parent; /* of the last entry: most have the same */
	char chunk[READ_SIZE];
};

/* An entry, taken apart. */
struct item {
	struct archive_entry *entry;
	char name[PATH_MAX]; /* "." or relative */
	const char *last;    /* component of it */
	int parent;          /* borrowed */
	char aside[32];
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec times[2];
};

static la_ssize_t read_some(struct archive *reader, void *context, const void **ret_chunk)
{
	struct unpack *unpack = context;
	ssize_t n = sp_read_some(unpack->in, unpack->chunk, sizeof(unpack->chunk));

	(void)reader;
	*ret_chunk = unpack->chunk;
	return n < 0 ? -1 : n;
}

/* Makes the directory that is missing on the way to an entry, each with the usual mode. */
static int make_parents(struct unpack *unpack, char *path, int *ret_fd)
{
	int bad = 0;

	for (char *end = path; !bad && *end;) {
		sp_auto_fd int above = -1;
		char *slash = NULL, kept;
		end += strcspn(end, "/");
		kept = *end;
		*end = '\0';
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
		bad = sp_beneath_resolve(
		    unpack->directory, slash ? path : ".", O_PATH | O_DIRECTORY, &above);
		if (slash)
			*slash = '/';
		if (!bad && mkdirat(above, slash ? slash + 1 : path, 0777) < 0 && errno != EEXIST)
			bad = -errno;
		*end = kept;
		end += kept == '/';
	}
	return bad ? bad
		   : sp_beneath_resolve(unpack->directory, path, O_PATH | O_DIRECTORY, ret_fd);
}

/* Cuts a name into its directory, which stays "." when it has none, and its last component. */
static const char *split(const char *name, char directory[PATH_MAX])
{
	const char *slash = strrchr(name, '/');

	if (!slash)
		return name;
	memcpy(directory, name, (size_t)(slash - name));
	directory[slash - name] = '\0';
	return slash + 1;
}

/* The directory that `name` lies in, and its last component. */
static int find_parent(struct unpack *unpack, const char *name, int *ret_fd, const char **ret_last)
{
	char path[PATH_MAX] = ".";
	int fd, bad;

	*ret_last = split(name, path);
	if (unpack->parent < 0 || strcmp(path, unpack->parent_name) != 0) {
		bad = sp_beneath_resolve(unpack->directory, path, O_PATH | O_DIRECTORY, &fd);
		if (bad == -ENOENT)
			bad = make_parents(unpack, path, &fd);
		if (bad)
			return bad;
		sp_fd_close(&unpack->parent);
		unpack->parent = fd;
		memcpy(unpack->parent_name, path, strlen(path) + 1);
	}
	*ret_fd = unpack->parent;
	return 0;
}

static int set_attributes(const struct unpack *unpack, const struct item *item, int fd)
{
	const char *name;
	const void *value;
	size_t size;

	(void)unpack->la->archive_entry_xattr_reset(item->entry);
	while (
	    unpack->la->archive_entry_xattr_next(item->entry, &name, &value, &size) == ARCHIVE_OK)
		if (name && sp_tree_attribute(name) && fsetxattr(fd, name, value, size, 0) < 0)
			return -errno;
	return 0;
}

/* A stranger's file in our name is no failure where we may not give it away. */
static int own(int fd, const struct item *item)
{
	return fchown(fd, item->uid, item->gid) < 0 && errno != EPERM ? -errno : 0;
}

/* In this order: a new owner takes set-user-id and capabilities away. */
static int dress(const struct unpack *unpack, const struct item *item, int fd)
{
	int bad = own(fd, item);

	if (!bad && fchmod(fd, item->mode) < 0)
		bad = -errno;
	if (!bad)
		bad = set_attributes(unpack, item, fd);
	if (!bad && futimens(fd, item->times) < 0)
		bad = -errno;
	return bad;
}

static int too_large(const struct unpack *unpack, struct sp_err *err)
{
	return sp_fail(err, -EFBIG, "the files are larger than %lld bytes in all",
	    (long long)unpack->limits->bytes);
}

static int write_at(int fd, const char *bytes, size_t size, off_t offset)
{
	while (size > 0) {
		ssize_t n = pwrite(fd, bytes, size, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		size -= (size_t)n;
		offset += n;
	}
	return 0;
}

/* A warning is of a file that is not what its header says. */
static int broken(const struct unpack *unpack, struct sp_err *err)
{
	const char *words = unpack->la->archive_error_string(unpack->reader);

	return sp_fail(err, -EINVAL, "%s", words ? words : "no tar archive");
}

static int fill(struct unpack *unpack, int fd, int64_t size, struct sp_err *err)
{
	int64_t left = unpack->limits->bytes - unpack->counts.bytes;
	const void *bytes;
	la_int64_t offset;
	size_t length;
	int got, bad = 0;

	if (size > left)
		return too_large(unpack, err);
	while ((got = unpack->la->archive_read_data_block(
		    unpack->reader, &bytes, &length, &offset)) == ARCHIVE_OK) {
		if (offset < 0 || offset > left || (int64_t)length > left - offset)
			return too_large(unpack, err);
		bad = write_at(fd, bytes, length, offset);
		if (bad)
			return sp_fail(err, bad, "%s", sp_code_text(bad));
	}
	if (got != ARCHIVE_EOF)
		return broken(unpack, err);
	if (ftruncate(fd, size) < 0)
		return sp_fail_errno(err, "truncate");
	unpack->counts.bytes += size;
	return 0;
}

static int make_file(struct unpack *unpack, const struct item *item, struct sp_err *err)
{
	sp_auto_fd int fd = openat(
	    item->parent, item->aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int bad;

	if (fd < 0)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	bad = fill(unpack, fd, unpack->la->archive_entry_size(item->entry), err);
	if (bad)
		return bad;
	bad = dress(unpack, item, fd);
	return bad ? sp_fail(err, bad, "%s", sp_code_text(bad)) : 0;
}

static int make_fifo(struct unpack *unpack, const struct item *item, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	int bad = mkfifoat(item->parent, item->aside, 0600) < 0 ? -errno : 0;

	if (!bad) {
		/* Non-blocking and for both: no other end is waited for. */
		fd =
		    openat(item->parent, item->aside, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		bad = fd < 0 ? -errno : dress(unpack, item, fd);
	}
	return bad ? sp_fail(err, bad, "%s", sp_code_text(bad)) : 0;
}

static int make_symlink(struct unpack *unpack, const struct item *item, struct sp_err *err)
{
	const char *target = unpack->la->archive_entry_symlink(item->entry);

	if (!target || !sp_tree_target(item->name, target))
		return sp_fail(
		    err, -EXDEV, "the symlink leads out, or may: `%.128s`", target ? target : "");
	if (symlinkat(target, item->parent, item->aside) < 0)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	if (fchownat(item->parent, item->aside, item->uid, item->gid, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno != EPERM)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	(void)utimensat(item->parent, item->aside, item->times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* A symlink under another name must not lead out from there. */
static int may_link(int directory, const char *last, const struct item *item)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(directory, last, target, sizeof(target) - 1);

	if (n < 0)
		return errno == EINVAL ? 0 : -errno;
	target[n] = '\0';
	return sp_tree_target(item->name, target) ? 0 : -EXDEV;
}

static int make_link(struct unpack *unpack, const struct item *item, struct sp_err *err)
{
	const char *target = unpack->la->archive_entry_hardlink(item->entry), *last;
	char name[PATH_MAX], path[PATH_MAX] = ".";
	sp_auto_fd int directory = -1;
	int bad = sp_tree_name(target, name);

	if (bad)
		return sp_fail(err, -EXDEV, "the link leads out: `%.128s`", target);
	last = split(name, path);
	bad = sp_beneath_resolve(unpack->directory, path, O_PATH | O_DIRECTORY, &directory);
	if (!bad)
		bad = may_link(directory, last, item);
	if (bad == -EXDEV)
		return sp_fail(
		    err, bad, "the link is to a symlink that leads out: `%.128s`", target);
	if (!bad && linkat(directory, last, item->parent, item->aside, 0) < 0)
		bad = -errno;
	return bad ? sp_fail(err, bad, "link to `%.128s`: %s", target, sp_code_text(bad)) : 0;
}

static int remember(struct unpack *unpack, const struct item *item)
{
	size_t size = strlen(item->name) + 1;
	struct later *later = malloc(sizeof(*later) + size);

	if (!later)
		return -ENOMEM;
	later->mode = item->mode;
	memcpy(later->times, item->times, sizeof(later->times));
	memcpy(later->name, item->name, size);
	SLIST_INSERT_HEAD(&unpack->later, later, entry);
	return 0;
}

/* Its mode could forbid what is still to go into it, and its time would change. */
static int make_directory(struct unpack *unpack, const struct item *item, struct sp_err *err)
{
	bool itself = strcmp(item->name, ".") == 0;
	sp_auto_fd int fd = -1;
	int bad = 0;

	if (!itself && mkdirat(item->parent, item->last, 0700) < 0 && errno != EEXIST)
		bad = -errno;
	if (!bad)
		bad = sp_beneath_resolve(
		    item->parent, itself ? "." : item->last, O_RDONLY | O_DIRECTORY, &fd);
	if (!bad)
		bad = own(fd, item);
	if (!bad)
		bad = set_attributes(unpack, item, fd);
	if (!bad)
		bad = remember(unpack, item);
	return bad ? sp_fail(err, bad, "%s", sp_code_text(bad)) : 0;
}

static int finish_directories(struct unpack *unpack, struct sp_err *err)
{
	struct later *later;
	int bad = 0;

	while ((later = SLIST_FIRST(&unpack->later))) {
		sp_auto_fd int fd = -1;
		int now =
		    sp_beneath_resolve(unpack->directory, later->name, O_RDONLY | O_DIRECTORY, &fd);
		if (!now && (fchmod(fd, later->mode) < 0 || futimens(fd, later->times) < 0))
			now = -errno;
		if (now && !bad)
			bad = sp_fail(err, now, "%.256s: %s", later->name, sp_code_text(now));
		SLIST_REMOVE_HEAD(&unpack->later, entry);
		free(later);
	}
	return bad;
}

typedef int make_fn(struct unpack *unpack, const struct item *item, struct sp_err *err);

/* All but directories come into being under another name. */
static int make_aside(struct unpack *unpack, struct item *item, make_fn *make, struct sp_err *err)
{
	int bad;

	if (strcmp(item->name, ".") == 0)
		return sp_fail(err, -EINVAL, "the directory itself is no file");
	(void)snprintf(item->aside, sizeof(item->aside), ".sp-%08x%08x", randombytes_random(),
	    randombytes_random());
	bad = make(unpack, item, err);
	if (!bad && renameat(item->parent, item->aside, item->parent, item->last) < 0)
		bad = sp_fail(err, -errno, "%s", sp_code_text(-errno));
	/* It is still there after a failure, and where both were links to one file already. */
	(void)unlinkat(item->parent, item->aside, 0);
	return bad;
}

static void take_values(const struct sp_libarchive *la, struct item *item)
{
	struct timespec time = {.tv_sec = la->archive_entry_mtime(item->entry),
	    .tv_nsec = la->archive_entry_mtime_nsec(item->entry)};

	item->mode = la->archive_entry_perm(item->entry) & 07777;
	item->uid = (uid_t)la->archive_entry_uid(item->entry);
	item->gid = (gid_t)la->archive_entry_gid(item->entry);
	item->times[0] = item->times[1] = time;
}

static int make_item(struct unpack *unpack, struct item *item, struct sp_err *err)
{
	if (unpack->la->archive_entry_hardlink(item->entry))
		return make_aside(unpack, item, make_link, err);
	switch (unpack->la->archive_entry_filetype(item->entry)) {
	case AE_IFREG:
		return make_aside(unpack, item, make_file, err);
	case AE_IFDIR:
		return make_directory(unpack, item, err);
	case AE_IFLNK:
		return make_aside(unpack, item, make_symlink, err);
	case AE_IFIFO:
		return make_aside(unpack, item, make_fifo, err);
	default:
		return sp_fail(err, -EPERM, "a device");
	}
}

static int take_entry(struct unpack *unpack, struct archive_entry *entry, struct sp_err *err)
{
	const char *name = unpack->la->archive_entry_pathname(entry);
	struct item item = {.entry = entry, .parent = -1};
	int bad = name ? sp_tree_name(name, item.name) : -EINVAL;

	if (bad)
		return sp_fail(
		    err, bad, "`%.128s` is absolute, leads out, or is no name", name ? name : "");
	if (unpack->counts.entries >= unpack->limits->entries)
		return sp_fail(err, -EFBIG, "%.256s: more than %lld entries", item.name,
		    (long long)unpack->limits->entries);
	take_values(unpack->la, &item);
	bad = find_parent(unpack, item.name, &item.parent, &item.last);
	bad = bad ? sp_fail(err, bad, "%s", sp_code_text(bad)) : make_item(unpack, &item, err);
	if (bad)
		return sp_err_prefix(err, bad, "%.256s", item.name);
	unpack->counts.entries++;
	return 0;
}

/* In a guest without locales, names in UTF-8 come as they are, with a warning that libarchive
 * cannot put them into ASCII. Any other warning is of something that it has made up. */
static bool acceptable(const struct unpack *unpack, int got)
{
	const char *words = unpack->la->archive_error_string(unpack->reader);

	return got == ARCHIVE_OK ||
	       (got == ARCHIVE_WARN && words && strstr(words, "can't be converted from UTF-8"));
}

static int unpack_all(struct unpack *unpack, struct sp_err *err)
{
	struct archive_entry *entry;
	int got, bad = 0;

	while (
	    (got = unpack->la->archive_read_next_header(unpack->reader, &entry)) != ARCHIVE_EOF) {
		if (!acceptable(unpack, got))
			return broken(unpack, err);
		bad = take_entry(unpack, entry, err);
		if (bad)
			return bad;
	}
	/* What pads the archive is taken too: whoever sends it has not failed. */
	while (read_some(NULL, unpack, &(const void *){NULL}) > 0)
		;
	return 0;
}

static int unpack_tar(struct unpack *unpack, struct sp_err *err)
{
	int bad;

	unpack->reader = unpack->la->archive_read_new();
	if (!unpack->reader)
		return sp_fail(err, -ENOMEM, "out of memory");
	/* Nothing at all is an archive of nothing: tar reads it as that. */
	if (unpack->la->archive_read_support_format_tar(unpack->reader) != ARCHIVE_OK ||
	    unpack->la->archive_read_support_format_empty(unpack->reader) != ARCHIVE_OK ||
	    unpack->la->archive_read_open(unpack->reader, unpack, NULL, read_some, NULL) !=
		ARCHIVE_OK)
		bad = broken(unpack, err);
	else
		bad = unpack_all(unpack, err);
	(void)unpack->la->archive_read_free(unpack->reader);
	return bad;
}

int sp_tree_unpack(int directory, int in, const struct sp_tree_limits *limits,
    struct sp_tree_counts *ret, struct sp_err *err)
{
	struct unpack *unpack = calloc(1, sizeof(*unpack));
	int bad, later;

	if (!unpack)
		return sp_fail(err, -ENOMEM, "out of memory");
	unpack->directory = directory;
	unpack->in = in;
	unpack->limits = limits;
	unpack->parent = -1;
	SLIST_INIT(&unpack->later);
	bad = sp_libarchive_load(&unpack->la, err);
	if (!bad)
		bad = unpack_tar(unpack, err);
	later = finish_directories(unpack, bad ? NULL : err);
	*ret = unpack->counts;
	sp_fd_close(&unpack->parent);
	free(unpack);
	return bad ? bad : later;
}
