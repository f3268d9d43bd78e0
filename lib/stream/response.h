/*
 * The answer of an HTTP/1 server that is not believed, such as a service in a guest: read to where
 * it ends, and its head written anew for a client of another connection, whose framing is ours.
 * Pure.
 *
 * Refused: a head that sp_head_find refuses, more fields than it may have, a name that is none,
 * another version than 1, a switch of protocols that nobody asked for, and whatever http_parser
 * refuses.
 */
#ifndef SP_STREAM_RESPONSE_H
#define SP_STREAM_RESPONSE_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "stream/head.h"

/* What is written is never longer, or not written. */
#define SP_RESPONSE_PRINT_MAX (2u * SP_HEAD_MAX)

enum sp_response_state {
	SP_RESPONSE_HEAD,
	SP_RESPONSE_BODY,
	SP_RESPONSE_DONE,
	SP_RESPONSE_TUNNEL, /* switched to WebSocket: what comes is no HTTP any more */
	SP_RESPONSE_BAD,    /* it is none */
};

/* Borrowed for the call it is given to. */
struct sp_response_head {
	unsigned status;    /* 100 to 599; below 200, but for 101, another head follows */
	const char *reason; /* may be empty */
	size_t reason_size;
	bool is_bare;    /* no body follows, whatever the fields say */
	bool has_length; /* else, and not bare: by chunks, or up to the end */
	uint64_t length;
	unsigned count;
	struct sp_head_field fields[SP_HEAD_FIELDS];
};

/* False: no more; the answer is bad. */
struct sp_response_handlers {
	bool (*head)(void *context, const struct sp_response_head *head);
	bool (*body)(void *context, const char *bytes, size_t size);
};

struct sp_response {
	enum sp_response_state state;
	bool to_head, may_switch;
	const struct sp_response_handlers *handlers;
	void *context;
	http_parser parser;
	char head[SP_HEAD_MAX];
	size_t head_size;
};

/* `to_head`: it answers HEAD; `may_switch`: an upgrade to WebSocket. */
void sp_response_init(struct sp_response *response, bool to_head, bool may_switch,
    const struct sp_response_handlers *handlers, void *context);

/* Reads on: how many of the bytes were the answer's; fewer than all once it is done, switched or
 * bad. */
size_t sp_response_read(struct sp_response *response, const char *bytes, size_t size);

/* No more comes: it is done by that, or bad. */
void sp_response_end(struct sp_response *response);

/* For whom a head is written. */
struct sp_response_form {
	bool old;             /* HTTP/1.0: no chunks */
	bool keep_alive;      /* else: Connection: close */
	const char *prefix;   /* before the path of a Location that has no host; "": none */
	const char *protocol; /* of a switch that names none; NULL: that is as it should be */
};

/*
 * Writes a head without what is the last hop's alone, and without what a service that shares its
 * origin with others may not say for all of them: cookies, and what a browser keeps for an origin.
 * A document of it runs no script (Content-Security-Policy: sandbox). With a length or bare it is
 * framed as it was; else the body has to be sent in chunks, to an old client up to the end. The
 * size; 0: longer than `room`.
 */
size_t sp_response_print(const struct sp_response_head *head, const struct sp_response_form *form,
    char *text, size_t room);

#endif
