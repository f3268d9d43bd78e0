/* One way of a relay: bytes from one descriptor to another, copied, or spliced once they are many.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "relay/inner.h"
#include "relay/pipes.h"

#define BULK_AFTER 8 /* full moves in a row */
#define BULK_LEAST (SP_RELAY_CHUNK / 4)

void sp_way_drop(struct sp_way *way)
{
	free(sp_steal(&way->held));
	sp_pipe_give(way->pipe, way->piped == 0);
	way->piped = way->head_left = way->no_payload = 0;
	way->full = 0;
}

static int write_code(ssize_t n)
{
	return n == -EAGAIN ? -EAGAIN : n == -ECONNRESET || n == -ENOTCONN ? -EPIPE : (int)n;
}

static int move_held(struct sp_way *way, size_t *ret_moved)
{
	ssize_t n = sp_write_some(way->to, way->held + way->start, way->end - way->start);
	size_t header;

	if (n < 0)
		return write_code(n);
	header = (size_t)n < way->no_payload ? (size_t)n : way->no_payload;
	way->no_payload -= header;
	*ret_moved = (size_t)n - header;
	way->start += (size_t)n;
	if (way->start < way->end)
		return -EAGAIN;
	free(sp_steal(&way->held));
	return 0;
}

static int keep(struct sp_way *way, const char *bytes, size_t size)
{
	way->held = malloc(size);
	if (!way->held)
		return -ENOMEM;
	memcpy(way->held, bytes, size);
	way->start = 0;
	way->end = size;
	return -EAGAIN;
}

/* Writes a header, if there is one, and the bytes behind it; what does not go is kept. */
static int give(
    struct sp_way *way, const char *bytes, size_t header, size_t size, size_t *ret_moved)
{
	ssize_t put = sp_write_some(way->to, bytes, header + size);
	size_t gone = put > 0 ? (size_t)put : 0;

	if (put < 0 && put != -EAGAIN)
		return write_code(put);
	*ret_moved = gone > header ? gone - header : 0;
	if (gone == header + size)
		return 0;
	way->no_payload = gone < header ? header - gone : 0;
	return keep(way, bytes + gone, header + size - gone);
}

/* What it means that nothing was read. A reset of what is to be framed is no end that could be
 * passed on. */
static int end_code(const struct sp_way *way, ssize_t got)
{
	return got == 0 || (got == -ECONNRESET && !way->frames) ? SP_E_CLOSED : (int)got;
}

/* At most `most` bytes. */
static int copy(struct sp_way *way, size_t most, size_t *ret_moved)
{
	static char scratch[SP_FRAME_HEADER + SP_RELAY_CHUNK];
	char *bytes = scratch + SP_FRAME_HEADER;
	ssize_t got = sp_read_some(way->from, bytes, most);
	size_t size = (size_t)got, header = way->frames ? SP_FRAME_HEADER : 0;
	int code;

	if (got <= 0)
		return end_code(way, got);
	code = way->reader ? sp_way_strip(way, bytes, &size) : 0;
	if (header)
		sp_frame_header(SP_FRAME_INPUT, size, (unsigned char *)scratch);
	if (!code && size > 0 && !way->lost)
		code = give(way, bytes - header, header, size, ret_moved);
	if (code)
		return code;
	/* Less than asked for: it is empty now, most likely. */
	if ((size_t)got < most) {
		way->full = 0;
		return -EAGAIN;
	}
	way->full++;
	return 0;
}

static ssize_t splice_some(int from, int to, size_t size)
{
	ssize_t n;

	do
		n = splice(from, NULL, to, NULL, size, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* `to` is nothing to splice into (a file that is appended to): what is in the pipe is copied. */
static int empty_pipe(struct sp_way *way)
{
	ssize_t n;

	way->no_splice = true;
	way->held = malloc(way->piped);
	if (!way->held)
		return -ENOMEM;
	n = sp_read_some(way->pipe[0], way->held, way->piped);
	way->start = 0;
	way->end = n > 0 ? (size_t)n : 0;
	way->piped -= way->end;
	if (way->piped > 0)
		return n < 0 ? (int)n : -EIO;
	sp_pipe_give(way->pipe, true);
	return 0;
}

static int move_piped(struct sp_way *way, size_t *ret_moved)
{
	size_t most = sp_way_splice_most(way);
	int code = sp_way_put_head(way);
	ssize_t n;

	if (code)
		return write_code(code);
	while (way->piped > 0) {
		n = splice_some(way->pipe[0], way->to, way->piped < most ? way->piped : most);
		if (n == -EINVAL)
			return empty_pipe(way);
		if (n <= 0)
			return n == 0 ? -EPIPE : write_code(n);
		way->piped -= (size_t)n;
		*ret_moved += (size_t)n;
	}
	return 0;
}

/* How much may be spliced: of frames that are taken off, what is left of the one. */
static size_t splice_most(const struct sp_way *way)
{
	size_t left = way->reader ? sp_frame_left(way->reader) : SP_RELAY_CHUNK;

	return left < SP_RELAY_CHUNK ? left : SP_RELAY_CHUNK;
}

/* They are in the pipe now. */
static void take_piped(struct sp_way *way, size_t size)
{
	way->piped = size;
	way->full = size < BULK_LEAST ? way->full - 1 : BULK_AFTER;
	if (way->reader)
		sp_frame_skip(way->reader, size);
	if (way->frames) {
		sp_frame_header(SP_FRAME_INPUT, size, way->head);
		way->head_left = SP_FRAME_HEADER;
	}
}

static int splice_fresh(struct sp_way *way, size_t *ret_moved)
{
	size_t most = splice_most(way);
	ssize_t n;

	/* The next header first. Small frames are no bulk. */
	if (most < BULK_LEAST) {
		int code = copy(way, sp_way_to_header(way), ret_moved);
		if (splice_most(way) < BULK_LEAST)
			way->full = 0;
		return code;
	}
	n = splice_some(way->from, way->pipe[1], most);
	if (n == -EINVAL) {
		way->no_splice = true;
		sp_pipe_give(way->pipe, true);
		return copy(way, SP_RELAY_CHUNK, ret_moved);
	}
	if (n <= 0) {
		/* Nothing there now. It is bulk as before when there is more: what it costs to take
		 * a pipe again is nothing. */
		sp_pipe_give(way->pipe, true);
		return end_code(way, n);
	}
	take_piped(way, (size_t)n);
	return move_piped(way, ret_moved);
}

int sp_way_move(struct sp_way *way, size_t *ret_moved)
{
	*ret_moved = 0;
	if (way->held)
		return move_held(way, ret_moved);
	if (way->piped > 0)
		return move_piped(way, ret_moved);
	/* When there is none, it is asked for again after as many moves more. */
	if (way->pipe[0] < 0 && way->full >= BULK_AFTER && !way->no_splice && !way->lost &&
	    !sp_pipe_take(way->pipe))
		way->full = 0;
	if (way->pipe[0] >= 0 && way->full > 0)
		return splice_fresh(way, ret_moved);
	sp_pipe_give(way->pipe, true);
	return copy(way, SP_RELAY_CHUNK, ret_moved);
}
