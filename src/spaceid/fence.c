/* spaceid fence: capabilities issued up to now are void here, and with --cut open streams end. */
#include "base/text.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

int spaceid_fence(struct sp_cli *cli)
{
	struct sp_change change = {
	    .kind = SP_CHANGE_FENCE, .cut = sp_cli_flag(cli, "cut"), .now = sp_time_now()};

	if (spaceid_id(cli, "sandbox", &change.sandbox))
		return SP_EXIT_USAGE;
	return spaceid_change(cli, &change, "fence");
}
