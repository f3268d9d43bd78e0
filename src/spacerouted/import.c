/* spacerouted import: takes up what `export` printed of another registry, line by line. */
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "record/filter.h"
#include "record/json.h"
#include "record/reason.h"
#include "record/result.h"
#include "spacerouted/transfer.h"

/* No registry counts so far by its own changes: a million a second take 142 years. */
#define IMPORT_REVISION_MAX (SP_INT_MAX / 2)

struct import {
	struct sp_cli *cli;
	struct sp_registry *registry;
	bool begun, ended;
	int64_t routes, grants;
	struct sp_trail trail;
	int exit;
};

/* What went wrong with the registry is no fault of the line. */
static int answer_failure(struct import *import, const struct sp_err *why, json_t **ret)
{
	(void)sp_cli_fail(import->cli, why);
	*ret = sp_result_error(NULL, SP_ERROR_UNAVAILABLE, false, why->message);
	return 0;
}

/* Revisions rise from what they were there: a cache that knows the other registry's must find these
 * newer. */
static int take_begin(struct import *import, json_t *record, json_t **ret, struct sp_err *err)
{
	const json_t *version, *revision;
	const struct sp_json_field fields[] = {{"version", SP_JSON_INTEGER, false, &version},
	    {"revision", SP_JSON_INTEGER, false, &revision}};
	int bad = sp_json_format(record, "registry", "version", TRANSFER_VERSION, err);
	struct sp_err why = {0};

	if (!bad)
		bad = sp_json_take(record, "registry", fields, SP_COUNT(fields), err);
	if (bad)
		return bad;
	if (import->begun)
		return sp_fail(err, SP_E_BAD_RECORD, "registry: a second one");
	if (json_integer_value(revision) < 0)
		return sp_fail(err, SP_E_BAD_RECORD, "registry: `revision` is below 0");
	/* Revisions never fall again: one line would leave no room for any change after it. */
	if (json_integer_value(revision) > IMPORT_REVISION_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "registry: `revision` is above %lld",
		    IMPORT_REVISION_MAX);
	if (sp_registry_raise(import->registry, json_integer_value(revision), &why) < 0)
		return answer_failure(import, &why, ret);
	import->begun = true;
	*ret = json_pack("{sI}", "revision", json_integer_value(revision));
	return 0;
}

static int take_route(struct import *import, json_t *record, json_t **ret, struct sp_err *err)
{
	char sandbox[SP_ID_MAX + 1] = "";
	struct sp_placement placement;
	struct sp_identity identity;
	enum sp_publish_effect effect = SP_PUBLISH_NONE;
	int64_t revision;
	struct sp_err why = {0};
	int bad = sp_placement_parse(record, sandbox, &placement, err);

	if (bad)
		return bad;
	import->routes++;
	sp_cli_progress(import->cli, import->routes, "routes", true);
	memcpy(identity.sandbox, sandbox, sizeof(identity.sandbox));
	identity.route = placement.route;
	sp_trail_start(&import->trail);
	bad = sp_registry_import(import->registry, sandbox, &placement, &effect, &revision, &why);
	spacerouted_audit_route(&import->trail, "import", &identity, true, bad, effect, &why);
	if (bad)
		return answer_failure(import, &why, ret);
	if (effect == SP_PUBLISH_CONFLICT)
		import->exit = sp_exit_worse(import->exit, SP_EXIT_CONFLICT);
	*ret = sp_publish_line(sandbox, effect, revision, &why);
	return 0;
}

static int take_credential(
    json_t *record, unsigned char hash[SP_CREDENTIAL_SIZE], bool *ret_has, struct sp_err *err)
{
	const json_t *value = json_object_get(record, "credential");
	size_t size = 0;

	*ret_has = value != NULL;
	if (!value)
		return 0;
	if (!json_is_string(value) ||
	    !sp_base64_decode(json_string_value(value), json_string_length(value), true, hash,
		SP_CREDENTIAL_SIZE, &size) ||
	    size != SP_CREDENTIAL_SIZE)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "grant: `credential` is not %d bytes in base64url", SP_CREDENTIAL_SIZE);
	(void)json_object_del(record, "credential");
	return 0;
}

static int take_grant(struct import *import, json_t *record, json_t **ret, struct sp_err *err)
{
	unsigned char hash[SP_CREDENTIAL_SIZE];
	struct sp_grant grant;
	enum sp_grant_effect effect = SP_GRANT_NONE;
	int64_t revision = 0;
	bool has;
	struct sp_err why = {0};
	int bad = take_credential(record, hash, &has, err);

	if (!bad)
		bad = sp_grant_parse(record, &grant, err);
	if (!bad && has != (sp_token_name(grant.principal) != NULL))
		bad = sp_fail(err, SP_E_BAD_RECORD, "grant: `credential` goes with a token:NAME");
	if (bad)
		return bad;
	import->grants++;
	sp_cli_progress(import->cli, import->grants, "grants", true);
	sp_trail_start(&import->trail);
	bad = sp_registry_grant(import->registry, &grant, has ? hash : NULL, SP_GRANT_IMPORTS,
	    &effect, &revision, &why);
	spacerouted_audit_grant(&import->trail, "import", grant.principal, grant.sandbox, bad,
	    sp_grant_effect_name(effect), &why);
	if (bad == SP_E_CONFLICT) {
		import->exit = sp_exit_worse(import->exit, SP_EXIT_CONFLICT);
		*ret = json_pack("{sssssbss}", "principal", grant.principal, "sandbox",
		    grant.sandbox, "changed", 0, "conflict", why.message);
		return 0;
	}
	if (bad)
		return answer_failure(import, &why, ret);
	*ret = spacerouted_grant_line(&grant, effect, revision);
	return 0;
}

static int take_end(struct import *import, json_t *record, json_t **ret, struct sp_err *err)
{
	const json_t *routes, *grants;
	const struct sp_json_field fields[] = {{"routes", SP_JSON_INTEGER, false, &routes},
	    {"grants", SP_JSON_INTEGER, false, &grants}};
	int bad = sp_json_take(record, "end", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (json_integer_value(routes) != import->routes ||
	    json_integer_value(grants) != import->grants)
		return sp_fail(err, SP_E_BAD_RECORD, "end: %lld routes and %lld grants came",
		    (long long)import->routes, (long long)import->grants);
	import->ended = true;
	*ret = json_pack(
	    "{sIsI}", "routes", (json_int_t)import->routes, "grants", (json_int_t)import->grants);
	return 0;
}

static int import_line(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	static const struct {
		const char *kind;
		int (*take)(struct import *, json_t *, json_t **, struct sp_err *);
	} kinds[] = {{TRANSFER_BEGIN, take_begin}, {TRANSFER_ROUTE, take_route},
	    {TRANSFER_GRANT, take_grant}, {TRANSFER_END, take_end}};
	struct import *import = context;
	const char *kind = json_string_value(json_object_get(record, "kind"));

	for (size_t i = 0; kind && i < SP_COUNT(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) != 0)
			continue;
		if (i > 0 && !import->begun)
			return sp_fail(err, SP_E_BAD_RECORD, "a `registry` line comes first");
		(void)json_object_del(record, "kind");
		return kinds[i].take(import, record, ret, err);
	}
	return sp_fail(err, SP_E_BAD_RECORD, "`kind` is none of registry, route, grant, end");
}

/* Many lines to one wait for the disk; none is answered before that. */
static int settle(void *context, struct sp_err *err)
{
	struct import *import = context;

	return sp_registry_settle(import->registry, err);
}

int spacerouted_import(struct sp_cli *cli)
{
	auto_registry struct sp_registry *registry = NULL;
	struct import import = {.cli = cli, .exit = SP_EXIT_DONE};
	int written = SP_EXIT_DONE;
	struct sp_err err = {0};
	int bad = sp_trail_open(cli, "spacerouted", &import.trail);

	if (!bad)
		bad = spacerouted_open(cli, true, &registry);
	if (bad) {
		sp_trail_done(&import.trail);
		return bad;
	}
	import.registry = registry;
	sp_registry_gather(registry);
	bad = sp_filter_run(
	    STDIN_FILENO, STDOUT_FILENO, import_line, settle, &import, &written, &err);
	if (!bad && !import.ended)
		bad = sp_fail(&err, SP_E_BAD_RECORD, "the input ended before its end line");
	sp_trail_done(&import.trail);
	return bad ? sp_cli_fail(cli, &err) : sp_exit_worse(written, import.exit);
}
