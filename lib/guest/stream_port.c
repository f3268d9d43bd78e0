/* port.connect: one TCP connection to a port of the guest's own loopback, and a stream beside it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/client.h"
#include "guest/stream.h"
#include "guest/value.h"
#include "net/tcp.h"
#include "record/json.h"
#include "record/op.h"

#define CONNECT_LIMIT 5.0         /* seconds; loopback answers at once unless a filter drops it */
#define SOCKET_BUFFER (32 * 1024) /* of the kernel, each way, which doubles it */
#define READ_SIZE     (16 * 1024)
#define READS_A_TURN  4

struct port {
	struct sp_stream *stream;
	struct ev_loop *loop;
	int fd;
	uint16_t number;
	bool second; /* ::1 is being tried, because 127.0.0.1 has failed with `code` */
	int code;
	bool connected, ended, peer_ended;
	int refused; /* it takes no more, for this code; what it has said is still read */
	ev_io readable, writable;
	ev_timer limit;
};

static void stop(struct port *port)
{
	ev_io_stop(port->loop, &port->readable);
	ev_io_stop(port->loop, &port->writable);
	ev_timer_stop(port->loop, &port->limit);
	sp_fd_close(&port->fd);
}

/* On TCP a cut is a reset. */
static void reset(struct port *port)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (port->fd >= 0)
		(void)setsockopt(port->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	stop(port);
}

static void fail(struct port *port, int code)
{
	stop(port);
	sp_stream_fail(port->stream, code, sp_code_text(code));
}

static void give_up(struct port *port, int code)
{
	struct sp_err err;

	stop(port);
	(void)sp_fail(&err, code, "port %u: %s", port->number, sp_code_text(code));
	sp_stream_refuse(port->stream, code, &err);
}

/* Both directions have ended. */
static void settle(struct port *port)
{
	struct sp_status done = {.kind = SP_STATUS_EXIT};

	if (!port->ended || !port->peer_ended)
		return;
	stop(port);
	sp_channel_finish(port->stream->channel, &done);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct port *port = watcher->data;
	char bytes[READ_SIZE];

	(void)events;
	for (int i = 0; i < READS_A_TURN && port->fd >= 0; i++) {
		size_t room = sp_channel_room(port->stream->channel);
		ssize_t n;
		if (room == 0) {
			sp_channel_ask_room(port->stream->channel);
			ev_io_stop(loop, watcher);
			return;
		}
		n = sp_read_some(port->fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
		if (n == -EAGAIN)
			return;
		if (n < 0 || (n == 0 && port->refused)) {
			fail(port, n < 0 ? (int)n : port->refused);
			return;
		}
		if (n == 0) {
			ev_io_stop(loop, watcher);
			sp_channel_end(port->stream->channel);
			port->ended = true;
			settle(port);
			return;
		}
		(void)sp_channel_put(port->stream->channel, SP_FRAME_OUTPUT, bytes, (size_t)n);
	}
}

static void connected(struct port *port)
{
	port->connected = true;
	ev_timer_stop(port->loop, &port->limit);
	ev_io_stop(port->loop, &port->writable);
	sp_channel_half_close_limit(port->stream->channel, port->stream->agent->half_close);
	sp_stream_open(port->stream, -1);
	ev_io_start(port->loop, &port->readable);
}

/* Starts to connect to 127.0.0.1, or after it to ::1. */
static int start_connect(struct port *port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} address = {.four = {.sin_family = AF_INET,
			 .sin_port = htons(port->number),
			 .sin_addr = {htonl(INADDR_LOOPBACK)}}};
	socklen_t length = sizeof(address.four);
	int size = SOCKET_BUFFER;

	if (port->second) {
		address.six = (struct sockaddr_in6){.sin6_family = AF_INET6,
		    .sin6_port = htons(port->number),
		    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		length = sizeof(address.six);
	}
	port->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (port->fd < 0)
		return -errno;
	sp_tcp_prepare(port->fd);
	/* Before connecting: the window is agreed on then. */
	(void)setsockopt(port->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	(void)setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (connect(port->fd, &address.any, length) < 0 && errno != EINPROGRESS)
		return -errno;
	ev_io_set(&port->readable, port->fd, EV_READ);
	ev_io_set(&port->writable, port->fd, EV_WRITE);
	ev_io_start(port->loop, &port->writable);
	return 0;
}

/* After one address has failed with `code`: 0 while there is another to wait for, else what the
 * first has said. */
static int try_next(struct port *port, int code)
{
	ev_io_stop(port->loop, &port->writable);
	sp_fd_close(&port->fd);
	if (port->second)
		return port->code;
	port->second = true;
	port->code = code;
	return start_connect(port) ? code : 0;
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct port *port = watcher->data;
	int number = 0, bad = 0;
	socklen_t size = sizeof(number);

	(void)events;
	if (port->connected) {
		ev_io_stop(loop, watcher);
		sp_channel_resume(port->stream->channel);
		return;
	}
	if (getsockopt(port->fd, SOL_SOCKET, SO_ERROR, &number, &size) < 0)
		number = errno;
	if (number == 0)
		connected(port);
	else
		bad = try_next(port, -number);
	if (bad)
		give_up(port, bad);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	give_up(watcher->data, -ETIMEDOUT);
}

static size_t on_frame(struct sp_stream *stream, const struct sp_frame *frame)
{
	struct port *port = stream->state;
	ssize_t n;

	if (port->fd < 0 || port->refused)
		return frame->size;
	if (frame->type == SP_FRAME_END) {
		(void)shutdown(port->fd, SHUT_WR);
		port->peer_ended = true;
		settle(port);
		return 0;
	}
	n = sp_write_some(port->fd, frame->data, frame->size);
	if (n < 0 && n != -EAGAIN) {
		port->refused = (int)n;
		if (port->ended)
			fail(port, (int)n);
		return frame->size;
	}
	if (n < (ssize_t)frame->size)
		ev_io_start(port->loop, &port->writable);
	return n < 0 ? 0 : (size_t)n;
}

static void on_room(struct sp_stream *stream)
{
	struct port *port = stream->state;

	if (port->fd >= 0 && !port->ended)
		ev_io_start(port->loop, &port->readable);
}

static void end(struct sp_stream *stream, int code)
{
	struct port *port = stream->state;

	(void)code;
	reset(port);
	free(port);
}

static int take_args(
    const struct sp_agent *agent, const json_t *args, uint16_t *ret_number, struct sp_err *err)
{
	const json_t *number_json, *protocol_json;
	const struct sp_json_field fields[] = {
	    {"port", SP_JSON_INTEGER, false, &number_json},
	    {"protocol", SP_JSON_STRING, false, &protocol_json},
	};
	enum sp_protocol protocol;
	int64_t number = 0;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_value_number(number_json, "port", 1, UINT16_MAX, &number, err)))
		return bad;
	if (!sp_protocol_parse(json_string_value(protocol_json), &protocol))
		return sp_fail(err, SP_E_BAD_RECORD, "protocol: none of tcp, http, websocket, tls");
	if (number == agent->own_port)
		return sp_fail(err, -EACCES, "port %lld is the agent's own", (long long)number);
	*ret_number = (uint16_t)number;
	return 0;
}

static int begin(struct sp_stream *stream, const json_t *args, struct sp_err *err)
{
	struct port *port;
	uint16_t number = 0;
	int bad = take_args(stream->agent, args, &number, err);

	if (bad)
		return bad;
	port = calloc(1, sizeof(*port));
	if (!port)
		return sp_fail(err, -ENOMEM, "out of memory");
	*port = (struct port){
	    .stream = stream, .loop = stream->agent->loop, .fd = -1, .number = number};
	ev_io_init(&port->readable, on_readable, -1, EV_READ);
	ev_io_init(&port->writable, on_writable, -1, EV_WRITE);
	ev_timer_init(&port->limit, on_limit, CONNECT_LIMIT, 0.);
	port->readable.data = port->writable.data = port->limit.data = port;
	bad = start_connect(port);
	if (bad)
		bad = try_next(port, bad);
	if (bad) {
		stop(port);
		free(port);
		return sp_fail(err, bad, "port %u: %s", number, sp_code_text(bad));
	}
	ev_timer_start(port->loop, &port->limit);
	stream->state = port;
	return 0;
}

const struct sp_stream_kind sp_stream_port = {
    .begin = begin, .on_frame = on_frame, .on_room = on_room, .end = end, .takes_input = true};
