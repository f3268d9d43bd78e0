/*
 * A stream of a sandbox at a connection of the entry: what its files share. The attachment
 * (client/attachment.h) is the stream's life, across replacements of the execution; how the client
 * is spoken to is a voice: a WebSocket, or Server-Sent Events.
 */
#ifndef SP_SPACESTREAM_SERVE_STREAM_H
#define SP_SPACESTREAM_SERVE_STREAM_H

#include "client/attachment.h"
#include "spacestream/serve.h"
#include "stream/upgrade.h"
#include "stream/websocket.h"

/* Bytes that wait for a slow client, above which no output is taken; and of input that wait for the
 * sandbox. */
#define STREAM_OUT  (64u * 1024u)
#define STREAM_HELD (64u * 1024u)

/* Why a WebSocket is closed, besides RFC 6455's codes: 4000 and the status that the same answer has
 * by itself; and this. */
#define STREAM_CLOSE      4000u
#define STREAM_CLOSE_LOST 4410u /* cut, and not opened again */

struct stream;

struct voice {
	/* The head of the answer: it is open. */
	void (*begin)(struct stream *stream);
	/* A record for the client: an event of a watch, or of the stream itself. */
	void (*say)(struct stream *stream, const char *text, size_t size);
	/* The end of all, and what it is for. */
	void (*finish)(struct stream *stream, unsigned code, const char *reason);
	/* What came from the client. True: something was done. */
	bool (*take)(struct stream *stream);
	/* Nothing has gone out for half of --idle-timeout. False: the client gives no sign either.
	 */
	bool (*sign)(struct stream *stream);
};

/* What comes from the sandbox, and goes to it: an operation's own. */
struct stream_kind {
	const char *op;
	/* Output: all of it is taken. */
	void (*output)(
	    struct stream *stream, enum sp_frame_type type, const char *bytes, size_t size);
	/* How it ended. */
	void (*status)(struct stream *stream, const struct sp_status *status);
	/* Bytes of a message of the client's, and its end. */
	void (*input)(struct stream *stream, const char *bytes, size_t size, bool last);
	/* A stream has been opened; it has room for input again. */
	void (*opened)(struct stream *stream);
	void (*room)(struct stream *stream);
	void (*done)(struct stream *stream); /* lets go of what is its own in `stream` */
};

struct stream {
	struct web *web;
	const struct voice *voice;
	const struct stream_kind *kind;
	char sandbox[SP_ID_MAX + 1];
	struct caller *caller;
	struct sp_attachment *attachment;
	struct sp_pump *pump; /* NULL: no stream is open */
	ev_prepare due;       /* never started: fed to the loop as an event */
	bool begun;           /* the answer's head has gone out */
	bool stalled;         /* output waits for the client */
	/* The end, once it has come; it is told in its turn. */
	bool ended, finished;
	unsigned code;  /* a WebSocket's */
	json_t *record; /* that was answered instead of a stream; or NULL */
	char reason[SP_ERR_MAX];
	/* A WebSocket. */
	struct sp_upgrade upgrade;
	struct sp_websocket *socket; /* NULL: another voice */
	bool asked;                  /* a ping has gone out, and nothing has come since */
	/* Of an attachment to a session. */
	struct sp_frame_reader frames;
	char *held; /* input that waits; heap; NULL: none */
	size_t held_size;
	bool input_over;
	unsigned rows, cols; /* 0: not said */
	/* Of a watch. */
	struct sp_line_reader lines; /* given, never read */
};

/* --- serve_stream.c --- */

/*
 * Begins a stream for the connection, of this operation with these arguments (stolen). `upgrade`
 * NULL: in Server-Sent Events. Whatever it comes to is answered. The caller is known by now.
 */
void stream_begin(struct web *web, const struct stream_kind *kind, const struct sp_upgrade *upgrade,
    const char *sandbox, json_t *args);

/* Counts one more of the caller. False: too many; answered. */
bool stream_count(struct web *web, struct caller **ret);

/* It ends here, by us. */
void stream_end(struct stream *stream, unsigned code, const char *reason);

/* A record of ours (stolen) for the client. */
void stream_tell(struct stream *stream, json_t *record);

/* Something is to be done in the connection's own turn. */
void stream_due(struct stream *stream);

/*
 * Who asks, and from which page: common to all heads that ask for a stream. For a WebSocket
 * *ret_upgrade has been read, `must`: nothing else is served. False: answered.
 */
bool stream_admit(struct web *web, const struct sp_head *head, bool must, struct sp_upgrade *ret,
    bool *ret_websocket);

/* The same for a request that a service of a guest answers: which page asks counts for WebSocket
 * alone. *ret_with_token: the token came as a subprotocol. */
bool stream_admit_port(struct web *web, const struct sp_head *head, bool *ret_with_token);

/* --- serve_socket.c, serve_events.c --- */

extern const struct voice stream_websocket, stream_events;

/* Opens stream->socket. -ENOMEM or 0. */
int stream_websocket_new(struct stream *stream);

#endif
