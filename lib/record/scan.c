/* One pass, one frame for each level of nesting. Whatever it does not know it leaves to jansson. */
#include "record/scan.h"

#include <stdint.h>
#include <string.h>
#include "base/limits.h"
#include "base/text.h"

#define DIGITS_MAX 15 /* the longest number that cannot be beyond 2^53 - 1 */

struct name {
	const char *text;
	size_t size;
};

struct frame {
	bool object;
	unsigned count;
	struct name names[SP_SCAN_NAMES];
};

struct scan {
	const char *at, *end;
	bool compact; /* nothing that a writer would spell otherwise */
	unsigned depth;
	struct frame frames[SP_JSON_DEPTH_MAX];
};

static void skip_space(struct scan *scan)
{
	while (!scan->compact && scan->at < scan->end &&
	       (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r' || *scan->at == '\n'))
		scan->at++;
}

static bool take(struct scan *scan, char c)
{
	skip_space(scan);
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* Are none of eight bytes a quote, a backslash, a control character or beyond ASCII? The usual
 * tricks with a borrow out of each byte; a wrong alarm costs a slow step, a miss is impossible. */
static bool eight_plain(const char *at)
{
	const uint64_t ones = 0x0101010101010101u, highs = ones << 7;
	uint64_t word, quote, slash;

	memcpy(&word, at, sizeof(word));
	quote = word ^ (ones * '"');
	slash = word ^ (ones * '\\');
	return !((word | (word - ones * 0x20) | (quote - ones) | (slash - ones)) & highs);
}

/* Behind `\u`: four digits that name neither NUL nor half of a pair. */
static bool take_code(struct scan *scan)
{
	unsigned code = 0;

	if (scan->end - scan->at < 4)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)*scan->at++;
		unsigned digit = 16;
		if (c >= '0' && c <= '9')
			digit = (unsigned)c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (unsigned)(c | 32) - 'a' + 10;
		if (digit == 16)
			return false;
		code = code * 16 + digit;
	}
	return code != 0 && (code < 0xd800 || code > 0xdfff);
}

static bool take_escape(struct scan *scan)
{
	char c;

	if (scan->at == scan->end)
		return false;
	c = *scan->at++;
	if (scan->compact)
		return c && strchr("\"\\bfnrt", c);
	return c == 'u' ? take_code(scan) : c && strchr("\"\\/bfnrt", c);
}

/* Behind the closing quote. `ret_plain`: no escape in it. */
static bool take_string(struct scan *scan, bool *ret_plain)
{
	const char *start = scan->at;
	bool plain = true, ascii = true;

	for (;;) {
		while (scan->end - scan->at >= 8 && eight_plain(scan->at))
			scan->at += 8;
		if (scan->at == scan->end)
			return false;
		unsigned char c = (unsigned char)*scan->at++;
		if (c == '"')
			break;
		if (c < 0x20)
			return false;
		if (c >= 0x80)
			ascii = false;
		if (c == '\\') {
			plain = false;
			if (!take_escape(scan))
				return false;
		}
	}
	*ret_plain = plain;
	return ascii || sp_utf8_valid(start, (size_t)(scan->at - start - 1));
}

static bool take_number(struct scan *scan)
{
	const char *start;

	if (*scan->at == '-')
		scan->at++;
	start = scan->at;
	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
		scan->at++;
	if (scan->at == start || scan->at - start > DIGITS_MAX)
		return false;
	if (*start == '0' && (scan->at - start > 1 || start[-1] == '-'))
		return false;
	return scan->at < scan->end && *scan->at != '.' && *scan->at != 'e' && *scan->at != 'E';
}

static bool take_word(struct scan *scan, const char *word, size_t size)
{
	if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size) != 0)
		return false;
	scan->at += size;
	return true;
}

static bool is_new(const struct frame *frame, const char *name, size_t size)
{
	for (unsigned i = 0; i < frame->count; i++)
		if (frame->names[i].size == size && memcmp(frame->names[i].text, name, size) == 0)
			return false;
	return true;
}

/* A name and its colon, unlike those before it. */
static bool take_name(struct scan *scan)
{
	struct frame *frame = &scan->frames[scan->depth - 1];
	const char *name;
	bool plain;
	size_t size;

	if (frame->count == SP_SCAN_NAMES || !take(scan, '"'))
		return false;
	name = scan->at;
	if (!take_string(scan, &plain) || !plain)
		return false;
	size = (size_t)(scan->at - name - 1);
	if (!is_new(frame, name, size))
		return false;
	frame->names[frame->count].text = name;
	frame->names[frame->count++].size = size;
	return take(scan, ':');
}

static bool open_frame(struct scan *scan, bool object)
{
	if (scan->depth == SP_JSON_DEPTH_MAX)
		return false;
	scan->frames[scan->depth].object = object;
	scan->frames[scan->depth++].count = 0;
	scan->at++;
	return true;
}

/* A value that has no inside. */
static bool take_scalar(struct scan *scan, bool *ret_plain)
{
	char c = *scan->at;

	if (c == '"') {
		scan->at++;
		return take_string(scan, ret_plain);
	}
	if (c == '-' || (c >= '0' && c <= '9'))
		return take_number(scan);
	return take_word(scan, "true", 4) || take_word(scan, "false", 5) ||
	       take_word(scan, "null", 4);
}

/* Closes what ends here; at the base level, or where a comma follows, it stops. */
static bool close_frames(struct scan *scan, unsigned base)
{
	while (scan->depth > base) {
		skip_space(scan);
		if (scan->at == scan->end)
			return false;
		if (*scan->at == ',')
			return true;
		if (*scan->at != (scan->frames[scan->depth - 1].object ? '}' : ']'))
			return false;
		scan->at++;
		scan->depth--;
	}
	return true;
}

/* One value with all that is in it. `ret_plain` is the value's own when it is a string. */
static bool take_value(struct scan *scan, bool *ret_plain)
{
	unsigned base = scan->depth;
	bool plain = false, inner;

	for (bool first = true;; first = false) {
		skip_space(scan);
		if (scan->at == scan->end)
			return false;
		if (*scan->at == '{' || *scan->at == '[') {
			bool object = *scan->at == '{';
			if (!open_frame(scan, object))
				return false;
			skip_space(scan);
			if (scan->at < scan->end && *scan->at != (object ? '}' : ']')) {
				if (object && !take_name(scan))
					return false;
				continue;
			}
		} else if (!take_scalar(scan, first ? &plain : &inner)) {
			return false;
		}
		if (!close_frames(scan, base))
			return false;
		if (scan->depth == base)
			break;
		scan->at++; /* the comma */
		if (scan->frames[scan->depth - 1].object && !take_name(scan))
			return false;
	}
	*ret_plain = plain;
	return true;
}

/* The frame's last name is this member's. */
static bool take_member(struct scan *scan, struct sp_scan_member *member)
{
	struct frame *outer = &scan->frames[0];

	if (!take_name(scan))
		return false;
	skip_space(scan);
	member->name = outer->names[outer->count - 1].text;
	member->name_size = outer->names[outer->count - 1].size;
	member->value = scan->at;
	if (!take_value(scan, &member->plain))
		return false;
	member->size = (size_t)(scan->at - member->value);
	member->kind = *member->value;
	return true;
}

static bool take_object(
    struct scan *scan, struct sp_scan_member *members, unsigned room, unsigned *ret_count)
{
	unsigned count = 0;

	skip_space(scan);
	if (scan->at == scan->end || *scan->at != '{' || !open_frame(scan, true))
		return false;
	if (!take(scan, '}')) {
		do
			if (count == room || !take_member(scan, &members[count++]))
				return false;
		while (take(scan, ','));
		if (!take(scan, '}'))
			return false;
	}
	skip_space(scan);
	*ret_count = count;
	return scan->at == scan->end;
}

bool sp_json_scan(const char *text, size_t size, struct sp_scan_member *members, unsigned room,
    unsigned *ret_count)
{
	struct scan scan; /* its frames are set as they are opened */

	scan.at = text;
	scan.end = text + size;
	scan.compact = false;
	scan.depth = 0;
	return take_object(&scan, members, room, ret_count);
}

bool sp_json_scan_compact(const char *text, size_t size, struct sp_scan_member *members,
    unsigned room, unsigned *ret_count)
{
	struct scan scan;

	scan.at = text;
	scan.end = text + size;
	scan.compact = true;
	scan.depth = 0;
	return take_object(&scan, members, room, ret_count);
}

const struct sp_scan_member *sp_scan_find(
    const struct sp_scan_member *members, unsigned count, const char *name)
{
	size_t size = strlen(name);

	for (unsigned i = 0; i < count; i++)
		if (members[i].name_size == size && memcmp(members[i].name, name, size) == 0)
			return &members[i];
	return NULL;
}

bool sp_scan_is(const struct sp_scan_member *member, const char *text)
{
	size_t size = strlen(text);

	return member->kind == '"' && member->plain && member->size == size + 2 &&
	       memcmp(member->value + 1, text, size) == 0;
}
