/*
 * The directories that one file.watch looks at: inotify watches in a tree of names, so that a
 * renamed directory takes those below it along. What the names mean is file.watch's affair
 * (guest/stream_watch.c).
 */
#ifndef SP_GUEST_WATCH_H
#define SP_GUEST_WATCH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "base/err.h"

#define SP_WATCH_DIRECTORIES 8192 /* of one file.watch; the kernel's bound may be lower */

/* What of the entries that are found is told as new. */
enum sp_watched_tell {
	SP_WATCHED_NOTHING,
	SP_WATCHED_WITHIN, /* of directories that were not watched yet, all that is in them */
	SP_WATCHED_ALL,
};

struct sp_watched {
	LIST_ENTRY(sp_watched) same;          /* with the same hash of wd */
	LIST_ENTRY(sp_watched) sibling;       /* in the same parent */
	TAILQ_ENTRY(sp_watched) next_to_scan; /* while `queued` */
	LIST_HEAD(, sp_watched) children;
	struct sp_watched *parent; /* NULL: the root */
	int wd;
	dev_t device; /* to know it again by its path */
	ino_t inode;
	bool queued, missed; /* its entries are still to be looked at; could not be, or not all */
	enum sp_watched_tell tell, missed_tell;
	char *name; /* in its parent */
};

struct sp_watched_set {
	int inotify;
	unsigned count, missed; /* nodes; and those of them that are `missed` */
	LIST_HEAD(, sp_watched) hash[256];
	TAILQ_HEAD(, sp_watched) to_scan;
};

/* -EMFILE: as many inotify instances as there may be. 0 or -errno. */
int sp_watched_init(struct sp_watched_set *set);
void sp_watched_done(struct sp_watched_set *set);

/*
 * Watches what `fd` is open at (any way, O_PATH too), as `name` in `parent` (NULL, "": the root),
 * and queues it to be looked through. One that is watched already, under whatever name, is it from
 * now on. -ENOSPC: as many as there may be; -ELOOP: it is `parent`, or holds it (a mount of a
 * directory within itself); -ENOMEM, or what inotify says.
 */
int sp_watched_add(struct sp_watched_set *set, struct sp_watched *parent, const char *name, int fd,
    enum sp_watched_tell tell, struct sp_watched **ret);

/* NULL: none. */
struct sp_watched *sp_watched_find(struct sp_watched_set *set, int wd);
struct sp_watched *sp_watched_child(const struct sp_watched *parent, const char *name);

/* Gives it another name, perhaps in another parent. -ELOOP: that lies in itself, which can only be
 * said of a tree that has changed since; -ENOMEM. */
int sp_watched_move(struct sp_watched *watched, struct sp_watched *parent, const char *name);

/*
 * What events say is behind what a path finds: where that leads to nothing, or to another, because
 * something above has been renamed, the event that says so is still to come. Until then it is
 * missed, and once it has come sp_watched_take_up queues what was missed at `watched` and below.
 */
void sp_watched_miss(
    struct sp_watched_set *set, struct sp_watched *watched, enum sp_watched_tell tell);
void sp_watched_take_up(struct sp_watched_set *set, struct sp_watched *watched);

/* Is it `above`, or below that? NULL lies nowhere. */
bool sp_watched_lies_in(const struct sp_watched *watched, const struct sp_watched *above);

/* Watches it, and all below it, no more. */
void sp_watched_drop(struct sp_watched_set *set, struct sp_watched *watched);

/* Its path from the root on, and `last` below it (NULL: itself); "" for the root. -ENAMETOOLONG. */
int sp_watched_path(const struct sp_watched *watched, const char *last, char ret_path[PATH_MAX]);

#endif
