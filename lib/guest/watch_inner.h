/* What the files of file.watch share; nobody else includes it. */
#ifndef SP_GUEST_WATCH_INNER_H
#define SP_GUEST_WATCH_INNER_H

#include <ev.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "guest/stream.h"
#include "guest/walk.h"
#include "guest/watch.h"

#define SP_WATCH_PAIR   0.02 /* seconds for the second half of a rename */
#define SP_WATCH_EVENTS (sizeof(struct inotify_event) + NAME_MAX + 1 + 4096)

struct sp_watch_stream {
	struct sp_stream *stream;
	struct ev_loop *loop;
	char path[PATH_MAX]; /* as asked for, without slashes at its end; "" for "/" */
	bool recursive, resync, directory, over;
	struct sp_watched_set set;
	struct sp_watched *root;
	ev_io io;
	ev_timer step, pair;
	struct sp_walk scan; /* of the directory that is being looked through: one level */
	struct sp_watched *scanned;
	enum sp_watched_tell scan_tell;
	/* The first half of a rename. */
	uint32_t cookie;
	char *moved_from;
	struct sp_watched *moved;
	/* Lines that wait. */
	char *lines;
	size_t lines_start, lines_end;
	size_t events_start, events_end;
	char events[SP_WATCH_EVENTS] __attribute__((aligned(__alignof__(struct inotify_event))));
};

/* Lines go out as far as they fit; true when none is left. */
bool sp_watch_push(struct sp_watch_stream *watch);

/* A line of this event and path, from the watched path on; `from` may be NULL. */
void sp_watch_tell(
    struct sp_watch_stream *watch, const char *name, const char *relative, const char *from);
void sp_watch_tell_of(struct sp_watch_stream *watch, const char *event, const struct sp_watched *in,
    const char *name);

/* Ends it with an error; watch->over is true from then on. */
void sp_watch_fail(struct sp_watch_stream *watch, int code, const char *words);

/* Watches a directory that has been found. False when that has ended it all. */
bool sp_watch_directory(struct sp_watch_stream *watch, struct sp_watched *parent, const char *name,
    enum sp_watched_tell tell);

/* Watches it no more, and what is below it. */
void sp_watch_drop(struct sp_watch_stream *watch, struct sp_watched *watched);

/* Looks through some more of what is queued; at its end the stream is opened, and resync told where
 * it is due. Is there more to do? */
void sp_watch_scan(struct sp_watch_stream *watch);
bool sp_watch_scanning(const struct sp_watch_stream *watch);
void sp_watch_scan_stop(struct sp_watch_stream *watch);

/* What one event of inotify means. */
void sp_watch_event(struct sp_watch_stream *watch, const struct inotify_event *event);

/* A rename of which only the first half came: it has gone out of what is watched. */
void sp_watch_settle(struct sp_watch_stream *watch);

#endif
