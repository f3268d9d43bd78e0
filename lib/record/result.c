/* Done records: five shapes, closed. */
#include "record/result.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

/* `object` is stolen, as is its failure: NULL goes through. */
static json_t *with_id(const char *id, json_t *object)
{
	json_t *whole;

	if (!id || !object)
		return object;
	whole = json_pack("{ss}", "id", id);
	if (!whole || json_object_update(whole, object) < 0) {
		json_decref(whole);
		whole = NULL;
	}
	json_decref(object);
	return whole;
}

/* Words may quote anything, and a record with half a character in it cannot be written. */
static json_t *message_json(const char *message)
{
	char words[SP_ERR_MAX];

	(void)snprintf(words, sizeof(words), "%s", message);
	sp_text_printable(words);
	return json_string(words);
}

json_t *sp_result_ok(const char *id, json_t *result)
{
	return with_id(id, json_pack("{ssso}", "status", "ok", "result", result));
}

json_t *sp_result_refused(
    const char *id, enum sp_reason reason, enum sp_behind behind, const char *hop)
{
	return with_id(id, json_pack("{ssssssssss*}", "status", "refused", "decision",
			       sp_decision_name(sp_reason_decision(reason)), "reason",
			       sp_reason_name(reason), "hop", hop, "behind",
			       reason == SP_REASON_EXECUTION ? sp_behind_name(behind) : NULL));
}

json_t *sp_result_error(const char *id, enum sp_error_kind kind, bool sent, const char *message)
{
	if (kind == SP_ERROR_TRANSPORT || kind == SP_ERROR_TIMEOUT)
		return with_id(
		    id, json_pack("{sssssbso}", "status", "error", "error", sp_error_name(kind),
			    "sent", (int)sent, "message", message_json(message)));
	return with_id(id, json_pack("{ssssso}", "status", "error", "error", sp_error_name(kind),
			       "message", message_json(message)));
}

json_t *sp_result_op_error(const char *id, int error_number, const char *message)
{
	return with_id(
	    id, json_pack("{ssssssso}", "status", "error", "error", sp_error_name(SP_ERROR_OP),
		    "errno", sp_errno_name(error_number), "message", message_json(message)));
}

json_t *sp_result_bad_record(const char *id, size_t line, const char *message)
{
	return with_id(id,
	    json_pack("{sssssIso}", "status", "error", "error", sp_error_name(SP_ERROR_BAD_RECORD),
		"line", (json_int_t)line, "message", message_json(message)));
}

const char *sp_errno_name(int error_number)
{
	const char *name = strerrorname_np(error_number);

	return name && error_number != 0 ? name : "EIO";
}

static int check_ok(const json_t *record, int *exit, struct sp_err *err)
{
	const struct sp_json_field fields[] = {
	    {"id", SP_JSON_STRING, true, NULL},
	    {"status", SP_JSON_STRING, false, NULL},
	    {"request", SP_JSON_OBJECT, true, NULL},
	    {"result", SP_JSON_OBJECT, false, NULL},
	};

	*exit = SP_EXIT_DONE;
	return sp_json_take(record, "done record", fields, SP_COUNT(fields), err);
}

static int check_open(const json_t *record, int *exit, struct sp_err *err)
{
	const struct sp_json_field fields[] = {
	    {"id", SP_JSON_STRING, true, NULL},
	    {"status", SP_JSON_STRING, false, NULL},
	    {"request", SP_JSON_OBJECT, true, NULL},
	    {"lease", SP_JSON_STRING, false, NULL},
	    {"epoch", SP_JSON_INTEGER, false, NULL},
	    {"from", SP_JSON_INTEGER, true, NULL},
	};

	*exit = SP_EXIT_DONE;
	return sp_json_take(record, "done record", fields, SP_COUNT(fields), err);
}

static int check_behind(const json_t *behind, enum sp_reason reason, struct sp_err *err)
{
	const char *name = sp_json_string(behind);

	if (!name)
		return 0;
	if (reason != SP_REASON_EXECUTION)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "done record: `behind` without reason execution");
	if (strcmp(name, "receiver") != 0 && strcmp(name, "caller") != 0)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "done record: `behind` is neither receiver nor caller");
	return 0;
}

static int check_refused(const json_t *record, int *exit, struct sp_err *err)
{
	const json_t *decision, *name, *behind;
	const struct sp_json_field fields[] = {
	    {"id", SP_JSON_STRING, true, NULL},
	    {"status", SP_JSON_STRING, false, NULL},
	    {"request", SP_JSON_OBJECT, true, NULL},
	    {"decision", SP_JSON_STRING, false, &decision},
	    {"reason", SP_JSON_STRING, false, &name},
	    {"hop", SP_JSON_STRING, false, NULL},
	    {"behind", SP_JSON_STRING, true, &behind},
	};
	enum sp_reason reason;
	int bad = sp_json_take(record, "done record", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (!sp_reason_parse(json_string_value(decision), json_string_value(name), &reason))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "done record: `%.32s` with `%.32s` is no decision", json_string_value(decision),
		    json_string_value(name));
	*exit = sp_reason_exit(reason);
	return check_behind(behind, reason, err);
}

static int check_error(const json_t *record, int *exit, struct sp_err *err)
{
	const json_t *name, *sent, *number, *line;
	const struct sp_json_field fields[] = {
	    {"id", SP_JSON_STRING, true, NULL},
	    {"status", SP_JSON_STRING, false, NULL},
	    {"request", SP_JSON_OBJECT, true, NULL},
	    {"error", SP_JSON_STRING, false, &name},
	    {"sent", SP_JSON_BOOL, true, &sent},
	    {"errno", SP_JSON_STRING, true, &number},
	    {"line", SP_JSON_INTEGER, true, &line},
	    {"message", SP_JSON_STRING, false, NULL},
	};
	enum sp_error_kind kind;
	int bad = sp_json_take(record, "done record", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (!sp_error_parse(json_string_value(name), &kind))
		return sp_fail(err, SP_E_BAD_RECORD, "done record: unknown error `%.32s`",
		    json_string_value(name));
	if ((kind == SP_ERROR_TRANSPORT || kind == SP_ERROR_TIMEOUT) != (sent != NULL))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "done record: `sent` belongs to transport and timeout");
	if ((kind == SP_ERROR_OP) != (number != NULL))
		return sp_fail(err, SP_E_BAD_RECORD, "done record: `errno` belongs to op");
	if (line && kind != SP_ERROR_BAD_RECORD)
		return sp_fail(err, SP_E_BAD_RECORD, "done record: `line` belongs to bad-record");
	*exit = sp_error_exit(kind);
	return 0;
}

int sp_result_check(const json_t *record, bool allow_request, int *ret_exit, struct sp_err *err)
{
	static const struct {
		const char *status;
		int (*check)(const json_t *record, int *exit, struct sp_err *err);
	} shapes[] = {{"ok", check_ok}, {"open", check_open}, {"refused", check_refused},
	    {"error", check_error}};
	const char *status = json_string_value(json_object_get(record, "status"));
	int exit = 0, bad = SP_E_BAD_RECORD;

	if (!status)
		return sp_fail(err, SP_E_BAD_RECORD, "done record: `status` is missing");
	if (!allow_request && json_object_get(record, "request"))
		return sp_fail(err, SP_E_BAD_RECORD, "done record: `request` has no place here");
	for (size_t i = 0; i < SP_COUNT(shapes); i++)
		if (strcmp(shapes[i].status, status) == 0) {
			bad = shapes[i].check(record, &exit, err);
			if (!bad && ret_exit)
				*ret_exit = exit;
			return bad;
		}
	return sp_fail(err, SP_E_BAD_RECORD, "done record: unknown status `%.32s`", status);
}

int sp_record_exit(const json_t *record)
{
	int exit = SP_EXIT_DONE;

	if (json_object_get(record, "status") && sp_result_check(record, true, &exit, NULL) < 0)
		exit = SP_EXIT_BAD;
	return exit;
}
