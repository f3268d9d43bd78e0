/* Integers and JSON strings as text: nearly all of a record needs no escape, and is copied in runs.
 */
#include "record/out.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\';
}

/* How many bytes from the first on are plain, in eights: one that is not borrows from, or has, the
 * highest bit of its difference. */
static size_t plain_run(const char *text, size_t size)
{
	static const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t eight, quote, backslash;
	size_t i = 0;

	for (; i + sizeof(eight) <= size; i += sizeof(eight)) {
		memcpy(&eight, text + i, sizeof(eight));
		quote = eight ^ ones * '"';
		backslash = eight ^ ones * '\\';
		if ((((eight - ones * 0x20) & ~eight) | ((quote - ones) & ~quote) |
			((backslash - ones) & ~backslash)) &
		    ones << 7)
			break;
	}
	return i;
}

static void put_escape(struct sp_out *out, unsigned char c)
{
	static const char letters[32] = {
	    ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
	char escape[7] = {'\\', (char)c};

	if (c >= 0x20) {
		sp_out_put(out, escape, 2);
	} else if (letters[c]) {
		escape[1] = letters[c];
		sp_out_put(out, escape, 2);
	} else {
		(void)snprintf(escape, sizeof(escape), "\\u%04X", c);
		sp_out_put(out, escape, 6);
	}
}

void sp_out_string(struct sp_out *out, const char *text, size_t size)
{
	size_t from = 0;

	sp_out_put(out, "\"", 1);
	for (size_t i = plain_run(text, size); i < size; i++) {
		if (is_plain((unsigned char)text[i]))
			continue;
		sp_out_put(out, text + from, i - from);
		put_escape(out, (unsigned char)text[i]);
		from = i + 1;
	}
	sp_out_put(out, text + from, size - from);
	sp_out_put(out, "\"", 1);
}

void sp_out_integer(struct sp_out *out, int64_t value)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do
		digits[--at] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0)
		digits[--at] = '-';
	sp_out_put(out, digits + at, sizeof(digits) - at);
}
