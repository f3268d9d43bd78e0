/*
 * A text of one known shape, taken byte for byte from its beginning on: readers of lines that our
 * own writers make. Each function takes what it says and moves on, or returns false; the reading is
 * then of no more use. Pure.
 */
#ifndef SP_RECORD_READING_H
#define SP_RECORD_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "record/route.h"

struct sp_reading {
	const char *at, *end;
};

/* Exactly these bytes; the macro, those of a literal. */
static inline bool sp_reading_bytes(struct sp_reading *reading, const char *bytes, size_t size)
{
	if ((size_t)(reading->end - reading->at) < size || memcmp(reading->at, bytes, size) != 0)
		return false;
	reading->at += size;
	return true;
}
#define sp_reading_skip(reading, text) sp_reading_bytes((reading), (text), sizeof(text) - 1)

/* The rest of a string, of letters, digits and -._: alone, with the quote that ends it. Into *ret,
 * with a NUL, within `room`; at least one byte. */
bool sp_reading_word(struct sp_reading *reading, char *ret, size_t room);
bool sp_reading_id(struct sp_reading *reading, char ret[SP_ID_MAX + 1]);

/* From 1 on, of at most 15 digits, without leading zeros. */
bool sp_reading_number(struct sp_reading *reading, int64_t *ret);

/* A route as sp_route_put writes it. */
bool sp_reading_route(struct sp_reading *reading, struct sp_route *ret);

#endif
