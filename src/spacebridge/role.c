/* What the roles of one sandbox share at their start. */
#include "spacebridge/verbs.h"

#include "base/text.h"

const char *role_sandbox(struct sp_cli *cli, const char *role)
{
	const char *option = sp_cli_text(cli, "sandbox"), *argument = sp_cli_argument(cli, 0);
	const char *sandbox = option ? option : argument;

	if (!sandbox || (option && argument))
		(void)sp_cli_usage(cli, "whose %s? One sandbox, please", role);
	else if (!sp_id_valid(sandbox))
		(void)sp_cli_usage(cli, "`%.64s` is no sandbox's id", sandbox);
	else
		return sandbox;
	return NULL;
}
