/* A port's frames, to the guest's agent and from it: every move inside the bracket of its lease. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include "base/io.h"
#include "base/util.h"
#include "net/parts.h"
#include "spacebridge/gateway.h"

#define READ_SIZE SP_RELAY_CHUNK

static void set_watchers(struct port *port)
{
	struct ev_loop *loop = port->gateway->loop;
	bool moves = port->started && !port->paused && port->lease;

	if (moves && !port->kept && !port->lost && !port->over)
		ev_io_start(loop, &port->readable);
	else
		ev_io_stop(loop, &port->readable);
	if (moves && port->held)
		ev_io_start(loop, &port->writable);
	else
		ev_io_stop(loop, &port->writable);
}

int port_enter(struct port *port)
{
	int code = port->lease ? sp_lease_enter(port->lease) : SP_E_CONFLICT;

	if (code) {
		port->paused = true;
		set_watchers(port);
	}
	return code;
}

void port_leave(struct port *port, enum sp_lease_way way, size_t moved)
{
	sp_lease_leave(port->lease, way, moved);
}

static void hold(struct port *port, const char *header, size_t from, const char *bytes, size_t size)
{
	size_t head = from < SP_FRAME_HEADER ? SP_FRAME_HEADER - from : 0;
	size_t skip = from > SP_FRAME_HEADER ? from - SP_FRAME_HEADER : 0;

	port->held_start = 0;
	port->held_end = head + size - skip;
	port->held = malloc(port->held_end);
	if (!port->held) {
		port->lost = true;
		return;
	}
	memcpy(port->held, header + SP_FRAME_HEADER - head, head);
	if (size > skip)
		memcpy(port->held + head, bytes + skip, size - skip);
	set_watchers(port);
}

void port_put(struct port *port, const char *bytes, size_t size)
{
	unsigned char header[SP_FRAME_HEADER];
	struct iovec parts[2] = {{header, sizeof(header)}, {(void *)(uintptr_t)bytes, size}};
	ssize_t n;

	sp_frame_header(SP_FRAME_INPUT, size, header);
	n = sp_parts_write(approach_fd(&port->approach), parts, 2);
	/* What does not go for another reason than a full buffer: the other way tells. */
	if (n < 0 && n != -EAGAIN)
		return;
	if (n < (ssize_t)(sizeof(header) + size))
		hold(port, (const char *)header, n > 0 ? (size_t)n : 0, bytes, size);
}

static void write_held(struct port *port)
{
	ssize_t n = sp_write_some(approach_fd(&port->approach), port->held + port->held_start,
	    port->held_end - port->held_start);

	if (n == -EAGAIN)
		return;
	port->held_start = n < 0 ? port->held_end : port->held_start + (size_t)n;
	if (port->held_start == port->held_end)
		free(sp_steal(&port->held));
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct port *port = watcher->data;

	(void)loop;
	(void)events;
	if (port_enter(port))
		return;
	write_held(port);
	port_leave(port, SP_LEASE_IN, 0);
	set_watchers(port);
	if (!port->held)
		port->handlers->changed(port->context);
}

static void keep(struct port *port, const char *bytes, size_t size)
{
	port->kept = malloc(size);
	if (!port->kept) {
		port->lost = true;
		return;
	}
	memcpy(port->kept, bytes, size);
	port->kept_start = 0;
	port->kept_end = size;
}

/* Gives a piece of output on. False: not all of it was taken. */
static bool give(struct port *port, const char *bytes, size_t size, size_t *moved)
{
	size_t taken = port->handlers->data(bytes, size, port->context);

	*moved += taken;
	port->piece = size - taken;
	return taken == size;
}

static void take_control(struct port *port, const struct sp_frame *frame)
{
	struct sp_err err = {0};

	if (frame->type == SP_FRAME_END)
		port->guest_ended = true;
	else if (sp_status_parse(frame->data, frame->size, &port->status, &err))
		port->lost = true;
	else
		port->over = true;
}

/* Returns the bytes that are done with; what is left begins with what is left of a piece. */
static size_t deliver(struct port *port, const char *bytes, size_t size, size_t *moved)
{
	size_t used = 0;

	while (used < size && !port->lost) {
		struct sp_frame frame = {SP_FRAME_OUTPUT, bytes + used, port->piece};
		size_t n = port->piece;
		int got = 1;

		if (port->piece == 0)
			got = sp_frame_take(
			    &port->reader, bytes + used, size - used, &n, &frame, NULL);
		if (got < 0) {
			port->lost = true;
			break;
		}
		used += n;
		if (got == 0)
			break;
		if (frame.type != SP_FRAME_OUTPUT && frame.type != SP_FRAME_ERROR)
			take_control(port, &frame);
		else if (!give(port, frame.data, frame.size, moved))
			return used - port->piece;
	}
	return used;
}

static void read_some(struct port *port, size_t *moved)
{
	static char scratch[READ_SIZE];
	ssize_t n = sp_read_some(approach_fd(&port->approach), scratch, sizeof(scratch));
	size_t used;

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		port->lost = true;
		return;
	}
	used = deliver(port, scratch, (size_t)n, moved);
	if (used < (size_t)n && !port->lost)
		keep(port, scratch + used, (size_t)n - used);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct port *port = watcher->data;
	size_t moved = 0;

	(void)loop;
	(void)events;
	if (port_enter(port))
		return;
	read_some(port, &moved);
	port_leave(port, SP_LEASE_OUT, moved);
	set_watchers(port);
	port->handlers->changed(port->context);
}

void port_more(struct port *port)
{
	size_t moved = 0;

	if (!port->kept || port_enter(port))
		return;
	port->kept_start +=
	    deliver(port, port->kept + port->kept_start, port->kept_end - port->kept_start, &moved);
	if (port->kept_start == port->kept_end || port->lost)
		free(sp_steal(&port->kept));
	port_leave(port, SP_LEASE_OUT, moved);
	set_watchers(port);
	port->handlers->changed(port->context);
}

void port_frames_init(struct port *port)
{
	sp_frame_reader_init(&port->reader, SP_FRAME_FROM_GUEST);
	ev_init(&port->readable, on_readable);
	ev_init(&port->writable, on_writable);
	port->readable.data = port->writable.data = port;
}

void port_start(struct port *port)
{
	int fd = approach_fd(&port->approach);

	sp_relay_bound(fd);
	ev_io_set(&port->readable, fd, EV_READ);
	ev_io_set(&port->writable, fd, EV_WRITE);
	port->started = true;
	set_watchers(port);
}

void port_frames_resume(struct port *port)
{
	port->paused = false;
	set_watchers(port);
}

void port_frames_done(struct port *port)
{
	ev_io_stop(port->gateway->loop, &port->readable);
	ev_io_stop(port->gateway->loop, &port->writable);
	port->started = false;
	free(sp_steal(&port->kept));
	free(sp_steal(&port->held));
}
