/* Which records are tried once more, and what they are then. */
#include "call/repair.h"

#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "routing/repair.h"

/* The caller's answer, without what was only for us. */
static json_t *passed_on(json_t *record)
{
	(void)json_object_del(record, "request");
	return json_incref(record);
}

/* The second attempt: the request as it was, but for what is given. */
static json_t *once_more(const json_t *record, json_t *route, const char *endpoint)
{
	sp_auto_json json_t *again = json_copy(json_object_get(record, "request"));
	sp_auto_json json_t *where = route;
	int bad = again ? json_object_set_new(again, "attempted", json_integer(2)) : -1;

	if (!bad && where)
		bad = json_object_set(again, "route", where);
	if (!bad && endpoint)
		bad = json_object_set_new(again, "endpoint", json_string(endpoint));
	return bad ? NULL : sp_steal(&again);
}

json_t *sp_repair_stage_finish(json_t *record, const struct sp_reply *reply)
{
	struct sp_route tried;
	bool other = (reply->effect == SP_CACHE_REPLACED || reply->effect == SP_CACHE_KEPT) &&
		     sp_route_parse(json_object_get(json_object_get(record, "request"), "route"),
			 &tried, NULL) == 0 &&
		     !sp_route_equal(&reply->route, &tried);

	return other ? once_more(record, sp_route_json(&reply->route), reply->endpoint)
		     : passed_on(record);
}

static int reject(const struct sp_request *request, struct sp_question *ret, struct sp_err *err)
{
	if (!sp_caller_valid(request->caller))
		return sp_fail(err, SP_E_BAD_RECORD, "request: `caller` is no principal");
	*ret = (struct sp_question){
	    .kind = SP_QUESTION_REJECT, .protocol = -1, .rejected = request->route};
	memcpy(ret->caller, request->caller, strlen(request->caller) + 1);
	memcpy(ret->sandbox, request->sandbox, strlen(request->sandbox) + 1);
	return 0;
}

static bool same_id(const json_t *record, const struct sp_request *request)
{
	const char *id = json_string_value(json_object_get(record, "id"));

	return id && request->id ? strcmp(id, request->id) == 0 : id == request->id;
}

int sp_repair_stage_ask(
    json_t *record, struct sp_question *ret, json_t **ret_next, struct sp_err *err)
{
	const json_t *member = json_object_get(record, "request");
	struct sp_request request;
	enum sp_ending ending;
	int bad = sp_ending_of(record, &ending, err);

	if (bad)
		return bad;
	if (!member) {
		*ret_next = json_incref(record);
		return 1;
	}
	bad = sp_request_parse(member, SP_STATE_ROUTED, &request, err);
	if (bad)
		return bad;
	if (!same_id(record, &request))
		return sp_fail(err, SP_E_BAD_RECORD, "done record: `request` has another id");
	switch (sp_repair_decide(request.op, request.attempted, ending)) {
	case SP_REPAIR_REBUILD:
		return reject(&request, ret, err);
	case SP_REPAIR_RETRY:
		*ret_next = once_more(record, NULL, NULL);
		return 1;
	case SP_REPAIR_PASS:
		break;
	}
	*ret_next = passed_on(record);
	return 1;
}
