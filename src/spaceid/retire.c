/* spaceid retire: this execution is over here; its record stays as a tombstone. */
#include "base/limits.h"
#include "base/text.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

int spaceid_retire(struct sp_cli *cli)
{
	struct sp_change change = {.kind = SP_CHANGE_RETIRE, .now = sp_time_now()};

	if (spaceid_id(cli, "sandbox", &change.sandbox) ||
	    sp_cli_number(cli, "execution", 0, 1, SP_INT_MAX, &change.execution))
		return SP_EXIT_USAGE;
	return spaceid_change(cli, &change, "retire");
}
