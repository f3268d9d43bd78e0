/* Each value is copied out and then asked the very question that the slow reader asks of it. */
#include "record/quick.h"

#include <string.h>
#include "base/text.h"

bool sp_quick_object(const struct sp_scan_member *member, struct sp_scan_member *members,
    unsigned room, unsigned *ret_count)
{
	return member && member->kind == '{' &&
	       sp_json_scan(member->value, member->size, members, room, ret_count);
}

bool sp_quick_text(const struct sp_scan_member *member, char *ret, size_t room)
{
	size_t size;

	if (!member || member->kind != '"' || !member->plain)
		return false;
	size = member->size - 2;
	if (size >= room)
		return false;
	memcpy(ret, member->value + 1, size);
	ret[size] = '\0';
	return true;
}

bool sp_quick_id(const struct sp_scan_member *member, char ret[SP_ID_MAX + 1])
{
	return sp_quick_text(member, ret, SP_ID_MAX + 1) && sp_id_valid(ret);
}

bool sp_quick_time(const struct sp_scan_member *member, int64_t *ret_seconds)
{
	char text[SP_TIME_SIZE];

	return sp_quick_text(member, text, sizeof(text)) && sp_time_parse(text, ret_seconds);
}

bool sp_quick_integer(const struct sp_scan_member *member, int64_t *ret)
{
	int64_t number = 0;
	bool negative;

	if (!member)
		return false;
	negative = member->kind == '-';
	if (!negative && (member->kind < '0' || member->kind > '9'))
		return false;
	/* The scan has counted the digits: no number of 16 comes here. */
	for (size_t i = negative; i < member->size; i++)
		number = number * 10 + (member->value[i] - '0');
	*ret = negative ? -number : number;
	return true;
}

bool sp_quick_request_id(const struct sp_scan_member *member)
{
	return !member || (member->kind == '"' && member->plain && member->size > 2 &&
			      member->size - 2 <= SP_REQUEST_ID_MAX);
}

/* Up to the quote that ends it; from behind the one that begins it. */
static bool take_entry(const char **at, const char *end, char ret[SP_ACCESS_TEXT_SIZE])
{
	const char *quote = memchr(*at, '"', (size_t)(end - *at));
	size_t size = quote ? (size_t)(quote - *at) : SP_ACCESS_TEXT_SIZE;

	if (size >= SP_ACCESS_TEXT_SIZE)
		return false;
	memcpy(ret, *at, size);
	ret[size] = '\0';
	*at = quote + 1;
	return sp_access_entry_valid(ret);
}

bool sp_quick_access(const struct sp_scan_member *member,
    char ret[SP_ACCESS_MAX][SP_ACCESS_TEXT_SIZE], unsigned *ret_count)
{
	const char *at, *end;
	unsigned count = 0;

	if (!member || member->kind != '[')
		return false;
	at = member->value + 1;
	end = member->value + member->size - 1;
	while (at < end) {
		if (count == SP_ACCESS_MAX || (count > 0 && *at++ != ',') || at == end ||
		    *at++ != '"' || !take_entry(&at, end, ret[count++]))
			return false;
	}
	*ret_count = count;
	return true;
}

static bool take_substrate(const struct sp_scan_member *substrate,
    const struct sp_scan_member *pod_uid, struct sp_route *route)
{
	if (pod_uid && sp_scan_is(substrate, "kubernetes")) {
		route->substrate = SP_SUBSTRATE_KUBERNETES;
		return sp_quick_text(pod_uid, route->pod_uid, sizeof(route->pod_uid)) &&
		       sp_uuid_valid(route->pod_uid);
	}
	route->substrate = SP_SUBSTRATE_HOST;
	return !pod_uid && sp_scan_is(substrate, "host");
}

bool sp_quick_route(const struct sp_scan_member *member, struct sp_route *ret)
{
	struct sp_scan_member members[6];
	const struct sp_scan_member *substrate, *pod_uid;
	unsigned count;

	memset(ret, 0, sizeof(*ret));
	if (!sp_quick_object(member, members, 6, &count))
		return false;
	substrate = sp_scan_find(members, count, "substrate");
	pod_uid = sp_scan_find(members, count, "pod_uid");
	return substrate && count == 5u + (pod_uid != NULL) &&
	       sp_quick_integer(sp_scan_find(members, count, "execution"), &ret->execution) &&
	       sp_quick_integer(sp_scan_find(members, count, "attempt"), &ret->attempt) &&
	       ret->execution >= 1 && ret->attempt >= 1 &&
	       sp_quick_id(sp_scan_find(members, count, "worker"), ret->worker) &&
	       sp_quick_id(sp_scan_find(members, count, "activation"), ret->activation) &&
	       take_substrate(substrate, pod_uid, ret);
}

bool sp_quick_identity(const struct sp_scan_member *member, struct sp_identity *ret)
{
	struct sp_scan_member members[2];
	unsigned count;

	return sp_quick_object(member, members, 2, &count) && count == 2 &&
	       sp_quick_id(sp_scan_find(members, count, "sandbox"), ret->sandbox) &&
	       sp_quick_route(sp_scan_find(members, count, "route"), &ret->route);
}
