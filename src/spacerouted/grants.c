/* spacerouted grants: who may do what; of everyone, or of one principal or sandbox. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "cli/table.h"
#include "record/json.h"
#include "record/reason.h"
#include "spacerouted/verbs.h"

struct list {
	struct sp_cli *cli;
	const char *principal, *sandbox; /* NULL: any */
	struct sp_table *table;          /* NULL: lines of JSON */
};

static void join_rights(const struct sp_rights *rights, char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < rights->op_count && used < room; i++)
		used += (size_t)snprintf(
		    text + used, room - used, "%s%s", used ? " " : "", rights->ops[i]);
	for (unsigned i = 0; i < rights->port_count && used < room; i++) {
		char port[SP_PORT_RANGE_SIZE];
		sp_port_range_format(&rights->ports[i], port);
		used += (size_t)snprintf(text + used, room - used, " %s", port);
	}
}

static int add_row(struct sp_table *table, const struct sp_grant *grant)
{
	char rights[4096], until[SP_TIME_SIZE] = "-", revision[24];
	const char *cells[] = {grant->principal, grant->sandbox, rights, until, revision};
	bool ended = grant->until != 0 && grant->until <= sp_time_now();

	join_rights(&grant->rights, rights, sizeof(rights));
	if (grant->until != 0)
		sp_time_format(grant->until, until);
	(void)snprintf(revision, sizeof(revision), "%lld", (long long)grant->revision);
	return sp_table_add(table, ended ? SP_TONE_DIM : SP_TONE_PLAIN, cells);
}

static int list_one(void *context, const struct sp_grant *grant)
{
	struct list *list = context;

	if (list->principal && strcmp(list->principal, grant->principal) != 0 &&
	    strcmp(list->principal, grant->subject) != 0)
		return 0;
	if (list->sandbox && !sp_sandbox_matches(grant->sandbox, list->sandbox))
		return 0;
	if (list->table)
		return add_row(list->table, grant);
	return sp_cli_put_json(list->cli, sp_grant_json(grant)) ? SP_E_CLOSED : 0;
}

int spacerouted_grants(struct sp_cli *cli)
{
	static const char *const headings[] = {
	    "principal", "sandbox", "rights", "until", "revision", NULL};
	auto_registry struct sp_registry *registry = NULL;
	struct list list = {.cli = cli, .principal = sp_cli_text(cli, "principal")};
	enum sp_principal_kind kind;
	struct sp_err err = {0};
	int bad;

	if (list.principal && !sp_principal_parse(list.principal, &kind))
		return sp_cli_usage(cli,
		    "--principal: `%.140s` is none of uid:N, user:NAME, token:NAME",
		    list.principal);
	if (spacerouted_id(cli, "sandbox", &list.sandbox))
		return SP_EXIT_USAGE;
	bad = spacerouted_open(cli, false, &registry);
	if (bad)
		return bad;
	bad = sp_cli_table(cli, headings, 4, &list.table);
	if (bad)
		return bad;
	bad = sp_registry_grants(registry, list_one, &list, &err);
	if (!bad && sp_table_finish(list.table) < 0)
		bad = SP_E_CLOSED;
	sp_table_free(list.table);
	if (bad)
		return bad == SP_E_CLOSED ? SP_EXIT_FAILED : sp_cli_fail(cli, &err);
	return SP_EXIT_DONE;
}
