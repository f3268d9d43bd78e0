/* spacerouted list: every sandbox that was ever published. */
#include <stdio.h>
#include "cli/table.h"
#include "record/reason.h"
#include "spacerouted/verbs.h"

struct list {
	struct sp_cli *cli;
	struct sp_table *table; /* NULL: lines of JSON */
	int64_t count;
};

static int add_row(
    struct sp_table *table, const char *sandbox, const struct sp_placement *placement)
{
	const struct sp_route *route = &placement->route;
	char execution[24], attempt[24], revision[24];
	const char *cells[] = {sandbox, execution, route->worker,
	    placement->retired ? "retired" : "active", revision, route->activation,
	    placement->endpoint, attempt};

	(void)snprintf(execution, sizeof(execution), "%lld", (long long)route->execution);
	(void)snprintf(attempt, sizeof(attempt), "%lld", (long long)route->attempt);
	(void)snprintf(revision, sizeof(revision), "%lld", (long long)placement->revision);
	return sp_table_add(table, placement->retired ? SP_TONE_DIM : SP_TONE_PLAIN, cells);
}

static int list_one(void *context, const char *sandbox, const struct sp_placement *placement)
{
	struct list *list = context;

	sp_cli_progress(list->cli, ++list->count, "routes", true);
	if (list->table)
		return add_row(list->table, sandbox, placement);
	/* Told already. */
	return sp_cli_put_json(list->cli, sp_placement_json(sandbox, placement)) ? SP_E_CLOSED : 0;
}

int spacerouted_list(struct sp_cli *cli)
{
	static const char *const headings[] = {"sandbox", "execution", "worker", "state",
	    "revision", "activation", "endpoint", "attempt", NULL};
	auto_registry struct sp_registry *registry = NULL;
	struct list list = {.cli = cli};
	struct sp_err err = {0};
	int bad = spacerouted_open(cli, false, &registry);

	if (bad)
		return bad;
	bad = sp_cli_table(cli, headings, 4, &list.table);
	if (bad)
		return bad;
	bad = sp_registry_list(registry, list_one, &list, &err);
	if (!bad && sp_table_finish(list.table) < 0)
		bad = SP_E_CLOSED;
	sp_table_free(list.table);
	if (bad)
		return bad == SP_E_CLOSED ? SP_EXIT_FAILED : sp_cli_fail(cli, &err);
	return SP_EXIT_DONE;
}
