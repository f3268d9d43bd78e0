/* Four characters and three bytes at a time. */
#include "base/base64.h"

#include <stdint.h>

static const char ALPHABETS[2][65] = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

/* The value of a character and 1; 0 for those that are in no alphabet. */
#define LETTERS                                                                                    \
	['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \
	24, 25, 26, ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,    \
	44, 45, 46, 47, 48, 49, 50, 51, 52, ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62

static const uint8_t VALUES[2][256] = {
    {LETTERS, ['+'] = 63, ['/'] = 64},
    {LETTERS, ['-'] = 63, ['_'] = 64},
};

/* Beyond 63 for what is no character of the alphabet. */
static inline uint32_t value_of(const uint8_t *values, char character)
{
	return (uint32_t)values[(uint8_t)character] - 1;
}

/* How many of the characters carry bytes; false where padding is missing or misplaced. */
static bool payload(const char *text, size_t length, bool url, size_t *ret_length)
{
	size_t padding = 0;

	if (!url) {
		if (length % 4 != 0)
			return false;
		while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
			padding++;
	}
	*ret_length = length - padding;
	return *ret_length % 4 != 1;
}

/* The last two or three characters: one or two bytes, and bits that must be 0. */
static bool decode_rest(const uint8_t *values, const char *text, size_t length, uint8_t *at)
{
	uint32_t a = value_of(values, text[0]), b = value_of(values, text[1]);
	uint32_t c = length == 3 ? value_of(values, text[2]) : 0;
	uint32_t bits = a << 18 | b << 12 | c << 6;

	if ((a | b | c) > 63 || (bits & (length == 3 ? 0xffu : 0xffffu)) != 0)
		return false;
	at[0] = (uint8_t)(bits >> 16);
	if (length == 3)
		at[1] = (uint8_t)(bits >> 8);
	return true;
}

bool sp_base64_decode_public(
    const char *text, size_t length, bool url, void *room_for_bytes, size_t room, size_t *ret_size)
{
	const uint8_t *values = VALUES[url];
	uint8_t *at = room_for_bytes;
	size_t rest, size;

	if (!payload(text, length, url, &length))
		return false;
	rest = length % 4;
	size = length / 4 * 3 + (rest ? rest - 1 : 0);
	if (size > room)
		return false;
	for (const char *end = text + (length - rest); text < end; text += 4, at += 3) {
		uint32_t a = value_of(values, text[0]), b = value_of(values, text[1]);
		uint32_t c = value_of(values, text[2]), d = value_of(values, text[3]);
		uint32_t bits = a << 18 | b << 12 | c << 6 | d;
		if ((a | b | c | d) > 63)
			return false;
		at[0] = (uint8_t)(bits >> 16);
		at[1] = (uint8_t)(bits >> 8);
		at[2] = (uint8_t)bits;
	}
	if (rest && !decode_rest(values, text, rest, at))
		return false;
	*ret_size = size;
	return true;
}

void sp_base64_encode_public(const void *bytes, size_t size, bool url, char *text, size_t room)
{
	const char *alphabet = ALPHABETS[url];
	const uint8_t *at = bytes;

	(void)room;
	for (; size >= 3; size -= 3, at += 3, text += 4) {
		uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
		text[0] = alphabet[bits >> 18];
		text[1] = alphabet[bits >> 12 & 63];
		text[2] = alphabet[bits >> 6 & 63];
		text[3] = alphabet[bits & 63];
	}
	if (size > 0) {
		uint32_t bits = (uint32_t)at[0] << 16 | (size == 2 ? (uint32_t)at[1] << 8 : 0);
		*text++ = alphabet[bits >> 18];
		*text++ = alphabet[bits >> 12 & 63];
		if (size == 2)
			*text++ = alphabet[bits >> 6 & 63];
		for (size_t i = size; !url && i < 3; i++)
			*text++ = '=';
	}
	*text = '\0';
}
