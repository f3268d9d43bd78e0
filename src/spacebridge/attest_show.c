/* How an attestation is shown: one line for programs, a check list with a way on for people. */
#include <stdio.h>
#include <string.h>
#include "attest/level.h"
#include "base/util.h"
#include "cli/table.h"
#include "spacebridge/attest.h"

#define ROOM_MIN  20   /* columns beside a label below which lines are not broken */
#define NAMES_MAX 4096 /* of checks, in a list for people */

static const struct {
	enum sp_reason reason;
	const char *words;
} NEXT[] = {
    {SP_REASON_ABSENT, "no record here: activate the sandbox on this worker, or ask another one"},
    {SP_REASON_RETIRED, "this worker no longer serves it: see `sandbox status`"},
    {SP_REASON_PEER_CREDENTIALS, "another process listens at the recorded path: find it with `ss "
				 "-xlp`, end it, and activate "
				 "with a higher attempt"},
    {SP_REASON_BRIDGE_PROCESS,
	"the bridge was restarted, replaced or is being traced: activate with a higher attempt"},
    {SP_REASON_BRIDGE_EXECUTABLE,
	"the bridge, or who connects to it, is another program than it was: after an upgrade of "
	"these tools activate with a higher attempt, else find out why"},
    {SP_REASON_VMM_PROCESS,
	"the VMM was restarted, replaced or is being traced: resume as a new execution"},
    {SP_REASON_VMM_EXECUTABLE,
	"the VMM runs another program than was enrolled: find out why before resuming"},
    {SP_REASON_LISTENER_OWNER,
	"somebody else holds the listener or the connection: the enrolled process leaked it"},
    {SP_REASON_LISTENER_REPLACED,
	"the socket at the recorded path is not the enrolled one: after a restart activate with a "
	"higher attempt, else find out who re-bound it"},
    {SP_REASON_GUEST_IDENTITY, "another guest answers: resume as a new execution"},
    {SP_REASON_EVIDENCE_UNAVAILABLE,
	"not judged, hence refused: see what was seen; spacebridge attest -v tells what the kernel "
	"lacks"},
};

static const char *next_for(enum sp_reason reason)
{
	for (size_t i = 0; i < SP_COUNT(NEXT); i++)
		if (NEXT[i].reason == reason)
			return NEXT[i].words;
	return NULL;
}

/* How many bytes of `text` go on a line of `room` columns: up to a space, where there is one. */
static size_t line_size(const char *text, size_t room)
{
	size_t size = strlen(text), at = room;

	if (room == 0 || size <= room)
		return size;
	while (at > 0 && text[at] != ' ')
		at--;
	return at > 0 ? at : room;
}

/* Texts, one after the other, broken into lines of the terminal (0: not broken), the later ones
 * indented as far as the first. */
static void print_words(const char *label, const char *text, unsigned width)
{
	int indent = (int)strlen(label);
	size_t room = width > (unsigned)indent + ROOM_MIN ? width - (unsigned)indent : 0;

	(void)printf("%s", label);
	for (;;) {
		size_t size = line_size(text, room);
		(void)printf("%.*s\n", (int)size, text);
		text += size;
		text += strspn(text, " ");
		if (!*text)
			return;
		(void)printf("%*s", indent, "");
	}
}

static void print_check(const struct sp_check *check, unsigned width, bool color)
{
	sp_tone_print(
	    stdout, color, check->ok ? SP_TONE_GOOD : SP_TONE_BAD, check->ok ? "ok  " : "FAIL");
	(void)printf("  %-24s %8lld us\n", check->name, (long long)check->microseconds);
	print_words("      expected  ", check->expected, width);
	print_words("      seen      ", check->seen, width);
}

static void print_past(const struct attest_past *past, unsigned width)
{
	char names[NAMES_MAX] = "";
	size_t size = 0;

	(void)printf("as seen at %s on %s\n", past->made_at, past->host);
	for (size_t i = 0; i < json_array_size(past->others) && size < sizeof(names); i++) {
		int n = snprintf(names + size, sizeof(names) - size, "%s%s", i ? ", " : "",
		    json_string_value(json_array_get(past->others, i)));
		size += n > 0 ? (size_t)n : 0;
	}
	if (names[0])
		print_words("not judged again: ", names, width);
}

static void print_list(const struct sp_report *report, enum sp_reason reason, enum sp_level level,
    const struct attest_past *past, bool color)
{
	enum sp_decision decision = sp_reason_decision(reason);
	const char *name = sp_reason_name(reason), *next = next_for(reason);
	unsigned width = sp_table_width(STDOUT_FILENO);

	for (unsigned i = 0; i < report->count; i++)
		print_check(&report->checks[i], width, color);
	sp_tone_print(stdout, color, decision == SP_MATCH ? SP_TONE_GOOD : SP_TONE_BAD,
	    sp_decision_name(decision));
	(void)printf("%s%s, level %s\n", name ? " " : "", name ? name : "", sp_level_name(level));
	if (past)
		print_past(past, width);
	if (next)
		print_words("", next, width);
}

static int show(struct sp_cli *cli, const struct sp_report *report, enum sp_reason reason,
    enum sp_level level, const struct attest_past *past)
{
	json_t *line;

	if (!sp_cli_json(cli)) {
		print_list(report, reason, level, past, sp_cli_color(cli));
		return sp_reason_exit(reason);
	}
	line = sp_report_json(report, reason, level);
	if (line && past &&
	    (json_object_set_new(line, "made_at", json_string(past->made_at)) < 0 ||
		json_object_set_new(line, "host", json_string(past->host)) < 0 ||
		json_object_set(line, "not_judged", (json_t *)(uintptr_t)past->others) < 0)) {
		json_decref(line);
		line = NULL;
	}
	if (sp_cli_put_json(cli, line))
		return SP_EXIT_FAILED;
	return sp_reason_exit(reason);
}

static void note_missing(const struct sp_cli *cli)
{
	struct sp_facilities facilities;
	char missing[256];

	sp_facilities_probe(&facilities);
	sp_facilities_missing(&facilities, missing, sizeof(missing));
	sp_cli_note(cli, "level %s; missing here: %s", sp_level_name(sp_level_of(&facilities)),
	    missing[0] ? missing : "nothing");
}

int attest_show(struct sp_cli *cli, const struct sp_report *report, enum sp_reason reason)
{
	if (sp_cli_verbose(cli))
		note_missing(cli);
	return show(cli, report, reason, sp_level_probe(), NULL);
}

int attest_show_past(struct sp_cli *cli, const struct sp_report *report, enum sp_reason reason,
    const struct attest_past *past)
{
	return show(cli, report, reason, past->level, past);
}
