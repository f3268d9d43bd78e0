/*
 * A client of a server that answers each line with one line, in order (the cache, the signer): many
 * questions in flight on one Unix connection, on a libev loop. Reconnects for the next question
 * after a failure, never repeats a question.
 */
#ifndef SP_NET_CALLER_H
#define SP_NET_CALLER_H

#include <ev.h>
#include <stddef.h>
#include "base/err.h"

struct sp_caller;

/* code 0 and the line (NUL-terminated, valid during the call), or a negative code (SP_E_TIMEOUT,
 * SP_E_CLOSED, -errno) and words. May ask again, must not free the caller. */
typedef void sp_caller_fn(void *context, int code, const char *line_or_words, size_t size);

/* `path` is copied. `timeout_ms` bounds each answer, and a connect. Nothing is connected yet. */
int sp_caller_new(struct ev_loop *loop, const char *path, int timeout_ms, struct sp_caller **ret,
    struct sp_err *err);

/* For questions from now on. */
void sp_caller_timeout(struct sp_caller *caller, int timeout_ms);

/* Questions still open are forgotten: nobody is called. */
void sp_caller_free(struct sp_caller *caller);

/* Asks; `answered` is called exactly once, never from within this call. The server must answer the
 * line: one that is late takes the questions behind it along, as their answers can no longer be
 * told apart. */
void sp_caller_ask(
    struct sp_caller *caller, const char *line, size_t size, sp_caller_fn *answered, void *context);

/* The same for one-shot verbs: connect, ask, wait, close. *ret_line is heap. */
int sp_call_once(const char *path, int timeout_ms, const char *line, size_t size, char **ret_line,
    struct sp_err *err);

#endif
