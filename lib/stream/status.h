/*
 * How a stream ended, as its last frame says it (06-streams, Frames; space-records(5), STREAMS):
 * {"exit":N}, {"signal":"SIGTERM"} or {"error":KIND,"message":WORDS}, with "errno" where the kind
 * is `op`. A tree adds "entries" and "bytes" to its exit. Pure.
 */
#ifndef SP_STREAM_STATUS_H
#define SP_STREAM_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "record/reason.h"
#include "stream/frame.h"

enum sp_status_kind { SP_STATUS_EXIT, SP_STATUS_SIGNAL, SP_STATUS_ERROR };

struct sp_status {
	enum sp_status_kind kind;
	int number;               /* exit: 0 to 255 */
	char name[32];            /* signal: "SIGTERM"; error `op`: "ENOENT" */
	enum sp_error_kind error; /* of an error */
	char message[SP_ERR_MAX]; /* of an error */
	bool counted;             /* exit of a tree */
	int64_t entries, bytes;
};

/* `status` as from wait(2). */
struct sp_status sp_status_of_wait(int status);

/* An error from its code and words, as a result of the same code would have it: kinds of their own
 * for SP_E_BAD_RECORD, SP_E_TIMEOUT, SP_E_UNAVAILABLE and SP_E_TOO_LARGE; else `op`. */
struct sp_status sp_status_of_error(int code, const char *message);

/* The JSON; its size, which is below SP_FRAME_CONTROL_MAX, or 0 when out of memory. */
size_t sp_status_print(const struct sp_status *status, char ret_text[SP_FRAME_CONTROL_MAX]);

/* The reverse; other members are passed over. SP_E_BAD_RECORD. */
int sp_status_parse(const char *text, size_t size, struct sp_status *ret, struct sp_err *err);

/* What a client ends with: the exit, 128 and the signal's number, or that of the error. */
int sp_status_exit(const struct sp_status *status);

#endif
