/* Watched directories by their inotify numbers and by their names. */
#include "guest/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/util.h"

#define MASK                                                                                       \
	(IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |             \
	    IN_DELETE_SELF | IN_MOVE_SELF)

int sp_watched_init(struct sp_watched_set *set)
{
	*set = (struct sp_watched_set){.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
	TAILQ_INIT(&set->to_scan);
	return set->inotify < 0 ? -errno : 0;
}

static unsigned hash(int wd)
{
	return (unsigned)wd % SP_COUNT(((struct sp_watched_set *)NULL)->hash);
}

struct sp_watched *sp_watched_find(struct sp_watched_set *set, int wd)
{
	struct sp_watched *watched;

	LIST_FOREACH(watched, &set->hash[hash(wd)], same)
	if (watched->wd == wd)
		return watched;
	return NULL;
}

struct sp_watched *sp_watched_child(const struct sp_watched *parent, const char *name)
{
	struct sp_watched *child;

	LIST_FOREACH(child, &parent->children, sibling)
	if (strcmp(child->name, name) == 0)
		return child;
	return NULL;
}

bool sp_watched_lies_in(const struct sp_watched *watched, const struct sp_watched *above)
{
	while (watched && watched != above)
		watched = watched->parent;
	return watched != NULL;
}

int sp_watched_move(struct sp_watched *watched, struct sp_watched *parent, const char *name)
{
	char *copy;

	if (sp_watched_lies_in(parent, watched))
		return -ELOOP;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(watched->name);
	watched->name = copy;
	LIST_REMOVE(watched, sibling);
	LIST_INSERT_HEAD(&parent->children, watched, sibling);
	watched->parent = parent;
	return 0;
}

static void queue(struct sp_watched_set *set, struct sp_watched *watched, enum sp_watched_tell tell)
{
	if (!watched->queued || tell > watched->tell)
		watched->tell = tell;
	if (!watched->queued)
		TAILQ_INSERT_TAIL(&set->to_scan, watched, next_to_scan);
	watched->queued = true;
}

void sp_watched_miss(
    struct sp_watched_set *set, struct sp_watched *watched, enum sp_watched_tell tell)
{
	set->missed += !watched->missed;
	if (!watched->missed || tell > watched->missed_tell)
		watched->missed_tell = tell;
	watched->missed = true;
}

/* The next of those at `top` and below. */
static struct sp_watched *next_below(struct sp_watched *at, const struct sp_watched *top)
{
	if (!LIST_EMPTY(&at->children))
		return LIST_FIRST(&at->children);
	while (at != top && !LIST_NEXT(at, sibling))
		at = at->parent;
	return at == top ? NULL : LIST_NEXT(at, sibling);
}

void sp_watched_take_up(struct sp_watched_set *set, struct sp_watched *watched)
{
	for (struct sp_watched *at = watched; at && set->missed > 0; at = next_below(at, watched)) {
		if (!at->missed)
			continue;
		at->missed = false;
		set->missed--;
		queue(set, at, at->missed_tell);
	}
}

static struct sp_watched *make(
    struct sp_watched_set *set, struct sp_watched *parent, const char *name, int fd, int wd)
{
	struct sp_watched *watched = calloc(1, sizeof(*watched));
	struct stat info;

	if (watched)
		watched->name = strdup(name);
	if (!watched || !watched->name || fstat(fd, &info) < 0) {
		if (watched)
			free(watched->name);
		free(watched);
		return NULL;
	}
	watched->wd = wd;
	watched->device = info.st_dev;
	watched->inode = info.st_ino;
	watched->parent = parent;
	LIST_INIT(&watched->children);
	LIST_INSERT_HEAD(&set->hash[hash(wd)], watched, same);
	if (parent)
		LIST_INSERT_HEAD(&parent->children, watched, sibling);
	set->count++;
	return watched;
}

/* Through procfs, so that it is exactly what was opened. */
static int add(const struct sp_watched_set *set, int fd)
{
	char link[64];
	int wd;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(set->inotify, link, MASK);
	return wd < 0 ? -errno : wd;
}

int sp_watched_add(struct sp_watched_set *set, struct sp_watched *parent, const char *name, int fd,
    enum sp_watched_tell tell, struct sp_watched **ret)
{
	struct sp_watched *watched;
	int bad, wd = set->count < SP_WATCH_DIRECTORIES ? add(set, fd) : -ENOSPC;

	if (wd < 0)
		return wd;
	watched = sp_watched_find(set, wd);
	bad = watched && parent ? sp_watched_move(watched, parent, name) : 0;
	if (bad)
		return bad;
	if (!watched)
		watched = make(set, parent, name, fd, wd);
	if (!watched) {
		(void)inotify_rm_watch(set->inotify, wd);
		return -ENOMEM;
	}
	queue(set, watched, tell);
	*ret = watched;
	return 0;
}

/* Those below it first; no deeper than the list is long, and without recursion. */
void sp_watched_drop(struct sp_watched_set *set, struct sp_watched *watched)
{
	struct sp_watched *end = watched->parent, *at = watched;

	while (at != end) {
		struct sp_watched *above = at->parent;
		if (!LIST_EMPTY(&at->children)) {
			at = LIST_FIRST(&at->children);
			continue;
		}
		(void)inotify_rm_watch(set->inotify, at->wd);
		if (at->queued)
			TAILQ_REMOVE(&set->to_scan, at, next_to_scan);
		LIST_REMOVE(at, same);
		if (above)
			LIST_REMOVE(at, sibling);
		set->count--;
		set->missed -= at->missed;
		free(at->name);
		free(at);
		at = above;
	}
}

void sp_watched_done(struct sp_watched_set *set)
{
	for (size_t i = 0; i < SP_COUNT(set->hash); i++)
		while (!LIST_EMPTY(&set->hash[i]))
			sp_watched_drop(set, LIST_FIRST(&set->hash[i]));
	sp_fd_close(&set->inotify);
}

/* Puts a name before the path that begins at *at. */
static bool prepend(char path[PATH_MAX], size_t *at, const char *name)
{
	size_t length = strlen(name);
	bool slash = path[*at] != '\0';

	if (length + slash > *at)
		return false;
	if (slash)
		path[--*at] = '/';
	*at -= length;
	memcpy(path + *at, name, length);
	return true;
}

int sp_watched_path(const struct sp_watched *watched, const char *last, char ret_path[PATH_MAX])
{
	char path[PATH_MAX];
	size_t at = sizeof(path) - 1;

	path[at] = '\0';
	if (last && !prepend(path, &at, last))
		return -ENAMETOOLONG;
	for (; watched->parent; watched = watched->parent)
		if (!prepend(path, &at, watched->name))
			return -ENAMETOOLONG;
	memcpy(ret_path, path + at, sizeof(path) - at);
	return 0;
}
