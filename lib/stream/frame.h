/*
 * Frames (06-streams, Frames): how a stream travels between its client end and the guest's agent.
 * Eight bytes {type, 0, 0, 0, length BE32}, then the payload. Encoder and decoder are pure: bytes
 * in, pieces out, no memory but the reader's own.
 *
 * Towards the guest go input and resize, and end as the last. From the guest come output and error,
 * end at most once, after which only status may come, and status as the last. A stream whose
 * connection ends before its last frame (sp_frame_over) has been cut.
 */
#ifndef SP_STREAM_FRAME_H
#define SP_STREAM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

#define SP_FRAME_HEADER      8
#define SP_FRAME_PAYLOAD_MAX (64u * 1024u)
#define SP_FRAME_CONTROL_MAX 2048u /* JSON of a status or resize: a reader gives it whole */

enum sp_frame_type {
	SP_FRAME_INPUT = 0,  /* towards the guest */
	SP_FRAME_OUTPUT = 1, /* from it: stdout, or the one stream that there is */
	SP_FRAME_ERROR = 2,  /* from it: stderr */
	SP_FRAME_STATUS = 3, /* from it, JSON (stream/status.h): always its last */
	SP_FRAME_RESIZE = 4, /* towards it, JSON {"rows","cols"} */
	SP_FRAME_END = 5,    /* either way, empty: end of input of this direction */
};

/* Who wrote what a reader reads. */
enum sp_frame_from { SP_FRAME_FROM_CLIENT, SP_FRAME_FROM_GUEST };

/* `size` at most SP_FRAME_PAYLOAD_MAX, for END 0, for STATUS and RESIZE SP_FRAME_CONTROL_MAX. */
void sp_frame_header(enum sp_frame_type type, size_t size, unsigned char ret[SP_FRAME_HEADER]);

/* What a reader gives: a frame, or a part of one. */
struct sp_frame {
	enum sp_frame_type type;
	/* Input, output and error: some of the payload, at least a byte, borrowed from the bytes
	 * that were given. Status and resize: all of it, with a NUL after it, valid until the next
	 * take. End: nothing. */
	const char *data;
	size_t size;
};

struct sp_frame_reader {
	enum sp_frame_from from;
	enum sp_frame_type type; /* of the frame that is being read */
	unsigned char header[SP_FRAME_HEADER];
	size_t header_size; /* bytes of it so far */
	size_t left;        /* bytes of the payload to come */
	bool ended;         /* end has come */
	bool over;          /* the last frame has come */
	bool failed;
	size_t control_size;
	char control[SP_FRAME_CONTROL_MAX + 1];
};

void sp_frame_reader_init(struct sp_frame_reader *reader, enum sp_frame_from from);

/*
 * Takes the next piece. 1: there is one; 0: all bytes are used up and there is none. Either way
 * *ret_used bytes have been taken: go on behind them. SP_E_BAD_RECORD, from then on always: an
 * unknown type or one of the other direction, a reserved byte that is not 0, a length over its
 * bound, anything after the last frame, or anything but status after end. Empty input, output and
 * error frames are passed over.
 */
int sp_frame_take(struct sp_frame_reader *reader, const char *bytes, size_t size, size_t *ret_used,
    struct sp_frame *ret_frame, struct sp_err *err);

/* Bytes to come of the payload that is being read, of input, output or error; else 0. */
size_t sp_frame_left(const struct sp_frame_reader *reader);

/* So many of them, at the most all, have been taken in another way. */
void sp_frame_skip(struct sp_frame_reader *reader, size_t size);

/* No frame is being read: what comes begins one. */
static inline bool sp_frame_between(const struct sp_frame_reader *reader)
{
	return reader->header_size == 0;
}

/* The direction came to its end: any more would be wrong, and none is missing. */
static inline bool sp_frame_over(const struct sp_frame_reader *reader)
{
	return reader->over;
}

#endif
