/* spaceid handoff: another lifecycle operation owns the resident from now on. */
#include "base/text.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

int spaceid_handoff(struct sp_cli *cli)
{
	struct sp_change change = {.kind = SP_CHANGE_HANDOFF, .now = sp_time_now()};

	if (spaceid_id(cli, "sandbox", &change.sandbox) || spaceid_id(cli, "from", &change.from) ||
	    spaceid_id(cli, "owner", &change.to))
		return SP_EXIT_USAGE;
	return spaceid_change(cli, &change, "handoff");
}
