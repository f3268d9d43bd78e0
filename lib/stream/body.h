/*
 * The body of an HTTP/1 request out of its framing, by Content-Length or in chunks, strictly: what
 * another reader could read as something else is none. Pure.
 */
#ifndef SP_STREAM_BODY_H
#define SP_STREAM_BODY_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the body, borrowed for the call. False: no more, the body is bad. */
typedef bool sp_body_fn(void *context, const char *bytes, size_t size);

struct sp_body {
	http_parser parser;
	sp_body_fn *take;
	void *context;
	bool done; /* it came to its end */
	bool bad;  /* it is none */
	bool at_line_end, last_chunk;
	char before; /* the last byte that was read before */
};

/* Behind a head that sp_head_parse has passed. Without a body it is done at once. */
void sp_body_begin(
    struct sp_body *body, const char *head, size_t size, sp_body_fn *take, void *context);

/* Reads on. The bytes that were the body's: all, unless it is done or bad. */
size_t sp_body_read(struct sp_body *body, const char *bytes, size_t size);

#endif
