/*
 * The end of a session that was opened for a reader who has gone: its command is told by SIGTERM
 * and, after a grace, ended by SIGKILL, as that of a lease that is cut (06-streams, Lease).
 */
#ifndef SP_SPACESTREAM_HANGUP_H
#define SP_SPACESTREAM_HANGUP_H

#include <ev.h>
#include "base/err.h"
#include "call/call.h"

#define HANGUP_GRACE 2.0 /* seconds between SIGTERM and SIGKILL, and for that to be heard of */
#define HANGUP_LOOK  0.1 /* seconds between looks whether it has ended */

struct hangup {
	struct ev_loop *loop;
	struct sp_path *path;
	const struct sp_who *who;
	const char *sandbox, *session;
	/* Last, from the loop. `words`: why it goes on; NULL: it does not. */
	void (*ended)(void *context, const char *words);
	void *context;
	/* The rest is its own. */
	struct sp_call *call;
	ev_timer timer;
	unsigned looks;
};

/* Begins. All up to `context` is set, and borrowed. */
void hangup_start(struct hangup *hangup);

/* Nothing is called any more. Zeroed is fine. */
void hangup_stop(struct hangup *hangup);

#endif
