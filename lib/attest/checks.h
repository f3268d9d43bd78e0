/* The table of checks of 04-bridge, Verify: the one place that knows their order and reasons. */
#ifndef SP_ATTEST_CHECKS_H
#define SP_ATTEST_CHECKS_H

#include "attest/attestation.h"

enum sp_phase {
	SP_PHASE_OPEN = 1,     /* steps 1 to 3 */
	SP_PHASE_ACCEPTED = 2, /* steps 5 and 6 */
	SP_PHASE_ALIVE = 4,    /* step 8 */
	SP_PHASE_HELD = 8,     /* of step 6 what may change while the connection lives */
};

/* Recorded evidence, parsed: true. False: a row says what is wrong with it. */
bool sp_checks_take(
    enum sp_role role, const json_t *object, struct sp_evidence *ret, struct sp_report *report);

/*
 * Runs the rows of `phases` in order up to the first that fails, and returns its reason. Without
 * `connected` those rows are left out that need a connection. A row that cannot be judged is
 * SP_REASON_EVIDENCE_UNAVAILABLE. SP_REASON_NONE with a busy connection: the backlog was full.
 */
enum sp_reason sp_checks_run(
    struct sp_attestation *attestation, unsigned phases, bool connected, struct sp_report *report);

/* Judges what was seen at another time: the rows whose part of the sight has been seen, in order up
 * to the first that fails. Pure, but for the microseconds in the report. */
enum sp_reason sp_checks_judge(const struct sp_case *judged, struct sp_report *report);

/* Name and reason of the n-th row for a role, 0 first; NULL past the last. For documentation. */
const char *sp_checks_row(unsigned n, enum sp_role role, enum sp_reason *ret_reason);

#endif
