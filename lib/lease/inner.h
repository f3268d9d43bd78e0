/* What the files of lib/lease share. Inside lib/lease only. */
#ifndef SP_LEASE_INNER_H
#define SP_LEASE_INNER_H

#include <sys/queue.h>
#include <time.h>
#include "lease/lease.h"

struct sp_lease {
	TAILQ_ENTRY(sp_lease) entry; /* of open, dying, shut or ended */
	struct sp_lease_set *set;
	const struct sp_lease_handlers *handlers;
	void *context;
	struct sp_lease_terms terms;
	char id[SP_LEASE_ID_SIZE];
	char *caller, *op;
	struct sp_page_ref ref;
	struct sp_page_view seen;    /* the page when it was last compared with the record */
	uint64_t cursor;             /* of the page's changes then */
	int64_t opened_at, ended_at; /* seconds */
	int64_t opened_ms, age_ms;   /* monotonic; how long it was open */
	int64_t paused_ms;           /* monotonic, since when a change is pending; 0: none is */
	bool waits;                  /* for `resume` */
	bool shut;                   /* its handler `cut` has been called */
	bool unread;                 /* its record's file has not been looked at since... */
	uint64_t moved[2];
	struct sp_lease_end end;
};
TAILQ_HEAD(sp_leases, sp_lease);

struct sp_lease_set {
	struct sp_lease_options options;
	struct sp_leases open, dying, shut, ended; /* oldest first */
	unsigned count, ended_count;
	ev_timer tick;
	ev_prepare reap;          /* never started: fed to the loop as an event */
	uint64_t counter;         /* of the page at the last sweep */
	bool settled;             /* nothing was pending then */
	int64_t looked_ms;        /* monotonic: at the directory of records */
	struct timespec modified; /* ... it had changed */
	bool unread;              /* some leases are */
};

/* Compares a lease with what is in force. 0: it agrees, lease->seen is the page then. -EAGAIN: a
 * change is pending. SP_E_CONFLICT: it has been put among the dying. */
int sp_lease_settle(struct sp_lease *lease);

/* It ends: from the open ones to the dying ones. */
void sp_lease_doom(
    struct sp_lease *lease, enum sp_lease_ending ending, enum sp_reason reason, const char *words);

/* Takes it into the memory of ended ones. It must be in no list. */
void sp_lease_remember(struct sp_lease *lease);

void sp_lease_free(struct sp_lease *lease);

/* lease_files.c: looks whether records were taken away, or broken, behind the page's back. A few at
 * a time. */
void sp_lease_files_check(struct sp_lease_set *set);

/* Has anything changed since the last sweep? Then the next one comes right after what runs now. */
void sp_lease_set_glance(struct sp_lease_set *set);

/* Looks soon again: something is pending. */
void sp_lease_set_hurry(struct sp_lease_set *set);

#endif
