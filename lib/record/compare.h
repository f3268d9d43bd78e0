/* The comparison of 03-identity: the one function that says whether what was selected is what is
 * installed. Pure. */
#ifndef SP_RECORD_COMPARE_H
#define SP_RECORD_COMPARE_H

#include <stdbool.h>
#include "record/reason.h"
#include "record/route.h"

enum sp_use { SP_USE_OPEN, SP_USE_ESTABLISHED_CONTROL, SP_USE_ESTABLISHED_GATEWAY };

/* Bits of `differs`, in the order in which they are listed. */
enum sp_route_field {
	SP_FIELD_SUBSTRATE = 1,
	SP_FIELD_EXECUTION = 2,
	SP_FIELD_WORKER = 4,
	SP_FIELD_POD_UID = 8,
	SP_FIELD_ACTIVATION = 16,
	SP_FIELD_ATTEMPT = 32,
};

enum sp_behind { SP_BEHIND_NONE, SP_BEHIND_RECEIVER, SP_BEHIND_CALLER };

struct sp_comparison {
	enum sp_decision decision;
	enum sp_reason reason; /* SP_REASON_NONE on match */
	enum sp_behind behind; /* set with SP_REASON_EXECUTION only */
	bool has_differs;      /* false on deny and absent */
	unsigned differs;      /* bits of enum sp_route_field */
};

/* `installed` is NULL when there is no record. `retired` is the record's state. */
struct sp_comparison sp_compare(const struct sp_identity *selected,
    const struct sp_identity *installed, bool retired, enum sp_use use);

const char *sp_use_name(enum sp_use use);
bool sp_use_parse(const char *name, enum sp_use *ret_use);
const char *sp_behind_name(enum sp_behind behind); /* "receiver", "caller" or NULL */

/* Name of the n-th differing field, 0 first; NULL past the last. */
const char *sp_differs_name(unsigned differs, unsigned n);

#endif
