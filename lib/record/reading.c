/* Small takers; none looks beyond the end. */
#include "record/reading.h"

#include "base/text.h"

#define DIGITS_MAX 15 /* the longest number that cannot be beyond 2^53 - 1 */

/* What ids, callers, operations, UUIDs and base64url consist of: nothing that could be an escape.
 */
static bool is_usual(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '.' || c == '_' || c == ':';
}

bool sp_reading_word(struct sp_reading *reading, char *ret, size_t room)
{
	const char *start = reading->at;
	size_t size;

	while (reading->at < reading->end && is_usual(*reading->at))
		reading->at++;
	size = (size_t)(reading->at - start);
	if (size == 0 || size >= room || !sp_reading_skip(reading, "\""))
		return false;
	memcpy(ret, start, size);
	ret[size] = '\0';
	return true;
}

bool sp_reading_id(struct sp_reading *reading, char ret[SP_ID_MAX + 1])
{
	return sp_reading_word(reading, ret, SP_ID_MAX + 1) && sp_id_valid(ret);
}

bool sp_reading_number(struct sp_reading *reading, int64_t *ret)
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

static bool take_substrate(struct sp_reading *reading, struct sp_route *route)
{
	if (sp_reading_skip(reading, "host\"")) {
		route->substrate = SP_SUBSTRATE_HOST;
		route->pod_uid[0] = '\0';
		return true;
	}
	route->substrate = SP_SUBSTRATE_KUBERNETES;
	return sp_reading_skip(reading, "kubernetes\",\"pod_uid\":\"") &&
	       sp_reading_word(reading, route->pod_uid, sizeof(route->pod_uid)) &&
	       sp_uuid_valid(route->pod_uid);
}

bool sp_reading_route(struct sp_reading *reading, struct sp_route *ret)
{
	return sp_reading_skip(reading, "{\"execution\":") &&
	       sp_reading_number(reading, &ret->execution) &&
	       sp_reading_skip(reading, ",\"worker\":\"") && sp_reading_id(reading, ret->worker) &&
	       sp_reading_skip(reading, ",\"substrate\":\"") && take_substrate(reading, ret) &&
	       sp_reading_skip(reading, ",\"activation\":\"") &&
	       sp_reading_id(reading, ret->activation) &&
	       sp_reading_skip(reading, ",\"attempt\":") &&
	       sp_reading_number(reading, &ret->attempt) && sp_reading_skip(reading, "}");
}
