/*
 * The values of operations (07-operations) in JSON: paths, contents as `text` or `data`, modes. All
 * codes are 0, SP_E_BAD_RECORD with words, or -errno. Pure.
 */
#ifndef SP_GUEST_VALUE_H
#define SP_GUEST_VALUE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include "base/err.h"

/* What an answer's line holds besides contents: id, status, numbers, names of fields. */
#define SP_ANSWER_FRAME 2048

/* `text` (a JSON string or NULL) or `data` (base64, or NULL), exactly one of them. *ret_bytes is
 * heap with a NUL after it. `what` names the field in words. */
int sp_value_bytes(const json_t *text, const json_t *data, const char *what, char **ret_bytes,
    size_t *ret_size, struct sp_err *err);

/* The same for a path: not empty, no NUL, shorter than PATH_MAX. */
int sp_value_path(const json_t *text, const json_t *data, const char *what, char ret_path[PATH_MAX],
    struct sp_err *err);

/* A mode: "0644" (octal, up to four digits with or without leading zeros) or a number, 0 to 07777.
 * NULL: *ret stays. */
int sp_value_mode(const json_t *mode, mode_t *ret, struct sp_err *err);

/* A whole number within bounds. NULL: *ret stays. */
int sp_value_number(const json_t *number, const char *what, int64_t min, int64_t max, int64_t *ret,
    struct sp_err *err);

/* Bytes that the string takes in a line, with its quotes, as jansson writes it. */
size_t sp_text_escaped(const char *bytes, size_t size);

/*
 * Adds `key` as text when the bytes are UTF-8 without NUL and take at most `room` bytes in the line
 * when escaped, else `key_data`, or `data` when `key` is "text", in base64. -ENOMEM.
 */
int sp_value_put(json_t *object, const char *key, const char *bytes, size_t size, size_t room);

/* type, size, mode ("0644"), mtime of a file as in file.list. */
int sp_value_put_stat(json_t *object, const struct stat *info);

#endif
