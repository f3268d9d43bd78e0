/* Routes in and out of JSON, closed in both directions. */
#include "record/route.h"

#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

static const char *const SUBSTRATES[] = {
    [SP_SUBSTRATE_KUBERNETES] = "kubernetes", [SP_SUBSTRATE_HOST] = "host"};

const char *sp_substrate_name(enum sp_substrate substrate)
{
	return SUBSTRATES[substrate];
}

int sp_id_copy(const char *text, const char *what, char ret[SP_ID_MAX + 1], struct sp_err *err)
{
	if (!sp_id_valid(text))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "%s: `%.140s` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})", what, text);
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

static int take_positive(const json_t *value, const char *what, int64_t *ret, struct sp_err *err)
{
	json_int_t number = json_integer_value(value);

	if (number < 1)
		return sp_fail(err, SP_E_BAD_RECORD, "route: `%s` is below 1", what);
	*ret = number;
	return 0;
}

static int take_substrate(
    const char *name, const char *pod_uid, struct sp_route *route, struct sp_err *err)
{
	if (strcmp(name, SUBSTRATES[SP_SUBSTRATE_KUBERNETES]) == 0) {
		route->substrate = SP_SUBSTRATE_KUBERNETES;
		if (!pod_uid)
			return sp_fail(
			    err, SP_E_BAD_RECORD, "route: `pod_uid` is missing on kubernetes");
		if (!sp_uuid_valid(pod_uid))
			return sp_fail(
			    err, SP_E_BAD_RECORD, "route: `pod_uid` is no lower-case UUID");
		memcpy(route->pod_uid, pod_uid, sizeof(route->pod_uid));
		return 0;
	}
	if (strcmp(name, SUBSTRATES[SP_SUBSTRATE_HOST]) != 0)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "route: `substrate` is neither kubernetes nor host");
	if (pod_uid)
		return sp_fail(err, SP_E_BAD_RECORD, "route: `pod_uid` on substrate host");
	route->substrate = SP_SUBSTRATE_HOST;
	return 0;
}

int sp_route_parse(const json_t *object, struct sp_route *ret, struct sp_err *err)
{
	const json_t *execution, *worker, *substrate, *pod_uid, *activation, *attempt;
	const struct sp_json_field fields[] = {
	    {"execution", SP_JSON_INTEGER, false, &execution},
	    {"worker", SP_JSON_STRING, false, &worker},
	    {"substrate", SP_JSON_STRING, false, &substrate},
	    {"pod_uid", SP_JSON_STRING, true, &pod_uid},
	    {"activation", SP_JSON_STRING, false, &activation},
	    {"attempt", SP_JSON_INTEGER, false, &attempt},
	};
	struct sp_route route = {0};
	int bad = sp_json_take(object, "route", fields, SP_COUNT(fields), err);

	if (!bad)
		bad = take_positive(execution, "execution", &route.execution, err);
	if (!bad)
		bad = take_positive(attempt, "attempt", &route.attempt, err);
	if (!bad)
		bad = take_substrate(
		    json_string_value(substrate), sp_json_string(pod_uid), &route, err);
	if (!bad)
		bad = sp_id_copy(json_string_value(worker), "route: `worker`", route.worker, err);
	if (!bad)
		bad = sp_id_copy(
		    json_string_value(activation), "route: `activation`", route.activation, err);
	if (!bad)
		*ret = route;
	return bad;
}

int sp_identity_parse(const json_t *object, struct sp_identity *ret, struct sp_err *err)
{
	const json_t *sandbox, *route;
	const struct sp_json_field fields[] = {
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"route", SP_JSON_OBJECT, false, &route},
	};
	struct sp_identity identity = {0};
	int bad = sp_json_take(object, "identity", fields, SP_COUNT(fields), err);

	if (!bad)
		bad = sp_id_copy(json_string_value(sandbox), "`sandbox`", identity.sandbox, err);
	if (!bad)
		bad = sp_route_parse(route, &identity.route, err);
	if (!bad)
		*ret = identity;
	return bad;
}

json_t *sp_route_json(const struct sp_route *route)
{
	const char *substrate = SUBSTRATES[route->substrate];

	if (route->substrate == SP_SUBSTRATE_KUBERNETES)
		return json_pack("{sIsssssssssI}", "execution", (json_int_t)route->execution,
		    "worker", route->worker, "substrate", substrate, "pod_uid", route->pod_uid,
		    "activation", route->activation, "attempt", (json_int_t)route->attempt);
	return json_pack("{sIsssssssI}", "execution", (json_int_t)route->execution, "worker",
	    route->worker, "substrate", substrate, "activation", route->activation, "attempt",
	    (json_int_t)route->attempt);
}

bool sp_route_equal(const struct sp_route *a, const struct sp_route *b)
{
	return a->execution == b->execution && a->attempt == b->attempt &&
	       a->substrate == b->substrate && strcmp(a->worker, b->worker) == 0 &&
	       strcmp(a->pod_uid, b->pod_uid) == 0 && strcmp(a->activation, b->activation) == 0;
}
