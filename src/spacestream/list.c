/* spacestream list: the live leases of all processes of this node. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/table.h"
#include "lease/live.h"
#include "record/json.h"
#include "record/reason.h"
#include "spacestream/verbs.h"

#define SHOWN_ID 12 /* digits: enough to tell leases apart, and for cancel */

struct list {
	struct sp_cli *cli;
	struct sp_table *table; /* NULL: lines of JSON */
};

static const char *text(const json_t *lease, const char *name)
{
	return json_string_value(json_object_get(lease, name));
}

static void number(const json_t *lease, const char *name, char text[24])
{
	(void)snprintf(
	    text, 24, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(lease, name)));
}

/* "12 s", "4 min", "3 h", "2 d" */
static void age(const json_t *lease, char text[24])
{
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	int64_t seconds = json_integer_value(json_object_get(lease, "age_ms")) / 1000;
	size_t i = 0;

	while (i + 1 < SP_COUNT(units) && seconds < 2 * units[i].seconds)
		i++;
	(void)snprintf(text, 24, "%" PRId64 " %s", seconds / units[i].seconds, units[i].unit);
}

static int add_row(struct sp_table *table, const json_t *lease)
{
	char id[SHOWN_ID + 1], execution[24], epoch[24], old[24], in[24], out[24];
	const char *cells[] = {id, text(lease, "sandbox"), execution, text(lease, "op"),
	    text(lease, "caller"), old, text(lease, "kind"), in, out, text(lease, "role"), epoch};

	(void)snprintf(id, sizeof(id), "%s", text(lease, "lease"));
	number(lease, "execution", execution);
	number(lease, "epoch", epoch);
	number(lease, "in", in);
	number(lease, "out", out);
	age(lease, old);
	return sp_table_add(table, SP_TONE_PLAIN, cells);
}

static int add(void *context, json_t *lease)
{
	struct list *list = context;
	int bad;

	if (!list->table)
		return sp_cli_put_json(list->cli, lease) ? SP_E_CLOSED : 0;
	bad = text(lease, "lease") ? add_row(list->table, lease) : SP_E_BAD_RECORD;
	json_decref(lease);
	return bad;
}

static int make_table(struct sp_cli *cli, struct sp_table **ret)
{
	static const char *const headings[] = {"lease", "sandbox", "execution", "op", "caller",
	    "age", "kind", "in", "out", "role", "epoch", NULL};

	return sp_cli_table(cli, headings, 4, ret);
}

int spacestream_list(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *sandbox = sp_cli_text(cli, "sandbox");
	sp_auto_json json_t *question = json_pack("{ss ss*}", "ask", "list", "sandbox", sandbox);
	struct list list = {.cli = cli};
	struct sp_err err = {0};
	int exit_code = SP_EXIT_DONE;
	int bad;

	if (!config)
		return SP_EXIT_USAGE;
	if (sandbox && !sp_id_valid(sandbox))
		return sp_cli_usage(cli, "`%.64s` is no sandbox's id", sandbox);
	bad = make_table(cli, &list.table);
	if (bad)
		return bad;
	bad = sp_lease_live_ask(config->run_dir, question, SP_LIST_TIMEOUT_MS, add, &list, &err);
	if (sp_table_finish(list.table) < 0)
		exit_code = SP_EXIT_FAILED;
	sp_table_free(list.table);
	if (bad == SP_E_CLOSED)
		return SP_EXIT_FAILED; /* told */
	return bad ? sp_cli_fail(cli, &err) : exit_code;
}
