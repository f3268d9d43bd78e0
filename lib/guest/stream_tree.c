/* tree.get and tree.put: frames to and from a worker that packs or unpacks. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/client.h"
#include "guest/path.h"
#include "guest/stream.h"
#include "guest/tree.h"
#include "guest/value.h"
#include "guest/worker.h"
#include "record/json.h"

#define READ_SIZE    (16 * 1024)
#define READS_A_TURN 4

struct tree {
	struct sp_stream *stream;
	struct sp_worker *worker; /* NULL: it has ended */
	int data;                 /* -1: no more goes to it, or comes from it */
	ev_io io;
	struct sp_status status; /* how it ended */
	bool get;
	char name[NAME_MAX + 1]; /* of a file that is packed alone */
};

static struct sp_status status_of(
    int code, const struct sp_err *err, const struct sp_tree_counts *counts)
{
	struct sp_status status = {.kind = SP_STATUS_EXIT,
	    .counted = true,
	    .entries = counts->entries,
	    .bytes = counts->bytes};

	return code ? sp_status_of_error(code, err->message) : status;
}

/* In the worker. What it reads may be meant to take it over: it must not hold the guest's key. */
static void run(void *context, int source, int data, struct sp_status *ret)
{
	struct tree *tree = context;
	struct sp_agent *agent = tree->stream->agent;
	struct sp_tree_counts counts = {0, 0};
	struct sp_err err = {0};
	int bad;

	sp_guest_self_free(agent->self);
	if (tree->get)
		bad = sp_tree_pack(source, tree->name, data, &counts, &err);
	else
		bad = sp_tree_unpack(source, data, &agent->tree_limits, &counts, &err);
	*ret = status_of(bad, &err, &counts);
}

static void stop(struct tree *tree)
{
	ev_io_stop(tree->stream->agent->loop, &tree->io);
	sp_fd_close(&tree->data);
}

/* All that was packed is passed on before the end is told. */
static void settle(struct tree *tree)
{
	if (tree->worker || (tree->get && tree->data >= 0))
		return;
	stop(tree);
	sp_channel_finish(tree->stream->channel, &tree->status);
}

static void on_done(void *context, const struct sp_status *status)
{
	struct tree *tree = context;

	tree->worker = NULL;
	tree->status = *status;
	settle(tree);
}

static void on_packed(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct tree *tree = watcher->data;
	struct sp_channel *channel = tree->stream->channel;
	char bytes[READ_SIZE];

	(void)events;
	for (int i = 0; i < READS_A_TURN; i++) {
		size_t room = sp_channel_room(channel);
		ssize_t n;
		if (room == 0) {
			sp_channel_ask_room(channel);
			ev_io_stop(loop, watcher);
			return;
		}
		n = sp_read_some(tree->data, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			stop(tree);
			settle(tree);
			return;
		}
		(void)sp_channel_put(channel, SP_FRAME_OUTPUT, bytes, (size_t)n);
	}
}

static void on_unpacked(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct tree *tree = watcher->data;

	(void)events;
	ev_io_stop(loop, watcher);
	sp_channel_resume(tree->stream->channel);
}

static size_t on_frame(struct sp_stream *stream, const struct sp_frame *frame)
{
	struct tree *tree = stream->state;
	ssize_t n;

	if (tree->get || tree->data < 0)
		return frame->size;
	if (frame->type == SP_FRAME_END) {
		stop(tree);
		return 0;
	}
	n = sp_write_some(tree->data, frame->data, frame->size);
	if (n == -EAGAIN) {
		ev_io_start(stream->agent->loop, &tree->io);
		return 0;
	}
	/* It reads no more, and will say why. */
	if (n < 0) {
		stop(tree);
		return frame->size;
	}
	if ((size_t)n < frame->size)
		ev_io_start(stream->agent->loop, &tree->io);
	return (size_t)n;
}

static void on_room(struct sp_stream *stream)
{
	struct tree *tree = stream->state;

	if (tree->get && tree->data >= 0)
		ev_io_start(stream->agent->loop, &tree->io);
}

static void end(struct sp_stream *stream, int code)
{
	struct tree *tree = stream->state;

	(void)code;
	stop(tree);
	if (tree->worker)
		sp_worker_forsake(tree->worker);
	stream->agent->tasks--;
	free(tree);
}

/* The directory to unpack into; or what to pack, a directory or a file. */
static int open_source(int root, const json_t *args, bool get, char ret_name[NAME_MAX + 1],
    int *ret, struct sp_err *err)
{
	const json_t *text, *data;
	const struct sp_json_field fields[] = {
	    {"path", SP_JSON_STRING, true, &text},
	    {"path_data", SP_JSON_STRING, true, &data},
	};
	sp_auto_place struct sp_place place = {.directory = -1};
	sp_auto_fd int fd = -1;
	char path[PATH_MAX];
	struct stat info;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_path(text, data, "path", path, err)))
		return bad;
	bad = sp_root_resolve(
	    root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (get ? 0 : O_DIRECTORY), 0, &fd);
	if (!bad && fstat(fd, &info) < 0)
		bad = -errno;
	if (!bad && !S_ISDIR(info.st_mode)) {
		bad = S_ISREG(info.st_mode) ? sp_place_find(root, path, &place) : -EINVAL;
		if (!bad)
			memcpy(ret_name, place.name, sizeof(place.name));
	}
	if (bad)
		return sp_fail(err, bad, "%s: %s", get ? "get" : "put", sp_code_text(bad));
	*ret = sp_steal_fd(&fd);
	return 0;
}

static int start(struct tree *tree, int source, struct sp_err *err)
{
	struct sp_agent *agent = tree->stream->agent;
	int bad;

	if (agent->tasks >= agent->tasks_max)
		return sp_fail(err, -EAGAIN,
		    "%u operations are running already: the most that "
		    "[guest] max_sessions allows",
		    agent->tasks);
	bad = sp_worker_start(
	    agent->loop, source, tree->get, run, on_done, tree, &tree->worker, &tree->data);
	if (bad)
		return sp_fail(err, bad, "tree: %s", sp_code_text(bad));
	agent->tasks++;
	ev_io_init(&tree->io, tree->get ? on_packed : on_unpacked, tree->data,
	    tree->get ? EV_READ : EV_WRITE);
	tree->io.data = tree;
	return 0;
}

static int begin(struct sp_stream *stream, const json_t *args, bool get, struct sp_err *err)
{
	sp_auto_free struct tree *tree = calloc(1, sizeof(*tree));
	sp_auto_fd int source = -1;
	int bad;

	if (!tree)
		return sp_fail(err, -ENOMEM, "out of memory");
	tree->stream = stream;
	tree->get = get;
	tree->data = -1;
	bad = open_source(stream->agent->root, args, get, tree->name, &source, err);
	if (!bad)
		bad = start(tree, source, err);
	if (bad)
		return bad;
	stream->state = tree;
	sp_stream_open(stream, -1);
	if (get)
		ev_io_start(stream->agent->loop, &tree->io);
	(void)sp_steal(&tree);
	return 0;
}

static int begin_get(struct sp_stream *stream, const json_t *args, struct sp_err *err)
{
	return begin(stream, args, true, err);
}

static int begin_put(struct sp_stream *stream, const json_t *args, struct sp_err *err)
{
	return begin(stream, args, false, err);
}

const struct sp_stream_kind sp_stream_tree_get = {
    .begin = begin_get, .on_frame = on_frame, .on_room = on_room, .end = end};
const struct sp_stream_kind sp_stream_tree_put = {
    .begin = begin_put, .on_frame = on_frame, .on_room = on_room, .end = end, .takes_input = true};
