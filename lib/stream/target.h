/*
 * What a request asks for: its target against a table of paths and methods, and the values of its
 * query. Pure.
 */
#ifndef SP_STREAM_TARGET_H
#define SP_STREAM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "stream/head.h"

#define SP_TARGET_PARTS 4u
#define SP_METHOD(name) ((uint64_t)1 << HTTP_##name) /* a bit of a set of methods */

struct sp_target_part {
	const char *text; /* borrowed from the head; as it was sent, `%` and all */
	size_t size;
};

struct sp_asked {
	const struct sp_head *head;
	size_t head_size;
	const char *query; /* borrowed; behind the `?`; NULL: none */
	size_t query_size;
	struct sp_target_part
	    parts[SP_TARGET_PARTS]; /* what the row's path has left open, in order */
};

/* What is done about it; `context` is the caller's. */
typedef void sp_target_fn(void *context, const struct sp_asked *asked);

/*
 * One row. In `path`, `{NAME}` between two slashes stands for one part that is not empty, and a `*`
 * at the end for whatever comes there, nothing too. All else is compared byte by byte: nothing is
 * decoded, and `..` means nothing.
 */
struct sp_target_row {
	const char *path;
	uint64_t methods;
	sp_target_fn *take;
};

/*
 * The first row of this path and method. NULL: there is none, and *ret_allowed are the methods that
 * the path has; 0: there is no such path. `ret` has head and query in any case.
 */
const struct sp_target_row *sp_target_find(const struct sp_target_row *rows, size_t count,
    const struct sp_head *head, size_t head_size, struct sp_asked *ret, uint64_t *ret_allowed);

/* Writes a set of methods, such as "GET, HEAD" or "GET or HEAD". */
void sp_target_methods(uint64_t methods, const char *between, char *text, size_t room);

/* A part that is an id (base/text.h); false: it is none. `ret` has SP_ID_MAX + 1 bytes. */
bool sp_target_id(const struct sp_target_part *part, char *ret);

/* A value that a query may have. */
struct sp_target_value {
	const char *name;
	char *text; /* `room` bytes of the caller's; the value, decoded, and NUL */
	size_t room;
	bool given;
};

/*
 * Reads the query as forms have it (NAME=VALUE between `&`; %XX, and `+` for a space).
 * SP_E_BAD_RECORD: a name that is not among `values`, one that comes twice, a value that is too
 * long or has a NUL in it, or what is no such query.
 */
int sp_target_query(
    const struct sp_asked *asked, struct sp_target_value *values, size_t count, struct sp_err *err);

#endif
