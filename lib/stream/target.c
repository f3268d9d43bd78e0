/* Targets: a path part by part, a query pair by pair. */
#include "stream/target.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"

#define METHODS 64u

/* --- paths --- */

/* The part that begins here: up to the next slash or the end. */
static size_t part_size(const char *text, const char *end)
{
	const char *slash = memchr(text, '/', (size_t)(end - text));

	return (size_t)((slash ? slash : end) - text);
}

static bool matches(const char *row, const char *path, size_t size, struct sp_target_part *parts)
{
	const char *end = path + size;
	unsigned count = 0;

	for (; *row; row++) {
		if (*row == '*' && !row[1]) {
			parts[count] = (struct sp_target_part){path, (size_t)(end - path)};
			return true;
		}
		if (*row == '{') {
			size_t part = part_size(path, end);
			if (part == 0)
				return false;
			parts[count++] = (struct sp_target_part){path, part};
			path += part;
			row = strchr(row, '}');
			continue;
		}
		if (path == end || *path++ != *row)
			return false;
	}
	return path == end;
}

static size_t split(const struct sp_head *head, size_t head_size, struct sp_asked *ret)
{
	const char *mark = memchr(head->target, '?', head->target_size);

	*ret = (struct sp_asked){.head = head, .head_size = head_size};
	if (!mark)
		return head->target_size;
	ret->query = mark + 1;
	ret->query_size = (size_t)(head->target + head->target_size - ret->query);
	return (size_t)(mark - head->target);
}

const struct sp_target_row *sp_target_find(const struct sp_target_row *rows, size_t count,
    const struct sp_head *head, size_t head_size, struct sp_asked *ret, uint64_t *ret_allowed)
{
	size_t size = split(head, head_size, ret);

	*ret_allowed = 0;
	for (size_t i = 0; i < count; i++) {
		memset(ret->parts, 0, sizeof(ret->parts)); /* of a row that began so */
		if (!matches(rows[i].path, head->target, size, ret->parts))
			continue;
		if (rows[i].methods & (uint64_t)1 << head->method)
			return &rows[i];
		*ret_allowed |= rows[i].methods;
	}
	return NULL;
}

void sp_target_methods(uint64_t methods, const char *between, char *text, size_t room)
{
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < METHODS && at < room; i++)
		if (methods & (uint64_t)1 << i)
			at += (size_t)snprintf(text + at, room - at, "%s%s", at ? between : "",
			    http_method_str((enum http_method)i));
}

bool sp_target_id(const struct sp_target_part *part, char *ret)
{
	char text[SP_ID_MAX + 1];

	if (part->size > SP_ID_MAX)
		return false;
	memcpy(text, part->text, part->size);
	text[part->size] = '\0';
	if (strlen(text) != part->size || !sp_id_valid(text))
		return false;
	memcpy(ret, text, part->size + 1);
	return true;
}

/* --- queries --- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= ' ';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next byte of what is encoded; -1: it is none. */
static int next_byte(const char **at, const char *end)
{
	const char *text = *at;
	int high, low;

	*at = text + 1;
	if (*text == '+')
		return ' ';
	if (*text != '%')
		return (unsigned char)*text;
	if (end - text < 3)
		return -1;
	high = digit(text[1]);
	low = digit(text[2]);
	*at = text + 3;
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* How many bytes it came to; -1: it is none, or has a NUL; or `room`: it does not fit. */
static ssize_t decode(const char *text, size_t size, char *ret, size_t room)
{
	const char *end = text + size;
	size_t at = 0;

	while (text < end) {
		int byte = next_byte(&text, end);
		if (byte <= 0)
			return -1;
		if (at + 1 >= room)
			return (ssize_t)room;
		ret[at++] = (char)byte;
	}
	ret[at] = '\0';
	return (ssize_t)at;
}

static struct sp_target_value *find_value(
    struct sp_target_value *values, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(values[i].name) == size && memcmp(values[i].name, name, size) == 0)
			return &values[i];
	return NULL;
}

static int take_pair(
    const char *pair, size_t size, struct sp_target_value *values, size_t count, struct sp_err *err)
{
	const char *equals = memchr(pair, '=', size);
	size_t name = equals ? (size_t)(equals - pair) : size;
	struct sp_target_value *value = find_value(values, count, pair, name);
	ssize_t got;

	if (!value || !equals)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "query: not NAME=VALUE, or a name that is none here");
	if (value->given)
		return sp_fail(err, SP_E_BAD_RECORD, "query: %s= twice", value->name);
	got = decode(equals + 1, size - name - 1, value->text, value->room);
	if (got < 0)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "query: %s= is not encoded as forms are", value->name);
	if ((size_t)got == value->room)
		return sp_fail(err, SP_E_BAD_RECORD, "query: %s= is longer than %zu bytes",
		    value->name, value->room - 1);
	value->given = true;
	return 0;
}

int sp_target_query(
    const struct sp_asked *asked, struct sp_target_value *values, size_t count, struct sp_err *err)
{
	const char *at = asked->query, *end = at ? at + asked->query_size : NULL;
	int bad = 0;

	for (size_t i = 0; i < count; i++)
		values[i].given = false;
	while (!bad && at < end) {
		const char *next = memchr(at, '&', (size_t)(end - at));
		if (!next)
			next = end;
		if (next > at)
			bad = take_pair(at, (size_t)(next - at), values, count, err);
		at = next + 1;
	}
	return bad;
}
