/*
 * Operations whose connection becomes a stream (06-streams, Frames). A stream operation is the only
 * record of its connection; it is answered by one line, `open` or an error, and after `open` by
 * frames until a status.
 */
#ifndef SP_GUEST_STREAM_H
#define SP_GUEST_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/limits.h"
#include "stream/channel.h"

struct sp_agent;
struct sp_client;
struct sp_stream;

/* What one stream operation does. */
struct sp_stream_kind {
	/*
	 * Begins it: stream->state is its own from here on. 0: sp_stream_open or sp_stream_refuse
	 * has been called, or will be. Else a code as in guest/file.h, answered as an error; `end`
	 * is not called then.
	 */
	int (*begin)(struct sp_stream *stream, const json_t *args, struct sp_err *err);
	/* As in stream/channel.h. What a kind does not take ends the stream. */
	size_t (*on_frame)(struct sp_stream *stream, const struct sp_frame *frame);
	void (*on_room)(struct sp_stream *stream);
	/* The connection has ended, with a code of sp_channel_handlers.on_close; `state` goes. */
	void (*end)(struct sp_stream *stream, int code);
	bool takes_input, takes_resize;
};

struct sp_stream {
	struct sp_agent *agent;
	struct sp_stream *next, **at;
	const struct sp_stream_kind *kind;
	struct sp_channel *channel;
	void *state;
	bool opened, begun;
	char *rest; /* what came behind the request's line, until it is opened */
	size_t rest_size;
	char id[SP_REQUEST_ID_MAX + 1];
};

extern const struct sp_stream_kind sp_stream_attach; /* exec.attach */
extern const struct sp_stream_kind sp_stream_port;   /* port.connect */
extern const struct sp_stream_kind sp_stream_tree_get, sp_stream_tree_put;
extern const struct sp_stream_kind sp_stream_watch; /* file.watch */

/* Makes a stream of a connection (`fd` and `rest`, heap, are taken) and begins it. It answers in
 * any case. */
void sp_stream_new(struct sp_agent *agent, int fd, char *rest, size_t rest_size, const char *id,
    const struct sp_stream_kind *kind, const json_t *args);

/* Answers `open` and takes frames from now on. `from`: where the output begins that is to come;
 * -1: nothing is said of it. */
void sp_stream_open(struct sp_stream *stream, int64_t from);

/* Answers with an error instead; the connection ends. */
void sp_stream_refuse(struct sp_stream *stream, int code, const struct sp_err *err);

/* Ends an open stream with an error of its own. */
void sp_stream_fail(struct sp_stream *stream, int code, const char *message);

/* Ends all streams, because the agent ends. */
void sp_stream_stop_all(struct sp_agent *agent);

#endif
