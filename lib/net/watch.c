/* An inotify watch on each directory that the path goes through, and one on the path itself; or a
 * look at the path, now and again. */
#include "net/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"

#define SETTLE    0.02 /* a burst of file events makes one call */
#define LOOK      0.08 /* how often, where no event tells */
#define STEPS_MAX 32   /* of a deeper path the last ones */
#define ENTRY_EVENTS                                                                               \
	(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ATTRIB)

/* A directory on the way, and the name in it that leads on. */
struct step {
	int wd; /* -1: not watched, as it is absent */
	size_t directory_length;
	const char *name;
	size_t name_length;
};

/* The path itself, where it leads, and its directory, as they were seen. All zero: not there. */
enum { LINK, TARGET, DIRECTORY, SIGHTS };

struct sp_watch {
	struct ev_loop *loop;
	ev_io events;
	ev_timer settle, look;
	struct stat seen[SIGHTS];
	bool just_changed;
	void (*changed)(void *context);
	void *context;
	int fd, own_wd;
	unsigned count;
	struct step steps[STEPS_MAX];
	char path[];
};

static void find_steps(struct sp_watch *watch)
{
	const char *name = watch->path + strspn(watch->path, "/");

	while (*name) {
		size_t length = strcspn(name, "/");
		if (watch->count == STEPS_MAX) {
			memmove(watch->steps, watch->steps + 1,
			    (STEPS_MAX - 1) * sizeof(*watch->steps));
			watch->count--;
		}
		watch->steps[watch->count++] =
		    (struct step){-1, (size_t)(name - watch->path), name, length};
		name += length;
		name += strspn(name, "/");
	}
}

static bool in_use(const struct sp_watch *watch, int wd)
{
	for (unsigned i = 0; i < watch->count; i++)
		if (watch->steps[i].wd == wd)
			return true;
	return watch->own_wd == wd;
}

/* What was at a place before, and is nowhere now, need not be watched any more. */
static void replace(struct sp_watch *watch, int *wd, int now)
{
	int before = *wd;

	*wd = now;
	if (before >= 0 && !in_use(watch, before))
		(void)inotify_rm_watch(watch->fd, before);
}

/* The directory that a step's name is in. */
static void directory_of(const struct sp_watch *watch, const struct step *step, char ret[PATH_MAX])
{
	if (step->directory_length > 0)
		(void)snprintf(ret, PATH_MAX, "%.*s", (int)step->directory_length, watch->path);
	else
		(void)strcpy(ret, ".");
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0 &&
	       memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) == 0;
}

/* Has anything changed since the last look? */
static bool look(struct sp_watch *watch)
{
	char directory[PATH_MAX] = "/";
	struct stat now[SIGHTS] = {0};
	bool changed = false;

	if (watch->count > 0)
		directory_of(watch, &watch->steps[watch->count - 1], directory);
	if (lstat(watch->path, &now[LINK]) < 0)
		memset(&now[LINK], 0, sizeof(*now));
	if (stat(watch->path, &now[TARGET]) < 0)
		memset(&now[TARGET], 0, sizeof(*now));
	if (stat(directory, &now[DIRECTORY]) < 0)
		memset(&now[DIRECTORY], 0, sizeof(*now));
	for (int i = 0; i < SIGHTS; i++) {
		changed |= !is_same(&now[i], &watch->seen[i]);
		watch->seen[i] = now[i];
	}
	return changed;
}

/* What changed twice within a tick of the file system's clock looks the same after the second time,
 * so that the turn after a change counts as one, too. */
static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_watch *watch = watcher->data;
	bool before = watch->just_changed;

	(void)loop;
	(void)events;
	watch->just_changed = look(watch);
	if (watch->just_changed || before)
		watch->changed(watch->context);
}

/* From now on it is looked at. */
static void start_looking(struct sp_watch *watch)
{
	if (ev_is_active(&watch->look))
		return;
	(void)look(watch);
	watch->just_changed = true;
	ev_timer_again(watch->loop, &watch->look);
}

/* Watches a place; what is not there yet is no fault, but a user's watches are counted, too. */
static void arm_one(struct sp_watch *watch, int *wd, const char *path, uint32_t mask)
{
	int now = inotify_add_watch(watch->fd, path, mask);

	if (now < 0 && (errno == ENOSPC || errno == ENOMEM))
		start_looking(watch);
	replace(watch, wd, now);
}

static void arm(struct sp_watch *watch)
{
	char directory[PATH_MAX];

	for (unsigned i = 0; i < watch->count; i++) {
		directory_of(watch, &watch->steps[i], directory);
		arm_one(watch, &watch->steps[i].wd, directory, ENTRY_EVENTS | IN_ONLYDIR);
	}
	arm_one(watch, &watch->own_wd, watch->path, ENTRY_EVENTS | IN_MODIFY);
}

/* In the path's own directory every name counts: a symlink there may lead over its neighbour. */
static bool concerns(const struct sp_watch *watch, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW || event->wd == watch->own_wd)
		return true;
	for (unsigned i = 0; i < watch->count; i++) {
		const struct step *step = &watch->steps[i];
		if (event->wd == step->wd &&
		    (i + 1 == watch->count || event->len == 0 ||
			(strlen(event->name) == step->name_length &&
			    memcmp(event->name, step->name, step->name_length) == 0)))
			return true;
	}
	return false;
}

static void on_events(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_watch *watch = watcher->data;
	_Alignas(struct inotify_event) char unread[4096];
	bool due = false;
	ssize_t n;

	(void)events;
	while ((n = read(watch->fd, unread, sizeof(unread))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(unread + at);
			due |= concerns(watch, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	if (due && !ev_is_active(&watch->settle)) {
		ev_timer_set(&watch->settle, SETTLE, 0.);
		ev_timer_start(loop, &watch->settle);
	}
}

static void on_settled(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_watch *watch = watcher->data;

	(void)loop;
	(void)events;
	/* First, so that what changes from here on is seen again. */
	arm(watch);
	watch->changed(watch->context);
}

int sp_watch_new(struct ev_loop *loop, const char *path, void (*changed)(void *context),
    void *context, struct sp_watch **ret, struct sp_err *err)
{
	size_t size = strlen(path) + 1;
	struct sp_watch *watch;

	if (size == 1 || size > PATH_MAX)
		return sp_fail(err, -ENAMETOOLONG, "%.100s: no path to watch", path);
	watch = calloc(1, sizeof(*watch) + size);
	if (!watch)
		return sp_fail(err, -ENOMEM, "out of memory");
	memcpy(watch->path, path, size);
	watch->loop = loop;
	watch->changed = changed;
	watch->context = context;
	watch->own_wd = -1;
	find_steps(watch);
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	ev_io_init(&watch->events, on_events, watch->fd, EV_READ);
	ev_timer_init(&watch->settle, on_settled, SETTLE, 0.);
	ev_timer_init(&watch->look, on_look, LOOK, LOOK);
	watch->events.data = watch->settle.data = watch->look.data = watch;
	if (watch->fd >= 0) {
		arm(watch);
		ev_io_start(loop, &watch->events);
	} else {
		start_looking(watch);
	}
	*ret = watch;
	return 0;
}

void sp_watch_free(struct sp_watch *watch)
{
	if (!watch)
		return;
	ev_io_stop(watch->loop, &watch->events);
	ev_timer_stop(watch->loop, &watch->settle);
	ev_timer_stop(watch->loop, &watch->look);
	sp_fd_close(&watch->fd);
	free(watch);
}
