/*
 * A quick look at a line that is plainly a JSON object: checked as strictly as sp_json_parse checks
 * it, but without making a tree. Pure.
 *
 * What is unusual is not judged: false means "let sp_json_parse say", never "bad". Unusual are an
 * escape in a name, more than SP_SCAN_NAMES names in one object, a surrogate pair written as
 * escapes, numbers of more than 15 digits, with a fraction or an exponent, more outer members than
 * there is room for.
 */
#ifndef SP_RECORD_SCAN_H
#define SP_RECORD_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define SP_SCAN_NAMES 16

/* One member of the outer object; borrowed from the text. */
struct sp_scan_member {
	const char *name; /* without quotes */
	size_t name_size;
	const char *value; /* as written: with its quotes, braces, ... */
	size_t size;
	char kind;  /* the value's first character */
	bool plain; /* a string without escapes: what stands between its quotes is what it means */
};

/* *ret_count members in the order in which they stand. */
bool sp_json_scan(const char *text, size_t size, struct sp_scan_member *members, unsigned room,
    unsigned *ret_count);

/* The same of a text that is moreover, byte for byte, what sp_json_write makes of it: no white
 * space between, no escape where none is needed or a shorter one would do. It can be passed on as
 * it is. */
bool sp_json_scan_compact(const char *text, size_t size, struct sp_scan_member *members,
    unsigned room, unsigned *ret_count);

/* The member of this name, or NULL. */
const struct sp_scan_member *sp_scan_find(
    const struct sp_scan_member *members, unsigned count, const char *name);

/* Is it a plain string of exactly these bytes? */
bool sp_scan_is(const struct sp_scan_member *member, const char *text);

#endif
