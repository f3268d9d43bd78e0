/* Reading a report again. */
#include "attest/told.h"

#include <stdio.h>
#include <string.h>
#include "base/limits.h"
#include "base/util.h"
#include "record/json.h"

#define NAME_LETTERS  "abcdefghijklmnopqrstuvwxyz-"
#define NAME_MAX_SIZE 64

static int parse_check(const json_t *check, struct sp_err *err)
{
	const json_t *name;
	const struct sp_json_field fields[] = {{"name", SP_JSON_STRING, false, &name},
	    {"ok", SP_JSON_BOOL, false, NULL}, {"expected", SP_JSON_STRING, false, NULL},
	    {"seen", SP_JSON_STRING, false, NULL}};

	int bad = sp_json_take(check, "check", fields, SP_COUNT(fields), err);

	if (!bad && (json_string_length(name) == 0 || json_string_length(name) > NAME_MAX_SIZE ||
			strspn(json_string_value(name), NAME_LETTERS) != json_string_length(name)))
		return sp_fail(err, SP_E_BAD_RECORD, "check: `name` is none");
	return bad;
}

int sp_told_parse(const json_t *object, struct sp_told *ret, struct sp_err *err)
{
	const json_t *decision, *reason, *checks;
	const struct sp_json_field fields[] = {{"decision", SP_JSON_STRING, false, &decision},
	    {"reason", SP_JSON_STRING, true, &reason}, {"level", SP_JSON_STRING, false, NULL},
	    {"checks", SP_JSON_ARRAY, false, &checks}};
	struct sp_told told = {.reason = SP_REASON_NONE};
	int bad = sp_json_take(object, "report", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (reason ? !sp_reason_parse(
			 json_string_value(decision), json_string_value(reason), &told.reason)
		   : strcmp(json_string_value(decision), sp_decision_name(SP_MATCH)) != 0)
		return sp_fail(err, SP_E_BAD_RECORD, "report: no such decision and reason");
	if (json_array_size(checks) > SP_CAPTURE_CHECKS)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "report: more than %u checks", SP_CAPTURE_CHECKS);
	for (size_t i = 0; i < json_array_size(checks) && !bad; i++)
		bad = parse_check(json_array_get(checks, i), err);
	told.checks = checks;
	if (!bad)
		*ret = told;
	return bad;
}

static const char *text_of(const json_t *check, const char *name)
{
	return json_string_value(json_object_get(check, name));
}

void sp_told_words(const struct sp_told *told, char *text, size_t room)
{
	const char *reason = sp_reason_name(told->reason);
	size_t i = 0;
	int n = snprintf(text, room, "%s%s%s", sp_decision_name(sp_reason_decision(told->reason)),
	    reason ? " " : "", reason ? reason : "");

	while (i < json_array_size(told->checks) &&
	       json_is_true(json_object_get(json_array_get(told->checks, i), "ok")))
		i++;
	if (i < json_array_size(told->checks) && n > 0 && (size_t)n < room) {
		const json_t *check = json_array_get(told->checks, i);
		(void)snprintf(text + n, room - (size_t)n, ": %s: expected %s, seen %s",
		    text_of(check, "name"), text_of(check, "expected"), text_of(check, "seen"));
	}
}

static bool is_in_report(const struct sp_report *report, const char *name)
{
	for (unsigned i = 0; i < report->count; i++)
		if (strcmp(report->checks[i].name, name) == 0)
			return true;
	return false;
}

static bool is_listed(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		if (strcmp(json_string_value(json_array_get(names, i)), name) == 0)
			return true;
	return false;
}

json_t *sp_told_others(const struct sp_told *told, const struct sp_report *report)
{
	sp_auto_json json_t *names = json_array();

	for (size_t i = 0; i < json_array_size(told->checks); i++) {
		const char *name = text_of(json_array_get(told->checks, i), "name");
		if (!is_in_report(report, name) && !is_listed(names, name) &&
		    json_array_append_new(names, json_string(name)) < 0)
			return NULL;
	}
	return sp_steal(&names);
}
