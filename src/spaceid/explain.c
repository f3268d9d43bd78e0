/* spaceid explain: from what somebody has in his hands to what disagreed, since when, and what
 * mends it. */
#include "spaceid/explain.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

#define INPUT_MAX (SP_LINE_MAX + 4096u) /* a line, and what a journal puts before it */

static const char *const INPUTS[] = {[EXPLAIN_SANDBOX] = "sandbox",
    [EXPLAIN_TOKEN] = "token",
    [EXPLAIN_RESULT] = "answer",
    [EXPLAIN_AUDIT] = "audit-line",
    [EXPLAIN_COMPARISON] = "comparison",
    [EXPLAIN_ROUTE] = "route"};

const char *explain_input_name(enum explain_input input)
{
	return INPUTS[input];
}

const char *explain_signature_name(enum explain_signature signature)
{
	static const char *const names[] = {"unchecked", "good", "bad"};

	return names[signature];
}

const char *explain_sandbox(const struct explained *explained)
{
	return explained->event.sandbox[0] ? explained->event.sandbox : NULL;
}

void explain_unseen(struct explained *explained, const char *what, const char *why)
{
	(void)json_array_append_new(
	    explained->unseen, json_pack("{ss ss}", "what", what, "why", why));
}

static void explained_done(struct explained *explained)
{
	json_decref(explained->parted);
	json_decref(explained->lines);
	json_decref(explained->unseen);
	free(explained->tail);
}

/* The record lies on the worker that serves the sandbox: another one's store says nothing. */
static const char *other_worker(
    const struct explained *explained, const struct sp_config *config, char *words, size_t room)
{
	const struct explain_event *event = &explained->event;

	if (!event->has_route || !config->worker[0] ||
	    strcmp(event->route.worker, config->worker) == 0)
		return NULL;
	(void)snprintf(words, room,
	    "this is %s, and %s was selected: what is installed there can be seen there alone",
	    config->worker, event->route.worker);
	return words;
}

static void look_at_record(
    struct sp_cli *cli, struct explained *explained, const struct sp_config *config)
{
	auto_store struct sp_store *store = NULL;
	const char *given = sp_cli_text(cli, "records"), *words;
	char path[PATH_MAX + 8], other[2 * SP_ID_MAX + 128];
	struct sp_err err = {0};

	(void)snprintf(path, sizeof(path), "%s/records", config->state_dir);
	if (sp_store_open(given ? given : path, 0, &store, &err) < 0)
		store = NULL;
	words = given ? NULL : other_worker(explained, config, other, sizeof(other));
	explain_record(explained, store, words != NULL, err.message);
	if (words)
		explain_unseen(explained, "the other worker", words);
}

/* What stands against it now, before what stood against it then. */
static struct advice advise(const struct explained *explained)
{
	const struct explain_event *event = &explained->event;
	const struct sp_comparison *now = &explained->sides.result;
	const char *sandbox = explain_sandbox(explained);
	bool route = !event->decided || sp_reason_decision(event->reason) != SP_DENY;
	struct advice advice;

	if (explained->token.is_one && explained->token.reason)
		return spaceid_advice(sandbox, explained->token.reason, SP_BEHIND_NONE);
	if (route && explained->compared && now->reason)
		return spaceid_advice(sandbox, now->reason, now->behind);
	if (event->error >= 0)
		return spaceid_error_advice(sandbox, (enum sp_error_kind)event->error);
	advice = spaceid_advice(sandbox, event->reason, event->behind);
	if (route && explained->compared && event->reason) {
		advice.words = "nothing: by now both sides name the same execution";
		advice.command[0] = '\0';
	} else if (!event->reason && !explained->compared) {
		advice.words = "nothing is known that stands against it; where its route leads:";
		(void)snprintf(advice.command, sizeof(advice.command), "spacerouted resolve %s",
		    sandbox ? sandbox : "S");
	}
	return advice;
}

static int gather(struct sp_cli *cli, struct explained *explained, char *text,
    const struct sp_config *config, struct sp_err *err)
{
	const char *sandbox = sp_cli_text(cli, "sandbox"), *keys = sp_cli_text(cli, "keys"),
		   *audit = sp_cli_text(cli, "audit");
	int bad = explain_take(explained, text, err);

	if (bad)
		return bad;
	if (sandbox && !explained->event.sandbox[0])
		memcpy(explained->event.sandbox, sandbox, strlen(sandbox) + 1);
	if (explained->token.is_one)
		explain_token(explained, text, keys ? keys : config->keys_bundle, config);
	if (!audit && config->audit_file[0])
		audit = config->audit_file;
	explain_audit(explained, audit);
	look_at_record(cli, explained, config);
	explained->next = advise(explained);
	return 0;
}

int spaceid_explain(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	sp_cleanup(explained_done) struct explained explained = {
	    .event = {.error = -1}, .lines = json_array(), .unseen = json_array()};
	sp_auto_free char *text = NULL;
	const char *sandbox;
	struct sp_err err = {0};
	int bad;

	if (!config || spaceid_id(cli, "sandbox", &sandbox))
		return SP_EXIT_USAGE;
	bad = sp_cli_secret(
	    cli, sp_cli_count(cli) > 0 ? sp_cli_argument(cli, 0) : "-", INPUT_MAX, &text, &err);
	if (!bad)
		bad = gather(cli, &explained, text, config, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	if (sp_cli_json(cli))
		return sp_cli_put_json(cli, explain_json(&explained));
	return explain_print(cli, &explained) < 0 ? SP_EXIT_FAILED : SP_EXIT_DONE;
}
