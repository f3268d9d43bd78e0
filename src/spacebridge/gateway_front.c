/* A client's connection, whatever is spoken on it: reading, limits, its end, and bytes that nobody
 * looks at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "spacebridge/gateway.h"

#define PART_LIMIT 1. /* seconds for a client to read why it is refused */

int front_init(struct front *front, struct gateway *gateway, int fd, char *in, size_t size,
    void (*readable)(struct ev_loop *loop, ev_io *watcher, int events),
    void (*limit)(struct ev_loop *loop, ev_timer *watcher, int events), void *owner)
{
	*front = (struct front){.gateway = gateway,
	    .owner = owner,
	    .client = fd,
	    .in = in ? in : malloc(GATEWAY_IN_MAX),
	    .size = size,
	    .started_us = sp_monotonic_us()};
	ev_io_init(&front->readable, readable, fd, EV_READ);
	ev_init(&front->limit, limit);
	front->readable.data = front->limit.data = owner;
	if (!front->in) {
		front_done(front, NULL);
		return -ENOMEM;
	}
	ev_io_start(gateway->loop, &front->readable);
	front_limit(front, (double)gateway->config.connect_timeout_ms / 1000.);
	return 0;
}

void front_done(struct front *front, const char *words)
{
	struct gateway *gateway = front->gateway;

	sp_relay_free(front->relay);
	port_free(front->port, words);
	ev_io_stop(gateway->loop, &front->readable);
	ev_timer_stop(gateway->loop, &front->limit);
	free(front->in);
	/* Without its client it lives on elsewhere. */
	if (front->client < 0)
		return;
	sp_fd_close(&front->client);
	sp_service_release(gateway->service);
}

void front_limit(struct front *front, double seconds)
{
	struct ev_loop *loop = front->gateway->loop;

	ev_now_update(loop);
	ev_timer_stop(loop, &front->limit);
	ev_timer_set(&front->limit, seconds, 0.);
	ev_timer_start(loop, &front->limit);
}

ssize_t front_read(struct front *front)
{
	ssize_t n =
	    sp_read_some(front->client, front->in + front->size, GATEWAY_IN_MAX - front->size);

	front->size += n > 0 ? (size_t)n : 0;
	return n;
}

void front_used(struct front *front, size_t size)
{
	front->size -= size;
	memmove(front->in, front->in + size, front->size);
}

void front_part(struct front *front, const char *words)
{
	port_free(sp_steal(&front->port), words);
	(void)shutdown(front->client, SHUT_WR);
	ev_io_start(front->gateway->loop, &front->readable);
	front_limit(front, PART_LIMIT);
}

bool front_throw_away(struct front *front)
{
	char bytes[4096];
	ssize_t n = sp_read_some(front->client, bytes, sizeof(bytes));

	return n == 0 || (n < 0 && n != -EAGAIN);
}

/* --- a stream --- */

/* The guest's last word about it. */
static int on_last(const struct sp_frame *frame, void *context)
{
	const struct front *front = context;
	struct port *port = front->port;
	struct sp_err err = {0};

	if (sp_status_parse(frame->data, frame->size, &port->status, &err))
		return SP_E_BAD_RECORD;
	port->over = true;
	return port->status.kind == SP_STATUS_EXIT && port->status.number == 0 ? 0 : -ECONNRESET;
}

static const char *words_of(const struct front *front, int code)
{
	if (front->port->over && code)
		return front->port->status.message;
	switch (code) {
	case 0:
		return front->port->over ? "both sides ended" : "one side ended";
	case SP_E_TIMEOUT:
		return "half closed, and idle for too long";
	case SP_E_CLOSED:
		return "the guest's side ended without a last frame";
	case SP_E_BAD_RECORD:
		return "the guest's frames are none";
	default:
		return "the client is gone";
	}
}

static void on_ended(struct sp_relay *relay, int code, void *context)
{
	struct front *front = context;

	(void)relay;
	front->ended(front->owner, code, words_of(front, code));
}

/* One frame of what was read before, as it goes first. */
static int frame_first(struct front *front)
{
	char *frame;

	if (front->size == 0)
		return 0;
	frame = malloc(SP_FRAME_HEADER + front->size);
	if (!frame)
		return -ENOMEM;
	sp_frame_header(SP_FRAME_INPUT, front->size, (unsigned char *)frame);
	memcpy(frame + SP_FRAME_HEADER, front->in, front->size);
	free(front->in);
	front->in = frame;
	front->size += SP_FRAME_HEADER;
	return 0;
}
_Static_assert(GATEWAY_IN_MAX <= SP_FRAME_PAYLOAD_MAX, "one frame");

int front_pass(struct front *front, bool framed, front_ended_fn *ended)
{
	static const struct sp_relay_handlers handlers = {.ended = on_ended, .last = on_last};
	const struct gateway *gateway = front->gateway;
	struct port *port = front->port;
	int guest = approach_fd(&port->approach);
	struct sp_relay_options options = {
	    .loop = gateway->loop,
	    .lease = port->lease,
	    .a = {front->client, front->client},
	    .b = {guest, guest},
	    .reader = framed ? NULL : &port->reader,
	    .limit_ms = (int)gateway->config.half_close_timeout * 1000,
	};

	ev_io_stop(gateway->loop, &front->readable);
	ev_timer_stop(gateway->loop, &front->limit);
	port_frames_done(port);
	front->ended = ended;
	if ((!framed && frame_first(front)) ||
	    sp_relay_new(&options, &handlers, front, &front->relay) < 0)
		return -ENOMEM;
	sp_relay_prime(front->relay, SP_LEASE_IN, sp_steal(&front->in), front->size);
	sp_relay_start(front->relay);
	return 0;
}
