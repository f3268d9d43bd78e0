/* Answers to the questions that make nearly all of a cache's work, taken apart without a tree: byte
 * for byte the shape that sp_reply_format gives them. */
#include "base/text.h"
#include "record/reading.h"
#include "routing/cache_wire.h"

static bool take_effect(struct sp_reading *reading)
{
	return sp_reading_skip(reading, "hit\"") || sp_reading_skip(reading, "filled\"") ||
	       sp_reading_skip(reading, "renewed\"");
}

/* A string of plain ASCII without escapes, quotes and all. */
static bool take_plain(struct sp_reading *reading)
{
	if (!sp_reading_skip(reading, "\""))
		return false;
	while (reading->at < reading->end && *reading->at >= 0x20 && *reading->at < 0x7f &&
	       *reading->at != '"' && *reading->at != '\\')
		reading->at++;
	return sp_reading_skip(reading, "\"");
}

static bool take_endpoint(struct sp_reading *reading, struct sp_reply_pieces *pieces)
{
	char text[SP_ENDPOINT_MAX + 1];
	size_t size;

	pieces->endpoint = reading->at;
	if (!take_plain(reading))
		return false;
	pieces->endpoint_size = (size_t)(reading->at - pieces->endpoint);
	size = pieces->endpoint_size - 2;
	if (size >= sizeof(text))
		return false;
	memcpy(text, pieces->endpoint + 1, size);
	text[size] = '\0';
	return sp_endpoint_valid(text);
}

static bool take_strings(struct sp_reading *reading)
{
	if (!sp_reading_skip(reading, "["))
		return false;
	if (sp_reading_skip(reading, "]"))
		return true;
	do
		if (!take_plain(reading))
			return false;
	while (sp_reading_skip(reading, ","));
	return sp_reading_skip(reading, "]");
}

static bool take_expires(struct sp_reading *reading, struct sp_reply_pieces *pieces)
{
	char text[SP_TIME_SIZE];
	int64_t ignored;

	pieces->expires = reading->at;
	if (!sp_reading_skip(reading, "\"") || !sp_reading_word(reading, text, sizeof(text)))
		return false;
	pieces->expires_size = (size_t)(reading->at - pieces->expires);
	return sp_time_parse(text, &ignored);
}

static bool take_route(struct sp_reading *reading, struct sp_reply_pieces *pieces)
{
	struct sp_route route;

	pieces->route = reading->at;
	if (!sp_reading_route(reading, &route))
		return false;
	pieces->route_size = (size_t)(reading->at - pieces->route);
	return true;
}

static bool take_rights(struct sp_reading *reading, struct sp_reply_pieces *pieces)
{
	pieces->access = reading->at;
	if (!take_strings(reading))
		return false;
	pieces->access_size = (size_t)(reading->at - pieces->access);
	return sp_reading_skip(reading, ",\"ports\":") && take_strings(reading);
}

bool sp_reply_quick(const char *line, size_t size, struct sp_reply_pieces *ret)
{
	struct sp_reading reading = {line, line + size};
	int64_t revision;

	return sp_reading_skip(&reading, "{\"status\":\"ok\",\"effect\":\"") &&
	       take_effect(&reading) && sp_reading_skip(&reading, ",\"route\":") &&
	       take_route(&reading, ret) && sp_reading_skip(&reading, ",\"endpoint\":") &&
	       take_endpoint(&reading, ret) && sp_reading_skip(&reading, ",\"revision\":") &&
	       sp_reading_number(&reading, &revision) &&
	       sp_reading_skip(&reading, ",\"access\":") && take_rights(&reading, ret) &&
	       sp_reading_skip(&reading, ",\"expires\":") && take_expires(&reading, ret) &&
	       sp_reading_skip(&reading, "}") && reading.at == reading.end;
}
