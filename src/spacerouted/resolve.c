/* spacerouted resolve: the current route and endpoint of one sandbox. */
#include <stdio.h>
#include "base/text.h"
#include "cli/table.h"
#include "record/reason.h"
#include "spacerouted/verbs.h"

static void put_field(struct sp_cli *cli, const char *name, const char *value)
{
	sp_tone_print(stdout, sp_cli_color(cli), SP_TONE_HEAD, name);
	(void)printf("%*s%s\n", (int)(12 - snprintf(NULL, 0, "%s", name)), "", value);
}

static int put_words(struct sp_cli *cli, const struct sp_placement *placement)
{
	const struct sp_route *route = &placement->route;
	char number[3][24];

	(void)snprintf(number[0], sizeof(number[0]), "%lld", (long long)route->execution);
	(void)snprintf(number[1], sizeof(number[1]), "%lld", (long long)route->attempt);
	(void)snprintf(number[2], sizeof(number[2]), "%lld", (long long)placement->revision);
	put_field(cli, "execution", number[0]);
	put_field(cli, "worker", route->worker);
	put_field(cli, "substrate", route->substrate == SP_SUBSTRATE_HOST ? "host" : "kubernetes");
	if (route->pod_uid[0])
		put_field(cli, "pod_uid", route->pod_uid);
	put_field(cli, "activation", route->activation);
	put_field(cli, "attempt", number[1]);
	put_field(cli, "endpoint", placement->endpoint);
	put_field(cli, "revision", number[2]);
	return SP_EXIT_DONE;
}

int spacerouted_resolve(struct sp_cli *cli)
{
	const char *sandbox = sp_cli_argument(cli, 0);
	auto_registry struct sp_registry *registry = NULL;
	struct sp_placement placement;
	struct sp_err err = {0};
	int bad;

	if (!sp_id_valid(sandbox))
		return sp_cli_usage(cli, "`%.140s` is no id", sandbox);
	bad = spacerouted_open(cli, false, &registry);
	if (bad)
		return bad;
	bad = sp_registry_resolve(registry, sandbox, &placement, &err);
	if (!bad && placement.retired)
		bad = sp_fail(&err, SP_E_ABSENT, "%s: no current route; execution %lld was retired",
		    sandbox, (long long)placement.route.execution);
	if (bad)
		return sp_cli_fail(cli, &err);
	return sp_cli_json(cli) ? sp_cli_put_json(cli, sp_placement_json(sandbox, &placement))
				: put_words(cli, &placement);
}
