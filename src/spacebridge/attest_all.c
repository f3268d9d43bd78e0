/* spacebridge attest --all: every active record of this worker against what runs now. */
#include <stdio.h>
#include <unistd.h>
#include "base/text.h"
#include "cli/table.h"
#include "spacebridge/attest.h"

struct all {
	struct sp_cli *cli;
	struct sp_store *store;
	struct sp_table *table; /* NULL: lines of JSON */
	enum sp_level min_level;
	int64_t count;
	int exit;
};

static int tell(struct all *all, const char *sandbox, enum sp_reason reason, const char *words)
{
	const char *decision = sp_decision_name(sp_reason_decision(reason));
	const char *cells[] = {sandbox, decision, sp_reason_name(reason), words[0] ? words : NULL};
	json_t *line;

	all->exit = sp_exit_worse(all->exit, sp_reason_exit(reason));
	if (all->table)
		return sp_table_add(
		    all->table, reason == SP_REASON_NONE ? SP_TONE_GOOD : SP_TONE_BAD, cells);
	line = json_pack("{ss ss}", "sandbox", sandbox, "decision", decision);
	if (line && reason != SP_REASON_NONE &&
	    (json_object_set_new(line, "reason", json_string(sp_reason_name(reason))) < 0 ||
		json_object_set_new(line, "message", json_string(words)) < 0)) {
		json_decref(line);
		line = NULL;
	}
	return sp_cli_put_json(all->cli, line) ? SP_E_CLOSED : 0;
}

static int judge_one(void *context, const char *sandbox, const struct sp_record *record)
{
	struct all *all = context;
	struct sp_report report = {0};
	char words[SP_ERR_MAX];
	enum sp_reason reason;
	struct sp_record again;
	struct sp_err err = {0};
	int bad;

	sp_cli_progress(all->cli, ++all->count, "records", true);
	if (!record) {
		/* Once more, for the words; by now it may be readable, or gone. */
		if (sp_store_read(all->store, sandbox, &again, &err) == 0)
			sp_record_done(&again);
		else
			all->exit = sp_exit_worse(all->exit, sp_cli_fail(all->cli, &err));
		return 0;
	}
	if (record->retired)
		return 0;
	reason = sp_attest_inspect(SP_ROLE_BRIDGE, record->bridge, all->min_level, &report);
	if (reason == SP_REASON_NONE)
		reason = sp_attest_inspect(SP_ROLE_VMM, record->vmm, all->min_level, &report);
	sp_report_words(&report, words, sizeof(words));
	sp_text_printable(words);
	bad = tell(all, sandbox, reason, words);
	sp_report_done(&report);
	return bad;
}

int attest_all(struct sp_cli *cli)
{
	static const char *const headings[] = {"sandbox", "decision", "reason", "why", NULL};
	struct all all = {.cli = cli};
	char records[PATH_MAX];
	struct sp_err err = {0};
	int bad = attest_min_level(cli, &all.min_level);

	if (bad)
		return bad;
	bad = attest_records(cli, records, &err);
	if (!bad)
		bad = sp_store_open(records, 0, &all.store, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	if (sp_cli_table(cli, headings, 4, &all.table)) {
		sp_store_close(all.store);
		return SP_EXIT_FAILED;
	}
	bad = sp_store_walk(all.store, judge_one, &all, &err);
	if (!bad && sp_table_finish(all.table) < 0)
		all.exit = SP_EXIT_FAILED;
	sp_table_free(all.table);
	sp_store_close(all.store);
	if (bad)
		return bad == SP_E_CLOSED ? SP_EXIT_FAILED : sp_cli_fail(cli, &err);
	return all.exit;
}
