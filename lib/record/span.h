/*
 * The bytes of one member of a JSON object, as they were written: what is passed on unchanged is
 * not made into a tree and back. Pure.
 */
#ifndef SP_RECORD_SPAN_H
#define SP_RECORD_SPAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `text` must have passed sp_json_parse. Finds the member of the outer object whose name is written
 * exactly as `name` (without escapes), and gives its value's bytes, borrowed. False when there is
 * none; a member whose name is written with escapes is not found.
 */
bool sp_json_span(
    const char *text, size_t size, const char *name, const char **ret_value, size_t *ret_size);

#endif
