/* The writer of records against jansson's own: the same bytes for every value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"

static void compare(const json_t *value)
{
	char *theirs = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	char *ours = sp_json_text(value);

	assert_non_null(theirs);
	assert_string_equal(ours, theirs);
	free(theirs);
	free(ours);
}

static void compare_text(const char *text)
{
	sp_auto_json json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	assert_non_null(value);
	compare(value);
}

static void every_kind_of_value_is_written_as_jansson_does(void **state)
{
	static const char *const texts[] = {"{}", "[]", "\"\"", "0", "-1", "9007199254740991",
	    "-9223372036854775808", "9223372036854775807", "true", "false", "null", "1.5",
	    "[1,[2,[3]]]", "{\"b\":1,\"a\":{\"c\":[]},\"\":null}", "{\"k\\\"ey\\n\":\"v\"}",
	    "\"\\u0000x\"", "\"\xf0\x9f\x98\x80 \xc3\xbc\"", "\"a/b\"", "\"\\u007f\""};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(texts); i++)
		compare_text(texts[i]);
}

static void every_character_is_escaped_as_jansson_does(void **state)
{
	(void)state;
	for (int c = 1; c < 128; c++) {
		char text[8];
		(void)snprintf(text, sizeof(text), "a%cb%c", c, c);
		sp_auto_json json_t *value = json_string(text);
		compare(value);
	}
	/* Anywhere in what is read in eights, too. */
	for (int c = 1; c < 128; c++)
		for (size_t at = 0; at < 19; at++) {
			char text[] = "aaaaaaaaa bbbbbbbbb";
			text[at] = (char)c;
			sp_auto_json json_t *value = json_string(text);
			compare(value);
		}
}

static void every_line_of_the_vectors_comes_out_as_jansson_writes_it(void **state)
{
	static const char *const files[] = {
	    "tests/vectors/capability.jsonl", "tests/vectors/compare.jsonl"};
	static char line[SP_LINE_MAX];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(files); i++) {
		FILE *file = fopen(files[i], "r");
		assert_non_null(file);
		while (fgets(line, sizeof(line), file))
			compare_text(line);
		(void)fclose(file);
	}
}

/* Whatever the room: the size is the same, and no byte beyond it is touched. */
static void nothing_is_written_beyond_the_room(void **state)
{
	sp_auto_json json_t *value = json_loads("{\"a\":[1,\"x\\ny\",null],\"b\":{}}", 0, NULL);
	sp_auto_free char *whole = sp_json_text(value);
	size_t size = strlen(whole);

	(void)state;
	for (size_t room = 0; room <= size + 2; room++) {
		char text[64];
		memset(text, '#', sizeof(text));
		assert_int_equal(sp_json_write(value, text, room), size);
		for (size_t i = room; i < sizeof(text); i++)
			assert_int_equal(text[i], '#');
		if (room >= size)
			assert_memory_equal(text, whole, size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_kind_of_value_is_written_as_jansson_does),
	    cmocka_unit_test(every_character_is_escaped_as_jansson_does),
	    cmocka_unit_test(every_line_of_the_vectors_comes_out_as_jansson_writes_it),
	    cmocka_unit_test(nothing_is_written_beyond_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
