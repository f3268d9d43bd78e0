/* spacerouted revoke: takes grants away again; caches forget what rests on them within a second. */
#include <stdio.h>
#include "record/json.h"
#include "record/reason.h"
#include "spacerouted/verbs.h"

int spacerouted_revoke(struct sp_cli *cli)
{
	const char *principal = sp_cli_text(cli, "principal");
	const char *pattern = sp_cli_text(cli, "sandbox");
	auto_registry struct sp_registry *registry = NULL;
	enum sp_principal_kind kind;
	auto_trail struct sp_trail trail = {.audit = NULL};
	unsigned count = 0;
	struct sp_err err = {0};
	int bad;

	if (!sp_principal_parse(principal, &kind))
		return sp_cli_usage(cli,
		    "--principal: `%.140s` is none of uid:N, user:NAME, token:NAME", principal);
	if (pattern && !sp_sandbox_pattern_valid(pattern))
		return sp_cli_usage(
		    cli, "--sandbox: `%.140s` is no id and no pattern of one", pattern);
	bad = sp_trail_open(cli, "spacerouted", &trail);
	if (!bad)
		bad = spacerouted_open(cli, false, &registry);
	if (bad)
		return bad;
	sp_trail_start(&trail);
	bad = sp_registry_revoke(registry, principal, pattern, &count, &err);
	spacerouted_audit_grant(
	    &trail, "revoke", principal, pattern, bad, count > 0 ? "revoked" : "none", &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	if (sp_cli_json(cli))
		return sp_cli_put_json(cli, json_pack("{sssbsi}", "principal", principal, "changed",
						count > 0, "revoked", (int)count));
	(void)printf("%s: %u revoked\n", principal, count);
	return SP_EXIT_DONE;
}
