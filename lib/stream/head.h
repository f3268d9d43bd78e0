/*
 * The head of an HTTP/1 request at a server that admits each by itself (06-streams, --http): read
 * strictly, and for a gateway written again without what is not the guest's. Pure.
 *
 * Refused: a line end that is not CRLF, a line that is folded (obs-fold), a control character, a
 * second Content-Length, Transfer-Encoding, Authorization or Host, Content-Length beside
 * Transfer-Encoding, any coding but `chunked`, CONNECT, and whatever http_parser refuses.
 */
#ifndef SP_STREAM_HEAD_H
#define SP_STREAM_HEAD_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/err.h"

#define SP_HEAD_MAX    16384u /* with its empty line */
#define SP_HEAD_FIELDS 100u
/* What is written is never longer than what was read and this. */
#define SP_HEAD_ADDED 256u

struct sp_head_field {
	const char *name, *value; /* borrowed from the head */
	size_t name_size, value_size;
};

struct sp_head {
	unsigned method; /* enum http_method */
	bool old;        /* HTTP/1.0 */
	bool keep_alive; /* the client goes on after the answer */
	bool websocket;  /* it is an upgrade to it */
	bool chunked, has_length;
	const char *target; /* borrowed, as all below */
	size_t target_size;
	const char *token; /* of Authorization: Bearer, else of Sec-WebSocket-Protocol; or NULL */
	size_t token_size;
	unsigned count;
	struct sp_head_field fields[SP_HEAD_FIELDS];
};

/* The size of the head that the bytes begin with; 0: more must come. SP_E_BAD_RECORD. */
ssize_t sp_head_find(const char *bytes, size_t size, struct sp_err *err);

/* Reads a whole head. SP_E_BAD_RECORD. */
int sp_head_parse(const char *head, size_t size, struct sp_head *ret, struct sp_err *err);

/* The one field of this name, or NULL. SP_E_BAD_RECORD: there are more. */
int sp_head_one(const struct sp_head *head, const char *name, const struct sp_head_field **ret,
    struct sp_err *err);

/* Is it a field's name, strictly? http_parser takes some that are none, such as one with a blank at
 * its end. */
bool sp_head_is_name(const char *name, size_t size);

bool sp_head_named(const struct sp_head_field *field, const char *name);

/* The next item of a list of which *at is what is left, without the white space around it. False:
 * there is none. */
bool sp_head_item(const char **at, const char *end, const char **ret, size_t *ret_size);

/* Writes it without Authorization, without capabilities in Sec-WebSocket-Protocol, and without what
 * is meant for the next hop alone; an upgrade to WebSocket stays one if `upgrade`. `room` is the
 * head's size and SP_HEAD_ADDED. The size. */
size_t sp_head_print(const struct sp_head *head, bool upgrade, char *text, size_t room);

#endif
