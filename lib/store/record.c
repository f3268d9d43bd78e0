/* Runtime records in and out of JSON, closed in both directions. */
#include "store/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/scan.h"
#include "store/history.h"

#define FORMAT 1

static const char *const STATES[] = {"active", "retired"};

static int take_counter(const json_t *value, const char *what, int64_t *ret, struct sp_err *err)
{
	json_int_t number = json_integer_value(value);

	if (number < 1)
		return sp_fail(err, SP_E_BAD_RECORD, "record: `%s` is below 1", what);
	*ret = number;
	return 0;
}

static int take_time(const json_t *value, const char *what, int64_t *ret, struct sp_err *err)
{
	if (!value)
		return 0;
	if (!sp_time_parse(json_string_value(value), ret))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "record: `%s` is no time like 2026-11-29T15:36:07Z", what);
	return 0;
}

int sp_record_state_parse(const char *name, bool *ret_retired, struct sp_err *err)
{
	for (size_t i = 0; i < SP_COUNT(STATES); i++)
		if (strcmp(name, STATES[i]) == 0) {
			*ret_retired = i == 1;
			return 0;
		}
	return sp_fail(err, SP_E_BAD_RECORD, "`state` is neither active nor retired");
}

const char *sp_record_state_name(bool retired)
{
	return STATES[retired];
}

int sp_evidence_check(const json_t *guest, struct sp_err *err)
{
	if (guest && json_object_get(guest, "key"))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "`guest` carries a `key`: a guest key belongs into its own file, never into a "
		    "record");
	return 0;
}

/* The optional fields and those with a form of their own. */
static int take_rest(const json_t *const *values, struct sp_record *record, struct sp_err *err)
{
	const json_t *state = values[0], *owner = values[1], *fenced_at = values[2],
		     *cut_version = values[3], *installed_at = values[4];
	int bad = sp_record_state_parse(json_string_value(state), &record->retired, err);

	if (!bad)
		bad = sp_id_copy(json_string_value(owner), "record: `owner`", record->owner, err);
	if (!bad)
		bad = take_time(fenced_at, "fenced_at", &record->fenced_at, err);
	if (!bad)
		bad = take_time(installed_at, "installed_at", &record->installed_at, err);
	if (!bad && cut_version)
		bad = take_counter(cut_version, "cut_version", &record->cut_version, err);
	if (!bad && record->cut_version > record->version)
		bad = sp_fail(err, SP_E_BAD_RECORD, "record: `cut_version` is above `version`");
	return bad;
}

int sp_record_parse(const json_t *object, struct sp_record *ret, struct sp_err *err)
{
	const json_t *v, *sandbox, *route, *epoch, *version, *rest[5], *bridge, *vmm, *guest,
	    *history;
	const struct sp_json_field fields[] = {
	    {"v", SP_JSON_INTEGER, false, &v},
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"route", SP_JSON_OBJECT, false, &route},
	    {"epoch", SP_JSON_INTEGER, false, &epoch},
	    {"version", SP_JSON_INTEGER, false, &version},
	    {"state", SP_JSON_STRING, false, &rest[0]},
	    {"owner", SP_JSON_STRING, false, &rest[1]},
	    {"fenced_at", SP_JSON_STRING, true, &rest[2]},
	    {"cut_version", SP_JSON_INTEGER, true, &rest[3]},
	    {"bridge", SP_JSON_OBJECT, true, &bridge},
	    {"vmm", SP_JSON_OBJECT, true, &vmm},
	    {"guest", SP_JSON_OBJECT, true, &guest},
	    {"installed_at", SP_JSON_STRING, false, &rest[4]},
	    {"history", SP_JSON_ARRAY, true, &history},
	};
	struct sp_record record = {0};
	int bad = sp_json_format(object, "record", "v", FORMAT, err);

	if (!bad)
		bad = sp_json_take(object, "record", fields, SP_COUNT(fields), err);
	if (!bad)
		bad = sp_id_copy(
		    json_string_value(sandbox), "`sandbox`", record.identity.sandbox, err);
	if (!bad)
		bad = sp_route_parse(route, &record.identity.route, err);
	if (!bad)
		bad = take_counter(epoch, "epoch", &record.epoch, err);
	if (!bad)
		bad = take_counter(version, "version", &record.version, err);
	if (!bad)
		bad = take_rest(rest, &record, err);
	if (!bad)
		bad = sp_evidence_check(guest, err);
	if (!bad)
		bad = sp_history_check(history, err);
	if (bad)
		return bad;
	record.bridge = json_incref((json_t *)(uintptr_t)bridge);
	record.vmm = json_incref((json_t *)(uintptr_t)vmm);
	record.guest = json_incref((json_t *)(uintptr_t)guest);
	if (history && !(record.history = sp_json_text(history))) {
		sp_record_done(&record);
		return sp_fail(err, -ENOMEM, "out of memory");
	}
	*ret = record;
	return 0;
}

static int set_time(json_t *object, const char *name, int64_t seconds)
{
	char text[SP_TIME_SIZE];

	sp_time_format(seconds, text);
	return json_object_set_new(object, name, json_string(text));
}

static int set_evidence(json_t *object, const char *name, json_t *evidence)
{
	return evidence ? json_object_set(object, name, evidence) : 0;
}

json_t *sp_record_json(const struct sp_record *record)
{
	json_t *object = json_pack("{sisssosIsIssss}", "v", FORMAT, "sandbox",
	    record->identity.sandbox, "route", sp_route_json(&record->identity.route), "epoch",
	    (json_int_t)record->epoch, "version", (json_int_t)record->version, "state",
	    STATES[record->retired], "owner", record->owner);
	int bad = object ? 0 : -1;

	if (!bad && record->fenced_at > 0)
		bad = set_time(object, "fenced_at", record->fenced_at);
	if (!bad && record->cut_version > 0)
		bad = json_object_set_new(
		    object, "cut_version", json_integer((json_int_t)record->cut_version));
	if (!bad)
		bad = set_evidence(object, "bridge", record->bridge);
	if (!bad)
		bad = set_evidence(object, "vmm", record->vmm);
	if (!bad)
		bad = set_evidence(object, "guest", record->guest);
	if (!bad)
		bad = set_time(object, "installed_at", record->installed_at);
	if (bad) {
		json_decref(object);
		return NULL;
	}
	return object;
}

char *sp_record_text(const struct sp_record *record)
{
	sp_auto_json json_t *object = sp_record_json(record);
	sp_auto_free char *text = object ? sp_json_text(object) : NULL;
	char *whole;
	int size;

	if (!text || !record->history)
		return sp_steal(&text);
	size = (int)strlen(text) - 1; /* without its brace */
	return asprintf(&whole, "%.*s,\"history\":%s}", size, text, record->history) < 0 ? NULL
											 : whole;
}

/* The history where it stands last, as every writer puts it; `text` ends before it from then on. */
static char *cut_history(char *text, size_t *size)
{
	struct sp_scan_member members[SP_SCAN_NAMES];
	const struct sp_scan_member *last;
	unsigned count = 0;
	char *history;

	if (!sp_json_scan(text, *size, members, SP_SCAN_NAMES, &count) || count < 2)
		return NULL;
	last = &members[count - 1];
	if (last != sp_scan_find(members, count, "history") || last->kind != '[')
		return NULL;
	history = strndup(last->value, last->size);
	if (!history)
		return NULL;
	*size = (size_t)(members[count - 2].value + members[count - 2].size - text);
	text[(*size)++] = '}'; /* in the place of the comma */
	return history;
}

int sp_record_read(char *text, size_t size, struct sp_record *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	sp_auto_free char *history = cut_history(text, &size);
	struct sp_record record;
	int bad = sp_json_parse(text, size, &object, err);

	if (!bad)
		bad = sp_record_parse(object, &record, err);
	if (bad)
		return bad;
	if (history)
		record.history = sp_steal(&history);
	*ret = record;
	return 0;
}

void sp_record_done(struct sp_record *record)
{
	json_decref(record->bridge);
	json_decref(record->vmm);
	json_decref(record->guest);
	free(record->history);
	record->bridge = record->vmm = record->guest = NULL;
	record->history = NULL;
}
