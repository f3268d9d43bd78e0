/* Answers of the cache: put together from pieces of text; read strictly. */
#include "routing/cache_wire.h"

#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/out.h"
#include "record/result.h"

/* The members an entry or a placement has, each behind a comma. */
static void add_members(struct sp_out *out, const struct sp_cache_answer *answer)
{
	char expires[SP_TIME_SIZE];

	if (answer->placement) {
		sp_out_text(out, ",");
		sp_out_put(out, answer->placement, answer->placement_size);
	}
	if (answer->rights) {
		sp_out_text(out, ",");
		sp_out_put(out, answer->rights, answer->rights_size);
	}
	if (answer->expires) {
		sp_time_format(answer->expires, expires);
		sp_out_text(out, ",\"expires\":\"");
		sp_out_text(out, expires);
		sp_out_text(out, "\"");
	}
}

size_t sp_reply_format(const struct sp_cache_answer *answer, char *text, size_t room)
{
	struct sp_out out = {.at = text, .room = room};

	if (answer->effect == SP_CACHE_DENIED) {
		sp_out_text(&out, "{\"status\":\"refused\",\"decision\":\"deny\","
				  "\"reason\":\"unauthorized\"}");
	} else if (answer->effect == SP_CACHE_UNAVAILABLE) {
		sp_out_text(&out, "{\"status\":\"error\",\"error\":\"unavailable\","
				  "\"message\":\"the registry does not answer\"}");
	} else {
		sp_out_text(&out, "{\"status\":\"ok\",\"effect\":\"");
		sp_out_text(&out, sp_cache_effect_name(answer->effect));
		sp_out_text(&out, "\"");
		add_members(&out, answer);
		sp_out_text(&out, "}");
	}
	return out.used <= out.room ? out.used : 0;
}

char *sp_reply_error(enum sp_error_kind kind, const char *message)
{
	sp_auto_json json_t *object = sp_result_error(NULL, kind, false, message);

	return object ? sp_json_text(object) : NULL;
}

json_t *sp_reply_entry(const char *caller, const char *sandbox, const struct sp_cache_answer *entry)
{
	char text[SP_REPLY_MAX];
	struct sp_out out = {.at = text, .room = sizeof(text)};

	/* Callers and sandboxes need no escapes. */
	sp_out_text(&out, "{\"caller\":\"");
	sp_out_text(&out, caller);
	sp_out_text(&out, "\",\"sandbox\":\"");
	sp_out_text(&out, sandbox);
	sp_out_text(&out, "\"");
	add_members(&out, entry);
	sp_out_text(&out, "}");
	return out.used <= out.room ? json_loadb(text, out.used, 0, NULL) : NULL;
}

static int take_effect(const char *name, enum sp_cache_effect *ret, struct sp_err *err)
{
	for (enum sp_cache_effect i = SP_CACHE_HIT; i <= SP_CACHE_GONE; i++)
		if (strcmp(sp_cache_effect_name(i), name) == 0) {
			*ret = i;
			return 0;
		}
	return sp_fail(err, SP_E_BAD_RECORD, "answer: `effect` is none");
}

/* An entry: with rights and an end. A placement alone: without. */
static int take_placement(
    const json_t *object, bool entry, struct sp_reply *reply, struct sp_err *err)
{
	const json_t *route, *endpoint, *access, *expires;
	const struct sp_json_field fields[] = {
	    {"status", SP_JSON_STRING, false, NULL},
	    {"effect", SP_JSON_STRING, false, NULL},
	    {"route", SP_JSON_OBJECT, false, &route},
	    {"endpoint", SP_JSON_STRING, false, &endpoint},
	    {"revision", SP_JSON_INTEGER, false, NULL},
	    {"access", SP_JSON_ARRAY, false, &access},
	    {"ports", SP_JSON_ARRAY, false, NULL},
	    {"expires", SP_JSON_STRING, false, &expires},
	};
	int bad = sp_json_take(object, "answer", fields, entry ? SP_COUNT(fields) : 5, err);

	if (!bad)
		bad = sp_route_parse(route, &reply->route, err);
	if (bad)
		return bad;
	if (!sp_endpoint_valid(json_string_value(endpoint)))
		return sp_fail(err, SP_E_BAD_RECORD, "answer: `endpoint` is none");
	memcpy(reply->endpoint, json_string_value(endpoint), json_string_length(endpoint) + 1);
	if (entry && !sp_time_parse(json_string_value(expires), &reply->expires))
		return sp_fail(err, SP_E_BAD_RECORD, "answer: `expires` is no time");
	reply->access = entry ? json_incref((json_t *)(uintptr_t)access) : NULL;
	reply->routed = true;
	return 0;
}

static int take_ok(const json_t *object, struct sp_reply *reply, struct sp_err *err)
{
	const char *name = json_string_value(json_object_get(object, "effect"));
	int bad = name ? take_effect(name, &reply->effect, err)
		       : sp_fail(err, SP_E_BAD_RECORD, "answer: `effect` is missing");

	if (bad || reply->effect == SP_CACHE_UNCHANGED || reply->effect == SP_CACHE_GONE)
		return bad;
	return take_placement(object,
	    reply->effect != SP_CACHE_REPLACED && reply->effect != SP_CACHE_KEPT, reply, err);
}

int sp_reply_parse(const char *line, size_t size, struct sp_reply *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	const char *status, *message;
	struct sp_reply reply = {.effect = SP_CACHE_UNAVAILABLE};
	int bad = sp_json_parse(line, size, &object, err);

	if (bad)
		return bad;
	status = json_string_value(json_object_get(object, "status"));
	message = json_string_value(json_object_get(object, "message"));
	if (status && strcmp(status, "ok") == 0)
		bad = take_ok(object, &reply, err);
	else if (status && strcmp(status, "refused") == 0)
		reply.effect = SP_CACHE_DENIED;
	else if (!status || strcmp(status, "error") != 0 || !message)
		bad = sp_fail(err, SP_E_BAD_RECORD, "answer: `status` is none");
	if (bad)
		return bad;
	if (reply.effect == SP_CACHE_UNAVAILABLE && message) {
		size_t length = strnlen(message, sizeof(reply.message) - 1);
		memcpy(reply.message, message, length);
	}
	*ret = reply;
	return 0;
}

void sp_reply_done(struct sp_reply *reply)
{
	sp_json_release(&reply->access);
}
