/* What jansson does not check by itself: depth, number forms, the type at the top, NUL. */
#include "record/json.h"

#include <fcntl.h>
#include <string.h>
#include "base/file.h"
#include "base/util.h"

/*
 * A scan over the bytes outside strings. It does not parse: jansson does. It refuses what jansson
 * lets through, before jansson recurses into it.
 */
static int scan(const char *text, size_t size, struct sp_err *err)
{
	const char *nul = memchr(text, '\0', size);
	bool inside = false;
	unsigned depth = 0;

	/* jansson reads over one that follows a number. */
	if (nul)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "byte %zu: a NUL byte", (size_t)(nul - text) + 1);
	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		if (inside) {
			if (c == '\\')
				i++;
			else if (c == '"')
				inside = false;
			continue;
		}
		if (c == '"')
			inside = true;
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && depth > 0)
			depth--;
		else if ((c == '.' || c == 'e' || c == 'E') && i > 0 && text[i - 1] >= '0' &&
			 text[i - 1] <= '9')
			return sp_fail(err, SP_E_BAD_RECORD,
			    "byte %zu: a number with a fraction or an exponent", i + 1);
		if (depth > SP_JSON_DEPTH_MAX)
			return sp_fail(err, SP_E_BAD_RECORD, "byte %zu: nested deeper than %d",
			    i + 1, SP_JSON_DEPTH_MAX);
	}
	return 0;
}

/* -2^63 has no absolute value: hence both comparisons. */
static bool is_exact(json_int_t number)
{
	return number >= -SP_INT_MAX && number <= SP_INT_MAX;
}

static int check_numbers(const json_t *value)
{
	const char *key;
	json_t *member;
	size_t index;

	switch (json_typeof(value)) {
	case JSON_INTEGER:
		return is_exact(json_integer_value(value)) ? 0 : SP_E_BAD_RECORD;
	case JSON_REAL:
		return SP_E_BAD_RECORD;
	case JSON_OBJECT:
		json_object_foreach((json_t *)(uintptr_t)value, key,
		    member) if (check_numbers(member)) return SP_E_BAD_RECORD;
		return 0;
	case JSON_ARRAY:
		json_array_foreach(
		    value, index, member) if (check_numbers(member)) return SP_E_BAD_RECORD;
		return 0;
	case JSON_STRING:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return 0;
}

int sp_json_parse(const char *text, size_t size, json_t **ret, struct sp_err *err)
{
	sp_auto_json json_t *value = NULL;
	json_error_t why;
	int bad = scan(text, size, err);

	if (bad)
		return bad;
	/* JSON_ALLOW_NUL is not given: jansson then refuses \u0000 itself. */
	value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	if (!value)
		return sp_fail(err, SP_E_BAD_RECORD, "byte %d: %s", why.position, why.text);
	if (!json_is_object(value))
		return sp_fail(err, SP_E_BAD_RECORD, "not a JSON object");
	if (check_numbers(value))
		return sp_fail(err, SP_E_BAD_RECORD, "a number beyond 2^53 - 1");
	*ret = sp_steal(&value);
	return 0;
}

int sp_json_read_file(int at, const char *path, size_t max, json_t **ret, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	size_t size;
	int bad = sp_file_read(at, path, 0, max, &text, &size, err);

	if (bad)
		return bad;
	bad = sp_json_parse(text, size, ret, err);
	return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
}

static bool is_kind(const json_t *value, enum sp_json_kind kind)
{
	switch (kind) {
	case SP_JSON_STRING:
		return json_is_string(value);
	case SP_JSON_INTEGER:
		return json_is_integer(value);
	case SP_JSON_BOOL:
		return json_is_boolean(value);
	case SP_JSON_OBJECT:
		return json_is_object(value);
	case SP_JSON_ARRAY:
		return json_is_array(value);
	}
	return false;
}

static const char *kind_name(enum sp_json_kind kind)
{
	static const char *const names[] = {
	    "a string", "a whole number", "true or false", "an object", "an array"};

	return names[kind];
}

static const char *find_unknown(
    const json_t *object, const struct sp_json_field *fields, size_t count)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)(uintptr_t)object, key, member)
	{
		size_t i = 0;
		while (i < count && strcmp(fields[i].name, key) != 0)
			i++;
		if (i == count)
			return key;
	}
	return NULL;
}

int sp_json_take(const json_t *object, const char *what, const struct sp_json_field *fields,
    size_t count, struct sp_err *err)
{
	size_t found = 0;

	if (!json_is_object(object))
		return sp_fail(err, SP_E_BAD_RECORD, "%s: not an object", what);
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_object_get(object, fields[i].name);
		if (!value && !fields[i].optional)
			return sp_fail(
			    err, SP_E_BAD_RECORD, "%s: `%s` is missing", what, fields[i].name);
		if (value && !is_kind(value, fields[i].kind))
			return sp_fail(err, SP_E_BAD_RECORD, "%s: `%s` is not %s", what,
			    fields[i].name, kind_name(fields[i].kind));
		if (fields[i].ret)
			*fields[i].ret = value;
		found += value != NULL;
	}
	if (found != json_object_size(object))
		return sp_fail(err, SP_E_BAD_RECORD, "%s: unknown field `%.64s`", what,
		    find_unknown(object, fields, count));
	return 0;
}

int sp_json_format(
    const json_t *object, const char *what, const char *field, int known, struct sp_err *err)
{
	const json_t *value = json_object_get(object, field);
	long long number = (long long)json_integer_value(value);

	if (!json_is_integer(value) || number == known)
		return 0;
	return number > known
		   ? sp_fail(err, SP_E_BAD_RECORD, SP_NEWER_FORMAT, what, number, known)
		   : sp_fail(err, SP_E_BAD_RECORD, "%s: `%s` is not %d", what, field, known);
}
