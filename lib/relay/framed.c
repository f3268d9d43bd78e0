/* A relay one end of which speaks frames: they are put around what goes there, and taken off what
 * comes from there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "relay/inner.h"

size_t sp_way_to_header(const struct sp_way *way)
{
	const struct sp_frame_reader *reader = way->reader;

	if (reader->header_size < SP_FRAME_HEADER)
		return SP_FRAME_HEADER - reader->header_size;
	return reader->left + SP_FRAME_HEADER;
}

static void take_control(struct sp_way *way, const struct sp_frame *frame)
{
	const struct sp_relay *relay = way->relay;

	if (frame->type == SP_FRAME_END) {
		way->half = true;
		return;
	}
	way->ended = true;
	way->last = relay->handlers->last(frame, relay->context);
}

int sp_way_strip(struct sp_way *way, char *bytes, size_t *size)
{
	size_t used = 0, payload = 0;

	while (used < *size) {
		struct sp_frame frame;
		size_t n;
		int got = sp_frame_take(way->reader, bytes + used, *size - used, &n, &frame, NULL);
		if (got < 0)
			return got;
		used += n;
		if (got == 0)
			break;
		if (frame.type == SP_FRAME_OUTPUT || frame.type == SP_FRAME_ERROR) {
			memmove(bytes + payload, frame.data, frame.size);
			payload += frame.size;
		} else {
			take_control(way, &frame);
		}
	}
	*size = payload;
	return 0;
}

int sp_way_put_head(struct sp_way *way)
{
	while (way->head_left > 0) {
		ssize_t n = send(way->to, way->head + SP_FRAME_HEADER - way->head_left,
		    way->head_left, MSG_MORE | MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EINTR)
			return -errno;
		way->head_left -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Our direction ends: behind all that was moved, and nothing is held. */
static int end_input(struct sp_way *way)
{
	way->ended = true;
	way->held = malloc(SP_FRAME_HEADER);
	if (!way->held)
		return -ENOMEM;
	sp_frame_header(SP_FRAME_END, 0, (unsigned char *)way->held);
	way->start = 0;
	way->end = way->no_payload = SP_FRAME_HEADER;
	return 1;
}

/* Towards the guest. Where it takes no more, what comes from it tells why. */
static int input_code(struct sp_way *way, int code)
{
	if (code == SP_E_CLOSED)
		return end_input(way);
	if (code == -EPIPE) {
		sp_way_drop(way);
		way->ended = way->done = true;
		return 1;
	}
	if (code < 0 && code != -EAGAIN)
		return code;
	way->done |= way->ended && !sp_way_holds(way);
	return 1;
}

/* From the guest. A client that takes no more is gone, or soon says so by its other direction; what
 * it sent before that is still passed on. */
static int output_code(struct sp_way *way, int code)
{
	if (code == -EPIPE) {
		sp_way_drop(way);
		way->lost = true;
	} else if (code < 0 && code != -EAGAIN) {
		return code;
	}
	return way->ended && !sp_way_holds(way) ? way->last : 1;
}

int sp_way_framed_code(struct sp_way *way, int code)
{
	return way->reader ? output_code(way, code) : input_code(way, code);
}
