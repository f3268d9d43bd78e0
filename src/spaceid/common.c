/* What the verbs share: the store, and the line that tells what a change did. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

/* As spaceid_store, but the reason is left to the caller; SP_E_USAGE has been told. */
static int open_store(struct sp_cli *cli, int flags, struct sp_store **ret, struct sp_err *err)
{
	const char *given = sp_cli_text(cli, "records");
	char path[PATH_MAX];

	/* A store that is named needs no configuration; one that is named beside it must be good.
	 */
	if (!given || sp_cli_text(cli, "config")) {
		const struct sp_config *config = sp_cli_config(cli);
		if (!config)
			return SP_E_USAGE;
		int n = snprintf(path, sizeof(path), "%s/records", config->state_dir);
		if (n < 0 || (size_t)n >= sizeof(path))
			return sp_fail(err, -ENAMETOOLONG, "state_dir: path too long");
	}
	return sp_store_open(given ? given : path, flags, ret, err);
}

int spaceid_store(struct sp_cli *cli, int flags, struct sp_store **ret)
{
	struct sp_err err = {0};
	int bad = open_store(cli, flags, ret, &err);

	if (bad == SP_E_USAGE)
		return SP_EXIT_USAGE;
	return bad ? sp_cli_fail(cli, &err) : 0;
}

int spaceid_id(struct sp_cli *cli, const char *option, const char **ret)
{
	const char *text = sp_cli_text(cli, option);

	if (text && !sp_id_valid(text))
		return sp_cli_usage(cli,
		    "--%s: `%.140s` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})", option, text);
	*ret = text;
	return 0;
}

json_t *spaceid_outcome(const char *sandbox, const struct sp_outcome *outcome)
{
	if (outcome->effect == SP_EFFECT_CONFLICT)
		return json_pack(
		    "{sssbss}", "sandbox", sandbox, "changed", 0, "conflict", outcome->conflict);
	return json_pack("{sssbsIss}", "sandbox", sandbox, "changed",
	    outcome->effect != SP_EFFECT_NONE, "epoch", (json_int_t)outcome->epoch, "effect",
	    sp_effect_name(outcome->effect));
}

static void put_words(struct sp_cli *cli, const char *sandbox, const struct sp_outcome *outcome)
{
	bool color = sp_cli_color(cli);

	(void)printf("%s: ", sandbox);
	if (outcome->effect == SP_EFFECT_CONFLICT) {
		sp_tone_print(stdout, color, SP_TONE_BAD, "conflict");
		(void)printf(": %s; nothing was changed\n", outcome->conflict);
		return;
	}
	sp_tone_print(stdout, color, outcome->effect == SP_EFFECT_NONE ? SP_TONE_DIM : SP_TONE_GOOD,
	    sp_effect_name(outcome->effect));
	(void)printf(", epoch %lld\n", (long long)outcome->epoch);
}

int spaceid_told(struct sp_cli *cli, const char *sandbox, int bad, const struct sp_outcome *outcome,
    const struct sp_err *err)
{
	/* A timeout's change is in force: its line is true, only the wait is not over. */
	if (bad && bad != SP_E_TIMEOUT)
		return sp_cli_fail(cli, err);
	if (!sp_cli_json(cli))
		put_words(cli, sandbox, outcome);
	else if (sp_cli_put_json(cli, spaceid_outcome(sandbox, outcome)))
		return SP_EXIT_FAILED;
	if (bad)
		return sp_cli_fail(cli, err);
	return outcome->effect == SP_EFFECT_CONFLICT ? SP_EXIT_CONFLICT : SP_EXIT_DONE;
}

void spaceid_audit(struct sp_trail *trail, struct sp_store *store,
    const struct spaceid_asked *asked, int bad, const struct sp_outcome *outcome,
    const struct sp_err *err)
{
	struct sp_audit_line line = {.op = asked->op,
	    .sandbox = asked->sandbox,
	    .selected = asked->route,
	    .note = asked->note};
	bool failed = bad && bad != SP_E_TIMEOUT;
	struct sp_audit_installed installed = {.route = NULL};
	struct sp_record record;
	bool has;

	if (!trail->audit)
		return;
	has = store && sp_store_read(store, asked->sandbox, &record, NULL) == 0;
	if (has)
		installed = (struct sp_audit_installed){
		    &record.identity.route, record.epoch, record.retired};
	line.installed = &installed;
	line.epoch = failed ? 0 : outcome->epoch;
	sp_trail_end(trail, &line, failed ? NULL : sp_effect_name(outcome->effect),
	    failed ? NULL : outcome->conflict, bad ? err : NULL);
	if (has)
		sp_record_done(&record);
}

/* What a change asks for beside the sandbox, in words. */
static void note_change(const struct sp_change *change, char *note, size_t room)
{
	switch (change->kind) {
	case SP_CHANGE_RETIRE:
		(void)snprintf(note, room, "execution %lld", (long long)change->execution);
		break;
	case SP_CHANGE_HANDOFF:
		(void)snprintf(note, room, "owner %s -> %s", change->from, change->to);
		break;
	case SP_CHANGE_FENCE:
	case SP_CHANGE_INSTALL:
		(void)snprintf(note, room, "%s", change->cut ? "cut" : "");
	}
}

static int change_audited(struct sp_cli *cli, struct sp_trail *trail,
    const struct sp_change *change, const char *op, int cut_timeout_ms)
{
	auto_store struct sp_store *store = NULL;
	struct sp_outcome outcome = {.effect = SP_EFFECT_CONFLICT, .conflict = "no record"};
	char note[2 * SP_ID_MAX + 32];
	const struct spaceid_asked asked = {op, change->sandbox, note, NULL};
	struct sp_err err = {0};
	int bad = open_store(cli, 0, &store, &err);

	note_change(change, note, sizeof(note));
	sp_trail_start(trail);
	/* Only an install makes a store: where there is none there is no record. */
	if (bad == -ENOENT)
		bad = 0;
	else if (!bad)
		bad = sp_store_change(store, change, cut_timeout_ms, &outcome, &err);
	spaceid_audit(trail, store, &asked, bad, &outcome, &err);
	return spaceid_told(cli, change->sandbox, bad, &outcome, &err);
}

int spaceid_change(struct sp_cli *cli, const struct sp_change *change, const char *op)
{
	const struct sp_config *config = sp_cli_config(cli);
	auto_trail struct sp_trail trail = {.audit = NULL};
	int exit = config ? sp_trail_open(cli, "spaceid", &trail) : SP_EXIT_USAGE;

	return exit ? exit : change_audited(cli, &trail, change, op, (int)config->cut_timeout_ms);
}
