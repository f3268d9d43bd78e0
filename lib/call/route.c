/* From an asked record to a question, and from its reply to a routed record. */
#include "call/route.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/quick.h"
#include "record/request.h"
#include "record/result.h"

static const char *id_of(const json_t *record)
{
	return json_string_value(json_object_get(record, "id"));
}

static json_t *routed(json_t *record, const char *caller, const struct sp_reply *reply)
{
	char until[SP_TIME_SIZE];
	sp_auto_json json_t *added = NULL;

	sp_time_format(reply->expires, until);
	added = json_pack("{sssosssOsssi}", "caller", caller, "route", sp_route_json(&reply->route),
	    "endpoint", reply->endpoint, "access", reply->access, "authorized_until", until,
	    "attempted", 1);
	if (!added || json_object_update(record, added) < 0)
		return NULL;
	return json_incref(record);
}

/* Only who may know learns that there is no such sandbox: whoever has no grant is denied, be it
 * there or not. */
json_t *sp_route_stage_finish(
    json_t *record, const struct sp_who *who, const struct sp_reply *reply)
{
	const char *id = id_of(record);

	if (reply->routed && reply->access)
		return routed(record, who->caller, reply);
	if (reply->effect == SP_CACHE_DENIED)
		return sp_result_refused(id, SP_REASON_UNAUTHORIZED, SP_BEHIND_NONE, SP_ROUTE_HOP);
	if (reply->effect == SP_CACHE_GONE)
		return sp_result_refused(id, SP_REASON_ABSENT, SP_BEHIND_NONE, SP_ROUTE_HOP);
	return sp_result_error(id, SP_ERROR_UNAVAILABLE, false,
	    reply->message[0] ? reply->message
			      : "the route cache's answer is none to this question");
}

static int take_port(const json_t *args, struct sp_question *question, struct sp_err *err)
{
	const json_t *port = json_object_get(args, "port");
	const char *name = json_string_value(json_object_get(args, "protocol"));
	enum sp_protocol protocol;

	if (!json_is_integer(port) || json_integer_value(port) < 1 ||
	    json_integer_value(port) > 65535)
		return sp_fail(err, SP_E_BAD_RECORD, "args: `port` is not a port from 1 to 65535");
	if (!name || !sp_protocol_parse(name, &protocol))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "args: `protocol` is none of tcp, http, websocket, tls");
	question->port = (int)json_integer_value(port);
	question->protocol = (int)protocol;
	return 0;
}

void sp_route_stage_where(const struct sp_who *who, const char *sandbox, struct sp_question *ret)
{
	*ret = (struct sp_question){.kind = SP_QUESTION_GET, .protocol = -1};
	memcpy(ret->caller, who->caller, sizeof(who->caller));
	memcpy(ret->sandbox, sandbox, strlen(sandbox) + 1);
	ret->has_credential = who->has_credential;
	memcpy(ret->credential, who->credential, sizeof(who->credential));
}

int sp_route_stage_ask(const json_t *record, size_t size, const struct sp_who *who,
    struct sp_question *ret, json_t **ret_answer, struct sp_err *err)
{
	struct sp_request request;
	int bad;

	if (size > SP_ASKED_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "request: longer than %u KiB", SP_ASKED_MAX / 1024);
	bad = sp_request_parse(record, SP_STATE_ASKED, &request, err);
	if (bad)
		return bad;
	sp_route_stage_where(who, request.sandbox, ret);
	ret->op = request.op;
	if (request.op->purpose == SP_PURPOSE_SERVICE_PORT)
		bad = take_port(request.args, ret, err);
	if (bad)
		return bad;
	if (!who->nobody)
		return 0;
	*ret_answer =
	    sp_result_refused(request.id, SP_REASON_UNAUTHORIZED, SP_BEHIND_NONE, SP_ROUTE_HOP);
	return 1;
}

bool sp_route_stage_quick(
    const char *line, size_t size, const struct sp_who *who, struct sp_out *question)
{
	struct sp_scan_member members[4];
	const struct sp_scan_member *id, *args;
	char sandbox[SP_ID_MAX + 1], name[SP_ACCESS_TEXT_SIZE];
	struct sp_question asked;
	unsigned count;

	if (who->nobody || size > SP_ASKED_MAX ||
	    !sp_json_scan_compact(line, size, members, SP_COUNT(members), &count))
		return false;
	id = sp_scan_find(members, count, "id");
	args = sp_scan_find(members, count, "args");
	if (count != 3u + (id != NULL) || !sp_quick_request_id(id) || !args || args->kind != '{' ||
	    !sp_quick_text(sp_scan_find(members, count, "op"), name, sizeof(name)) ||
	    !sp_quick_id(sp_scan_find(members, count, "sandbox"), sandbox))
		return false;
	sp_route_stage_where(who, sandbox, &asked);
	asked.op = sp_op_find(name);
	/* A port's question depends on its arguments. */
	if (!asked.op || asked.op->purpose == SP_PURPOSE_SERVICE_PORT)
		return false;
	sp_question_put(&asked, question);
	return true;
}

void sp_route_stage_put(
    const struct sp_who *who, const struct sp_reply_pieces *pieces, struct sp_out *out)
{
	sp_out_text(out, ",\"caller\":");
	sp_out_string(out, who->caller, strlen(who->caller));
	sp_out_text(out, ",\"route\":");
	sp_out_put(out, pieces->route, pieces->route_size);
	sp_out_text(out, ",\"endpoint\":");
	sp_out_put(out, pieces->endpoint, pieces->endpoint_size);
	sp_out_text(out, ",\"access\":");
	sp_out_put(out, pieces->access, pieces->access_size);
	sp_out_text(out, ",\"authorized_until\":");
	sp_out_put(out, pieces->expires, pieces->expires_size);
	sp_out_text(out, ",\"attempted\":1}");
}

void sp_route_stage_reply(int code, const char *line_or_words, size_t size, struct sp_reply *ret)
{
	*ret = (struct sp_reply){.effect = SP_CACHE_UNAVAILABLE};
	if (code)
		(void)snprintf(ret->message, sizeof(ret->message), "route cache %s", line_or_words);
	else if (sp_reply_parse(line_or_words, size, ret, NULL) < 0)
		(void)snprintf(ret->message, sizeof(ret->message),
		    "the route cache's answer is none to this question");
}
