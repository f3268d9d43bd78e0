/* A placement's form, and which of two is the newer. */
#include "routing/placement.h"

#include <string.h>
#include "base/util.h"
#include "record/json.h"

bool sp_endpoint_valid(const char *endpoint)
{
	if (strncmp(endpoint, "unix:/", 6) != 0 || strlen(endpoint) > SP_ENDPOINT_MAX)
		return false;
	for (const char *at = endpoint; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return false;
	return true;
}

json_t *sp_placement_json(const char *sandbox, const struct sp_placement *placement)
{
	return json_pack("{sssosssssI}", "sandbox", sandbox, "route",
	    sp_route_json(&placement->route), "endpoint", placement->endpoint, "state",
	    placement->retired ? "retired" : "active", "revision", (json_int_t)placement->revision);
}

static bool take_state(const char *state, bool *ret_retired)
{
	*ret_retired = strcmp(state, "retired") == 0;
	return *ret_retired || strcmp(state, "active") == 0;
}

int sp_placement_parse(const json_t *object, char ret_sandbox[SP_ID_MAX + 1],
    struct sp_placement *ret, struct sp_err *err)
{
	const json_t *sandbox, *route, *endpoint, *state, *revision;
	const struct sp_json_field fields[] = {
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"route", SP_JSON_OBJECT, false, &route},
	    {"endpoint", SP_JSON_STRING, false, &endpoint},
	    {"state", SP_JSON_STRING, false, &state},
	    {"revision", SP_JSON_INTEGER, true, &revision},
	};
	struct sp_placement placement = {0};
	char id[SP_ID_MAX + 1];
	int bad = sp_json_take(object, "route", fields, SP_COUNT(fields), err);

	if (!bad)
		bad = sp_id_copy(json_string_value(sandbox), "`sandbox`", id, err);
	if (!bad)
		bad = sp_route_parse(route, &placement.route, err);
	if (bad)
		return bad;
	if (!sp_endpoint_valid(json_string_value(endpoint)))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "route: `endpoint` is not unix: and an absolute path");
	if (!take_state(json_string_value(state), &placement.retired))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "route: `state` is neither active nor retired");
	memcpy(placement.endpoint, json_string_value(endpoint), json_string_length(endpoint) + 1);
	placement.revision = json_integer_value(revision);
	memcpy(ret_sandbox, id, sizeof(id));
	*ret = placement;
	return 0;
}

bool sp_placement_newer(
    int64_t execution, int64_t revision, int64_t than_execution, int64_t than_revision)
{
	return execution != than_execution ? execution > than_execution : revision > than_revision;
}
