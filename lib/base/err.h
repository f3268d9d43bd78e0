/*
 * Errors: an int that is 0 or negative, and a bounded message where the context is known.
 *
 * Values from -1 to -4095 are negated errno values; those below are from enum sp_code. The library
 * never prints; a caller that wants words passes a struct sp_err, one that does not passes NULL.
 */
#ifndef SP_BASE_ERR_H
#define SP_BASE_ERR_H

#include "base/limits.h"

enum sp_code {
	SP_E_USAGE = -5000,      /* command line: exit 2 */
	SP_E_CONFIG = -5001,     /* configuration: exit 2 */
	SP_E_BAD_RECORD = -5002, /* a line, claim set or runtime record breaks its format: exit 3 */
	SP_E_BAD_KEY = -5003,    /* a key, PASERK or key file: exit 3 */
	SP_E_BAD_ARCHIVE = -5004, /* a bundle or tar: exit 3 */
	SP_E_CONFLICT = -5005,    /* a conditional change lost, nothing was changed: exit 14 */
	SP_E_TIMEOUT = -5006,     /* a wait reached its limit: exit 1 */
	SP_E_CLOSED = -5007,      /* the other side ended: exit 1 */
	SP_E_TOO_LARGE = -5008,   /* over a bound of base/limits.h: exit 3 */
	SP_E_ABSENT = -5009,      /* no such record, route or entry: exit 1 */
	SP_E_DENIED = -5010,      /* an identity or a right is not what it must be: exit 11 */
	SP_E_UNAVAILABLE = -5011, /* a service or facility cannot answer now: exit 1 */
};

struct sp_err {
	int code; /* as returned */
	char message[SP_ERR_MAX];
};

/* Sets *err (may be NULL) and returns `code`. The message is cut at SP_ERR_MAX, never overrun, and
 * made printable (base/text.h). The words may quote err's own message. */
int sp_fail(struct sp_err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As sp_fail with -errno, and ": strerror" after the words. Reads errno first. */
int sp_fail_errno(struct sp_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "words: " before the message there is: context added on the way up. Returns err's code, or
 * `code` when err is NULL or was never set. */
int sp_err_prefix(struct sp_err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Words for a code alone. Never NULL; static storage. */
const char *sp_code_text(int code);

/* The exit code of 01-records for a code: 0, 1, 2, 3, 11 or 14. */
int sp_code_exit(int code);

/* clang's analyzer sees one file at a time: here it learns that a failure is never 0. */
#ifdef __clang_analyzer__
#define sp_fail(err, code, ...)       ((void)sp_fail((err), (code), __VA_ARGS__), (code))
#define sp_fail_errno(err, ...)       ((void)sp_fail_errno((err), __VA_ARGS__), -1)
#define sp_err_prefix(err, code, ...) ((void)sp_err_prefix((err), (code), __VA_ARGS__), (code))
#endif

/* What is said of something that a newer version of this toolkit wrote: its name, its format, the
 * one that is known here. */
#define SP_NEWER_FORMAT                                                                            \
	"%s: of format %lld, which a newer version wrote; this one reads %d: upgrade it"

#endif
