/*
 * Sessions (07-operations, exec.start and terminal.open): commands that go on without anybody
 * attached. The last 64 KiB of output are kept (guest/ring.h), and how it ended for a while after.
 * While somebody is attached nothing of the output is lost: when they are slow, the command waits.
 */
#ifndef SP_GUEST_SESSION_H
#define SP_GUEST_SESSION_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include "base/err.h"
#include "stream/status.h"

#define SP_SESSION_ID_SIZE 33    /* 32 hexadecimal digits */
#define SP_SESSION_KEPT    300.0 /* seconds that an ended session is kept for a late attach */
#define SP_SESSION_WAIT                                                                            \
	3.0 /* seconds from its start in which a command waits for the first                       \
	       attachment rather than lose output */

struct sp_sessions;
struct sp_session;

/* At most `max` sessions, those that have ended counted; a new one takes the place of the one that
 * ended first. `root` is where `cwd` is resolved, `files` the RLIMIT_NOFILE of commands; both
 * borrowed. `loop` must be the default loop. NULL: out of memory. */
struct sp_sessions *sp_sessions_new(
    struct ev_loop *loop, int root, const struct rlimit *files, unsigned max);

/* SIGKILL to all of them. Nobody may be attached any more. */
void sp_sessions_free(struct sp_sessions *sessions);

/* exec.start, terminal.open, exec.list, exec.signal, terminal.resize: closed args to result. Codes
 * as in guest/file.h; -ENOENT: no such session, -ESRCH: it has ended, -ENOTTY: it has no terminal,
 * -EAGAIN: as many as there may be. */
typedef int sp_session_op_fn(
    struct sp_sessions *sessions, const json_t *args, json_t **ret, struct sp_err *err);
sp_session_op_fn sp_session_op_start;
sp_session_op_fn sp_session_op_terminal;
sp_session_op_fn sp_session_op_list;
sp_session_op_fn sp_session_op_signal;
sp_session_op_fn sp_session_op_resize;

/* NULL: no such session. */
struct sp_session *sp_session_find(struct sp_sessions *sessions, const char *id);

/* Who is attached. Called from the loop. */
struct sp_session_listener {
	void (*on_output)(void *context); /* there is more, or the session has ended */
	void (*on_input)(void *context);  /* input is taken again */
	void (*on_taken)(void *context);  /* another has attached; this one is no more */
};

/*
 * Attaches, in the place of whoever was. `from` is the position in the output to begin at; -1: the
 * oldest byte that is kept. -ERANGE: that byte is not kept any more, or not yet there.
 */
int sp_session_attach(struct sp_session *session, int64_t from,
    const struct sp_session_listener *listener, void *context, struct sp_err *err);

/* The session goes on. */
void sp_session_detach(struct sp_session *session);

/* Where in the whole output that is. */
uint64_t sp_session_position(const struct sp_session *session);

/* The next output for whoever is attached, of one origin; 0: none now. */
size_t sp_session_output(
    const struct sp_session *session, const char **ret_bytes, bool *ret_of_error);

/* So much of it need not be kept for them any longer. */
void sp_session_passed(struct sp_session *session, size_t size);

/* Has it ended, with all of its output passed? Then how. */
bool sp_session_over(const struct sp_session *session, struct sp_status *ret);

/* Gives it input; how much it took. After fewer than all, on_input follows. Once nobody reads it
 * any more input is taken and dropped. */
size_t sp_session_write(struct sp_session *session, const char *bytes, size_t size);

/* End of input, for good; to a terminal its end-of-file character, where it heeds one. */
void sp_session_end_input(struct sp_session *session);

/* {"rows","cols"} of a resize. SP_E_BAD_RECORD, -ENOTTY, -ESRCH. */
int sp_session_resize(struct sp_session *session, const json_t *size, struct sp_err *err);

#endif
