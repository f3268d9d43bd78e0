/*
 * Admission at a receiver (02-capability, Verification 7 and 8): may an operation whose capability
 * passed steps 1 to 6 go on to the execution that is installed here? Pure; the one function that
 * decides it, for every receiver.
 */
#ifndef SP_ADMIT_ADMIT_H
#define SP_ADMIT_ADMIT_H

#include <stdbool.h>
#include <stdint.h>
#include "record/compare.h"
#include "record/op.h"
#include "record/reason.h"
#include "store/record.h"
#include "token/capability.h"

struct sp_admit_question {
	const struct sp_claims *claims;
	const char *sandbox; /* as the request names it; NULL: it names none (a gateway's line) */
	const struct sp_record *record; /* in force now; NULL: none installed */
	enum sp_use use;
	bool used; /* the operation is single-use and the journal has the jti */
};

struct sp_admission {
	enum sp_reason reason; /* SP_REASON_NONE: go on to the attestation */
	enum sp_behind behind; /* with SP_REASON_EXECUTION only */
};

/* The sandbox of the request, the comparison, the fence, the journal, in this order; the first
 * failure is the reason. */
struct sp_admission sp_admit(const struct sp_admit_question *question);

/* The first of these alone: asked before any record is looked up for the token's sandbox. */
enum sp_reason sp_admit_sandbox(const struct sp_claims *claims, const char *sandbox);

/* What a capability must allow for this operation (step 6). Session, port and protocol are the
 * caller's to fill in where the operation has them. */
struct sp_cap_use sp_admit_use(const struct sp_op *op);

/* The time of verification: for a single-use operation never below `floor`, the journal's last
 * acceptance, so that a clock set back opens no window. Seconds. */
int64_t sp_admit_time(const struct sp_op *op, int64_t now, int64_t floor);

#endif
