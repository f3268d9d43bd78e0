/* A directory or a file to a tar stream. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/io.h"
#include "base/libarchive.h"
#include "base/util.h"
#include "guest/tree.h"
#include "guest/walk.h"

#define CHUNK (64 * 1024)
#define LINKS_MAX                                                                                  \
	65536          /* files of many names that are remembered; any more are packed as copies   \
			*/
#define HOLES_MAX 4096 /* pieces of a sparse file; what lies behind counts as data */
#define NAMES_MAX (64 * 1024) /* all names of a file's extended attributes: the kernel's bound */

/* The first name of a file that has more. */
struct first {
	dev_t device;
	ino_t inode;
	char *name;
};

struct pack {
	const struct sp_libarchive *la;
	struct archive *writer;
	struct archive_entry *entry;
	int out, out_failed;
	void *links; /* tsearch's tree of struct first */
	unsigned link_count;
	struct sp_tree_counts counts;
	struct sp_walk walk;
	char chunk[CHUNK], names[NAMES_MAX], value[NAMES_MAX];
};

static la_ssize_t write_some(struct archive *writer, void *context, const void *bytes, size_t size)
{
	struct pack *pack = context;
	int bad = sp_write_all(pack->out, bytes, size, -1);

	(void)writer;
	if (bad)
		pack->out_failed = bad;
	return bad ? -1 : (la_ssize_t)size;
}

static int failed(const struct pack *pack, struct sp_err *err)
{
	const char *words = pack->la->archive_error_string(pack->writer);

	return pack->out_failed
		   ? sp_fail(err, pack->out_failed, "%s", sp_code_text(pack->out_failed))
		   : sp_fail(err, -EIO, "%s", words ? words : "tar");
}

static int by_file(const void *a, const void *b)
{
	const struct first *one = a, *two = b;

	if (one->device != two->device)
		return one->device < two->device ? -1 : 1;
	if (one->inode != two->inode)
		return one->inode < two->inode ? -1 : 1;
	return 0;
}

static void free_first(void *node)
{
	struct first *first = node;

	free(first->name);
	free(first);
}

/* The name under which this file is in the archive already; NULL: it is not. */
static const char *first_name(struct pack *pack, const struct stat *info, const char *name)
{
	struct first *made, **found, key = {info->st_dev, info->st_ino, NULL};

	found = (struct first **)tfind(&key, &pack->links, by_file);
	if (found)
		return (*found)->name;
	if (pack->link_count == LINKS_MAX)
		return NULL;
	made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = key;
	made->name = strdup(name);
	if (!made->name || !tsearch(made, &pack->links, by_file))
		free_first(made);
	else
		pack->link_count++;
	return NULL;
}

static void set_values(struct pack *pack, const struct stat *info, const char *name)
{
	struct archive_entry *entry = pack->la->archive_entry_clear(pack->entry);

	pack->la->archive_entry_set_pathname(entry, name);
	pack->la->archive_entry_set_filetype(entry, info->st_mode & S_IFMT);
	pack->la->archive_entry_set_perm(entry, info->st_mode & 07777);
	pack->la->archive_entry_set_uid(entry, info->st_uid);
	pack->la->archive_entry_set_gid(entry, info->st_gid);
	pack->la->archive_entry_set_mtime(entry, info->st_mtim.tv_sec, info->st_mtim.tv_nsec);
	pack->la->archive_entry_set_size(entry, S_ISREG(info->st_mode) ? info->st_size : 0);
}

/* A file system without extended attributes has none. */
static int add_attributes(struct pack *pack, int fd)
{
	ssize_t size = flistxattr(fd, pack->names, sizeof(pack->names));

	if (size < 0)
		return errno == ENOTSUP || errno == EOPNOTSUPP ? 0 : -errno;
	for (char *name = pack->names; name < pack->names + size; name += strlen(name) + 1) {
		ssize_t length;
		if (!sp_tree_attribute(name))
			continue;
		length = fgetxattr(fd, name, pack->value, sizeof(pack->value));
		if (length < 0 && errno == ENODATA)
			continue;
		if (length < 0)
			return -errno;
		pack->la->archive_entry_xattr_add_entry(
		    pack->entry, name, pack->value, (size_t)length);
	}
	return 0;
}

static void add_holes(struct pack *pack, int fd, const struct stat *info)
{
	off_t at = 0;

	if (info->st_blocks >= (info->st_size + 511) / 512)
		return;
	for (int i = 0; i < HOLES_MAX && at < info->st_size; i++) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;
		if (data < 0 && errno == ENXIO)
			data = info->st_size;
		if (data < 0)
			return;
		hole = i + 1 < HOLES_MAX ? lseek(fd, data, SEEK_HOLE) : info->st_size;
		if (hole < 0 || hole > info->st_size)
			hole = info->st_size;
		pack->la->archive_entry_sparse_add_entry(pack->entry, data, hole - data);
		at = hole;
	}
}

static int write_header(struct pack *pack, struct sp_err *err)
{
	if (pack->la->archive_write_header(pack->writer, pack->entry) != ARCHIVE_OK)
		return failed(pack, err);
	pack->counts.entries++;
	return 0;
}

/* As many bytes as the header said, whatever becomes of the file meanwhile. */
static int write_content(struct pack *pack, int fd, int64_t size, struct sp_err *err)
{
	for (int64_t at = 0; at < size;) {
		size_t wants = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
		ssize_t n = pread(fd, pack->chunk, wants, at);
		if (n < 0 && errno != EINTR)
			return sp_fail(err, -errno, "%s", sp_code_text(-errno));
		if (n == 0) {
			memset(pack->chunk, 0, wants);
			n = (ssize_t)wants;
		}
		if (n > 0 &&
		    pack->la->archive_write_data(pack->writer, pack->chunk, (size_t)n) != n)
			return failed(pack, err);
		at += n > 0 ? n : 0;
	}
	pack->counts.bytes += size;
	return 0;
}

static int pack_file(struct pack *pack, int fd, const char *name, struct sp_err *err)
{
	struct stat info;
	const char *first = NULL;
	int bad;

	if (fstat(fd, &info) < 0)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	set_values(pack, &info, name);
	if (info.st_nlink > 1)
		first = first_name(pack, &info, name);
	if (first) {
		pack->la->archive_entry_set_hardlink(pack->entry, first);
		pack->la->archive_entry_set_size(pack->entry, 0);
		return write_header(pack, err);
	}
	bad = add_attributes(pack, fd);
	if (bad)
		return sp_fail(err, bad, "%s", sp_code_text(bad));
	add_holes(pack, fd, &info);
	bad = write_header(pack, err);
	return bad ? bad : write_content(pack, fd, info.st_size, err);
}

static int pack_symlink(struct pack *pack, int parent, const char *last, const char *name,
    const struct stat *info, struct sp_err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(parent, last, target, sizeof(target) - 1);

	if (n < 0)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	target[n] = '\0';
	set_values(pack, info, name);
	pack->la->archive_entry_set_symlink(pack->entry, target);
	return write_header(pack, err);
}

static bool of_the_kernel(int fd)
{
	struct statfs info;

	return fstatfs(fd, &info) == 0 &&
	       (info.f_type == PROC_SUPER_MAGIC || info.f_type == SYSFS_MAGIC);
}

/* The directory's own entry; then it is the walk's top. */
static int enter(
    struct pack *pack, int parent, const char *last, const char *name, struct sp_err *err)
{
	sp_auto_fd int fd =
	    openat(parent, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat info;
	int bad = 0;

	if (fd < 0 || fstat(fd, &info) < 0)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	set_values(pack, &info, name);
	bad = add_attributes(pack, fd);
	if (bad)
		return sp_fail(err, bad, "%s", sp_code_text(bad));
	bad = write_header(pack, err);
	if (bad || of_the_kernel(fd))
		return bad;
	bad = sp_walk_push(&pack->walk, sp_steal_fd(&fd), last);
	return bad ? sp_fail(err, bad, "%s", sp_code_text(bad)) : 0;
}

static int pack_entry(
    struct pack *pack, int parent, const char *last, const char *name, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	struct stat info;

	if (fstatat(parent, last, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	switch (info.st_mode & S_IFMT) {
	case S_IFREG:
		fd =
		    openat(parent, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		return fd < 0 ? sp_fail(err, -errno, "%s", sp_code_text(-errno))
			      : pack_file(pack, fd, name, err);
	case S_IFDIR:
		return enter(pack, parent, last, name, err);
	case S_IFLNK:
		return pack_symlink(pack, parent, last, name, &info, err);
	case S_IFIFO:
		set_values(pack, &info, name);
		return write_header(pack, err);
	default:
		return 0;
	}
}

static int pack_next(struct pack *pack, struct sp_err *err)
{
	int bad = 0, parent = dirfd(sp_walk_top(&pack->walk)->directory);
	struct dirent *entry = sp_walk_next(sp_walk_top(&pack->walk)->directory, &bad);
	char name[PATH_MAX];

	if (!entry && !bad)
		sp_walk_pop(&pack->walk);
	if (entry)
		bad = sp_walk_name(&pack->walk, entry->d_name, name);
	if (!entry || bad)
		return bad ? sp_fail(err, bad, "%s", sp_code_text(bad)) : 0;
	bad = pack_entry(pack, parent, entry->d_name, name, err);
	/* Gone since the directory was read. */
	if (bad == -ENOENT)
		return 0;
	return bad ? sp_err_prefix(err, bad, "%.256s", name) : 0;
}

static int pack_all(struct pack *pack, int source, const char *name, struct sp_err *err)
{
	struct stat info;
	int bad = 0;

	if (fstat(source, &info) < 0)
		return sp_fail(err, -errno, "%s", sp_code_text(-errno));
	if (S_ISDIR(info.st_mode))
		bad = enter(pack, source, ".", ".", err);
	else
		bad = pack_file(pack, source, name, err);
	while (!bad && pack->walk.depth > 0)
		bad = pack_next(pack, err);
	if (!bad && pack->la->archive_write_close(pack->writer) != ARCHIVE_OK)
		bad = failed(pack, err);
	return bad;
}

static int pack_tar(struct pack *pack, int source, const char *name, struct sp_err *err)
{
	const struct sp_libarchive *la = pack->la;
	int bad;

	pack->writer = la->archive_write_new();
	pack->entry = pack->writer ? la->archive_entry_new() : NULL;
	/* Names are bytes here: whatever they are in, that is what they stay in. */
	if (!pack->entry ||
	    la->archive_write_set_format_pax_restricted(pack->writer) != ARCHIVE_OK ||
	    la->archive_write_set_options(pack->writer, "hdrcharset=BINARY") != ARCHIVE_OK ||
	    la->archive_write_set_bytes_in_last_block(pack->writer, 1) != ARCHIVE_OK ||
	    la->archive_write_open(pack->writer, pack, NULL, write_some, NULL) != ARCHIVE_OK)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	else
		bad = pack_all(pack, source, name, err);
	la->archive_entry_free(pack->entry);
	(void)la->archive_write_free(pack->writer);
	return bad;
}

int sp_tree_pack(
    int source, const char *name, int out, struct sp_tree_counts *ret, struct sp_err *err)
{
	struct pack *pack = calloc(1, sizeof(*pack));
	int bad;

	if (!pack)
		return sp_fail(err, -ENOMEM, "out of memory");
	pack->out = out;
	bad = sp_libarchive_load(&pack->la, err);
	if (!bad)
		bad = pack_tar(pack, source, name, err);
	*ret = pack->counts;
	sp_walk_done(&pack->walk);
	tdestroy(pack->links, free_first);
	free(pack);
	return bad;
}
