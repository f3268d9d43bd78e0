/* spaceid show: one record as stored, whether it is in force, and what has been done to it. */
#include <stdio.h>
#include <unistd.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/fields.h"
#include "record/json.h"
#include "record/reason.h"
#include "spaceid/compare.h"
#include "spaceid/history.h"
#include "spaceid/advice.h"
#include "spaceid/verbs.h"

/* Receivers go by the page, and believe a record only where the two agree. */
static bool put_force(struct sp_cli *cli, struct sp_store *store, const struct sp_record *record)
{
	struct sp_page_ref ref;
	struct sp_page_view view;
	int bad = sp_page_find(store, record->identity.sandbox, &ref);
	bool agrees;

	if (!bad)
		bad = sp_page_look(store, ref, &view);
	agrees = !bad && view.epoch == (uint64_t)record->epoch &&
		 view.version == (uint64_t)record->version && !view.pending;
	(void)printf("in force: ");
	sp_tone_print(
	    stdout, sp_cli_color(cli), agrees ? SP_TONE_GOOD : SP_TONE_BAD, agrees ? "yes" : "no");
	if (bad)
		(void)printf(", the page %s\n",
		    bad == SP_E_ABSENT
			? "knows no such sandbox"
			: "is missing, old or damaged (the next change makes it anew)");
	else if (agrees)
		(void)putchar('\n');
	else if (view.pending)
		(void)printf(", a change is under way\n");
	else
		(void)printf(", the page says epoch %llu, version %llu\n",
		    (unsigned long long)view.epoch, (unsigned long long)view.version);
	return agrees;
}

static int show_people(struct sp_cli *cli, struct sp_store *store, const struct sp_record *record,
    json_t *object, const json_t *history)
{
	static const char lost[] = "receivers refuse it until it is installed anew: take it away "
				   "for a look, then install";
	const char *sandbox = record->identity.sandbox;
	struct advice advice = {.words = "nothing: it is what receivers go by"};
	int exit = sp_cli_fields(cli, "field", object, 2);

	if (exit)
		return exit;
	(void)putchar('\n');
	if (sp_cli_flag(cli, "history")) {
		exit = spaceid_history_print(cli, history);
		(void)putchar('\n');
	}
	if (!put_force(cli, store, record)) {
		advice.words = lost;
		(void)snprintf(advice.command, sizeof(advice.command),
		    "spaceid export --sandbox %s FILE", sandbox);
	} else if (record->retired) {
		advice = spaceid_advice(sandbox, SP_REASON_RETIRED, SP_BEHIND_NONE);
	}
	spaceid_history_last(history);
	spaceid_print_advice(&advice);
	return exit;
}

static int show_json(struct sp_cli *cli, json_t *object, json_t *history)
{
	if (sp_cli_flag(cli, "history") && json_object_set(object, "history", history) < 0)
		return SP_EXIT_FAILED;
	return sp_cli_put_json(cli, json_incref(object));
}

int spaceid_show(struct sp_cli *cli)
{
	const char *sandbox = sp_cli_argument(cli, 0);
	auto_store struct sp_store *store = NULL;
	sp_auto_json json_t *object = NULL, *history = NULL;
	struct sp_record record;
	struct sp_err err = {0};
	int exit;

	if (!sp_id_valid(sandbox))
		return sp_cli_usage(cli, "`%.140s` is no id of a sandbox", sandbox);
	exit = spaceid_store(cli, 0, &store);
	if (exit)
		return exit;
	if (sp_store_read(store, sandbox, &record, &err) < 0)
		return sp_cli_fail(cli, &err);
	object = sp_record_json(&record);
	if (sp_history_json(&record, &history, &err) < 0) {
		(void)sp_err_prefix(&err, err.code, "%s: %s", sp_store_path(store), sandbox);
		exit = sp_cli_fail(cli, &err);
	} else if (!object) {
		exit = SP_EXIT_FAILED;
	} else if (sp_cli_json(cli)) {
		exit = show_json(cli, object, history);
	} else {
		exit = show_people(cli, store, &record, object, history);
	}
	sp_record_done(&record);
	return exit;
}
