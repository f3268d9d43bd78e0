/* Decisions, reasons, error kinds and exit codes of 01-records: one table, and the only place where
 * they are spelled. Pure. */
#ifndef SP_RECORD_REASON_H
#define SP_RECORD_REASON_H

#include <stdbool.h>

enum sp_decision { SP_MATCH, SP_REFRESH_ROUTE, SP_DENY };

/* 0 is "nothing against it". The order is that of the table in 01-records. */
enum sp_reason {
	SP_REASON_NONE,
	/* refresh-route */
	SP_REASON_EXECUTION,
	SP_REASON_WORKER,
	SP_REASON_SUBSTRATE,
	SP_REASON_POD_UID,
	SP_REASON_ACTIVATION,
	SP_REASON_ATTEMPT,
	SP_REASON_RETIRED,
	SP_REASON_ABSENT,
	/* deny: capability */
	SP_REASON_MALFORMED,
	SP_REASON_UNKNOWN_KEY,
	SP_REASON_REVOKED_KEY,
	SP_REASON_SIGNATURE,
	SP_REASON_NOT_YET_VALID,
	SP_REASON_EXPIRED,
	SP_REASON_LIFETIME,
	SP_REASON_PURPOSE,
	SP_REASON_ACCESS,
	SP_REASON_PORT,
	SP_REASON_PROTOCOL,
	SP_REASON_SESSION,
	SP_REASON_FENCED,
	SP_REASON_REPLAYED,
	/* deny: identity */
	SP_REASON_SANDBOX,
	/* deny: caller */
	SP_REASON_UNAUTHORIZED,
	/* deny: bridge */
	SP_REASON_PEER_CREDENTIALS,
	SP_REASON_BRIDGE_PROCESS,
	SP_REASON_BRIDGE_EXECUTABLE,
	SP_REASON_VMM_PROCESS,
	SP_REASON_VMM_EXECUTABLE,
	SP_REASON_LISTENER_OWNER,
	SP_REASON_LISTENER_REPLACED,
	SP_REASON_GUEST_IDENTITY,
	SP_REASON_EVIDENCE_UNAVAILABLE,
	SP_REASON_COUNT
};

enum sp_error_kind {
	SP_ERROR_BAD_RECORD,
	SP_ERROR_TRANSPORT, /* with `sent` */
	SP_ERROR_TIMEOUT,   /* with `sent` */
	SP_ERROR_OP,
	SP_ERROR_OVERLOADED,
	SP_ERROR_TOO_LARGE,
	SP_ERROR_UNAVAILABLE,
	SP_ERROR_INTERNAL,
	SP_ERROR_COUNT
};

enum sp_exit {
	SP_EXIT_DONE = 0,
	SP_EXIT_FAILED = 1,
	SP_EXIT_USAGE = 2,
	SP_EXIT_BAD = 3,
	SP_EXIT_REFRESH = 10,
	SP_EXIT_DENY = 11,
	SP_EXIT_CUT = 12,
	SP_EXIT_CONFLICT = 14
};

const char *sp_decision_name(enum sp_decision decision);
const char *sp_reason_name(enum sp_reason reason); /* NULL for SP_REASON_NONE */
const char *sp_error_name(enum sp_error_kind kind);

/* The decision that a reason belongs to; SP_MATCH for SP_REASON_NONE. */
enum sp_decision sp_reason_decision(enum sp_reason reason);

/* A decision and reason as words, valid only as one row of the table. False: no such row, *ret
 * untouched. */
bool sp_reason_parse(const char *decision, const char *reason, enum sp_reason *ret_reason);
bool sp_error_parse(const char *name, enum sp_error_kind *ret_kind);

/* 0, 10 or 11. */
int sp_reason_exit(enum sp_reason reason);
int sp_error_exit(enum sp_error_kind kind);

/* Of two exit codes the one that speaks for many records: the first of 2, 3, 11, 10, 12, 14, 1,
 * else 0. */
int sp_exit_worse(int a, int b);

#endif
