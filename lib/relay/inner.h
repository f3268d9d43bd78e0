/* What the files of lib/relay share. Inside lib/relay only. */
#ifndef SP_RELAY_INNER_H
#define SP_RELAY_INNER_H

#include "relay/relay.h"
#include "stream/frame.h"

struct sp_way {
	struct sp_relay *relay;
	enum sp_lease_way name;
	int from, to;
	ev_io readable, writable;
	char *held; /* what `to` had no room for; heap */
	size_t start, end;
	int pipe[2];   /* -1: none */
	size_t piped;  /* bytes in it */
	unsigned full; /* full moves in a row */
	int buffer;    /* what `to` was given by sp_way_share_buffers; 0: nothing yet */
	bool no_splice;
	bool ended; /* `from` has ended */
	bool done;  /* ... and what it sent was delivered, or never will be */
	/* --- framed.c --- */
	bool frames;                         /* a frame is put around what is moved */
	struct sp_frame_reader *reader;      /* frames are taken off; NULL: none are */
	unsigned char head[SP_FRAME_HEADER]; /* of the frame of what is in the pipe */
	size_t head_left;                    /* ... its last bytes, which go first */
	size_t no_payload;                   /* bytes at the front of `held` that are a header */
	bool half, passed;                   /* the end frame has come; and was passed on */
	bool lost; /* `to` takes no more: thrown away, as long as frames come */
	int last;  /* code of the last frame */
};

struct sp_relay {
	struct sp_relay_options options;
	const struct sp_relay_handlers *handlers;
	void *context;
	struct sp_way ways[2];
	ev_timer limit;
	bool started, stopped, paused;
	int code; /* the first failure */
};

/* Does the way hold bytes that `to` has not taken? */
static inline bool sp_way_holds(const struct sp_way *way)
{
	return way->held || way->piped > 0;
}

/* What is asked for at once of a way that has a pipe and takes frames off: to the end of the frame,
 * and the next one's header. */
size_t sp_way_to_header(const struct sp_way *way);

/* Takes the frames off: *size bytes become as many as are payload. SP_E_BAD_RECORD. */
int sp_way_strip(struct sp_way *way, char *bytes, size_t *size);

/* Writes what is left of the header of what is in the pipe. -EAGAIN: some is left still. */
int sp_way_put_head(struct sp_way *way);

/* What a move's code means, for a relay with frames. 1: it goes on; else it is over, for this
 * code. */
int sp_way_framed_code(struct sp_way *way, int code);

/*
 * One move (way.c), inside the lease's bracket. 0: there may be more at once; -EAGAIN: nothing more
 * now; SP_E_CLOSED: `from` has ended; -EPIPE: `to` takes no more; -errno. *ret_moved: bytes
 * written.
 */
int sp_way_move(struct sp_way *way, size_t *ret_moved);

/* A way that moves in bulk, or would move more, gets the larger part of the bound for its socket's
 * buffer (buffers.c), when what the other has queued allows it; both the same when both do. */
void sp_way_share_buffers(struct sp_way *way, struct sp_way *other);

/* What is spliced at once into the buffer of `to`. */
size_t sp_way_splice_most(const struct sp_way *way);

/* Throws away what it holds. */
void sp_way_drop(struct sp_way *way);

#endif
