/*
 * What may be done about a done record (05-routing, Filters; 07-operations): the one function that
 * decides whether there is a second attempt. Pure.
 */
#ifndef SP_ROUTING_REPAIR_H
#define SP_ROUTING_REPAIR_H

#include <jansson.h>
#include "base/err.h"
#include "record/op.h"
#include "record/reason.h"

enum sp_repair {
	SP_REPAIR_PASS,    /* the answer stands */
	SP_REPAIR_REBUILD, /* reject the route; with another one, try once more */
	SP_REPAIR_RETRY,   /* try once more on the same route */
};

/* How an attempt ended. */
enum sp_ending {
	SP_ENDING_OTHER,   /* ok, open, and every error that no table row names */
	SP_ENDING_REFRESH, /* refused, refresh-route */
	SP_ENDING_DENY,    /* refused, deny */
	SP_ENDING_UNSENT,  /* transport or timeout: no byte of the operation went out */
	SP_ENDING_SENT,    /* transport or timeout: perhaps one did */
};

enum sp_repair sp_repair_decide(const struct sp_op *op, int attempted, enum sp_ending ending);

/* The ending of a done record (`request` tolerated). SP_E_BAD_RECORD when it is no such record. */
int sp_ending_of(const json_t *record, enum sp_ending *ret, struct sp_err *err);

#endif
