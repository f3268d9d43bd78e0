/*
 * The way to a guest (04-bridge, Verify), for host and gateway: the recorded VMM attested, CONNECT
 * and OK, the guest's hello, none of it waiting for anything but the loop; and after that the look
 * at the VMM while the connection is in use.
 */
#ifndef SP_SPACEBRIDGE_APPROACH_H
#define SP_SPACEBRIDGE_APPROACH_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "attest/attest.h"
#include "bridge/exchange.h"
#include "record/reason.h"
#include "store/record.h"

/* The VMMs of all connections in use: looked at together. */
struct approach_group;
struct approach_set {
	struct ev_loop *loop;
	LIST_HEAD(, approach_group) groups; /* by VMM */
	ev_timer second;
	unsigned turn, next_turn;
};
void approach_set_init(struct approach_set *set, struct ev_loop *loop);

/* Borrowed by every approach. */
struct approach_options {
	struct ev_loop *loop;
	const char *records; /* where the guests' keys are */
	uint32_t guest_port; /* of the agent */
	enum sp_level min_level;
	struct approach_set *set;
};

/* The approach may be stopped in any of them, another one in none. `report` may be NULL. */
struct approach_handlers {
	/* Every check but the last look, sp_attest_alive, has passed. */
	void (*proven)(void *context);
	void (*refused)(enum sp_reason reason, const struct sp_report *report, void *context);
	void (*failed)(enum sp_error_kind error, const char *words, void *context);
	/* While it is watched: the VMM is no longer what was proven. It is watched no longer. */
	void (*lost)(enum sp_reason reason, const char *words, void *context);
	/* While it is watched: a second has passed, and the VMM is what it was. */
	void (*second)(void *context);
};

struct approach {
	const struct approach_options *options;
	const struct approach_handlers *handlers;
	void *context;
	struct sp_attestation *attestation; /* of the VMM, with the connection; NULL: none yet */
	bool answered;                      /* OK has come */
	int64_t started_us;
	uint32_t port; /* of the host, as the guest sees it: the number in OK */
	struct sp_guest_name guest;
	uint8_t proof[SP_HELLO_SIZE]; /* the guest's answer must be */
	struct sp_short_line hello;
	ev_io answer;                 /* of the VMM to CONNECT, then of the guest to the hello */
	struct approach_group *group; /* while it is watched */
	TAILQ_ENTRY(approach) beside;
	unsigned turn; /* second in which it is asked what is held */
};

void approach_init(struct approach *approach, const struct approach_options *options,
    const struct approach_handlers *handlers, void *context);

/* Begins, towards the VMM and the guest of this record. It may end within the call. */
void approach_start(struct approach *approach, const struct sp_record *record);

/* The guest's connection, once there is one. */
int approach_fd(const struct approach *approach);

/* What has not come in time, in words. */
const char *approach_overdue(const struct approach *approach);

/* From now on the VMM is looked at: its end at once, the rest each second, and who holds the
 * connection within 30 s. 0 or -ENOMEM. */
int approach_watch(struct approach *approach);

/* Closes the connection; no handler is called any more. Again: nothing. */
void approach_stop(struct approach *approach);

/* --- between approach.c, approach_hello.c and approach_watch.c --- */

void approach_refuse(
    struct approach *approach, enum sp_reason reason, const struct sp_report *report);
void approach_fail(struct approach *approach, enum sp_error_kind error, const char *words);

/* Step 7: the guest's hello. */
void approach_hello(struct approach *approach);

/* It is watched no longer. Again: nothing. */
void approach_unwatch(struct approach *approach);

#endif
