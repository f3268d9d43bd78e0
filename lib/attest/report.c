/* Reports: the rows of what was checked, and their JSON. */
#include "attest/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

/* Paths may hold anything; a report's texts go to terminals and into JSON. */
static void make_clean(char *text)
{
	bool whole = sp_utf8_valid(text, strlen(text));

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < 0x20 || c == 0x7f || (!whole && c >= 0x80))
			*text = '?';
	}
}

void sp_words_expect(struct sp_words *words, const char *format, ...)
{
	va_list values;

	if (!words)
		return;
	va_start(values, format);
	(void)vsnprintf(words->expected, sizeof(words->expected), format, values);
	va_end(values);
}

void sp_words_see(struct sp_words *words, const char *format, ...)
{
	va_list values;

	if (!words)
		return;
	va_start(values, format);
	(void)vsnprintf(words->seen, sizeof(words->seen), format, values);
	va_end(values);
}

static void check_done(struct sp_check *check)
{
	free(check->expected);
	free(check->seen);
}

void sp_report_done(struct sp_report *report)
{
	for (unsigned i = 0; i < report->count; i++)
		check_done(&report->checks[i]);
	free(report->checks);
	*report = (struct sp_report){.failed_only = report->failed_only};
}

void sp_report_add(struct sp_report *report, const char *name, enum sp_reason reason,
    const char *expected, const char *seen, int64_t microseconds)
{
	struct sp_check check = {.name = name,
	    .ok = reason == SP_REASON_NONE,
	    .reason = reason,
	    .microseconds = microseconds};
	struct sp_check *checks;

	if (!report || (report->failed_only && check.ok))
		return;
	check.expected = strdup(expected);
	check.seen = strdup(seen);
	checks = realloc(report->checks, (report->count + 1) * sizeof(*checks));
	if (checks)
		report->checks = checks;
	if (!checks || !check.expected || !check.seen) {
		check_done(&check);
		return;
	}
	make_clean(check.expected);
	make_clean(check.seen);
	report->checks[report->count++] = check;
}

void sp_report_words(const struct sp_report *report, char *text, size_t room)
{
	const struct sp_check *last = report->count ? &report->checks[report->count - 1] : NULL;

	text[0] = '\0';
	if (last && !last->ok)
		(void)snprintf(text, room, "%s: %s: expected %s, seen %s",
		    sp_reason_name(last->reason), last->name, last->expected, last->seen);
}

json_t *sp_report_json(const struct sp_report *report, enum sp_reason reason, enum sp_level level)
{
	sp_auto_json json_t *checks = json_array();

	for (unsigned i = 0; i < report->count; i++) {
		const struct sp_check *check = &report->checks[i];
		if (json_array_append_new(
			checks, json_pack("{ss sb ss ss}", "name", check->name, "ok", check->ok,
				    "expected", check->expected, "seen", check->seen)) < 0)
			return NULL;
	}
	return json_pack("{ss ss* ss sO}", "decision", sp_decision_name(sp_reason_decision(reason)),
	    "reason", sp_reason_name(reason), "level", sp_level_name(level), "checks", checks);
}
