/* A walk over the outer object's members. jansson has said before that they are well formed. */
#include "record/span.h"

#include <string.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_space(const char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* From an opening quote to behind the closing one. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

/* To the comma or brace that ends a member of the outer object. */
static const char *skip_value(const char *at, const char *end)
{
	unsigned depth = 0;

	while (at < end) {
		char c = *at;
		if (c == '"') {
			at = skip_string(at, end);
			continue;
		}
		if (depth == 0 && (c == ',' || c == '}'))
			break;
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		at++;
	}
	return at;
}

bool sp_json_span(
    const char *text, size_t size, const char *name, const char **ret_value, size_t *ret_size)
{
	const char *end = text + size, *at = skip_space(text, end);
	size_t length = strlen(name);

	while (at < end && (*at == '{' || *at == ',')) {
		const char *key = skip_space(at + 1, end), *value, *behind;
		if (key == end || *key != '"')
			return false;
		value = skip_space(skip_string(key, end), end);
		if (value == end)
			return false;
		value = skip_space(value + 1, end);
		behind = skip_value(value, end);
		at = behind;
		while (behind > value && is_space(behind[-1]))
			behind--;
		if ((size_t)(end - key) > length + 1 && memcmp(key + 1, name, length) == 0 &&
		    key[length + 1] == '"') {
			*ret_value = value;
			*ret_size = (size_t)(behind - value);
			return true;
		}
	}
	return false;
}
