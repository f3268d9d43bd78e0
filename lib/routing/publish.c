/* The rows of 05-routing's `publish` and `retire`, first that applies. */
#include "routing/publish.h"

#include <string.h>
#include "base/util.h"
#include "record/json.h"

static const char *const EFFECTS[] = {
    [SP_PUBLISH_NONE] = "none",
    [SP_PUBLISH_REPLACED] = "replaced",
    [SP_PUBLISH_ATTEMPT_ONLY] = "attempt-only",
    [SP_PUBLISH_ENDPOINT] = "endpoint",
    [SP_PUBLISH_RETIRED] = "retired",
    [SP_PUBLISH_CONFLICT] = "conflict",
};

const char *sp_publish_effect_name(enum sp_publish_effect effect)
{
	return EFFECTS[effect];
}

static enum sp_publish_effect conflict(struct sp_err *why, const char *words)
{
	(void)sp_fail(why, SP_E_CONFLICT, "%s", words);
	return SP_PUBLISH_CONFLICT;
}

static bool same_but_attempt(const struct sp_route *a, const struct sp_route *b)
{
	struct sp_route raised = *a;

	raised.attempt = b->attempt;
	return sp_route_equal(&raised, b);
}

/* The same execution, active, and something differs. */
static enum sp_publish_effect decide_change(
    const struct sp_placement *current, const struct sp_publication *wanted, struct sp_err *why)
{
	bool same_endpoint = strcmp(current->endpoint, wanted->endpoint) == 0;
	bool attempt_only =
	    same_endpoint && same_but_attempt(&current->route, &wanted->identity.route);

	if (!same_endpoint && sp_route_equal(&current->route, &wanted->identity.route))
		return SP_PUBLISH_ENDPOINT;
	if (attempt_only && wanted->identity.route.attempt > current->route.attempt)
		return SP_PUBLISH_ATTEMPT_ONLY;
	if (wanted->conditional)
		return attempt_only ? SP_PUBLISH_ATTEMPT_ONLY : SP_PUBLISH_REPLACED;
	(void)sp_fail(why, SP_E_CONFLICT,
	    "execution %lld is published with another route at revision %lld; --if-rev %lld "
	    "changes it",
	    (long long)current->route.execution, (long long)current->revision,
	    (long long)current->revision);
	return SP_PUBLISH_CONFLICT;
}

enum sp_publish_effect sp_publish_decide(
    const struct sp_placement *current, const struct sp_publication *wanted, struct sp_err *ret_why)
{
	int64_t revision = current ? current->revision : 0;

	if (wanted->conditional && wanted->if_revision != revision) {
		(void)sp_fail(ret_why, SP_E_CONFLICT, "the revision is %lld, not %lld",
		    (long long)revision, (long long)wanted->if_revision);
		return SP_PUBLISH_CONFLICT;
	}
	if (!current || wanted->identity.route.execution > current->route.execution)
		return SP_PUBLISH_REPLACED;
	if (wanted->identity.route.execution < current->route.execution) {
		(void)sp_fail(ret_why, SP_E_CONFLICT, "execution %lld was published already",
		    (long long)current->route.execution);
		return SP_PUBLISH_CONFLICT;
	}
	if (current->retired)
		return conflict(ret_why, "this execution is retired; only a higher one can follow");
	if (sp_route_equal(&current->route, &wanted->identity.route) &&
	    strcmp(current->endpoint, wanted->endpoint) == 0)
		return SP_PUBLISH_NONE;
	return decide_change(current, wanted, ret_why);
}

enum sp_publish_effect sp_retire_decide(
    const struct sp_placement *current, int64_t execution, struct sp_err *ret_why)
{
	if (!current)
		return conflict(ret_why, "no route was ever published");
	if (current->route.execution != execution) {
		(void)sp_fail(ret_why, SP_E_CONFLICT, "the current execution is %lld, not %lld",
		    (long long)current->route.execution, (long long)execution);
		return SP_PUBLISH_CONFLICT;
	}
	return current->retired ? SP_PUBLISH_NONE : SP_PUBLISH_RETIRED;
}

static bool same_placement(const struct sp_placement *a, const struct sp_placement *b)
{
	return sp_route_equal(&a->route, &b->route) && strcmp(a->endpoint, b->endpoint) == 0;
}

enum sp_publish_effect sp_import_decide(
    const struct sp_placement *current, const struct sp_placement *imported, struct sp_err *ret_why)
{
	if (!current || imported->route.execution > current->route.execution)
		return SP_PUBLISH_REPLACED;
	if (same_placement(current, imported) && current->retired == imported->retired)
		return SP_PUBLISH_NONE;
	if (same_placement(current, imported) && imported->retired)
		return SP_PUBLISH_RETIRED;
	(void)sp_fail(ret_why, SP_E_CONFLICT, "execution %lld is there already, %s",
	    (long long)current->route.execution, current->retired ? "retired" : "active");
	return SP_PUBLISH_CONFLICT;
}

enum sp_publish_effect sp_route_change_apply(const struct sp_route_change *change, bool known,
    struct sp_placement *placement, struct sp_err *ret_why)
{
	const struct sp_placement *current = known ? placement : NULL;
	enum sp_publish_effect effect =
	    change->publish  ? sp_publish_decide(current, change->publish, ret_why)
	    : change->import ? sp_import_decide(current, change->import, ret_why)
			     : sp_retire_decide(current, change->execution, ret_why);

	if (effect == SP_PUBLISH_NONE || effect == SP_PUBLISH_CONFLICT)
		return effect;
	if (change->publish) {
		placement->route = change->publish->identity.route;
		placement->retired = false;
		memcpy(placement->endpoint, change->publish->endpoint, sizeof(placement->endpoint));
	} else if (change->import) {
		placement->route = change->import->route;
		placement->retired = change->import->retired;
		memcpy(placement->endpoint, change->import->endpoint, sizeof(placement->endpoint));
	} else {
		placement->retired = true;
	}
	return effect;
}

int sp_publication_parse(const json_t *object, struct sp_publication *ret, struct sp_err *err)
{
	const json_t *sandbox, *route, *endpoint;
	const struct sp_json_field fields[] = {
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"route", SP_JSON_OBJECT, false, &route},
	    {"endpoint", SP_JSON_STRING, false, &endpoint},
	};
	struct sp_publication wanted = {0};
	int bad = sp_json_take(object, "publication", fields, SP_COUNT(fields), err);

	if (!bad)
		bad = sp_id_copy(
		    json_string_value(sandbox), "`sandbox`", wanted.identity.sandbox, err);
	if (!bad)
		bad = sp_route_parse(route, &wanted.identity.route, err);
	if (bad)
		return bad;
	if (!sp_endpoint_valid(json_string_value(endpoint)))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "publication: `endpoint` is not unix: and an absolute path");
	memcpy(wanted.endpoint, json_string_value(endpoint), json_string_length(endpoint) + 1);
	*ret = wanted;
	return 0;
}

json_t *sp_publish_line(
    const char *sandbox, enum sp_publish_effect effect, int64_t revision, const struct sp_err *why)
{
	if (effect == SP_PUBLISH_CONFLICT)
		return json_pack("{sssbss}", "sandbox", sandbox, "changed", 0, "conflict",
		    why ? why->message : "conflict");
	return json_pack("{sssbsssI}", "sandbox", sandbox, "changed", effect != SP_PUBLISH_NONE,
	    "effect", EFFECTS[effect], "revision", (json_int_t)revision);
}
