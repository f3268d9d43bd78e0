/* An inotify watch on each directory that the path goes through, and one on the path itself. */
#include "net/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "base/util.h"

#define SETTLE    0.02 /* a burst of file events makes one call */
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

struct sp_watch {
	struct ev_loop *loop;
	ev_io events;
	ev_timer settle;
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

static void arm(struct sp_watch *watch)
{
	char directory[PATH_MAX];

	for (unsigned i = 0; i < watch->count; i++) {
		struct step *step = &watch->steps[i];
		if (step->directory_length > 0)
			(void)snprintf(directory, sizeof(directory), "%.*s",
			    (int)step->directory_length, watch->path);
		else
			(void)strcpy(directory, ".");
		replace(watch, &step->wd,
		    inotify_add_watch(watch->fd, directory, ENTRY_EVENTS | IN_ONLYDIR));
	}
	replace(watch, &watch->own_wd,
	    inotify_add_watch(watch->fd, watch->path, ENTRY_EVENTS | IN_MODIFY));
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
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->fd < 0) {
		int bad = sp_fail_errno(err, "%s: watch", path);
		free(watch);
		return bad;
	}
	find_steps(watch);
	ev_io_init(&watch->events, on_events, watch->fd, EV_READ);
	ev_timer_init(&watch->settle, on_settled, SETTLE, 0.);
	watch->events.data = watch->settle.data = watch;
	arm(watch);
	ev_io_start(loop, &watch->events);
	*ret = watch;
	return 0;
}

void sp_watch_free(struct sp_watch *watch)
{
	if (!watch)
		return;
	ev_io_stop(watch->loop, &watch->events);
	ev_timer_stop(watch->loop, &watch->settle);
	sp_fd_close(&watch->fd);
	free(watch);
}
