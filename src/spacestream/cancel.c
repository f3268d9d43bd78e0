/* spacestream cancel: ends one lease, or all of a sandbox, wherever on this node they are held. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "lease/live.h"
#include "record/json.h"
#include "record/reason.h"
#include "spacestream/verbs.h"

struct found {
	const char *begins;
	char id[SP_LEASE_ID_SIZE];
	unsigned count;
};

static int compare(void *context, json_t *lease)
{
	struct found *found = context;
	const char *id = json_string_value(json_object_get(lease, "lease"));

	if (id && strncmp(id, found->begins, strlen(found->begins)) == 0 && found->count++ == 0)
		(void)snprintf(found->id, sizeof(found->id), "%s", id);
	json_decref(lease);
	return 0;
}

static int count(void *context, json_t *answer)
{
	int64_t *cancelled = context;

	*cancelled += json_integer_value(json_object_get(answer, "cancelled"));
	json_decref(answer);
	return 0;
}

/* The whole id of the one lease that begins so. */
static int find(const char *run_dir, struct found *found, struct sp_err *err)
{
	sp_auto_json json_t *question = json_pack("{ss}", "ask", "list");
	int bad = sp_lease_live_ask(run_dir, question, SP_LIST_TIMEOUT_MS, compare, found, err);

	if (found->count > 1)
		return sp_fail(err, SP_E_CONFLICT,
		    "%.64s: %u leases begin so; nothing was cancelled", found->begins,
		    found->count);
	if (bad)
		return bad;
	return found->count ? 0
			    : sp_fail(err, SP_E_ABSENT, "%.64s: no such lease is open on this node",
				  found->begins);
}

static int cancel(struct sp_cli *cli, const char *run_dir, const char *id, const char *sandbox)
{
	struct found found = {.begins = id};
	sp_auto_json json_t *question = NULL;
	struct sp_err err = {0};
	int64_t cancelled = 0;
	int bad = id ? find(run_dir, &found, &err) : 0;

	if (bad)
		return sp_cli_fail(cli, &err);
	question = json_pack(
	    "{ss ss* ss*}", "ask", "cancel", "lease", id ? found.id : NULL, "sandbox", sandbox);
	bad = sp_lease_live_ask(run_dir, question, SP_LIST_TIMEOUT_MS, count, &cancelled, &err);
	if (!sp_cli_json(cli))
		(void)printf("%lld cancelled\n", (long long)cancelled);
	else if (sp_cli_put_json(cli, json_pack("{sI}", "cancelled", (json_int_t)cancelled)))
		return SP_EXIT_FAILED;
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}

int spacestream_cancel(struct sp_cli *cli)
{
	const char *id = sp_cli_argument(cli, 0), *sandbox = sp_cli_text(cli, "sandbox");
	const struct sp_config *config = sp_cli_config(cli);

	if (!config)
		return SP_EXIT_USAGE;
	if (!id == !sandbox)
		return sp_cli_usage(cli, "which lease? One id, or --sandbox for all of one");
	if (id && (!*id || strspn(id, "0123456789abcdef") != strlen(id)))
		return sp_cli_usage(
		    cli, "`%.64s` is no id of a lease, nor the beginning of one", id);
	if (sandbox && !sp_id_valid(sandbox))
		return sp_cli_usage(cli, "`%.64s` is no sandbox's id", sandbox);
	return cancel(cli, config->run_dir, id, sandbox);
}
