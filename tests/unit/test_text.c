/* Ids, UUIDs, times, numbers, base64, UTF-8: one spelling each, everything else refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"

static const char *repeat(char c, size_t count)
{
	static char text[512];

	memset(text, c, count);
	text[count] = '\0';
	return text;
}

static void ids(void **state)
{
	static const char *const good[] = {"a", "7", "s-42", "A.b_c-d", "a..b", "x-"};
	static const char *const bad[] = {
	    "", "-a", ".a", "_a", "a b", "a/b", "a\n", "caf\xc3\xa9", "a:b", "..", "a\xff"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(good); i++)
		assert_true(sp_id_valid(good[i]));
	for (size_t i = 0; i < SP_COUNT(bad); i++)
		assert_false(sp_id_valid(bad[i]));
	assert_true(sp_id_valid(repeat('a', SP_ID_MAX)));
	assert_false(sp_id_valid(repeat('a', SP_ID_MAX + 1)));
}

static void uuids(void **state)
{
	static const char *const bad[] = {
	    "",
	    "0b9f1c2d-3e4f-5061-7283-94a5b6c7d8e",
	    "0b9f1c2d-3e4f-5061-7283-94a5b6c7d8e9a",
	    "0B9F1C2D-3E4F-5061-7283-94A5B6C7D8E9",
	    "0b9f1c2d03e4f-5061-7283-94a5b6c7d8e9",
	    "0b9f1c2d-3e4f-5061-7283-94a5b6c7d8g9",
	    "0b9f1c2-d3e4f-5061-7283-94a5b6c7d8e9",
	    "{0b9f1c2d-3e4f-5061-7283-94a5b6c7d8}",
	};

	(void)state;
	assert_true(sp_uuid_valid("0b9f1c2d-3e4f-5061-7283-94a5b6c7d8e9"));
	for (size_t i = 0; i < SP_COUNT(bad); i++)
		assert_false(sp_uuid_valid(bad[i]));
}

static void times_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds; /* -1: refused */
	} cases[] = {
	    {"1970-01-01T00:00:00Z", 0},
	    {"1970-01-01T00:00:01Z", 1},
	    {"1970-12-31T23:59:59Z", 31535999},
	    {"1972-02-29T00:00:00Z", 68169600},
	    {"2000-02-29T12:00:00Z", 951825600},
	    {"2000-03-01T00:00:00Z", 951868800},
	    {"2026-11-29T15:36:07Z", 1795966567},
	    {"2038-01-19T03:14:08Z", 2147483648},
	    {"2100-02-28T23:59:59Z", 4107542399},
	    {"2100-03-01T00:00:00Z", 4107542400},
	    {"9999-12-31T23:59:59Z", 253402300799},
	    {"1969-12-31T23:59:59Z", -1},
	    {"0000-01-01T00:00:00Z", -1},
	    {"2026-02-29T00:00:00Z", -1},
	    {"2100-02-29T00:00:00Z", -1},
	    {"2024-02-30T00:00:00Z", -1},
	    {"2026-04-31T00:00:00Z", -1},
	    {"2026-00-10T00:00:00Z", -1},
	    {"2026-13-10T00:00:00Z", -1},
	    {"2026-10-00T00:00:00Z", -1},
	    {"2026-10-32T00:00:00Z", -1},
	    {"2026-11-29T24:00:00Z", -1},
	    {"2026-11-29T23:60:00Z", -1},
	    {"2016-12-31T23:59:60Z", -1},
	    {"2026-11-29t15:36:07Z", -1},
	    {"2026-11-29T15:36:07z", -1},
	    {"2026-11-29 15:36:07Z", -1},
	    {"2026-11-29T15:36:07", -1},
	    {"2026-11-29T15:36:07ZZ", -1},
	    {"2026-11-29T15:36:07.0Z", -1},
	    {"2026-11-29T15:36:07+00:00", -1},
	    {" 2026-11-29T15:36:07Z", -1},
	    {"2026-11-29T15:36:7ZZ", -1},
	    {"2026-11-29T15:3 :07Z", -1},
	    {"+026-11-29T15:36:07Z", -1},
	    {"-026-11-29T15:36:07Z", -1},
	    {"2026-1-129T15:36:07Z", -1},
	    {"", -1},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		int64_t seconds = -77;
		bool read = sp_time_parse(cases[i].text, &seconds);
		if (read != (cases[i].seconds >= 0) || (read && seconds != cases[i].seconds) ||
		    (!read && seconds != -77))
			fail_msg("%s: %d %lld", cases[i].text, read, (long long)seconds);
	}
}

static void times_are_written(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {
	    {0, "1970-01-01T00:00:00Z"},
	    {1795966567, "2026-11-29T15:36:07Z"},
	    {253402300799, "9999-12-31T23:59:59Z"},
	    {253402300800, "9999-12-31T23:59:59Z"},
	    {INT64_MAX, "9999-12-31T23:59:59Z"},
	    {-1, "1970-01-01T00:00:00Z"},
	    {INT64_MIN, "1970-01-01T00:00:00Z"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		char text[SP_TIME_SIZE];
		sp_time_format(cases[i].seconds, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* Every day of 400 years, there and back: the calendar is that of gmtime. */
static void times_survive_the_round_trip(void **state)
{
	(void)state;
	for (int64_t day = 0; day < 146097; day++) {
		char text[SP_TIME_SIZE];
		int64_t seconds = day * 86400 + day % 86400, back = -1;
		char theirs[SP_TIME_SIZE];
		struct tm parts;
		sp_time_format(seconds, text);
		(void)strftime(
		    theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
		assert_string_equal(text, theirs);
		if (!sp_time_parse(text, &back) || back != seconds)
			fail_msg("%s: %lld, not %lld", text, (long long)back, (long long)seconds);
	}
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t min, max, number; /* -1: refused */
	} cases[] = {
	    {"0", 0, 10, 0},
	    {"10", 0, 10, 10},
	    {"11", 0, 10, -1},
	    {"0", 1, 10, -1},
	    {"9223372036854775807", 0, INT64_MAX, INT64_MAX},
	    {"9223372036854775808", 0, INT64_MAX, -1},
	    {"18446744073709551617", 0, INT64_MAX, -1},
	    {"99999999999999999999999999", 0, INT64_MAX, -1},
	    {"", 0, 10, -1},
	    {"00", 0, 10, -1},
	    {"01", 0, 10, -1},
	    {"+1", 0, 10, -1},
	    {"-1", INT64_MIN, 10, -1},
	    {" 1", 0, 10, -1},
	    {"1 ", 0, 10, -1},
	    {"1\n", 0, 10, -1},
	    {"0x1", 0, 10, -1},
	    {"1e1", 0, 10, -1},
	    {"1.0", 0, 10, -1},
	    {"\xd9\xa1", 0, 10, -1},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		int64_t number = -77;
		bool read = sp_number_parse(cases[i].text, cases[i].min, cases[i].max, &number);
		if (read != (cases[i].number >= 0) || number != (read ? cases[i].number : -77))
			fail_msg("`%s`: %d %lld", cases[i].text, read, (long long)number);
	}
}

static void base64(void **state)
{
	static const struct {
		const char *text;
		bool url;
		const char *bytes; /* NULL: refused */
	} cases[] = {
	    {"", false, ""},
	    {"Zg==", false, "f"},
	    {"Zm8=", false, "fo"},
	    {"Zm9v", false, "foo"},
	    {"+/+/", false, "\xfb\xff\xbf"},
	    {"Zg", false, NULL},
	    {"Zg=", false, NULL},
	    {"Zg===", false, NULL},
	    {"Zh==", false, NULL},
	    {"Zm9=", false, NULL},
	    {"Zm9v====", false, NULL},
	    {"Z", false, NULL},
	    {"=", false, NULL},
	    {"====", false, NULL},
	    {"Zg==Zg==", false, NULL},
	    {"Zm9v\n", false, NULL},
	    {"Zm 9v", false, NULL},
	    {"-_-_", false, NULL},
	    {"", true, ""},
	    {"Zg", true, "f"},
	    {"Zm8", true, "fo"},
	    {"Zm9v", true, "foo"},
	    {"-_-_", true, "\xfb\xff\xbf"},
	    {"Zg==", true, NULL},
	    {"Zm8=", true, NULL},
	    {"Zh", true, NULL},
	    {"Zm9", true, NULL},
	    {"Z", true, NULL},
	    {"+/+/", true, NULL},
	    {"Zm9v ", true, NULL},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		char bytes[16] = "";
		size_t size = 77;
		const char *want = cases[i].bytes;
		bool read = sp_base64_decode(
		    cases[i].text, strlen(cases[i].text), cases[i].url, bytes, 16, &size);
		if (read != (want != NULL) ||
		    (want && (size != strlen(want) || memcmp(bytes, want, size) != 0)) ||
		    (!want && size != 77))
			fail_msg("case %zu: `%s`", i, cases[i].text);
	}
}

static void base64_keeps_to_its_room(void **state)
{
	char bytes[4] = {1, 2, 3, 4}, text[16];
	size_t size;

	(void)state;
	assert_false(sp_base64_decode("Zm9vYg==", 8, false, bytes, 3, &size));
	assert_int_equal(bytes[3], 4);
	assert_true(sp_base64_decode("Zm9vYg==", 8, false, bytes, 4, &size));
	assert_int_equal(size, 4);
	/* A NUL inside is no end. */
	assert_false(sp_base64_decode("Zm9v\0Zm9v", 9, true, text, 16, &size));
	assert_int_equal(sp_base64_room(3, false), 5);
	assert_int_equal(sp_base64_room(4, false), 9);
	assert_int_equal(sp_base64_room(4, true), 7);
	sp_base64_encode("\xfb\xff\xbf\0", 4, true, text, 7);
	assert_string_equal(text, "-_-_AA");
	sp_base64_encode("\xfb\xff\xbf\0", 4, false, text, 9);
	assert_string_equal(text, "+/+/AA==");
}

static void utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		bool valid;
	} cases[] = {
	    {"", 0, true},
	    {"abc", 3, true},
	    {"\x7f", 1, true},
	    {"a\0b", 3, false},
	    {"\xc2\x80", 2, true},
	    {"\xdf\xbf", 2, true},
	    {"\xe0\xa0\x80", 3, true},
	    {"\xed\x9f\xbf", 3, true},
	    {"\xee\x80\x80", 3, true},
	    {"\xef\xbf\xbf", 3, true},
	    {"\xf0\x90\x80\x80", 4, true},
	    {"\xf4\x8f\xbf\xbf", 4, true},
	    {"\x80", 1, false},
	    {"\xbf", 1, false},
	    {"\xc0\x80", 2, false},
	    {"\xc1\xbf", 2, false},
	    {"\xc2", 1, false},
	    {"\xc2\x41", 2, false},
	    {"\xc2\xc0", 2, false},
	    {"\xe0\x9f\xbf", 3, false},
	    {"\xe0\xa0", 2, false},
	    {"\xe1\x80\x41", 3, false},
	    {"\xed\xa0\x80", 3, false},
	    {"\xed\xbf\xbf", 3, false},
	    {"\xf0\x8f\xbf\xbf", 4, false},
	    {"\xf0\x90\x80", 3, false},
	    {"\xf4\x90\x80\x80", 4, false},
	    {"\xf5\x80\x80\x80", 4, false},
	    {"\xf8\x88\x80\x80\x80", 5, false},
	    {"\xff", 1, false},
	    {"ok\xe2\x82\xac!", 6, true},
	    {"ok\xe2\x82", 4, false},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		for (size_t before = 0; before < 18; before++) {
			/* A copy of exactly its size: a read past it is seen by the sanitizers. */
			size_t size = before + cases[i].size;
			sp_auto_free char *copy = malloc(size ? size : 1);
			memset(copy, 'a', before);
			memcpy(copy + before, cases[i].bytes, cases[i].size);
			if (sp_utf8_valid(copy, size) != cases[i].valid)
				fail_msg("case %zu behind %zu others", i, before);
		}
}

static void word_distances(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned distance;
	} cases[] = {
	    {"", "", 0},
	    {"", "abc", 3},
	    {"abc", "", 3},
	    {"verify", "verify", 0},
	    {"verfiy", "verify", 1},
	    {"verif", "verify", 1},
	    {"verrify", "verify", 1},
	    {"virify", "verify", 1},
	    {"mnit", "mint", 1},
	    {"list", "lease", 3},
	    {"abcd", "badc", 2},
	};
	char longest[65];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		assert_int_equal(sp_word_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(sp_word_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
	(void)strcpy(longest, repeat('a', 63));
	assert_int_equal(sp_word_distance(longest, repeat('b', 63)), 63);
	assert_int_equal(sp_word_distance(longest, repeat('a', 64)), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ids),
	    cmocka_unit_test(uuids),
	    cmocka_unit_test(times_are_read),
	    cmocka_unit_test(times_are_written),
	    cmocka_unit_test(times_survive_the_round_trip),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(base64),
	    cmocka_unit_test(base64_keeps_to_its_room),
	    cmocka_unit_test(utf8),
	    cmocka_unit_test(word_distances),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
