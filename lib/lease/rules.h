/* What becomes of a stream's lease when the runtime record has changed: the table of 06-streams,
 * Lease. Pure. */
#ifndef SP_LEASE_RULES_H
#define SP_LEASE_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include "record/reason.h"
#include "record/route.h"
#include "store/record.h"

enum sp_lease_kind { SP_LEASE_CONTROL, SP_LEASE_GATEWAY };

const char *sp_lease_kind_name(enum sp_lease_kind kind); /* "control", "gateway" */
bool sp_lease_kind_parse(const char *name, enum sp_lease_kind *ret_kind);

/* What a lease was opened on. */
struct sp_lease_terms {
	enum sp_lease_kind kind;
	struct sp_identity identity;
	int64_t epoch;   /* the one that it moves bytes under now */
	int64_t version; /* of the record that it was opened on */
};

/* What happened between the record that a lease was last compared with and the one it is compared
 * with now. What came back to where it was shows here alone. */
enum sp_lease_between {
	SP_BETWEEN_NOTHING, /* nothing that a route could have changed by */
	SP_BETWEEN_ATTEMPTS,
	SP_BETWEEN_REPLACED,
	SP_BETWEEN_UNKNOWN, /* too long ago for the page to remember */
};

enum sp_lease_verdict {
	SP_LEASE_STAYS,
	SP_LEASE_GOES_ON, /* under the record's epoch, which is a new one */
	SP_LEASE_CUT,
};

/* `record` is what is in force now; NULL: removed, or not to be read. *ret_reason: why it is cut.
 */
enum sp_lease_verdict sp_lease_judge(const struct sp_lease_terms *terms,
    const struct sp_record *record, enum sp_lease_between between, enum sp_reason *ret_reason);

#endif
