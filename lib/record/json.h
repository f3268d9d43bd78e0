/*
 * JSON as 01-records wants it: jansson, with the rest of the strictness on top.
 *
 * One object; no duplicate key, no invalid UTF-8, no \u0000, nothing after it, at most
 * SP_JSON_DEPTH_MAX deep, every number a whole one within +-SP_INT_MAX written without fraction or
 * exponent.
 */
#ifndef SP_RECORD_JSON_H
#define SP_RECORD_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

static inline void sp_json_release(json_t **value)
{
	json_decref(*value);
	*value = NULL;
}
#define sp_auto_json sp_cleanup(sp_json_release)

/* Parses one object of `size` bytes. *ret is a new reference. SP_E_BAD_RECORD with words that name
 * place and cause. */
int sp_json_parse(const char *text, size_t size, json_t **ret, struct sp_err *err);

/* Reads a regular file of at most `max` bytes that holds one object (white space around it is
 * fine). */
int sp_json_read_file(int at, const char *path, size_t max, json_t **ret, struct sp_err *err);

/*
 * Compact text, the bytes of json_dumpb with JSON_COMPACT: object members in their order, no LF, no
 * NUL. Returns the size it has; nothing is written beyond `room`, and what was written is of use
 * only when the size is not above it. A value built by hand nests no deeper than the stack bears.
 */
size_t sp_json_write(const json_t *value, char *text, size_t room);

/* Compact text as a heap string without LF; NULL when out of memory. */
char *sp_json_text(const json_t *value);

enum sp_json_kind { SP_JSON_STRING, SP_JSON_INTEGER, SP_JSON_BOOL, SP_JSON_OBJECT, SP_JSON_ARRAY };

/* One field of a closed object. */
struct sp_json_field {
	const char *name;
	enum sp_json_kind kind;
	bool optional;
	const json_t *
	    *ret; /* borrowed from the object; NULL when optional and absent. May itself be NULL */
};

/*
 * Takes a closed object apart: each field of its kind, none missing, none besides. The first thing
 * wrong is named as `what`.field. On failure every *ret may have been set to a borrowed value or
 * NULL; use none.
 */
int sp_json_take(const json_t *object, const char *what, const struct sp_json_field *fields,
    size_t count, struct sp_err *err);

/*
 * Before anything else of an object is looked at, as a newer version may have put more into it: is
 * it of a format that is known here? `field` holds its number. SP_E_BAD_RECORD where that is
 * another, with words for one that only a newer version knows; where there is none it is left to
 * sp_json_take.
 */
int sp_json_format(
    const json_t *object, const char *what, const char *field, int known, struct sp_err *err);

/* The string of a field already known to be one, or NULL when value is NULL. */
static inline const char *sp_json_string(const json_t *value)
{
	return value ? json_string_value(value) : NULL;
}

#endif
