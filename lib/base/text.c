/* Formats that leave no room for interpretation: each has one spelling, anything else is refused.
 */
#include "base/text.h"

#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/limits.h"

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool sp_id_valid(const char *text)
{
	size_t i = 0;

	for (; text[i]; i++) {
		bool inner = i > 0 && (text[i] == '.' || text[i] == '_' || text[i] == '-');
		if (i >= SP_ID_MAX || !(is_alnum(text[i]) || inner))
			return false;
	}
	return i > 0;
}

bool sp_uuid_valid(const char *text)
{
	size_t i = 0;

	for (; text[i]; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
		if (i >= 36 || (dash ? text[i] != '-' : !hex))
			return false;
	}
	return i == 36;
}

static bool digits(const char *text, size_t count, int *ret)
{
	int value = 0;

	for (size_t i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (text[i] - '0');
	}
	*ret = value;
	return true;
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar, counted in years that start in March.
 */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t shifted = (month + 9) % 12;
	int64_t in_year = (153 * shifted + 2) / 5 + day - 1;

	return y * 365 + y / 4 - y / 100 + y / 400 + in_year - 719468;
}

static int month_days(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

bool sp_time_parse(const char *text, int64_t *ret_seconds)
{
	int year, month, day, hour, minute, second;

	if (strnlen(text, SP_TIME_SIZE) != SP_TIME_SIZE - 1)
		return false;
	if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
	    text[16] != ':' || text[19] != 'Z')
		return false;
	if (!digits(text, 4, &year) || !digits(text + 5, 2, &month) || !digits(text + 8, 2, &day) ||
	    !digits(text + 11, 2, &hour) || !digits(text + 14, 2, &minute) ||
	    !digits(text + 17, 2, &second))
		return false;
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > month_days(year, month) ||
	    hour > 23 || minute > 59 || second > 59)
		return false;
	*ret_seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	return true;
}

static void put_digits(char *at, int count, int64_t value)
{
	for (; count > 0; value /= 10)
		at[--count] = (char)('0' + value % 10);
}

/* The reverse of days_of: the days are counted from 0000-03-01, in eras of 400 years. */
static void put_date(char *text, int64_t days)
{
	int64_t shifted = days + 719468, era = shifted / 146097, of_era = shifted % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;

	put_digits(text + 8, 2, of_year - (153 * month + 2) / 5 + 1);
	month += month < 10 ? 3 : -9;
	put_digits(text + 5, 2, month);
	put_digits(text, 4, era * 400 + year + (month <= 2));
}

/* By hand, as it is in every answer of the cache and in every audit line. */
void sp_time_format(int64_t seconds, char text[SP_TIME_SIZE])
{
	int64_t clamped = seconds < 0 ? 0 : seconds > 253402300799 ? 253402300799 : seconds;
	int64_t of_day = clamped % 86400;

	memcpy(text, "0000-00-00T00:00:00Z", SP_TIME_SIZE);
	put_date(text, clamped / 86400);
	put_digits(text + 11, 2, of_day / 3600);
	put_digits(text + 14, 2, of_day / 60 % 60);
	put_digits(text + 17, 2, of_day % 60);
}

int64_t sp_time_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec;
}

bool sp_number_parse(const char *text, int64_t min, int64_t max, int64_t *ret_number)
{
	int64_t value = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *text - '0', &value))
			return false;
	}
	if (value < min || value > max)
		return false;
	*ret_number = value;
	return true;
}

static int variant(bool url)
{
	return url ? sodium_base64_VARIANT_URLSAFE_NO_PADDING : sodium_base64_VARIANT_ORIGINAL;
}

bool sp_base64_decode(
    const char *text, size_t length, bool url, void *room_for_bytes, size_t room, size_t *ret_size)
{
	const char *end = NULL;
	size_t size = 0;

	/* libsodium 1.0.18 takes some bytes above 127 for digits of the URL alphabet. */
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] > 127)
			return false;
	if (sodium_base642bin(
		room_for_bytes, room, text, length, NULL, &size, &end, variant(url)) != 0 ||
	    end != text + length)
		return false;
	*ret_size = size;
	return true;
}

size_t sp_base64_room(size_t size, bool url)
{
	return sodium_base64_encoded_len(size, variant(url));
}

void sp_base64_encode(const void *bytes, size_t size, bool url, char *text, size_t room)
{
	(void)sodium_bin2base64(text, room, bytes, size, variant(url));
}

/* Length of the sequence that starts at s, or 0 (Unicode 15, table 3-7). */
static size_t utf8_sequence(const unsigned char *s, size_t left)
{
	size_t length = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] == 0 || (s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

/* How many bytes from the first on are ASCII and no NUL, in eights. */
static size_t ascii_run(const unsigned char *s, size_t size)
{
	static const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t eight;
	size_t i = 0;

	for (; i + sizeof(eight) <= size; i += sizeof(eight)) {
		memcpy(&eight, s + i, sizeof(eight));
		if ((eight | (eight - ones)) & ones << 7)
			break;
	}
	return i;
}

bool sp_utf8_valid(const void *bytes, size_t size)
{
	const unsigned char *s = bytes;

	for (size_t i = ascii_run(s, size); i < size;) {
		size_t length = utf8_sequence(s + i, size - i);
		if (length == 0)
			return false;
		i += length;
	}
	return true;
}

void sp_text_printable(char *text)
{
	unsigned char *s = (unsigned char *)text;
	size_t left = strlen(text), length;

	for (; left > 0; s += length, left -= length) {
		length = utf8_sequence(s, left);
		bool control = s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
		if (length > 0 && !control)
			continue;
		length = length ? length : 1;
		memset(s, '?', length);
	}
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

unsigned sp_word_distance(const char *a, const char *b)
{
	unsigned row[3][64];
	size_t la = strlen(a), lb = strlen(b);

	if (la > 63 || lb > 63)
		return 64;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned cost = a[i - 1] != b[j - 1];
			now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + cost);
			bool swapped =
			    i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
			if (swapped && before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
	}
	return row[la % 3][lb];
}
