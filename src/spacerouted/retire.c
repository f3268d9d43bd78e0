/* spacerouted retire: this execution is no sandbox's current one any more. */
#include <string.h>
#include "base/limits.h"
#include "spacerouted/verbs.h"

int spacerouted_retire(struct sp_cli *cli)
{
	auto_registry struct sp_registry *registry = NULL;
	auto_trail struct sp_trail trail = {.audit = NULL};
	struct sp_identity identity = {.sandbox = ""};
	const char *sandbox;
	int64_t execution, revision;
	enum sp_publish_effect effect = SP_PUBLISH_NONE;
	struct sp_err err = {0};
	int bad;

	if (spacerouted_id(cli, "sandbox", &sandbox) ||
	    sp_cli_number(cli, "execution", 0, 1, SP_INT_MAX, &execution))
		return SP_EXIT_USAGE;
	bad = sp_trail_open(cli, "spacerouted", &trail);
	if (!bad)
		bad = spacerouted_open(cli, true, &registry);
	if (bad)
		return bad;
	sp_trail_start(&trail);
	bad = sp_registry_retire(registry, sandbox, execution, &effect, &revision, &err);
	memcpy(identity.sandbox, sandbox, strlen(sandbox) + 1);
	spacerouted_audit_route(&trail, "retire", &identity, false, bad, effect, &err);
	return bad ? sp_cli_fail(cli, &err)
		   : spacerouted_told(cli, sandbox, effect, revision, &err);
}
