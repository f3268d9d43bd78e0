/* What the files of sessions share; nobody else includes it. */
#ifndef SP_GUEST_SESSION_INNER_H
#define SP_GUEST_SESSION_INNER_H

#include <sys/queue.h>
#include <sys/types.h>
#include "guest/exec_args.h"
#include "guest/ring.h"
#include "guest/session.h"

#define SP_SESSION_PROGRAM_MAX 128 /* bytes of argv[0] that exec.list shows */
#define SP_SESSION_LEFT_MAX                                                                        \
	(1024u * 1024u) /* a pipe's worth: one that gives more after the end has other writers */

/* One of a session's outputs. */
struct sp_session_pipe {
	ev_io io;
	int fd; /* -1: ended */
	bool of_error;
	size_t left; /* bytes that may be read once the command has ended */
};

struct sp_session {
	TAILQ_ENTRY(sp_session) entry;
	struct sp_sessions *sessions;
	char id[SP_SESSION_ID_SIZE], program[SP_SESSION_PROGRAM_MAX + 1];
	bool terminal;
	int64_t started; /* time of day */
	pid_t pid;
	ev_child child;
	bool exited, ended; /* the command has; and all its output has been read */
	int wait_status;
	struct sp_session_pipe out, err; /* a terminal has only `out` */
	int in;                          /* -1: ended */
	ev_io in_io;
	ev_timer timer; /* first the wait for an attachment, then the time that it is kept */
	bool waits;     /* for the first attachment */
	struct sp_ring ring;
	const struct sp_session_listener *listener; /* NULL: nobody is attached */
	void *context;
	uint64_t passed; /* what whoever is attached has */
};

TAILQ_HEAD(sp_session_list, sp_session);

struct sp_sessions {
	struct ev_loop *loop;
	int root;
	const struct rlimit *files;
	unsigned count, max;
	struct sp_session_list list; /* in the order of their starts */
};

/* Starts the command. *ret is in the list. */
int sp_session_start(struct sp_sessions *sessions, const json_t *args, enum sp_exec_form form,
    struct sp_session **ret, struct sp_err *err);

/* Takes it out of the list and frees it. The command must have ended, or is killed. */
void sp_session_free(struct sp_session *session);

/* Watches the descriptors that `session` has, and its child. */
void sp_session_watch(struct sp_session *session);

/* Reads what there is room for. */
void sp_session_pump(struct sp_session *session);

/* The descriptors have been read to their ends, or need not be. */
void sp_session_close_pipes(struct sp_session *session);

#endif
