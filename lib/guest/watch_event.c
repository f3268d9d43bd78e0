/* file.watch: what inotify says, in its own words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "guest/watch_inner.h"

void sp_watch_settle(struct sp_watch_stream *watch)
{
	ev_timer_stop(watch->loop, &watch->pair);
	if (!watch->moved_from)
		return;
	sp_watch_tell(watch, "remove", watch->moved_from, NULL);
	free(sp_steal(&watch->moved_from));
	if (watch->moved)
		sp_watch_drop(watch, watch->moved);
	watch->moved = NULL;
}

static void on_move_from(
    struct sp_watch_stream *watch, struct sp_watched *in, const struct inotify_event *event)
{
	char path[PATH_MAX];

	if (sp_watched_path(in, event->name, path))
		return;
	watch->moved_from = strdup(path);
	watch->moved = event->mask & IN_ISDIR ? sp_watched_child(in, event->name) : NULL;
	watch->cookie = event->cookie;
	ev_timer_set(&watch->pair, SP_WATCH_PAIR, 0.);
	ev_timer_start(watch->loop, &watch->pair);
}

/* Events were lost: all is looked at again, and the client must do so too. */
static void on_overflow(struct sp_watch_stream *watch)
{
	sp_watch_tell(watch, "overflow", "", NULL);
	while (!LIST_EMPTY(&watch->root->children))
		sp_watch_drop(watch, LIST_FIRST(&watch->root->children));
	if (watch->scanned)
		sp_watch_scan_stop(watch);
	if (!watch->root->queued)
		TAILQ_INSERT_TAIL(&watch->set.to_scan, watch->root, next_to_scan);
	watch->root->queued = true;
	watch->root->tell = SP_WATCHED_NOTHING;
	watch->resync = true;
}

static void on_move_to(
    struct sp_watch_stream *watch, struct sp_watched *in, const struct inotify_event *event)
{
	sp_auto_free char *from = sp_steal(&watch->moved_from);
	struct sp_watched *moved = sp_steal(&watch->moved);
	char path[PATH_MAX];
	int bad = 0;

	ev_timer_stop(watch->loop, &watch->pair);
	if (sp_watched_path(in, event->name, path))
		return;
	sp_watch_tell(watch, "rename", path, from);
	if (moved)
		bad = sp_watched_move(moved, in, event->name);
	if (moved && !bad)
		sp_watched_take_up(&watch->set, moved);
	/* It was renamed before it could be watched. */
	if (!moved && event->mask & IN_ISDIR && watch->recursive)
		(void)sp_watch_directory(watch, in, event->name, SP_WATCHED_ALL);
	/* What was looked through was ahead of the events: which directory is meant is not known.
	 */
	if (bad == -ELOOP)
		on_overflow(watch);
	else if (bad)
		sp_watch_fail(watch, bad, sp_code_text(bad));
}

static void on_new(
    struct sp_watch_stream *watch, struct sp_watched *in, const struct inotify_event *event)
{
	sp_watch_tell_of(watch, "create", in, event->name);
	if (event->mask & IN_ISDIR && watch->recursive)
		(void)sp_watch_directory(watch, in, event->name, SP_WATCHED_ALL);
}

static void on_root_gone(struct sp_watch_stream *watch)
{
	sp_watch_tell(watch, "remove", "", NULL);
	(void)sp_watch_push(watch);
	sp_watch_fail(watch, -ENOENT, "the path is no more");
}

static void on_named(
    struct sp_watch_stream *watch, struct sp_watched *in, const struct inotify_event *event)
{
	if (event->mask & IN_MOVED_FROM)
		on_move_from(watch, in, event);
	else if (event->mask & IN_MOVED_TO && watch->moved_from)
		on_move_to(watch, in, event);
	else if (event->mask & (IN_CREATE | IN_MOVED_TO))
		on_new(watch, in, event);
	else if (event->mask & IN_DELETE)
		sp_watch_tell_of(watch, "remove", in, event->name);
	else if (event->mask & (IN_MODIFY | IN_ATTRIB))
		sp_watch_tell_of(watch, "modify", in, event->name);
}

void sp_watch_event(struct sp_watch_stream *watch, const struct inotify_event *event)
{
	struct sp_watched *in = sp_watched_find(&watch->set, event->wd);

	if (watch->moved_from && !(event->mask & IN_MOVED_TO && event->cookie == watch->cookie))
		sp_watch_settle(watch);
	if (event->mask & IN_Q_OVERFLOW)
		on_overflow(watch);
	else if (!in || watch->over)
		return;
	else if (event->len > 0)
		on_named(watch, in, event);
	else if (in == watch->root &&
		 event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED))
		on_root_gone(watch);
	else if (in == watch->root && event->mask & (IN_MODIFY | IN_ATTRIB))
		sp_watch_tell(watch, "modify", "", NULL);
	else if (event->mask & IN_IGNORED)
		sp_watch_drop(watch, in);
}
