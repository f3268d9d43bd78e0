/*
 * The stage `repair` (05-routing, Filters): a done record that may be tried once more becomes a
 * routed one; everything else goes on as it came. When in doubt, or when the cache does not answer,
 * the refusal stands. Pure; somebody else asks the cache.
 */
#ifndef SP_CALL_REPAIR_H
#define SP_CALL_REPAIR_H

#include <jansson.h>
#include "record/request.h"
#include "routing/cache_wire.h"

/*
 * Looks at a done record, with its `request` (routed, attempted 1 or 2) beside it if it may be
 * repaired. 0: *ret is a question for the cache, then sp_repair_stage_finish; 1: *ret_next goes on
 * (a new reference, NULL: out of memory): the second attempt, or the answer without `request`;
 * SP_E_BAD_RECORD.
 */
int sp_repair_stage_ask(
    json_t *record, struct sp_question *ret, json_t **ret_next, struct sp_err *err);

/* What goes on after the cache's reply; a new reference, NULL: out of memory. */
json_t *sp_repair_stage_finish(json_t *record, const struct sp_reply *reply);

#endif
