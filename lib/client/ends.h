/*
 * Descriptors of this process as the other side of a stream (client/pump.h): input is read when the
 * stream has room for it, the stream when output has.
 */
#ifndef SP_CLIENT_ENDS_H
#define SP_CLIENT_ENDS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "client/pump.h"

struct sp_ends;

struct sp_ends_options {
	struct ev_loop *loop;
	int in, out, err; /* not blocking (base/io.h); taken */
	/* Output is lines: each is given out whole, and of one that a cut leaves half nothing. */
	bool lines;
	/* Looks at input before it goes; how many of its bytes go. It may end the stream. NULL:
	 * all. */
	size_t (*on_input)(void *context, const char *bytes, size_t size);
	void *context;
};

/* The side that they are; its context is the sp_ends. */
extern const struct sp_side sp_ends_side;

/* -ENOMEM or 0; `options`' descriptors are taken in either case. */
int sp_ends_new(const struct sp_ends_options *options, struct sp_ends **ret);

/* Not before its pump. Whole lines that output has not taken yet go out first. NULL is fine. */
void sp_ends_free(struct sp_ends *ends);

#endif
