/*
 * The server's end of a WebSocket behind its opening (RFC 6455; stream/upgrade.h): messages out of
 * bytes, and bytes out of messages. Frames, masks, fragments, UTF-8 and the exchange of closes are
 * wslay's; no socket and no clock. Nothing that comes is kept: a message is given part by part, and
 * what it answers by itself, pong and close, is never more than what came.
 */
#ifndef SP_STREAM_WEBSOCKET_H
#define SP_STREAM_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

#define SP_WEBSOCKET_REASON_MAX 123u /* bytes of a close's reason */

struct sp_websocket;

enum sp_websocket_kind { SP_WEBSOCKET_TEXT, SP_WEBSOCKET_BINARY };

/* Called from within the functions below, which must not be called for another context meanwhile;
 * sp_websocket_put and sp_websocket_close may be called from within `binary`. */
struct sp_websocket_handlers {
	/* Of a binary message, the next part (perhaps empty); `last`: it is whole. Not called after
	 * a close, be it ours or the peer's. */
	void (*binary)(void *context, const char *bytes, size_t size, bool last);
	/* Bytes that go out; all of them are taken. */
	void (*write)(void *context, const char *bytes, size_t size);
};

/* `max`: bytes of the longest message that may come. -ENOMEM or 0. */
int sp_websocket_new(const struct sp_websocket_handlers *handlers, void *context, uint64_t max,
    struct sp_websocket **ret);
void sp_websocket_free(struct sp_websocket *socket); /* NULL is fine */

/* Takes bytes, all of them. What is no WebSocket, a text message, and one that is too long are
 * answered by a close. -ENOMEM or 0. */
int sp_websocket_take(struct sp_websocket *socket, const char *bytes, size_t size);

/* A message, or a ping, goes out, unless a close has. -ENOMEM or 0. */
int sp_websocket_put(
    struct sp_websocket *socket, enum sp_websocket_kind kind, const char *bytes, size_t size);
int sp_websocket_ping(struct sp_websocket *socket);

/* Our close, unless there was one. What is longer than the bound is cut off at a character. */
int sp_websocket_close(struct sp_websocket *socket, unsigned code, const char *reason);

/* A close has gone out: by us, or in answer. */
bool sp_websocket_closing(const struct sp_websocket *socket);

/* ... and the peer's has come, or never can: the connection is to be ended. */
bool sp_websocket_over(const struct sp_websocket *socket);

#endif
