/* Audit lines: every decision of a server and every change of what is decided by, one JSON line, to
 * a file (O_APPEND) or stderr (01-records, Manners; space-records(5) has the fields). */
#ifndef SP_NET_AUDIT_H
#define SP_NET_AUDIT_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "record/reason.h"
#include "record/route.h"

struct sp_audit;

/* What was installed when it was decided. */
struct sp_audit_installed {
	const struct sp_route *route; /* NULL: nothing, all else is not looked at */
	int64_t epoch;
	bool retired;
};

struct sp_audit_line {
	const char *role; /* "sbx-manager", "spaced-host", "netgtw", "signer", "cache",
			     "spaced-guest"; "spaceid", "spacerouted" */
	const char *id, *caller, *sandbox, *op; /* NULL: left out, as everything below */
	enum sp_reason reason;                  /* SP_REASON_NONE: match */
	const char *error;  /* set instead of a decision when it ended in an error kind */
	bool change;        /* of what is decided by: no decision, no reason */
	const char *action; /* what was done; NULL: passed, refused or failed, as it ended */
	const char *kid, *jti;
	const struct sp_route *selected;
	const struct sp_audit_installed *installed;
	int64_t epoch; /* 0: left out */
	int64_t microseconds;
	const char *note; /* e.g. the evidence level, or what failed */
};

/* NULL path: stderr. The file is made 0640, by root for the owner of its directory. */
int sp_audit_open(const char *path, struct sp_audit **ret, struct sp_err *err);
void sp_audit_close(struct sp_audit *audit);

/* For servers: lines that are held back are counted out by this loop, also when no other follows.
 */
void sp_audit_attach(struct sp_audit *audit, struct ev_loop *loop);

/* Opens the file at the path where that is another than the one that is open: after log rotation.
 * The old one stays in use when it fails. Touches nothing while they are the same: its directory
 * may be watched by who calls this. */
int sp_audit_reopen(struct sp_audit *audit, struct sp_err *err);

/*
 * Adds `time`, writes with one write(2). A full disk loses the line, never the service: counted,
 * said once on stderr. Of lines that cost nothing to cause (bad-record and overloaded, without a
 * `kid`) SP_AUDIT_BURST are written in a second; the others are counted, and the count is written
 * at its end, as `repeated`.
 */
#define SP_AUDIT_BURST 16
void sp_audit_write(struct sp_audit *audit, const struct sp_audit_line *line);

#endif
