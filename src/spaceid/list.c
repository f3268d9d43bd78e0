/* spaceid list: every record of the store. */
#include <stdio.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

struct list {
	struct sp_cli *cli;
	struct sp_store *store;
	struct sp_table *table; /* NULL: lines of JSON */
	int64_t count;
	int exit;
};

int spaceid_records_table(struct sp_cli *cli, struct sp_table **ret)
{
	static const char *const headings[] = {"sandbox", "execution", "worker", "state",
	    "installed", "activation", "epoch", "owner", "attempt", NULL};

	return sp_cli_table(cli, headings, 4, ret);
}

int spaceid_records_row(struct sp_table *table, const struct sp_record *record)
{
	const struct sp_route *route = &record->identity.route;
	char execution[24], attempt[24], epoch[24], installed[SP_TIME_SIZE];
	const char *cells[] = {record->identity.sandbox, execution, route->worker,
	    sp_record_state_name(record->retired), installed, route->activation, epoch,
	    record->owner, attempt};

	(void)snprintf(execution, sizeof(execution), "%lld", (long long)route->execution);
	(void)snprintf(attempt, sizeof(attempt), "%lld", (long long)route->attempt);
	(void)snprintf(epoch, sizeof(epoch), "%lld", (long long)record->epoch);
	sp_time_format(record->installed_at, installed);
	return sp_table_add(table, record->retired ? SP_TONE_DIM : SP_TONE_PLAIN, cells);
}

static int list_one(void *context, const char *sandbox, const struct sp_record *record)
{
	struct list *list = context;
	struct sp_record again;
	struct sp_err err = {0};

	sp_cli_progress(list->cli, ++list->count, "records", true);
	if (!record) {
		/* Read once more for the words; by now it may have become readable, or gone. */
		if (sp_store_read(list->store, sandbox, &again, &err) == 0)
			sp_record_done(&again);
		else
			list->exit = sp_exit_worse(list->exit, sp_cli_fail(list->cli, &err));
		return 0;
	}
	if (list->table)
		return spaceid_records_row(list->table, record);
	/* Told already. */
	return sp_cli_put_json(list->cli, sp_record_json(record)) ? SP_E_CLOSED : 0;
}

int spaceid_list(struct sp_cli *cli)
{
	auto_store struct sp_store *store = NULL;
	struct list list = {.cli = cli};
	struct sp_err err = {0};
	int bad = spaceid_store(cli, 0, &store);

	if (bad)
		return bad;
	list.store = store;
	bad = spaceid_records_table(cli, &list.table);
	if (bad)
		return bad;
	bad = sp_store_walk(store, list_one, &list, &err);
	if (!bad && sp_table_finish(list.table) < 0)
		list.exit = SP_EXIT_FAILED;
	sp_table_free(list.table);
	if (bad)
		return bad == SP_E_CLOSED ? SP_EXIT_FAILED : sp_cli_fail(cli, &err);
	return list.exit;
}
