/*
 * Leases: a stream's right to move bytes, bound to an identity epoch (06-streams). All leases of a
 * process live in one set, on one loop, in one thread, and share the slot of one holder: moves are
 * synchronous, so that there is never more than one.
 */
#ifndef SP_LEASE_LEASE_H
#define SP_LEASE_LEASE_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lease/rules.h"
#include "store/store.h"

#define SP_LEASE_ID_SIZE 33 /* 128 random bits in hexadecimal, and a NUL */

struct sp_lease;
struct sp_lease_set;

struct sp_lease_options {
	struct ev_loop *loop;
	struct sp_store *store;
	struct sp_holder *holder;
	int cut_timeout_ms; /* how long a change may be pending before leases are cut */
	const char *role;   /* for lists: "sbx-manager", ...; static */
	unsigned remember;  /* ended ones, for sp_lease_find; at most SP_LEASES_ENDED */
};

/* -ENOMEM or 0. What `options` point to is borrowed for the life of the set. */
int sp_lease_set_new(const struct sp_lease_options *options, struct sp_lease_set **ret);

/* Cuts what is left, with these words for people, and waits for nothing. NULL is fine. */
void sp_lease_set_free(struct sp_lease_set *set, const char *words);

void sp_lease_set_cut_timeout(struct sp_lease_set *set, int cut_timeout_ms);
unsigned sp_lease_set_count(const struct sp_lease_set *set);

enum sp_lease_ending {
	SP_LEASE_OPEN,
	SP_LEASE_CLOSED,    /* by one of its ends */
	SP_LEASE_WAS_CUT,   /* `reason`, or the words alone: what is relayed failed */
	SP_LEASE_CANCELLED, /* by an operator */
};

struct sp_lease_end {
	enum sp_lease_ending ending;
	enum sp_reason reason; /* SP_REASON_NONE: only words say why */
	char words[160];
};

/* Called from the loop, or from within sp_lease_set_free; never from within another call here. */
struct sp_lease_handlers {
	/*
	 * It has lost its right: both directions end at once, what is buffered is thrown away, both
	 * sockets are shut (net/socket.h). All cut leases of a turn are told before anything slow
	 * is done about any of them.
	 */
	void (*cut)(struct sp_lease *lease, void *context);
	/* Follows `cut`, in the same turn: audit, free. The lease is gone after this call. */
	void (*ended)(struct sp_lease *lease, const struct sp_lease_end *end, void *context);
	/* After a sp_lease_enter that said -EAGAIN there may be moves again: takes note of it,
	 * moves nothing yet and ends no lease (sp_relay_resume does so). */
	void (*resume)(struct sp_lease *lease, void *context);
};

/* What a lease is opened for. Texts are copied; NULL: none. */
struct sp_lease_asked {
	struct sp_lease_terms terms; /* as they were decided on */
	const char *caller, *op;
};

/*
 * Opens a lease, right before the stream's first byte: the durable record is read again and must be
 * in force and under the terms' epoch still. -EAGAIN: a change is pending. SP_E_CONFLICT: it is
 * not, *ret_reason says why. SP_E_UNAVAILABLE: the record or its page cannot be read.
 * SP_E_TOO_LARGE: SP_LEASES_MAX are open. -ENOMEM.
 */
int sp_lease_open(struct sp_lease_set *set, const struct sp_lease_asked *asked,
    const struct sp_lease_handlers *handlers, void *context, struct sp_lease **ret,
    enum sp_reason *ret_reason, struct sp_err *err);

/* One of its ends has ended: nothing is moved any more, no handler is called, the lease is gone. */
void sp_lease_close(struct sp_lease *lease, const char *words);

/* Cuts it for what its owner has seen: `ended` follows from the loop. Again: nothing. */
void sp_lease_cut(struct sp_lease *lease, enum sp_reason reason, const char *words);

/*
 * Brackets one synchronous move of bytes. 0: move now, then sp_lease_leave. -EAGAIN: a change is
 * pending, move nothing until `resume`. SP_E_CONFLICT: it has been cut, `cut` comes from the loop
 * within this turn. No system call unless something has changed.
 */
int sp_lease_enter(struct sp_lease *lease);

enum sp_lease_way { SP_LEASE_IN, SP_LEASE_OUT }; /* towards the guest, from it */

/* `moved` bytes were written that way. */
void sp_lease_leave(struct sp_lease *lease, enum sp_lease_way way, size_t moved);

const char *sp_lease_id(const struct sp_lease *lease);
const struct sp_lease_terms *sp_lease_terms(const struct sp_lease *lease);
const char *sp_lease_caller(const struct sp_lease *lease); /* NULL: none */
const char *sp_lease_op(const struct sp_lease *lease);     /* NULL: none */
int64_t sp_lease_age_ms(const struct sp_lease *lease);
uint64_t sp_lease_moved(const struct sp_lease *lease, enum sp_lease_way way);

/* --- for lists, status and cancelling --- */

/*
 * {"lease","role","pid","sandbox","execution","epoch","kind","caller"?,"op"?,"opened_at","age_ms",
 * "in","out","state":"open"}; of an ended one "state" is "closed", "cut" or "cancelled", "age_ms"
 * is how long it was open, and "decision"?, "reason"?, "message", "ended_at" follow. A new
 * reference; NULL: out of memory.
 */
json_t *sp_lease_json(const struct sp_lease *lease);

/* Every open lease of this sandbox (NULL: of any), oldest first, as JSON (new references, stolen by
 * `each`). Returns the first negative return of `each`, else 0. */
typedef int sp_lease_each_fn(void *context, json_t *lease);
int sp_lease_walk(
    struct sp_lease_set *set, const char *sandbox, sp_lease_each_fn *each, void *context);

/* The one lease, open or one of the ended ones that are remembered, of this id, or whose
 * id starts so. `sandbox` NULL: of any. SP_E_ABSENT; SP_E_CONFLICT: more than one. */
int sp_lease_find(
    struct sp_lease_set *set, const char *sandbox, const char *id, const struct sp_lease **ret);

/* Ends the lease of this id (whole), or with `id` NULL all of the sandbox. How many. */
unsigned sp_lease_cancel(struct sp_lease_set *set, const char *sandbox, const char *id);

#endif
