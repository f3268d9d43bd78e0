/* JSON as strict as 01-records wants it, and closed objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/util.h"
#include "record/json.h"

#define BYTES(text) (text), sizeof(text) - 1

static const struct {
	const char *text;
	size_t size;
} GOOD[] = {
    {BYTES("{}")},
    {BYTES(" \t{ } \r")},
    {BYTES("{\"a\":1}")},
    {BYTES("{\"a\":0}")},
    {BYTES("{\"a\":-0}")},
    {BYTES("{\"a\":-1}")},
    {BYTES("{\"a\":9007199254740991}")},
    {BYTES("{\"a\":-9007199254740991}")},
    {BYTES("{\"a\":[true,false,null,\"\",{}]}")},
    {BYTES("{\"\":1}")},
    {BYTES("{\"a\":\"1.5 1e5 {[\"}")},
    {BYTES("{\"1.5\":1,\"2e3\":2}")},
    {BYTES("{\"a\":\"\\\"1.5\"}")},
    {BYTES("{\"a\":\"\\\\\",\"b\":\"x\"}")},
    {BYTES("{\"a\":\"\\u00e9\\n\\/\"}")},
    {BYTES("{\"a\":\"\\ud83d\\ude00\"}")},
    {BYTES("{\"a\":\"\xf0\x9f\x98\x80\xc2\x80\"}")},
    {BYTES("{\"a\":\"\x7f\"}")},
    {BYTES("{\"a\":1,\"A\":2}")},
    {BYTES("{\"a\":{\"b\":1},\"b\":{\"b\":1}}")},
};

static const struct {
	const char *text;
	size_t size;
	const char *words; /* in the message */
} BAD[] = {
    {BYTES(""), ""},
    {BYTES(" "), ""},
    {BYTES("null"), ""},
    {BYTES("1"), ""},
    {BYTES("\"x\""), ""},
    {BYTES("[]"), "not a JSON object"},
    {BYTES("[{}]"), "not a JSON object"},
    {BYTES("{"), ""},
    {BYTES("{\"a\":1"), ""},
    {BYTES("{\"a\":1,}"), ""},
    {BYTES("{\"a\":}"), ""},
    {BYTES("{a:1}"), ""},
    {BYTES("{'a':1}"), ""},
    {BYTES("{\"a\":1}{\"b\":2}"), "end of file expected"},
    {BYTES("{\"a\":1} x"), "end of file expected"},
    {BYTES("{\"a\":1}\0"), "byte 8: a NUL byte"},
    {BYTES("{\"a\":1}]"), ""},
    {BYTES("]]]]{}"), ""},
    {BYTES("{\"a\":1\0}"), "byte 7: a NUL byte"},
    {BYTES("{\"a\":[1\0,2]}"), "byte 8: a NUL byte"},
    {BYTES("\0{}"), "byte 1: a NUL byte"},
    {BYTES("{\"a\":\"x\0y\"}"), "byte 8: a NUL byte"},
    {BYTES("{\"a\":\"x\ny\"}"), ""},
    {BYTES("{\"a\":\"x\ty\"}"), "control character"},
    {BYTES("{\"a\":\"\\u0000\"}"), "\\u0000 is not allowed"},
    {BYTES("{\"\\u0000\":1}"), ""},
    {BYTES("{\"a\\u0000b\":1}"), ""},
    {BYTES("{\"a\":\"\\ud83d\"}"), ""},
    {BYTES("{\"a\":\"\\ude00\"}"), ""},
    {BYTES("{\"a\":\"\\ude00\\ud83d\"}"), ""},
    {BYTES("{\"a\":\"\\ud83dx\"}"), ""},
    {BYTES("{\"a\":\"\\x41\"}"), ""},
    {BYTES("{\"a\":\"\\"), ""},
    {BYTES("{\"a\":\"\\u00\"}"), ""},
    {BYTES("\xef\xbb\xbf{}"), ""},
    {BYTES("\xff\xfe{\0}\0"), ""},
    {BYTES("{\"a\":\"\xff\"}"), ""},
    {BYTES("{\"a\":\"\xc0\xaf\"}"), ""},
    {BYTES("{\"a\":\"\xed\xa0\x80\"}"), ""},
    {BYTES("{\"a\":\"\xf4\x90\x80\x80\"}"), ""},
    {BYTES("{\"\xe2\x82\":1}"), ""},
    {BYTES("{\"a\":1,\"a\":1}"), "duplicate object key"},
    {BYTES("{\"a\":1,\"\\u0061\":1}"), "duplicate object key"},
    {BYTES("{\"x\":{\"a\":1,\"a\":2}}"), "duplicate object key"},
    {BYTES("{\"x\":[{\"a\":1,\"a\":2}]}"), "duplicate object key"},
    {BYTES("{\"a\":1.0}"), "byte 7: a number with a fraction or an exponent"},
    {BYTES("{\"a\":1e5}"), "byte 7: a number with a fraction or an exponent"},
    {BYTES("{\"a\":1E5}"), "byte 7: a number with a fraction or an exponent"},
    {BYTES("{\"a\":0e0}"), "a number with a fraction or an exponent"},
    {BYTES("{\"a\":-0.0}"), "a number with a fraction or an exponent"},
    {BYTES("{\"a\":[1,2.5]}"), "a number with a fraction or an exponent"},
    {BYTES("{\"a\":\"\\\\\",\"b\":1.5}"), "a number with a fraction or an exponent"},
    {BYTES("{\"a\":.5}"), ""},
    {BYTES("{\"a\":-.5}"), ""},
    {BYTES("{\"a\":e5}"), ""},
    {BYTES("{\"a\":-}"), ""},
    {BYTES("{\"a\":+1}"), ""},
    {BYTES("{\"a\":01}"), ""},
    {BYTES("{\"a\":-01}"), ""},
    {BYTES("{\"a\":00}"), ""},
    {BYTES("{\"a\":0x1}"), ""},
    {BYTES("{\"a\":NaN}"), ""},
    {BYTES("{\"a\":Infinity}"), ""},
    {BYTES("{\"a\":9007199254740992}"), "a number beyond 2^53 - 1"},
    {BYTES("{\"a\":-9007199254740992}"), "a number beyond 2^53 - 1"},
    {BYTES("{\"a\":9223372036854775807}"), "a number beyond 2^53 - 1"},
    {BYTES("{\"a\":-9223372036854775807}"), "a number beyond 2^53 - 1"},
    {BYTES("{\"a\":-9223372036854775808}"), "a number beyond 2^53 - 1"},
    {BYTES("{\"a\":9223372036854775808}"), "too big integer"},
    {BYTES("{\"a\":-9223372036854775809}"), "too big negative integer"},
    {BYTES("{\"a\":[[{\"b\":9007199254740992}]]}"), "a number beyond 2^53 - 1"},
    {BYTES("{\"a\":1/*x*/}"), ""},
    {BYTES("// x\n{}"), ""},
};

/* The text as a copy of exactly its size: a read past it is seen by the sanitizers. */
static int parse(const char *text, size_t size, json_t **ret, struct sp_err *err)
{
	sp_auto_free char *copy = malloc(size ? size : 1);

	memcpy(copy, text, size);
	return sp_json_parse(copy, size, ret, err);
}

static void good_objects_are_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(GOOD); i++) {
		sp_auto_json json_t *value = NULL;
		struct sp_err err = {0};
		if (parse(GOOD[i].text, GOOD[i].size, &value, &err) != 0)
			fail_msg("%s: %s", GOOD[i].text, err.message);
		assert_true(json_is_object(value));
	}
}

static void everything_else_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(BAD); i++) {
		sp_auto_json json_t *value = NULL;
		struct sp_err err = {0};
		int bad = parse(BAD[i].text, BAD[i].size, &value, &err);
		if (bad != SP_E_BAD_RECORD || value || err.code != bad || !err.message[0] ||
		    !strstr(err.message, BAD[i].words))
			fail_msg("case %zu: %s: %d `%s`", i, BAD[i].text, bad, err.message);
	}
}

/* Cut anywhere, an object is no object; and what is said can always be written again. */
static void half_an_object_is_none(void **state)
{
	static const char text[] = "{\"a\":[1,{\"b\":\"\\ud83d\\ude00\xe2\x82\xac\"}],\"c\":-12}";

	(void)state;
	for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
		sp_auto_json json_t *value = NULL, *words = NULL;
		struct sp_err err = {0};
		assert_int_equal(parse(text, cut, &value, &err), SP_E_BAD_RECORD);
		words = json_string(err.message);
		assert_non_null(words);
	}
}

static void nest(char *text, size_t depth, char open, char close)
{
	size_t n = (size_t)sprintf(text, "{\"a\":");

	memset(text + n, open, depth - 1);
	memset(text + n + depth - 1, close, depth - 1);
	(void)strcpy(text + n + 2 * (depth - 1), "}");
}

static void nesting_ends_at_sixteen(void **state)
{
	char text[128];
	sp_auto_json json_t *value = NULL;
	struct sp_err err = {0};

	(void)state;
	nest(text, 16, '[', ']');
	assert_int_equal(parse(text, strlen(text), &value, &err), 0);
	sp_json_release(&value);
	nest(text, 17, '[', ']');
	assert_int_equal(parse(text, strlen(text), &value, &err), SP_E_BAD_RECORD);
	assert_string_equal(err.message, "byte 21: nested deeper than 16");
	(void)strcpy(text, "{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[\\\"{{{{{{{{{{{{{\"}");
	assert_int_equal(parse(text, strlen(text), &value, &err), 0);
	sp_json_release(&value);
	(void)strcpy(text, "{\"a\":[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]}");
	assert_int_equal(parse(text, strlen(text), &value, &err), 0);
}

/* Deep nesting must be refused before the parser recurses: a megabyte of it ends no stack. */
static void a_megabyte_of_brackets_is_refused_at_once(void **state)
{
	sp_auto_free char *text = malloc(1 << 20);
	sp_auto_json json_t *value = NULL;

	(void)state;
	memset(text, '[', 1 << 20);
	assert_int_equal(sp_json_parse(text, 1 << 20, &value, NULL), SP_E_BAD_RECORD);
}

static const json_t *name, *count, *flag, *object, *array;
static const struct sp_json_field FIELDS[] = {
    {"name", SP_JSON_STRING, false, &name},
    {"count", SP_JSON_INTEGER, false, &count},
    {"flag", SP_JSON_BOOL, true, &flag},
    {"object", SP_JSON_OBJECT, true, &object},
    {"array", SP_JSON_ARRAY, true, &array},
    {"unread", SP_JSON_STRING, true, NULL},
};

static void closed_objects(void **state)
{
	static const struct {
		const char *text, *words; /* NULL: taken */
	} cases[] = {
	    {"{\"name\":\"x\",\"count\":1}", NULL},
	    {"{\"name\":\"x\",\"count\":1,\"flag\":true,\"object\":{},\"array\":[],\"unread\":"
	     "\"\"}",
		NULL},
	    {"{\"count\":1}", "thing: `name` is missing"},
	    {"{\"name\":\"x\"}", "thing: `count` is missing"},
	    {"{\"name\":null,\"count\":1}", "thing: `name` is not a string"},
	    {"{\"name\":1,\"count\":1}", "thing: `name` is not a string"},
	    {"{\"name\":\"x\",\"count\":\"1\"}", "thing: `count` is not a whole number"},
	    {"{\"name\":\"x\",\"count\":true}", "thing: `count` is not a whole number"},
	    {"{\"name\":\"x\",\"count\":1,\"flag\":1}", "thing: `flag` is not true or false"},
	    {"{\"name\":\"x\",\"count\":1,\"flag\":null}", "thing: `flag` is not true or false"},
	    {"{\"name\":\"x\",\"count\":1,\"object\":[]}", "thing: `object` is not an object"},
	    {"{\"name\":\"x\",\"count\":1,\"array\":{}}", "thing: `array` is not an array"},
	    {"{\"name\":\"x\",\"count\":1,\"unread\":1}", "thing: `unread` is not a string"},
	    {"{\"name\":\"x\",\"count\":1,\"Name\":\"y\"}", "thing: unknown field `Name`"},
	    {"{\"name\":\"x\",\"count\":1,\"\":1}", "thing: unknown field ``"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		sp_auto_json json_t *value = NULL;
		struct sp_err err = {0};
		int bad;
		assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &value, NULL), 0);
		bad = sp_json_take(value, "thing", FIELDS, SP_COUNT(FIELDS), &err);
		assert_int_equal(bad, cases[i].words ? SP_E_BAD_RECORD : 0);
		assert_string_equal(err.message, cases[i].words ? cases[i].words : "");
	}
	assert_int_equal(sp_json_take(NULL, "thing", FIELDS, 0, NULL), SP_E_BAD_RECORD);
	assert_int_equal(sp_json_take(json_null(), "thing", FIELDS, 0, NULL), SP_E_BAD_RECORD);
}

static void absent_fields_are_null(void **state)
{
	static const char text[] = "{\"name\":\"x\",\"count\":-7}";
	sp_auto_json json_t *value = NULL;

	(void)state;
	flag = object = array = json_true();
	assert_int_equal(parse(text, strlen(text), &value, NULL), 0);
	assert_int_equal(sp_json_take(value, "thing", FIELDS, SP_COUNT(FIELDS), NULL), 0);
	assert_string_equal(sp_json_string(name), "x");
	assert_int_equal(json_integer_value(count), -7);
	assert_null(flag);
	assert_null(object);
	assert_null(sp_json_string(array));
}

/* A field name of an outsider, cut in the middle of a character, must not make words that no record
 * can hold. */
static void a_cut_name_is_still_text(void **state)
{
	char text[128];
	sp_auto_json json_t *value = NULL, *words = NULL;
	struct sp_err err = {0};

	(void)state;
	(void)snprintf(text, sizeof(text), "{\"%063d\xe2\x82\xac\":1}", 0);
	assert_int_equal(parse(text, strlen(text), &value, NULL), 0);
	assert_int_equal(sp_json_take(value, "thing", FIELDS, 0, &err), SP_E_BAD_RECORD);
	words = json_string(err.message);
	assert_non_null(words);
}

static void a_file_holds_one_object(void **state)
{
	char path[] = "/tmp/test-json-XXXXXX", words[SP_ERR_MAX];
	sp_auto_fd int fd = mkstemp(path);
	sp_auto_json json_t *value = NULL;
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(write(fd, "{\"a\":1}\n", 8), 8);
	assert_int_equal(sp_json_read_file(AT_FDCWD, path, 8, &value, &err), 0);
	sp_json_release(&value);
	assert_int_equal(sp_json_read_file(AT_FDCWD, path, 7, &value, &err), SP_E_TOO_LARGE);
	assert_int_equal(write(fd, "{}", 2), 2);
	assert_int_equal(sp_json_read_file(AT_FDCWD, path, 64, &value, &err), SP_E_BAD_RECORD);
	(void)snprintf(words, sizeof(words), "%s: byte ", path);
	assert_memory_equal(err.message, words, strlen(words));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sp_json_read_file(AT_FDCWD, path, 64, &value, &err), -ENOENT);
	assert_null(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_objects_are_taken),
	    cmocka_unit_test(everything_else_is_refused),
	    cmocka_unit_test(half_an_object_is_none),
	    cmocka_unit_test(nesting_ends_at_sixteen),
	    cmocka_unit_test(a_megabyte_of_brackets_is_refused_at_once),
	    cmocka_unit_test(closed_objects),
	    cmocka_unit_test(absent_fields_are_null),
	    cmocka_unit_test(a_cut_name_is_still_text),
	    cmocka_unit_test(a_file_holds_one_object),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
