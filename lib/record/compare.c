/* Rows 1 to 11 of the table, in their order. */
#include "record/compare.h"

#include <string.h>
#include "base/util.h"

static const struct {
	enum sp_route_field field;
	enum sp_reason reason;
} FIELDS[] = {
    {SP_FIELD_SUBSTRATE, SP_REASON_SUBSTRATE},
    {SP_FIELD_EXECUTION, SP_REASON_EXECUTION},
    {SP_FIELD_WORKER, SP_REASON_WORKER},
    {SP_FIELD_POD_UID, SP_REASON_POD_UID},
    {SP_FIELD_ACTIVATION, SP_REASON_ACTIVATION},
    {SP_FIELD_ATTEMPT, SP_REASON_ATTEMPT},
};

static unsigned differing(const struct sp_route *a, const struct sp_route *b)
{
	unsigned differs = 0;

	differs |= a->substrate != b->substrate ? SP_FIELD_SUBSTRATE : 0;
	differs |= a->execution != b->execution ? SP_FIELD_EXECUTION : 0;
	differs |= strcmp(a->worker, b->worker) != 0 ? SP_FIELD_WORKER : 0;
	differs |= strcmp(a->pod_uid, b->pod_uid) != 0 ? SP_FIELD_POD_UID : 0;
	differs |= strcmp(a->activation, b->activation) != 0 ? SP_FIELD_ACTIVATION : 0;
	differs |= a->attempt != b->attempt ? SP_FIELD_ATTEMPT : 0;
	return differs;
}

/* Rows 4 to 11: the first differing field speaks, but an attempt alone leaves an established
 * gateway stream alone. */
static enum sp_reason route_reason(unsigned differs, enum sp_use use)
{
	if (use == SP_USE_ESTABLISHED_GATEWAY)
		differs &= ~(unsigned)SP_FIELD_ATTEMPT;
	for (size_t i = 0; i < SP_COUNT(FIELDS); i++)
		if (differs & FIELDS[i].field)
			return FIELDS[i].reason;
	return SP_REASON_NONE;
}

struct sp_comparison sp_compare(const struct sp_identity *selected,
    const struct sp_identity *installed, bool retired, enum sp_use use)
{
	struct sp_comparison result = {.reason = SP_REASON_NONE};

	if (!installed) {
		result.reason = SP_REASON_ABSENT;
	} else if (strcmp(selected->sandbox, installed->sandbox) != 0) {
		result.reason = SP_REASON_SANDBOX;
	} else {
		result.has_differs = true;
		result.differs = differing(&selected->route, &installed->route);
		result.reason = retired ? SP_REASON_RETIRED : route_reason(result.differs, use);
		if (result.reason == SP_REASON_EXECUTION)
			result.behind = installed->route.execution < selected->route.execution
					    ? SP_BEHIND_RECEIVER
					    : SP_BEHIND_CALLER;
	}
	result.decision = sp_reason_decision(result.reason);
	return result;
}

static const char *const USES[] = {
    [SP_USE_OPEN] = "open",
    [SP_USE_ESTABLISHED_CONTROL] = "established-control",
    [SP_USE_ESTABLISHED_GATEWAY] = "established-gateway",
};

const char *sp_use_name(enum sp_use use)
{
	return USES[use];
}

bool sp_use_parse(const char *name, enum sp_use *ret_use)
{
	for (size_t i = 0; i < SP_COUNT(USES); i++)
		if (strcmp(USES[i], name) == 0) {
			*ret_use = (enum sp_use)i;
			return true;
		}
	return false;
}

const char *sp_behind_name(enum sp_behind behind)
{
	return behind == SP_BEHIND_RECEIVER ? "receiver"
	       : behind == SP_BEHIND_CALLER ? "caller"
					    : NULL;
}

const char *sp_differs_name(unsigned differs, unsigned n)
{
	for (size_t i = 0; i < SP_COUNT(FIELDS); i++)
		if (differs & FIELDS[i].field && n-- == 0)
			return sp_reason_name(FIELDS[i].reason);
	return NULL;
}
