/* The record: what is installed, and which of its changes made it another than what was selected.
 */
#include <stdio.h>
#include <string.h>
#include "admit/admit.h"
#include "base/util.h"
#include "record/json.h"
#include "spaceid/explain.h"
#include "store/history.h"

/* Would a record with these values be what was selected? `view` is as in store/history.h. */
static bool is_selected(const json_t *view, const struct sp_route *selected)
{
	sp_auto_json json_t *route = sp_route_json(selected);
	const char *state = json_string_value(json_object_get(view, "state")), *name;
	json_t *value;

	if (!view || !state || strcmp(state, sp_record_state_name(false)) != 0)
		return false;
	json_object_foreach(route, name, value)
	{
		if (!json_equal(value, json_object_get(view, name)))
			return false;
	}
	return true;
}

/* What the record was before the change. NULL: there was none. */
static json_t *before_change(json_t *view, const json_t *change)
{
	const json_t *from = json_object_get(change, "from"), *to = json_object_get(change, "to");
	const char *name;
	json_t *value;

	if (!json_is_object(from)) {
		json_decref(view);
		return NULL;
	}
	json_object_foreach((json_t *)(uintptr_t)to, name, value)
	{
		(void)json_object_del(view, name);
	}
	(void)json_object_update(view, (json_t *)(uintptr_t)from);
	return view;
}

static json_t *view_of(const struct sp_record *record)
{
	json_t *view = sp_route_json(&record->identity.route);

	if (view)
		(void)json_object_set_new(
		    view, "state", json_string(sp_record_state_name(record->retired)));
	return view;
}

/* The newest change that made it another than what was selected. */
static json_t *find_parting(
    const struct sp_record *record, const json_t *history, const struct sp_route *selected)
{
	json_t *view = view_of(record);
	bool after = is_selected(view, selected);
	json_t *found = NULL;

	for (size_t i = json_array_size(history); view && !found && i > 0; i--) {
		json_t *change = json_array_get(history, i - 1);
		view = before_change(view, change);
		bool before = is_selected(view, selected);
		if (before && !after)
			found = json_deep_copy(change);
		after = before;
	}
	json_decref(view);
	return found;
}

/* Is it, or would it now be, refused for a fence? */
static bool is_fenced(const struct explained *explained)
{
	return (explained->event.decided && explained->event.reason == SP_REASON_FENCED) ||
	       (explained->token.is_one && explained->token.reason == SP_REASON_FENCED);
}

static json_t *find_fence(const json_t *history)
{
	for (size_t i = json_array_size(history); i > 0; i--) {
		const json_t *change = json_array_get(history, i - 1);
		const char *effect = json_string_value(json_object_get(change, "effect"));
		if (effect && strcmp(effect, sp_effect_name(SP_EFFECT_FENCED)) == 0)
			return json_deep_copy(change);
	}
	return NULL;
}

static const char *why_no_parting(
    const struct explained *explained, const struct sp_record *record, const json_t *history)
{
	const struct sp_comparison *result = &explained->sides.result;

	if (is_fenced(explained))
		return "no fence is among the changes that are kept";
	if (result->reason == SP_REASON_NONE)
		return NULL;
	if (json_array_size(history) == 0)
		return "the record keeps no history (an older version wrote it)";
	if (result->behind == SP_BEHIND_RECEIVER)
		return "what was selected was never installed in this store";
	return record->version > (int64_t)json_array_size(history)
		   ? "before the changes that are kept, or never here"
		   : "what was selected was never installed in this store";
}

static void find_change(struct explained *explained, const struct sp_record *record)
{
	sp_auto_json json_t *history = NULL;
	struct sp_err err = {0};

	if (sp_history_json(record, &history, &err) < 0) {
		explain_unseen(explained, "the record's history", err.message);
		return;
	}
	if (is_fenced(explained))
		explained->parted = find_fence(history);
	else if (explained->has_selected)
		explained->parted = find_parting(record, history, &explained->sides.selected.route);
	if (explained->parted)
		explain_who(explained, explained->parted);
	else if (explained->has_selected)
		explained->parted_words = why_no_parting(explained, record, history);
}

static void compare(struct explained *explained)
{
	struct comparison *sides = &explained->sides;

	if (!explained->has_selected || !explained->installed_seen)
		return;
	sides->result = sp_compare(&sides->selected,
	    sides->has_installed ? &sides->installed : NULL, sides->retired, SP_USE_OPEN);
	explained->compared = true;
}

/* What a receiver would say of a good token beyond the comparison: that it was issued before a
 * fence. */
static void judge_token(struct explained *explained, const struct sp_record *record)
{
	struct explain_token *token = &explained->token;
	const struct sp_admit_question question = {
	    .claims = &token->claims, .record = record, .use = SP_USE_OPEN};

	if (!token->is_one || !token->has_claims || token->reason)
		return;
	if (sp_admit(&question).reason == SP_REASON_FENCED)
		token->reason = SP_REASON_FENCED;
}

/* Where there is no record to look at, what the line says of it. */
static void take_from_event(struct explained *explained)
{
	const struct explain_event *event = &explained->event;
	struct comparison *sides = &explained->sides;

	if (!event->has_installed && !event->installed_absent)
		return;
	explained->installed_seen = true;
	explained->installed_from =
	    explained->input == EXPLAIN_COMPARISON ? "comparison" : "audit-line";
	sides->has_installed = event->has_installed;
	sides->installed.route = event->installed;
	memcpy(sides->installed.sandbox, event->sandbox, sizeof(event->sandbox));
	sides->retired = event->installed_retired;
	explained->epoch = event->epoch;
}

static const char *selected_from(const struct explained *explained)
{
	static const char *const names[] = {[EXPLAIN_SANDBOX] = "audit-line",
	    [EXPLAIN_TOKEN] = "token",
	    [EXPLAIN_RESULT] = "request",
	    [EXPLAIN_AUDIT] = "audit-line",
	    [EXPLAIN_COMPARISON] = "comparison",
	    [EXPLAIN_ROUTE] = "route"};
	bool found = explained->event_found && !explained->token.is_one;

	return found ? names[EXPLAIN_AUDIT] : names[explained->input];
}

static int read_record(struct explained *explained, struct sp_store *store, bool elsewhere,
    struct sp_record *record, struct sp_err *err)
{
	int bad = sp_store_read(store, explained->event.sandbox, record, err);

	if (bad && bad != SP_E_ABSENT)
		return bad;
	/* None here says nothing of another worker. */
	if (bad && elsewhere)
		return 0;
	explained->installed_seen = true;
	explained->installed_from = "record";
	explained->sides.has_installed = !bad;
	if (!bad) {
		explained->sides.installed = record->identity;
		explained->sides.retired = record->retired;
		explained->epoch = record->epoch;
	}
	return 0;
}

void explain_record(
    struct explained *explained, struct sp_store *store, bool elsewhere, const char *why_none)
{
	const struct explain_event *event = &explained->event;
	struct sp_record record = {.version = 0};
	struct sp_err err = {0};

	explained->has_selected = event->has_route;
	explained->selected_from = selected_from(explained);
	explained->sides.selected.route = event->route;
	memcpy(explained->sides.selected.sandbox, event->sandbox, sizeof(event->sandbox));
	if (!event->sandbox[0])
		explain_unseen(explained, "the record",
		    "it is not known which sandbox this is about "
		    "(--sandbox)");
	else if (!store)
		explain_unseen(explained, "the record", why_none);
	else if (read_record(explained, store, elsewhere, &record, &err) < 0)
		explain_unseen(explained, "the record", err.message);
	if (!explained->installed_seen)
		take_from_event(explained);
	explained->sides.unseen = !explained->installed_seen;
	compare(explained);
	if (record.version > 0) {
		judge_token(explained, &record);
		find_change(explained, &record);
	}
	sp_record_done(&record);
}
