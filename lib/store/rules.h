/* What a change of a runtime record does: the install table and the rules of retire, handoff, fence
 * (03-identity). Pure. */
#ifndef SP_STORE_RULES_H
#define SP_STORE_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include "store/record.h"

enum sp_effect {
	SP_EFFECT_CONFLICT, /* exit 14; words in `conflict` */
	SP_EFFECT_NONE,
	SP_EFFECT_INSTALLED,
	SP_EFFECT_REPLACED,
	SP_EFFECT_ATTEMPT_ONLY,
	SP_EFFECT_EVIDENCE,
	SP_EFFECT_HANDOFF,
	SP_EFFECT_RETIRED,
	SP_EFFECT_FENCED,
	SP_EFFECT_PRUNED,  /* a tombstone was taken away (sp_store_remove) */
	SP_EFFECT_SETTLED, /* the page followed the record after a writer died between the two */
};

enum sp_change_kind { SP_CHANGE_INSTALL, SP_CHANGE_RETIRE, SP_CHANGE_HANDOFF, SP_CHANGE_FENCE };

struct sp_change {
	enum sp_change_kind kind;
	const char *sandbox;
	/* install */
	struct sp_route route;
	const char *owner;
	json_t *bridge, *vmm, *guest; /* borrowed; NULL: not given */
	bool has_if_epoch;
	int64_t if_epoch;
	const char *worker; /* [space] worker, "" or NULL: not set */
	/* retire */
	int64_t execution;
	/* handoff */
	const char *from, *to;
	/* fence */
	bool cut;
	int64_t now; /* seconds */
};

struct sp_outcome {
	enum sp_effect effect;
	const char *conflict; /* static words; SP_EFFECT_CONFLICT only */
	int64_t epoch;        /* after the change; 0: no record */
};

/*
 * `installed` is NULL when there is no record. `version_floor` is the highest version this sandbox
 * ever had (from the page), so that a record after a prune goes on above it. On a change
 * *ret_record is the new record (sp_record_done), without a history; else untouched.
 */
struct sp_outcome sp_change_decide(const struct sp_record *installed,
    const struct sp_change *change, int64_t version_floor, struct sp_record *ret_record);

const char *sp_effect_name(enum sp_effect effect); /* NULL for SP_EFFECT_CONFLICT */

/* Do holders pause while it is carried out, and is it over only when their moves are? All that
 * changes something, but for owner and evidence. */
bool sp_effect_pends(enum sp_effect effect);

#endif
