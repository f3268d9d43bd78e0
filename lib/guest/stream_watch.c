/* file.watch: what inotify says of a path, as lines. Directories are looked through in steps
 * between other work; while lines wait for a slow reader, nothing is read from inotify, whose own
 * queue is bounded and says when it has overflowed. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/client.h"
#include "guest/path.h"
#include "guest/stream.h"
#include "guest/value.h"
#include "guest/watch_inner.h"
#include "record/json.h"

#define EVENTS_A_TURN 256

/* What waits goes out as far as it fits; true when nothing is left. */
bool sp_watch_push(struct sp_watch_stream *watch)
{
	watch->lines_start += sp_channel_put(watch->stream->channel, SP_FRAME_OUTPUT,
	    watch->lines + watch->lines_start, watch->lines_end - watch->lines_start);
	if (watch->lines_start < watch->lines_end)
		return false;
	free(sp_steal(&watch->lines));
	watch->lines_start = watch->lines_end = 0;
	return true;
}

void sp_watch_fail(struct sp_watch_stream *watch, int code, const char *words)
{
	struct sp_err err;

	(void)sp_fail(&err, code, "watch: %s", words);
	watch->over = true;
	ev_io_stop(watch->loop, &watch->io);
	ev_timer_stop(watch->loop, &watch->step);
	if (watch->stream->opened)
		sp_stream_fail(watch->stream, code, err.message);
	else
		sp_stream_refuse(watch->stream, code, &err);
}

/* Paths are told as they were asked for. */
static int put_path(
    const struct sp_watch_stream *watch, json_t *event, const char *key, const char *relative)
{
	char path[2 * PATH_MAX];
	int size =
	    snprintf(path, sizeof(path), "%s%s%s", watch->path, *relative ? "/" : "", relative);

	if (size == 0)
		path[size++] = '/';
	return sp_value_put(event, key, path, (size_t)size, SIZE_MAX);
}

void sp_watch_tell(
    struct sp_watch_stream *watch, const char *name, const char *relative, const char *from)
{
	sp_auto_json json_t *event = json_pack("{s:s}", "event", name);
	sp_auto_free char *text = NULL;
	size_t size;
	char *larger;

	if (event && put_path(watch, event, "path", relative) == 0 &&
	    (!from || put_path(watch, event, "from", from) == 0))
		text = sp_json_text(event);
	size = text ? strlen(text) : 0;
	larger = text ? realloc(watch->lines, watch->lines_end + size + 1) : NULL;
	if (!larger) {
		sp_watch_fail(watch, -ENOMEM, "out of memory");
		return;
	}
	memcpy(larger + watch->lines_end, text, size);
	larger[watch->lines_end + size] = '\n';
	watch->lines = larger;
	watch->lines_end += size + 1;
}

void sp_watch_tell_of(
    struct sp_watch_stream *watch, const char *event, const struct sp_watched *in, const char *name)
{
	char path[PATH_MAX];

	/* A name that is too long for any operation. */
	if (sp_watched_path(in, name, path) == 0)
		sp_watch_tell(watch, event, path, NULL);
}

/* False when inotify has nothing more now. */
static bool next_event(struct sp_watch_stream *watch)
{
	const struct inotify_event *event;

	if (watch->events_start == watch->events_end) {
		ssize_t n = sp_read_some(watch->set.inotify, watch->events, sizeof(watch->events));
		if (n <= 0)
			return false;
		watch->events_start = 0;
		watch->events_end = (size_t)n;
	}
	event = (const struct inotify_event *)(const void *)(watch->events + watch->events_start);
	watch->events_start += sizeof(*event) + event->len;
	sp_watch_event(watch, event);
	return true;
}

/* As far as the reader lets us: first what waits, then what is to be looked through, then events.
 */
static void proceed(struct sp_watch_stream *watch)
{
	bool more = true;

	ev_io_stop(watch->loop, &watch->io);
	ev_timer_stop(watch->loop, &watch->step);
	for (int i = 0; i < EVENTS_A_TURN && more && !watch->over; i++) {
		if (watch->stream->opened && !sp_watch_push(watch))
			return;
		if (sp_watch_scanning(watch))
			break;
		more = next_event(watch);
	}
	if (watch->over)
		return;
	if (sp_watch_scanning(watch)) {
		sp_watch_scan(watch);
		more = true;
	}
	if (watch->over || (watch->stream->opened && !sp_watch_push(watch)))
		return;
	if (more)
		ev_timer_start(watch->loop, &watch->step);
	else
		ev_io_start(watch->loop, &watch->io);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	proceed(watcher->data);
}

static void on_step(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	proceed(watcher->data);
}

static void on_pair(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_watch_stream *watch = watcher->data;

	(void)loop;
	(void)events;
	if (watch->over)
		return;
	sp_watch_settle(watch);
	proceed(watch);
}

static void on_room(struct sp_stream *stream)
{
	struct sp_watch_stream *watch = stream->state;

	if (!watch->over)
		proceed(watch);
}

static void watch_free(struct sp_watch_stream *watch)
{
	ev_io_stop(watch->loop, &watch->io);
	ev_timer_stop(watch->loop, &watch->step);
	ev_timer_stop(watch->loop, &watch->pair);
	sp_walk_done(&watch->scan);
	sp_watched_done(&watch->set);
	free(watch->moved_from);
	free(watch->lines);
	free(watch);
}

static void end(struct sp_stream *stream, int code)
{
	(void)code;
	watch_free(stream->state);
}

static int take_args(const json_t *args, struct sp_watch_stream *watch, struct sp_err *err)
{
	const json_t *text, *data, *recursive, *resync;
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	    {"recursive", SP_JSON_BOOL, true, &recursive},
	    {"resync", SP_JSON_BOOL, true, &resync},
	};
	size_t length;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", watch->path, err)))
		return bad;
	for (length = strlen(watch->path); length > 0 && watch->path[length - 1] == '/'; length--)
		watch->path[length - 1] = '\0';
	watch->recursive = json_is_true(recursive);
	watch->resync = json_is_true(resync);
	return 0;
}

static int watch_root(struct sp_watch_stream *watch, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	struct stat info;
	int bad = sp_root_resolve(
	    watch->stream->agent->root, watch->path[0] ? watch->path : "/", O_PATH, 0, &fd);

	if (!bad && fstat(fd, &info) < 0)
		bad = -errno;
	if (!bad) {
		watch->directory = S_ISDIR(info.st_mode);
		bad = sp_watched_add(&watch->set, NULL, "", fd, SP_WATCHED_NOTHING, &watch->root);
	}
	return bad ? sp_fail(err, bad, "watch: %s", sp_code_text(bad)) : 0;
}

static int begin(struct sp_stream *stream, const json_t *args, struct sp_err *err)
{
	struct sp_watch_stream *watch = calloc(1, sizeof(*watch));
	int bad;

	if (!watch)
		return sp_fail(err, -ENOMEM, "out of memory");
	watch->stream = stream;
	watch->loop = stream->agent->loop;
	ev_io_init(&watch->io, on_readable, -1, EV_READ);
	/* The second half of a rename that has come is read before it is given up, however late we
	 * are. */
	ev_set_priority(&watch->io, 1);
	ev_timer_init(&watch->step, on_step, 0., 0.);
	ev_timer_init(&watch->pair, on_pair, SP_WATCH_PAIR, 0.);
	watch->io.data = watch->step.data = watch->pair.data = watch;
	bad = sp_watched_init(&watch->set);
	bad =
	    bad ? sp_fail(err, bad, "inotify: %s", sp_code_text(bad)) : take_args(args, watch, err);
	if (!bad)
		bad = watch_root(watch, err);
	if (bad) {
		watch_free(watch);
		return bad;
	}
	ev_io_set(&watch->io, watch->set.inotify, EV_READ);
	stream->state = watch;
	ev_timer_start(watch->loop, &watch->step);
	return 0;
}

const struct sp_stream_kind sp_stream_watch = {.begin = begin, .on_room = on_room, .end = end};
