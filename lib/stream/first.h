/*
 * A stream's first bytes, and whether they are what its protocol begins with (06-streams,
 * spacebridge gateway): the claim of a capability is enforced, not believed. Pure; byte by byte or
 * all at once, to the same verdict.
 *
 *   tcp        anything, nothing too
 *   http       an HTTP/1 request line, or the connection preface of HTTP/2 (RFC 9113, 3.4)
 *   websocket  the whole head of an HTTP/1.1 request that upgrades to it (RFC 6455, 4.1)
 *   tls        a ClientHello (RFC 8446, 4.1.2; versions 3.0 to 1.3 on the wire)
 *
 * HTTP/1 is read by http_parser (libhttp-parser): of the parsers that Debian 12 packages it alone
 * is C, neither a whole server nor tied to an event loop; its successor llhttp is not packaged.
 */
#ifndef SP_STREAM_FIRST_H
#define SP_STREAM_FIRST_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include "record/op.h"

#define SP_FIRST_MAX 16384u /* a request line, or a head: more without a verdict is wrong */

enum sp_first_verdict { SP_FIRST_WAIT, SP_FIRST_FITS, SP_FIRST_WRONG };

struct sp_first {
	enum sp_protocol protocol;
	enum sp_first_verdict verdict;
	size_t seen;
	bool preface, request; /* it may still be the one, or the other */
	http_parser parser;
	char field[16], value[16]; /* of the header that is being read, as far as they fit */
	size_t field_size, value_size;
	bool in_value, websocket, whole;
};

void sp_first_init(struct sp_first *first, enum sp_protocol protocol);

/* With more bytes, perhaps none. A verdict stays. */
enum sp_first_verdict sp_first_take(struct sp_first *first, const char *bytes, size_t size);

#endif
