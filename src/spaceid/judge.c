/* From a line of spaceid compare to its decision, and back into the line. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "spaceid/verbs.h"
#include "spaceid/compare.h"

#define PENDING_MS                                                                                 \
	3000 /* for a change under way: longer than any cut_timeout of a sane deployment */

/* `{sandbox, route, state?, owner?}`; the owner is never compared, so it only has to be an id. */
static int take_short(const json_t *side, struct comparison *c, struct sp_err *err)
{
	const json_t *sandbox, *route, *state, *owner;
	const struct sp_json_field fields[] = {
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"route", SP_JSON_OBJECT, false, &route},
	    {"state", SP_JSON_STRING, true, &state},
	    {"owner", SP_JSON_STRING, true, &owner},
	};
	char ignored[SP_ID_MAX + 1];
	int bad = sp_json_take(side, "`installed`", fields, SP_COUNT(fields), err);

	if (!bad)
		bad = sp_id_copy(json_string_value(sandbox), "`installed`: `sandbox`",
		    c->installed.sandbox, err);
	if (!bad)
		bad = sp_route_parse(route, &c->installed.route, err);
	if (!bad && state)
		bad = sp_record_state_parse(json_string_value(state), &c->retired, err);
	if (!bad && owner)
		bad = sp_id_copy(json_string_value(owner), "`installed`: `owner`", ignored, err);
	return bad;
}

/* A whole runtime record, as `show` prints it. */
static int take_record(const json_t *side, struct comparison *c, struct sp_err *err)
{
	struct sp_record record;
	int bad = sp_record_parse(side, &record, err);

	if (bad)
		return bad;
	c->installed = record.identity;
	c->retired = record.retired;
	sp_record_done(&record);
	return 0;
}

static int take_installed(const json_t *side, struct comparison *c, struct sp_err *err)
{
	c->has_installed = !json_is_null(side);
	if (!c->has_installed)
		return 0;
	return json_object_get(side, "v") ? take_record(side, c, err) : take_short(side, c, err);
}

/* What the store has in force. A change under way is over in a moment. */
int spaceid_ask_store(struct sp_store *store, struct comparison *c, struct sp_err *err)
{
	int64_t until = sp_monotonic_ms() + PENDING_MS;
	const struct sp_record *record;
	int bad;

	while ((bad = sp_store_current(store, c->selected.sandbox, &record, err)) == -EAGAIN) {
		if (sp_monotonic_ms() > until)
			return sp_fail(err, SP_E_UNAVAILABLE,
			    "%s: a change does not come to its end", c->selected.sandbox);
		(void)clock_nanosleep(
		    CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (bad && bad != SP_E_ABSENT)
		return bad == SP_E_BAD_RECORD ? bad : SP_E_UNAVAILABLE;
	c->has_installed = !bad;
	if (c->has_installed) {
		c->installed = record->identity;
		c->retired = record->retired;
	}
	return 0;
}

/* Closed: id, selected, installed, use. */
static int check_fields(
    const json_t *line, bool from_store, const json_t **installed, struct sp_err *err)
{
	const json_t *id = json_object_get(line, "id"), *use = json_object_get(line, "use");
	size_t known = 1u + (id != NULL) + (use != NULL) + !from_store;
	size_t length = id ? json_string_length(id) : 1;

	*installed = json_object_get(line, "installed");
	if (from_store && *installed)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "`installed` has no place beside --records: the store knows it");
	if (!from_store && !*installed)
		return sp_fail(err, SP_E_BAD_RECORD, "`installed` is missing (null: no record)");
	if (!json_object_get(line, "selected"))
		return sp_fail(err, SP_E_BAD_RECORD, "`selected` is missing");
	if (length < 1 || length > SP_REQUEST_ID_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "`id` is no string of 1 to %d bytes", SP_REQUEST_ID_MAX);
	if (json_object_size(line) != known)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "a field beside `id`, `selected`, `installed` and `use`");
	return 0;
}

static int take_use(const json_t *use, enum sp_use *ret, struct sp_err *err)
{
	*ret = SP_USE_OPEN;
	if (!use || (json_is_string(use) && sp_use_parse(json_string_value(use), ret)))
		return 0;
	return sp_fail(err, SP_E_BAD_RECORD,
	    "`use` is none of open, established-control, established-gateway");
}

int spaceid_judge(
    const json_t *line, struct sp_store *store, struct comparison *ret, struct sp_err *err)
{
	const json_t *installed;
	struct comparison c = {0};
	int bad = check_fields(line, store != NULL, &installed, err);

	if (!bad)
		bad = take_use(json_object_get(line, "use"), &c.use, err);
	if (!bad)
		bad = sp_identity_parse(json_object_get(line, "selected"), &c.selected, err);
	if (!bad)
		bad =
		    store ? spaceid_ask_store(store, &c, err) : take_installed(installed, &c, err);
	if (bad)
		return bad;
	c.result = sp_compare(&c.selected, c.has_installed ? &c.installed : NULL, c.retired, c.use);
	*ret = c;
	return 0;
}

static int add(json_t *line, const char *key, const char *value)
{
	return value ? json_object_set_new_nocheck(line, key, json_string_nocheck(value)) : 0;
}

static json_t *differs_json(unsigned differs)
{
	json_t *list = json_array();
	const char *name;

	for (unsigned n = 0; (name = sp_differs_name(differs, n)) != NULL; n++)
		if (json_array_append_new(list, json_string_nocheck(name)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

int spaceid_add_result(json_t *line, const struct sp_comparison *result)
{
	int bad = add(line, "decision", sp_decision_name(result->decision));

	if (!bad)
		bad = add(line, "reason", sp_reason_name(result->reason));
	if (!bad && result->has_differs)
		bad = json_object_set_new_nocheck(line, "differs", differs_json(result->differs));
	if (!bad)
		bad = add(line, "behind", sp_behind_name(result->behind));
	return bad ? -ENOMEM : 0;
}
