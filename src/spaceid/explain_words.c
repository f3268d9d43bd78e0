/* An explanation for people: what happened, both sides, where they parted, what was done, what to
 * do. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/words.h"
#include "spaceid/explain.h"
#include "spaceid/history.h"
#include "spaceid/verbs.h"

static void say(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const char *label, const char *format, ...)
{
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	sp_words_print(stdout, label, text, sp_table_width(STDOUT_FILENO));
}

static const char *or_else(const char *text, const char *instead)
{
	return text[0] ? text : instead;
}

/* "refresh-route: execution", "error: transport", "match". */
static void outcome_words(const struct explain_event *event, char *text, size_t room)
{
	const char *reason = event->decided ? sp_reason_name(event->reason) : NULL;

	if (event->error >= 0)
		(void)snprintf(
		    text, room, "error: %s", sp_error_name((enum sp_error_kind)event->error));
	else if (event->decided)
		(void)snprintf(text, room, "%s%s%s",
		    sp_decision_name(sp_reason_decision(event->reason)), reason ? ": " : "",
		    reason ? reason : "");
	else
		(void)snprintf(text, room, "%s", or_else(event->action, "no decision"));
}

static const char *verb_of(const struct explain_event *event)
{
	return event->error >= 0 ? "failed" : event->reason ? "refused" : "passed";
}

static void put_event(const struct explained *explained)
{
	const struct explain_event *event = &explained->event;
	const char *nobody =
	    explained->input == EXPLAIN_COMPARISON ? "the comparison" : "a stage of the path";
	char outcome[EXPLAIN_WORD];

	if (explained->input == EXPLAIN_SANDBOX && !explained->event_found) {
		say("what", "%s: no refusal of it is known here", event->sandbox);
		return;
	}
	if (explained->input == EXPLAIN_TOKEN && !explained->event_found)
		return;
	if (explained->input == EXPLAIN_ROUTE) {
		say("what", "a route of %s", event->sandbox);
		return;
	}
	if (explained->input == EXPLAIN_RESULT && !event->decided && event->error < 0) {
		say("what", "an answer that refuses nothing: nothing disagreed");
		return;
	}
	outcome_words(event, outcome, sizeof(outcome));
	say("what", "%s %s%s%s%s%s%s%s%s%s: %s", or_else(event->role, nobody),
	    or_else(event->action, verb_of(event)), event->op[0] ? " " : "", event->op,
	    event->caller[0] ? " of " : "", event->caller, event->sandbox[0] ? " in " : "",
	    event->sandbox, event->time[0] ? ", at " : "", event->time, outcome);
	if (explained->event_found && explained->input == EXPLAIN_RESULT)
		say("from", "the last audit line like it; --sandbox names another sandbox");
	if (event->note[0])
		say("note", "%s", event->note);
}

static void put_token(struct sp_cli *cli, const struct explained *explained)
{
	static const enum sp_tone tones[] = {SP_TONE_WARN, SP_TONE_GOOD, SP_TONE_BAD};
	static const char *const words[] = {"NOT CHECKED: whoever made it, it says this of itself",
	    "good", "bad: believe none of it"};
	const struct explain_token *token = &explained->token;
	const struct sp_claims *claims = &token->claims;
	char issued[SP_TIME_SIZE], expires[SP_TIME_SIZE];

	if (!token->is_one)
		return;
	if (!token->has_claims) {
		say("token", "malformed: it is no capability of this format");
		return;
	}
	sp_time_format(claims->issued_at, issued);
	sp_time_format(claims->expires_at, expires);
	say("token", "for %s in %s, caller %s, issued %s, ends %s",
	    sp_purpose_name(claims->purpose), claims->identity.sandbox, claims->caller, issued,
	    expires);
	(void)printf("signature: ");
	sp_tone_print(stdout, sp_cli_color(cli), tones[token->signature], words[token->signature]);
	(void)putchar('\n');
	if (token->reason)
		say("now", "it would be refused: %s: %s",
		    sp_decision_name(sp_reason_decision(token->reason)),
		    sp_reason_name(token->reason));
}

static const char *source_words(const char *source)
{
	return strcmp(source, "audit-line") == 0 ? "audit line" : source;
}

static int put_sides(struct sp_cli *cli, const struct explained *explained)
{
	const struct comparison *sides = &explained->sides;
	const char *behind = sp_behind_name(sides->result.behind);
	int bad;

	if (!explained->has_selected && !explained->installed_seen)
		return 0;
	if (!explained->has_selected) {
		if (sides->has_installed)
			say("installed", "execution %lld on %s, %s, epoch %lld",
			    (long long)sides->installed.route.execution,
			    sides->installed.route.worker, sp_record_state_name(sides->retired),
			    (long long)explained->epoch);
		else
			say("installed", "no record");
		return 0;
	}
	(void)putchar('\n');
	bad = spaceid_print_sides(cli, sides);
	(void)putchar('\n');
	say("selected", "as the %s has it%s", source_words(explained->selected_from),
	    explained->token.is_one && explained->token.signature != SIGNATURE_GOOD
		? ", which is not to be believed yet"
		: "");
	if (explained->installed_seen)
		say("installed", "as the %s has it", source_words(explained->installed_from));
	if (behind)
		say("behind", "the %s (selected %lld, installed %lld)", behind,
		    (long long)sides->selected.route.execution,
		    (long long)sides->installed.route.execution);
	return bad;
}

static void put_parting(const struct explained *explained)
{
	const json_t *change = explained->parted;
	sp_auto_free char *words = change ? spaceid_history_words(change) : NULL;
	const char *by = json_string_value(json_object_get(change, "by"));

	if (change)
		say("parted", "at %s: %s, epoch %lld%s%s: %s",
		    json_string_value(json_object_get(change, "at")),
		    json_string_value(json_object_get(change, "effect")),
		    (long long)json_integer_value(json_object_get(change, "epoch")),
		    by ? ", by " : "", by ? by : "", words ? words : "");
	else if (explained->parted_words)
		say("parted", "not known: %s", explained->parted_words);
}

static const char *text_of(const json_t *line, const char *name)
{
	const char *text = json_string_value(json_object_get(line, name));

	return text ? text : "";
}

static int put_lines(struct sp_cli *cli, const struct explained *explained)
{
	static const char *const headings[] = {"time", "role", "op", "what was done", "note", NULL};
	struct sp_table *table;
	size_t count = json_array_size(explained->lines);
	int bad = 0;

	if (count == 0)
		return 0;
	table = sp_table_new(headings);
	for (size_t i = 0; table && !bad && i < count; i++) {
		const json_t *line = json_array_get(explained->lines, i);
		const char *reason =
		    *text_of(line, "reason") ? text_of(line, "reason") : text_of(line, "error");
		char done[EXPLAIN_WORD];
		const char *cells[] = {text_of(line, "time"), text_of(line, "role"),
		    text_of(line, "op"), done, text_of(line, "note")};
		(void)snprintf(done, sizeof(done), "%s%s%s", text_of(line, "action"),
		    *reason ? ": " : "", reason);
		bad = sp_table_add(table, *reason ? SP_TONE_BAD : SP_TONE_PLAIN, cells);
	}
	(void)printf("\nthe last audit lines about it:\n");
	if (table && !bad) {
		sp_table_wrap(table);
		bad =
		    sp_table_print(table, stdout, sp_cli_color(cli), sp_table_width(STDOUT_FILENO));
	}
	sp_table_free(table);
	(void)putchar('\n');
	return table ? bad : -1;
}

/* What a refusal means for the request itself. */
static const char *done_words(const struct explained *explained)
{
	const struct explain_event *event = &explained->event;

	if (strcmp(event->action, "cut") == 0)
		return "the stream was cut; what was under way is lost";
	if (event->decided && event->reason)
		return sp_reason_decision(event->reason) == SP_REFRESH_ROUTE
			   ? "it was refused before a byte went on; the caller's stage may have "
			     "tried "
			     "once more on a newer route"
			   : "it was refused before a byte went on; nobody tries again";
	return event->action[0] ? event->action : NULL;
}

static void put_done(const struct explained *explained)
{
	const char *words = done_words(explained);

	if (words)
		say("done", "%s", words);
	if (explained->like_it > 1)
		say("like it", "%ld in the audit file, from %s to %s", explained->like_it,
		    explained->like_first, explained->like_last);
}

static void put_unseen(const struct explained *explained)
{
	for (size_t i = 0; i < json_array_size(explained->unseen); i++) {
		const json_t *one = json_array_get(explained->unseen, i);
		say("not seen", "%s: %s", text_of(one, "what"), text_of(one, "why"));
	}
}

int explain_print(struct sp_cli *cli, const struct explained *explained)
{
	int bad;

	put_token(cli, explained);
	put_event(explained);
	bad = put_sides(cli, explained);
	if (bad)
		return bad;
	put_parting(explained);
	put_done(explained);
	bad = put_lines(cli, explained);
	put_unseen(explained);
	spaceid_print_advice(&explained->next);
	return bad;
}
