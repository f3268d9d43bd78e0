/* At most one second attempt, and only where the operation's row allows it. */
#include "routing/repair.h"

#include <string.h>
#include "record/result.h"

enum sp_repair sp_repair_decide(const struct sp_op *op, int attempted, enum sp_ending ending)
{
	if (attempted != 1)
		return SP_REPAIR_PASS;
	switch (ending) {
	case SP_ENDING_REFRESH:
		return op->rebuilt ? SP_REPAIR_REBUILD : SP_REPAIR_PASS;
	case SP_ENDING_UNSENT:
		return op->retry_unsent ? SP_REPAIR_RETRY : SP_REPAIR_PASS;
	case SP_ENDING_SENT:
		return op->retry_sent ? SP_REPAIR_RETRY : SP_REPAIR_PASS;
	case SP_ENDING_OTHER:
	case SP_ENDING_DENY:
		break;
	}
	return SP_REPAIR_PASS;
}

int sp_ending_of(const json_t *record, enum sp_ending *ret, struct sp_err *err)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *sent = json_object_get(record, "sent");
	int exit, bad = sp_result_check(record, true, &exit, err);

	if (bad)
		return bad;
	if (strcmp(status, "refused") == 0)
		*ret = exit == SP_EXIT_REFRESH ? SP_ENDING_REFRESH : SP_ENDING_DENY;
	else if (sent) /* only transport and timeout have it */
		*ret = json_is_true(sent) ? SP_ENDING_SENT : SP_ENDING_UNSENT;
	else
		*ret = SP_ENDING_OTHER;
	return 0;
}
