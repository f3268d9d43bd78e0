/* file.watch: directories that are found are looked through, in steps between other work. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/util.h"
#include "guest/client.h"
#include "guest/path.h"
#include "guest/watch_inner.h"

#define ENTRIES_A_STEP 256
#define LINES_MAX      (16u * 1024u) /* that wait, before the directory that makes them is let be */

/* A watched directory by its path from the root on, if that still leads there. */
static int open_watched(
    const struct sp_watch_stream *watch, const struct sp_watched *watched, int flags, int *ret)
{
	sp_auto_fd int base = -1;
	sp_auto_fd int fd = -1;
	char path[PATH_MAX];
	struct stat info;
	int bad = sp_watched_path(watched, NULL, path);

	if (!bad)
		bad = sp_root_resolve(watch->stream->agent->root,
		    watch->path[0] ? watch->path : "/", O_PATH, 0, &base);
	if (!bad)
		bad = sp_beneath_resolve(base, path[0] ? path : ".", flags | O_DIRECTORY, &fd);
	if (!bad && fstat(fd, &info) < 0)
		bad = -errno;
	if (!bad && (info.st_dev != watched->device || info.st_ino != watched->inode))
		bad = -ENOENT;
	if (bad)
		return bad;
	*ret = sp_steal_fd(&fd);
	return 0;
}

/* What has gone again, or is something else by now, another event tells of; what holds itself, by a
 * mount, is watched once. */
static bool gone(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -ENAMETOOLONG;
}

/* Watches a directory that has been found. False when that has ended it all. */
bool sp_watch_directory(struct sp_watch_stream *watch, struct sp_watched *parent, const char *name,
    enum sp_watched_tell tell)
{
	sp_auto_fd int above = -1;
	sp_auto_fd int fd = -1;
	struct sp_watched *made;
	int bad = open_watched(watch, parent, O_PATH, &above);

	if (!bad)
		bad = sp_beneath_resolve(above, name, O_PATH | O_DIRECTORY, &fd);
	if (!bad)
		bad = sp_watched_add(&watch->set, parent, name, fd, tell, &made);
	if (!bad)
		return true;
	if (gone(bad)) {
		sp_watched_miss(&watch->set, parent, SP_WATCHED_WITHIN);
		return true;
	}
	sp_watch_fail(watch, bad,
	    bad == -ENOSPC ? "more directories than may be watched" : sp_code_text(bad));
	return false;
}

void sp_watch_scan_stop(struct sp_watch_stream *watch)
{
	sp_walk_done(&watch->scan);
	watch->scanned = NULL;
}

void sp_watch_drop(struct sp_watch_stream *watch, struct sp_watched *watched)
{
	if (sp_watched_lies_in(watch->scanned, watched))
		sp_watch_scan_stop(watch);
	if (sp_watched_lies_in(watch->moved, watched))
		watch->moved = NULL;
	sp_watched_drop(&watch->set, watched);
}

static bool is_directory(int directory, const struct dirent *entry)
{
	struct stat info;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(info.st_mode);
}

static bool scan_entry(struct sp_watch_stream *watch, const struct dirent *entry)
{
	struct sp_watched *in = watch->scanned;
	enum sp_watched_tell tell = watch->scan_tell;

	if (tell == SP_WATCHED_ALL)
		sp_watch_tell_of(watch, "create", in, entry->d_name);
	if (!watch->recursive || !is_directory(dirfd(sp_walk_top(&watch->scan)->directory), entry))
		return true;
	if (tell == SP_WATCHED_WITHIN) {
		if (sp_watched_child(in, entry->d_name))
			return true;
		tell = SP_WATCHED_ALL;
	}
	return sp_watch_directory(watch, in, entry->d_name, tell);
}

/* Opens the next directory of the queue. False when there is none, or that has ended it all. */
static bool next_scan(struct sp_watch_stream *watch)
{
	int fd = -1, bad;

	while (!watch->scanned && !TAILQ_EMPTY(&watch->set.to_scan)) {
		struct sp_watched *first = TAILQ_FIRST(&watch->set.to_scan);
		TAILQ_REMOVE(&watch->set.to_scan, first, next_to_scan);
		first->queued = false;
		if (!watch->directory || (!watch->recursive && !first->tell))
			continue;
		bad = open_watched(watch, first, O_RDONLY | O_NONBLOCK, &fd);
		if (!bad)
			bad = sp_walk_push(&watch->scan, fd, "");
		if (bad && !gone(bad)) {
			sp_watch_fail(watch, bad, sp_code_text(bad));
			return false;
		}
		if (bad)
			sp_watched_miss(&watch->set, first, first->tell);
		watch->scanned = bad ? NULL : first;
		watch->scan_tell = first->tell;
	}
	return watch->scanned != NULL;
}

static void all_scanned(struct sp_watch_stream *watch)
{
	if (!watch->stream->opened)
		sp_stream_open(watch->stream, -1);
	if (watch->resync)
		sp_watch_tell(watch, "resync", "", NULL);
	watch->resync = false;
}

void sp_watch_scan(struct sp_watch_stream *watch)
{
	for (int i = 0; i < ENTRIES_A_STEP && watch->lines_end < LINES_MAX && next_scan(watch);
	     i++) {
		int bad = 0;
		struct dirent *entry = sp_walk_next(sp_walk_top(&watch->scan)->directory, &bad);
		if (entry && !scan_entry(watch, entry))
			return;
		if (!entry)
			sp_watch_scan_stop(watch);
	}
	if (!watch->over && !watch->scanned && TAILQ_EMPTY(&watch->set.to_scan))
		all_scanned(watch);
}

bool sp_watch_scanning(const struct sp_watch_stream *watch)
{
	return !watch->over && (watch->scanned || !TAILQ_EMPTY(&watch->set.to_scan) ||
				   !watch->stream->opened || watch->resync);
}
