/* One field list a state, so that a field out of place is a bad record and nothing is believed by
 * chance. */
#include "record/request.h"

#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

/* Which states have a field; the wire forms are states of their own here. */
enum { ASKED = 1, ROUTED = 2, MINTED = 4, WIRE = 8, GUEST = 16, ANY = 31 };

enum field {
	ID,
	OP,
	SANDBOX,
	ARGS,
	CALLER,
	ROUTE,
	ENDPOINT,
	ACCESS,
	AUTHORIZED_UNTIL,
	ATTEMPTED,
	CAP,
	FIELDS
};

static const struct {
	const char *name;
	enum sp_json_kind kind;
	unsigned states, optional_in;
} FIELD_TABLE[FIELDS] = {
    [ID] = {"id", SP_JSON_STRING, ANY, ASKED | ROUTED | MINTED},
    [OP] = {"op", SP_JSON_STRING, ANY, 0},
    [SANDBOX] = {"sandbox", SP_JSON_STRING, ANY, 0},
    [ARGS] = {"args", SP_JSON_OBJECT, ANY, 0},
    [CALLER] = {"caller", SP_JSON_STRING, ROUTED | MINTED, 0},
    [ROUTE] = {"route", SP_JSON_OBJECT, ROUTED | MINTED, 0},
    [ENDPOINT] = {"endpoint", SP_JSON_STRING, ROUTED | MINTED, 0},
    [ACCESS] = {"access", SP_JSON_ARRAY, ROUTED | MINTED, 0},
    [AUTHORIZED_UNTIL] = {"authorized_until", SP_JSON_STRING, ROUTED | MINTED, 0},
    [ATTEMPTED] = {"attempted", SP_JSON_INTEGER, ROUTED | MINTED, 0},
    [CAP] = {"cap", SP_JSON_STRING, MINTED | WIRE, 0},
};

enum sp_state sp_request_state(const json_t *record)
{
	if (json_object_get(record, "status"))
		return SP_STATE_DONE;
	if (json_object_get(record, "cap"))
		return SP_STATE_MINTED;
	if (json_object_get(record, "route"))
		return SP_STATE_ROUTED;
	return SP_STATE_ASKED;
}

static int take_fields(
    const json_t *record, unsigned state, const json_t **values, struct sp_err *err)
{
	struct sp_json_field fields[FIELDS];
	size_t count = 0;

	for (size_t i = 0; i < FIELDS; i++) {
		values[i] = NULL;
		if (!(FIELD_TABLE[i].states & state))
			continue;
		fields[count++] = (struct sp_json_field){FIELD_TABLE[i].name, FIELD_TABLE[i].kind,
		    (FIELD_TABLE[i].optional_in & state) != 0, &values[i]};
	}
	return sp_json_take(record, "request", fields, count, err);
}

static int take_id(const json_t *value, const char **ret, struct sp_err *err)
{
	size_t size = value ? json_string_length(value) : 1;

	if (size < 1 || size > SP_REQUEST_ID_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "request: `id` is not of 1 to %d bytes",
		    SP_REQUEST_ID_MAX);
	*ret = sp_json_string(value);
	return 0;
}

static int take_access(const json_t *access, struct sp_err *err)
{
	const json_t *entry;
	size_t index;

	if (json_array_size(access) > SP_ACCESS_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "request: `access` has more than %d entries",
		    SP_ACCESS_MAX);
	json_array_foreach(access, index,
	    entry) if (!json_is_string(entry) ||
		       !sp_access_entry_valid(json_string_value(entry))) return sp_fail(err,
	    SP_E_BAD_RECORD, "request: `access` names no operation at %zu", index);
	return 0;
}

/* What the control plane has added. */
static int take_routed(const json_t **values, struct sp_request *request, struct sp_err *err)
{
	json_int_t attempted = json_integer_value(values[ATTEMPTED]);
	int bad = sp_route_parse(values[ROUTE], &request->route, err);

	if (!bad)
		bad = take_access(values[ACCESS], err);
	if (bad)
		return bad;
	if (attempted != 1 && attempted != 2)
		return sp_fail(err, SP_E_BAD_RECORD, "request: `attempted` is neither 1 nor 2");
	if (!sp_time_parse(json_string_value(values[AUTHORIZED_UNTIL]), &request->authorized_until))
		return sp_fail(err, SP_E_BAD_RECORD, "request: `authorized_until` is no time");
	if (json_string_length(values[CALLER]) == 0)
		return sp_fail(err, SP_E_BAD_RECORD, "request: `caller` is empty");
	request->attempted = (int)attempted;
	request->caller = json_string_value(values[CALLER]);
	request->route_json = values[ROUTE];
	request->endpoint = json_string_value(values[ENDPOINT]);
	request->access = values[ACCESS];
	return 0;
}

static int parse(const json_t *record, unsigned state, struct sp_request *ret, struct sp_err *err)
{
	const json_t *values[FIELDS];
	struct sp_request request = {0};
	int bad = take_fields(record, state, values, err);

	if (!bad)
		bad = take_id(values[ID], &request.id, err);
	if (bad)
		return bad;
	request.op = sp_op_find(json_string_value(values[OP]));
	if (!request.op)
		return sp_fail(err, SP_E_BAD_RECORD, "request: unknown operation `%.64s`",
		    json_string_value(values[OP]));
	request.sandbox = json_string_value(values[SANDBOX]);
	if (!sp_id_valid(request.sandbox))
		return sp_fail(err, SP_E_BAD_RECORD, "request: `sandbox` is no id");
	request.args = values[ARGS];
	request.cap = sp_json_string(values[CAP]);
	if (values[ROUTE])
		bad = take_routed(values, &request, err);
	if (!bad)
		*ret = request;
	return bad;
}

int sp_request_parse(
    const json_t *record, enum sp_state state, struct sp_request *ret, struct sp_err *err)
{
	static const unsigned states[] = {
	    [SP_STATE_ASKED] = ASKED, [SP_STATE_ROUTED] = ROUTED, [SP_STATE_MINTED] = MINTED};

	if (state == SP_STATE_DONE)
		return sp_fail(err, SP_E_BAD_RECORD, "request: a done record");
	return parse(record, states[state], ret, err);
}

int sp_request_parse_wire(const json_t *record, struct sp_request *ret, struct sp_err *err)
{
	return parse(record, WIRE, ret, err);
}

int sp_request_parse_guest(const json_t *record, struct sp_request *ret, struct sp_err *err)
{
	return parse(record, GUEST, ret, err);
}
