/* A record's history: what each change made different, by comparing the record before and after. */
#include "store/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

static int add_time(json_t *object, const char *name, int64_t seconds)
{
	char text[SP_TIME_SIZE];

	sp_time_format(seconds, text);
	return json_object_set_new(object, name, json_string(text));
}

/* The parts of evidence that there are, by name alone. */
static int add_evidence(json_t *object, const struct sp_record *record)
{
	const char *const names[] = {
	    record->bridge ? "bridge" : "", record->vmm ? "vmm" : "", record->guest ? "guest" : ""};
	char text[32] = "";

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		size_t length = strlen(text);
		if (*names[i])
			(void)snprintf(text + length, sizeof(text) - length, "%s%s",
			    length ? "," : "", names[i]);
	}
	return *text ? json_object_set_new(object, "evidence", json_string(text)) : 0;
}

/* A record as flat values; NULL when out of memory. */
static json_t *view_of(const struct sp_record *record)
{
	json_t *view = sp_route_json(&record->identity.route);
	int bad = view ? 0 : -1;

	if (!bad)
		bad = json_object_set_new(view, "owner", json_string(record->owner));
	if (!bad)
		bad = json_object_set_new(
		    view, "state", json_string(sp_record_state_name(record->retired)));
	if (!bad && record->fenced_at > 0)
		bad = add_time(view, "fenced_at", record->fenced_at);
	if (!bad && record->cut_version > 0)
		bad = json_object_set_new(
		    view, "cut_version", json_integer((json_int_t)record->cut_version));
	if (!bad)
		bad = add_evidence(view, record);
	if (bad) {
		json_decref(view);
		return NULL;
	}
	return view;
}

/* What was otherwise before. */
static json_t *differences(const struct sp_record *installed, const struct sp_record *record)
{
	sp_auto_json json_t *before = view_of(installed);
	sp_auto_json json_t *after = view_of(record);
	json_t *was = before && after ? json_object() : NULL;
	const char *name;
	json_t *value;
	int bad = 0;

	if (!was)
		return NULL;
	json_object_foreach(before, name, value)
	{
		if (!json_equal(value, json_object_get(after, name)))
			bad |= json_object_set(was, name, value);
	}
	json_object_foreach(after, name, value)
	{
		if (!json_object_get(before, name))
			bad |= json_object_set_new(was, name, json_null());
	}
	if (bad) {
		json_decref(was);
		return NULL;
	}
	return was;
}

static json_t *entry_of(const struct sp_record *installed, const struct sp_record *record,
    enum sp_effect effect, int64_t now)
{
	json_t *entry = json_object();
	int bad = entry ? add_time(entry, "at", now) : -1;

	if (!bad)
		bad = json_object_set_new(entry, "epoch", json_integer((json_int_t)record->epoch));
	if (!bad)
		bad = json_object_set_new(
		    entry, "version", json_integer((json_int_t)record->version));
	if (!bad)
		bad = json_object_set_new(entry, "effect", json_string(sp_effect_name(effect)));
	if (!bad && installed)
		bad = json_object_set_new(entry, "was", differences(installed, record));
	if (bad) {
		json_decref(entry);
		return NULL;
	}
	return entry;
}

/* Behind the entry that begins at `at`: its comma, or the bracket that ends them all. Strict JSON
 * has nothing to surprise it with. */
static const char *entry_end(const char *at)
{
	int depth = 0;
	bool string = false;

	for (; *at; at++) {
		if (string && *at == '\\' && at[1]) {
			at++;
		} else if (*at == '"') {
			string = !string;
		} else if (!string) {
			if (depth == 0 && (*at == ',' || *at == ']'))
				break;
			depth += *at == '{' || *at == '[';
			depth -= *at == '}' || *at == ']';
		}
	}
	return at;
}

static unsigned count_entries(const char *history)
{
	unsigned count = 0;

	for (const char *at = history + 1; *at && *at != ']'; at += *at == ',') {
		at = entry_end(at);
		count++;
	}
	return count;
}

int sp_history_add(
    struct sp_record *record, const struct sp_record *installed, enum sp_effect effect, int64_t now)
{
	sp_auto_json json_t *entry = entry_of(installed, record, effect, now);
	sp_auto_free char *text = entry ? sp_json_text(entry) : NULL;
	const char *before = installed && installed->history ? installed->history : "[]";
	int size = (int)strlen(before) - 1; /* without its bracket */
	char *history;

	if (!text || asprintf(&history, "%.*s%s%s]", size, before, size > 1 ? "," : "", text) < 0)
		return -ENOMEM;
	free(record->history);
	record->history = history;
	for (unsigned count = count_entries(history); count > SP_HISTORY_MAX; count--)
		(void)sp_history_shorten(record);
	return 0;
}

bool sp_history_shorten(struct sp_record *record)
{
	const char *next;

	if (!record->history)
		return false;
	next = entry_end(record->history + 1);
	if (*next == ',') {
		memmove(record->history + 1, next + 1, strlen(next + 1) + 1);
	} else {
		free(record->history);
		record->history = NULL;
	}
	return true;
}

/* One change as readers get it; `view` is what the record was after it, and becomes what it was
 * before. */
static json_t *reversed(json_t *view, json_t *stored)
{
	json_t *was = json_object_get(stored, "was"), *value;
	sp_auto_json json_t *entry = json_copy(stored);
	sp_auto_json json_t *from = was ? json_object() : json_null();
	sp_auto_json json_t *to = was ? json_object() : json_copy(view);
	const char *name;
	int bad = entry && from && to ? 0 : -1;

	json_object_foreach(bad ? NULL : was, name, value)
	{
		json_t *now = json_object_get(view, name);
		if (now)
			bad |= json_object_set(to, name, now);
		if (json_is_null(value)) {
			(void)json_object_del(view, name);
			continue;
		}
		bad |= json_object_set(from, name, value);
		bad |= json_object_set(view, name, value);
	}
	if (!bad && was)
		bad = json_object_del(entry, "was");
	if (!bad)
		bad = json_object_set(entry, "from", from);
	if (!bad)
		bad = json_object_set(entry, "to", to);
	return bad ? NULL : sp_steal(&entry);
}

static int check_values(const json_t *values, struct sp_err *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)values, name, value)
	{
		if (!json_is_string(value) && !json_is_integer(value) && !json_is_null(value))
			return sp_fail(err, SP_E_BAD_RECORD,
			    "history: `%.32s` is no text, no number and no null", name);
	}
	return 0;
}

static bool is_effect(const char *text)
{
	for (int effect = SP_EFFECT_INSTALLED; effect <= SP_EFFECT_FENCED; effect++)
		if (strcmp(text, sp_effect_name((enum sp_effect)effect)) == 0)
			return true;
	return false;
}

static int check_entry(const json_t *entry, struct sp_err *err)
{
	const json_t *at, *epoch, *version, *effect, *was;
	const struct sp_json_field fields[] = {
	    {"at", SP_JSON_STRING, false, &at},
	    {"epoch", SP_JSON_INTEGER, false, &epoch},
	    {"version", SP_JSON_INTEGER, false, &version},
	    {"effect", SP_JSON_STRING, false, &effect},
	    {"was", SP_JSON_OBJECT, true, &was},
	};
	int64_t seconds;
	int bad = sp_json_take(entry, "history", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (!sp_time_parse(json_string_value(at), &seconds))
		return sp_fail(err, SP_E_BAD_RECORD, "history: `at` is no time");
	if (json_integer_value(epoch) < 1 || json_integer_value(version) < 1)
		return sp_fail(err, SP_E_BAD_RECORD, "history: `epoch` or `version` is below 1");
	if (!is_effect(json_string_value(effect)))
		return sp_fail(err, SP_E_BAD_RECORD, "history: `effect` is none that a change has");
	return check_values(was, err);
}

int sp_history_check(const json_t *history, struct sp_err *err)
{
	size_t count = json_array_size(history);
	int bad = 0;

	if (count > SP_HISTORY_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "history: more than %d changes", SP_HISTORY_MAX);
	for (size_t i = 0; i < count && !bad; i++)
		bad = check_entry(json_array_get(history, i), err);
	return bad;
}

static int parse(const char *text, json_t **ret, struct sp_err *err)
{
	sp_auto_free char *whole = NULL;
	sp_auto_json json_t *object = NULL;
	int bad;

	if (asprintf(&whole, "{\"history\":%s}", text) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = sp_json_parse(whole, strlen(whole), &object, err);
	if (!bad)
		bad = sp_history_check(json_object_get(object, "history"), err);
	if (!bad)
		*ret = json_incref(json_object_get(object, "history"));
	return bad;
}

int sp_history_json(const struct sp_record *record, json_t **ret, struct sp_err *err)
{
	sp_auto_json json_t *view = view_of(record), *stored = NULL;
	sp_auto_json json_t *history = json_array();
	int bad = record->history ? parse(record->history, &stored, err) : 0;

	if (bad)
		return bad;
	bad = view && history ? 0 : -ENOMEM;
	for (size_t i = json_array_size(stored); !bad && i > 0; i--)
		bad = json_array_insert_new(
		    history, 0, reversed(view, json_array_get(stored, i - 1)));
	if (bad)
		return sp_fail(err, -ENOMEM, "out of memory");
	*ret = sp_steal(&history);
	return 0;
}
