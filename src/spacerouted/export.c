/* spacerouted export: the whole registry as lines, which `import` takes into another one. */
#include "base/text.h"
#include "record/json.h"
#include "record/reason.h"
#include "spacerouted/transfer.h"

struct export
{
	struct sp_cli *cli;
	struct sp_registry *registry;
	int64_t routes, grants;
	struct sp_err *err;
};

/* SP_E_CLOSED: told already. */
static int put(struct export *export, const char *kind, json_t *line)
{
	/* The kind stands first, for people. */
	sp_auto_json json_t *object = json_pack("{ss}", "kind", kind);
	int bad = !object || !line || json_object_update(object, line) < 0;

	json_decref(line);
	if (bad)
		return sp_fail(export->err, -ENOMEM, "out of memory");
	return sp_cli_put_json(export->cli, json_incref(object)) ? SP_E_CLOSED : 0;
}

static int put_route(void *context, const char *sandbox, const struct sp_placement *placement)
{
	struct export *export = context;

	export->routes++;
	sp_cli_progress(export->cli, export->routes, "routes", true);
	return put(export, TRANSFER_ROUTE, sp_placement_json(sandbox, placement));
}

/* With the hash of the bearer token of a token:NAME. */
static int put_grant(void *context, const struct sp_grant *grant)
{
	struct export *export = context;
	unsigned char hash[SP_CREDENTIAL_SIZE];
	json_t *line = sp_grant_json(grant);
	char text[TRANSFER_HASH_SIZE];
	int got = sp_registry_token(export->registry, grant->principal, hash, export->err);

	if (got > 0) {
		sp_base64_encode(hash, sizeof(hash), true, text, sizeof(text));
		(void)json_object_set_new(line, "credential", json_string(text));
	}
	if (got < 0) {
		json_decref(line);
		return got;
	}
	export->grants++;
	sp_cli_progress(export->cli, export->grants, "grants", true);
	return put(export, TRANSFER_GRANT, line);
}

static int put_all(struct export *export, int64_t revision)
{
	int bad = put(export, TRANSFER_BEGIN,
	    json_pack("{sisI}", "version", TRANSFER_VERSION, "revision", (json_int_t)revision));

	if (!bad)
		bad = sp_registry_list(export->registry, put_route, export, export->err);
	if (!bad)
		bad = sp_registry_grants(export->registry, put_grant, export, export->err);
	if (!bad)
		bad = put(export, TRANSFER_END,
		    json_pack("{sIsI}", "routes", (json_int_t) export->routes, "grants",
			(json_int_t) export->grants));
	return bad;
}

int spacerouted_export(struct sp_cli *cli)
{
	auto_registry struct sp_registry *registry = NULL;
	struct sp_err err = {0};
	struct export export = {.cli = cli, .err = &err};
	int64_t revision;
	int bad = spacerouted_open(cli, false, &registry);

	if (bad)
		return bad;
	export.registry = registry;
	bad = sp_registry_snapshot_begin(registry, &revision, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	bad = put_all(&export, revision);
	sp_registry_snapshot_end(registry);
	if (bad)
		return bad == SP_E_CLOSED ? SP_EXIT_FAILED : sp_cli_fail(cli, &err);
	return SP_EXIT_DONE;
}
