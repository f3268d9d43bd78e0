/*
 * The questions that make nearly all of a cache's work, read byte for byte in the one shape that
 * sp_question_text gives them, without a tree. Whatever else comes, right or wrong, is not judged
 * here.
 */
#include <string.h>
#include "base/text.h"
#include "routing/cache_wire.h"

#define DIGITS_MAX 15 /* the longest number that cannot be beyond 2^53 - 1 */

struct reading {
	const char *at, *end;
};

static bool skip(struct reading *reading, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(reading->end - reading->at) < size || memcmp(reading->at, text, size) != 0)
		return false;
	reading->at += size;
	return true;
}

/* What ids, callers, operations, UUIDs and base64url consist of: nothing that could be an escape.
 */
static bool is_usual(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '.' || c == '_' || c == ':';
}

/* Up to the closing quote, which is skipped; with a NUL, within `room`. */
static bool take_text(struct reading *reading, char *ret, size_t room)
{
	const char *start = reading->at;
	size_t size;

	while (reading->at < reading->end && is_usual(*reading->at))
		reading->at++;
	size = (size_t)(reading->at - start);
	if (size == 0 || size >= room || !skip(reading, "\""))
		return false;
	memcpy(ret, start, size);
	ret[size] = '\0';
	return true;
}

/* From 1 on. */
static bool take_number(struct reading *reading, int64_t *ret)
{
	const char *start = reading->at;
	int64_t number = 0;

	for (; reading->at < reading->end && *reading->at >= '0' && *reading->at <= '9';
	     reading->at++) {
		if (reading->at - start == DIGITS_MAX)
			return false;
		number = number * 10 + (*reading->at - '0');
	}
	*ret = number;
	return reading->at > start && *start != '0';
}

static bool take_id(struct reading *reading, char ret[SP_ID_MAX + 1])
{
	return take_text(reading, ret, SP_ID_MAX + 1) && sp_id_valid(ret);
}

static bool take_substrate(struct reading *reading, struct sp_route *route)
{
	if (skip(reading, "host\"")) {
		route->substrate = SP_SUBSTRATE_HOST;
		return true;
	}
	route->substrate = SP_SUBSTRATE_KUBERNETES;
	return skip(reading, "kubernetes\",\"pod_uid\":\"") &&
	       take_text(reading, route->pod_uid, sizeof(route->pod_uid)) &&
	       sp_uuid_valid(route->pod_uid);
}

static bool take_route(struct reading *reading, struct sp_route *route)
{
	return skip(reading, "{\"execution\":") && take_number(reading, &route->execution) &&
	       skip(reading, ",\"worker\":\"") && take_id(reading, route->worker) &&
	       skip(reading, ",\"substrate\":\"") && take_substrate(reading, route) &&
	       skip(reading, ",\"activation\":\"") && take_id(reading, route->activation) &&
	       skip(reading, ",\"attempt\":") && take_number(reading, &route->attempt) &&
	       skip(reading, "}");
}

static bool take_key(struct reading *reading, struct sp_question *question)
{
	return take_text(reading, question->caller, sizeof(question->caller)) &&
	       sp_caller_valid(question->caller) && skip(reading, ",\"sandbox\":\"") &&
	       take_id(reading, question->sandbox);
}

static bool take_op(struct reading *reading, struct sp_question *question)
{
	char name[SP_ACCESS_ENTRY_MAX + 1];

	if (!skip(reading, ",\"op\":\""))
		return true;
	if (!take_text(reading, name, sizeof(name)))
		return false;
	question->op = sp_op_find(name);
	return question->op != NULL;
}

static bool take_credential(struct reading *reading, struct sp_question *question)
{
	char text[64];
	size_t size;

	if (!skip(reading, ",\"credential\":\""))
		return true;
	question->has_credential = true;
	return take_text(reading, text, sizeof(text)) &&
	       sp_base64_decode(text, strlen(text), true, question->credential,
		   sizeof(question->credential), &size) &&
	       size == sizeof(question->credential);
}

bool sp_question_quick(const char *line, size_t size, struct sp_question *ret)
{
	struct reading reading = {line, line + size};
	bool taken = false;

	*ret = (struct sp_question){.protocol = -1};
	if (skip(&reading, "{\"ask\":\"get\",\"caller\":\"")) {
		ret->kind = SP_QUESTION_GET;
		taken = take_key(&reading, ret) && take_op(&reading, ret) &&
			take_credential(&reading, ret);
	} else if (skip(&reading, "{\"ask\":\"reject\",\"caller\":\"")) {
		ret->kind = SP_QUESTION_REJECT;
		taken = take_key(&reading, ret) && skip(&reading, ",\"rejected\":") &&
			take_route(&reading, &ret->rejected);
	}
	return taken && skip(&reading, "}") && reading.at == reading.end;
}
