/* The rows of that view, from the store. */
#include "spaceid/watch_view.h"

#include <errno.h>
#include <stdio.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "store/history.h"

static const char *const HEADINGS[] = {
    "sandbox", "execution", "worker", "state", "epoch", "change", "at", "owner", NULL};

/* What the record's history has last; nothing where it keeps none. */
static void last_change(const json_t *history, const char **ret_effect, const char **ret_at)
{
	const json_t *last = json_array_get(history, json_array_size(history) - 1);

	*ret_effect = json_string_value(json_object_get(last, "effect"));
	*ret_at = json_string_value(json_object_get(last, "at"));
}

static int put_record(struct sp_live *view, const struct sp_record *record, bool changed)
{
	enum sp_tone tone = record->retired ? SP_TONE_DIM : changed ? SP_TONE_GOOD : SP_TONE_PLAIN;
	const char *cells[SP_LIVE_CELLS] = {record->identity.sandbox, NULL,
	    record->identity.route.worker, sp_record_state_name(record->retired), NULL, NULL, NULL,
	    record->owner};
	char execution[24], epoch[24];
	sp_auto_json json_t *history = NULL;
	struct sp_err err = {0};
	int64_t when = record->installed_at;

	(void)snprintf(
	    execution, sizeof(execution), "%lld", (long long)record->identity.route.execution);
	(void)snprintf(epoch, sizeof(epoch), "%lld", (long long)record->epoch);
	cells[1] = execution;
	cells[4] = epoch;
	if (sp_history_json(record, &history, &err) == 0)
		last_change(history, &cells[5], &cells[6]);
	if (cells[6])
		(void)sp_time_parse(cells[6], &when);
	return sp_live_put(view, tone, cells, when, changed);
}

/* One that cannot be read is shown as that. */
static int put_unreadable(struct sp_live *view, const char *sandbox, bool changed)
{
	const char *cells[SP_LIVE_CELLS] = {sandbox, NULL, NULL, "unreadable"};

	return sp_live_put(view, SP_TONE_BAD, cells, INT64_MAX, changed);
}

static int list_one(void *context, const char *sandbox, const struct sp_record *record)
{
	if (sp_live_over(context))
		return SP_E_CLOSED;
	return record ? put_record(context, record, false)
		      : put_unreadable(context, sandbox, false);
}

int spaceid_view_list(struct sp_live *view, struct sp_store *store, const char *sandbox)
{
	struct sp_err err = {0};
	struct sp_record record;
	int bad;

	sp_live_clear(view);
	if (!sandbox) {
		bad = sp_store_walk(store, list_one, view, &err);
	} else {
		bad = sp_store_read(store, sandbox, &record, &err);
		if (!bad) {
			bad = put_record(view, &record, false);
			sp_record_done(&record);
		} else if (bad == SP_E_ABSENT) {
			bad = 0;
		} else {
			bad = put_unreadable(view, sandbox, false);
		}
	}
	sp_live_note(view, bad && bad != SP_E_CLOSED ? err.message : NULL);
	return bad == -ENOMEM ? bad : 0;
}

int spaceid_view_change(
    struct sp_live *view, struct sp_store *store, const struct sp_page_change *change)
{
	struct sp_err err = {0};
	struct sp_record record;
	int bad = sp_store_read(store, change->sandbox, &record, &err);

	if (bad == SP_E_ABSENT) {
		sp_live_drop(view, change->sandbox);
		return 0;
	}
	if (bad)
		return put_unreadable(view, change->sandbox, true);
	bad = put_record(view, &record, true);
	sp_record_done(&record);
	return bad;
}

int spaceid_view_open(struct sp_cli *cli, struct sp_live **ret)
{
	return sp_cli_live(
	    cli, "runtime records, the last change first; q ends", "records", HEADINGS, 4, ret);
}
