/* wslay's events as calls, and nothing left in its queues. */
#include "stream/websocket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>
#include "base/text.h"

struct sp_websocket {
	const struct sp_websocket_handlers *handlers;
	void *context;
	wslay_event_context_ptr events;
	uint64_t max, size; /* of the message that comes */
	const char *bytes;  /* that are being taken */
	size_t left;
	uint8_t opcode; /* of the frame that comes */
	bool closing;
};

static int code_of(int result)
{
	return result == WSLAY_ERR_NOMEM ? -ENOMEM : 0;
}

/* Writes all that is queued. */
static int flush(struct sp_websocket *socket)
{
	return code_of(wslay_event_send(socket->events));
}

static ssize_t on_recv(
    wslay_event_context_ptr events, uint8_t *room, size_t size, int flags, void *data)
{
	struct sp_websocket *socket = data;
	size_t n = socket->left < size ? socket->left : size;

	(void)flags;
	if (n == 0) {
		wslay_event_set_error(events, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(room, socket->bytes, n);
	socket->bytes += n;
	socket->left -= n;
	return (ssize_t)n;
}

static ssize_t on_send(
    wslay_event_context_ptr events, const uint8_t *bytes, size_t size, int flags, void *data)
{
	struct sp_websocket *socket = data;

	(void)events;
	(void)flags;
	socket->handlers->write(socket->context, (const char *)bytes, size);
	return (ssize_t)size;
}

static void on_start(wslay_event_context_ptr events,
    const struct wslay_event_on_frame_recv_start_arg *frame, void *data)
{
	struct sp_websocket *socket = data;

	(void)events;
	socket->opcode = frame->opcode;
	if (frame->opcode == WSLAY_TEXT_FRAME)
		(void)sp_websocket_close(
		    socket, WSLAY_CODE_UNSUPPORTED_DATA, "messages of text are not taken here");
	if (wslay_is_ctrl_frame(frame->opcode))
		return;
	/* The library looks at each frame's size alone. */
	if (frame->payload_length > socket->max - socket->size)
		(void)sp_websocket_close(socket, WSLAY_CODE_MESSAGE_TOO_BIG, "");
	else
		socket->size += frame->payload_length;
}

static void on_chunk(wslay_event_context_ptr events,
    const struct wslay_event_on_frame_recv_chunk_arg *chunk, void *data)
{
	struct sp_websocket *socket = data;

	(void)events;
	if (!socket->closing && !wslay_is_ctrl_frame(socket->opcode) && chunk->data_length > 0)
		socket->handlers->binary(
		    socket->context, (const char *)chunk->data, chunk->data_length, false);
}

static void on_message(
    wslay_event_context_ptr events, const struct wslay_event_on_msg_recv_arg *message, void *data)
{
	struct sp_websocket *socket = data;

	(void)events;
	if (wslay_is_ctrl_frame(message->opcode))
		return;
	socket->size = 0;
	if (!socket->closing)
		socket->handlers->binary(socket->context, "", 0, true);
}

int sp_websocket_new(const struct sp_websocket_handlers *handlers, void *context, uint64_t max,
    struct sp_websocket **ret)
{
	static const struct wslay_event_callbacks callbacks = {.recv_callback = on_recv,
	    .send_callback = on_send,
	    .on_frame_recv_start_callback = on_start,
	    .on_frame_recv_chunk_callback = on_chunk,
	    .on_msg_recv_callback = on_message};
	struct sp_websocket *socket = calloc(1, sizeof(*socket));

	if (!socket)
		return -ENOMEM;
	socket->handlers = handlers;
	socket->context = context;
	socket->max = max;
	if (wslay_event_context_server_init(&socket->events, &callbacks, socket) != 0) {
		free(socket);
		return -ENOMEM;
	}
	wslay_event_config_set_no_buffering(socket->events, 1);
	wslay_event_config_set_max_recv_msg_length(socket->events, max);
	*ret = socket;
	return 0;
}

void sp_websocket_free(struct sp_websocket *socket)
{
	if (!socket)
		return;
	wslay_event_context_free(socket->events);
	free(socket);
}

int sp_websocket_take(struct sp_websocket *socket, const char *bytes, size_t size)
{
	int bad;

	socket->bytes = bytes;
	socket->left = size;
	bad = code_of(wslay_event_recv(socket->events));
	socket->left = 0;
	socket->closing |= !wslay_event_get_read_enabled(socket->events);
	return bad ? bad : flush(socket);
}

static int queue(struct sp_websocket *socket, uint8_t opcode, const char *bytes, size_t size)
{
	const struct wslay_event_msg message = {opcode, (const uint8_t *)bytes, size};
	int bad = code_of(wslay_event_queue_msg(socket->events, &message));

	return bad ? bad : flush(socket);
}

int sp_websocket_put(
    struct sp_websocket *socket, enum sp_websocket_kind kind, const char *bytes, size_t size)
{
	return queue(
	    socket, kind == SP_WEBSOCKET_TEXT ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME, bytes, size);
}

int sp_websocket_ping(struct sp_websocket *socket)
{
	return queue(socket, WSLAY_PING, "", 0);
}

int sp_websocket_close(struct sp_websocket *socket, unsigned code, const char *reason)
{
	size_t size = strlen(reason);
	int bad;

	if (socket->closing)
		return 0;
	socket->closing = true;
	if (size > SP_WEBSOCKET_REASON_MAX)
		for (size = SP_WEBSOCKET_REASON_MAX; ((unsigned char)reason[size] & 0xc0) == 0x80;)
			size--;
	bad = code_of(
	    wslay_event_queue_close(socket->events, (uint16_t)code, (const uint8_t *)reason, size));
	return bad ? bad : flush(socket);
}

bool sp_websocket_closing(const struct sp_websocket *socket)
{
	return socket->closing;
}

bool sp_websocket_over(const struct sp_websocket *socket)
{
	return wslay_event_get_close_sent(socket->events) &&
	       !wslay_event_get_read_enabled(socket->events);
}
