/* Runtime records: what is written is read back the same, and nothing but the closed form is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "store/history.h"
#include "store/record.h"

#define ROUTE                                                                                      \
	"{\"execution\":7,\"worker\":\"worker-a\",\"substrate\":\"host\",\"activation\":\"act-"    \
	"19\","                                                                                    \
	"\"attempt\":1}"
#define CORE  "\"v\":1,\"sandbox\":\"s-42\",\"route\":" ROUTE ",\"epoch\":9,\"version\":14"
#define TIME  "\"installed_at\":\"2026-11-29T15:36:07Z\""
#define SHORT "{" CORE ",\"state\":\"active\",\"owner\":\"op-7\"," TIME "}"
#define WHOLE                                                                                      \
	"{" CORE                                                                                   \
	",\"state\":\"retired\",\"owner\":\"op-7\",\"fenced_at\":\"2026-11-29T15:00:00Z\","        \
	"\"cut_version\":13,\"bridge\":{\"pid\":1},\"vmm\":{\"pid\":2},\"guest\":{\"id\":\"g\"}"   \
	"," TIME "}"

static int parse(const char *text, struct sp_record *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	int bad = sp_json_parse(text, strlen(text), &object, err);

	return bad ? bad : sp_record_parse(object, ret, err);
}

static void check_same(const char *text)
{
	sp_auto_free char *back = NULL;
	struct sp_record record;
	json_t *object;

	assert_int_equal(parse(text, &record, NULL), 0);
	object = sp_record_json(&record);
	back = sp_json_text(object);
	assert_string_equal(back, text);
	json_decref(object);
	sp_record_done(&record);
}

static void what_is_written_is_what_was_read(void **state)
{
	(void)state;
	check_same(SHORT);
	check_same(WHOLE);
}

static void the_values_arrive(void **state)
{
	struct sp_record record;

	(void)state;
	assert_int_equal(parse(WHOLE, &record, NULL), 0);
	assert_string_equal(record.identity.sandbox, "s-42");
	assert_int_equal(record.identity.route.execution, 7);
	assert_int_equal(record.epoch, 9);
	assert_int_equal(record.version, 14);
	assert_true(record.retired);
	assert_string_equal(record.owner, "op-7");
	assert_int_equal(record.fenced_at, 1795964400);
	assert_int_equal(record.cut_version, 13);
	assert_int_equal(record.installed_at, 1795966567);
	assert_int_equal(json_integer_value(json_object_get(record.vmm, "pid")), 2);
	sp_record_done(&record);
}

static void nothing_else_is_a_record(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
	    {"{}", "record: `v` is missing"},
	    {"{" CORE ",\"state\":\"active\",\"owner\":\"op-7\"," TIME ",\"more\":1}",
		"record: unknown field `more`"},
	    {"{" CORE ",\"state\":\"active\",\"owner\":\"op-7\"}",
		"record: `installed_at` is missing"},
	    {"{" CORE ",\"owner\":\"op-7\"," TIME "}", "record: `state` is missing"},
	    {"{" CORE ",\"state\":\"paused\",\"owner\":\"op-7\"," TIME "}",
		"`state` is neither active nor retired"},
	    {"{" CORE ",\"state\":\"active\",\"owner\":\"-\"," TIME "}",
		"record: `owner`: `-` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})"},
	    {"{" CORE ",\"state\":\"active\",\"owner\":\"op-7\",\"installed_at\":\"yesterday\"}",
		"record: `installed_at` is no time like 2026-11-29T15:36:07Z"},
	    {"{" CORE ",\"state\":\"active\",\"owner\":\"op-7\",\"bridge\":[]," TIME "}",
		"record: `bridge` is not an object"},
	    {"{" CORE ",\"state\":\"active\",\"owner\":\"op-7\",\"cut_version\":15," TIME "}",
		"record: `cut_version` is above `version`"},
	    {"{" CORE ",\"state\":\"active\",\"owner\":\"op-7\",\"guest\":{\"key\":\"k\"}," TIME
	     "}",
		"`guest` carries a `key`: a guest key belongs into its own file, never into a "
		"record"},
	    {"{\"v\":2,\"sandbox\":\"s-42\",\"route\":" ROUTE
	     ",\"epoch\":9,\"version\":14,\"state\":\"active\",\"owner\":\"op-7\"," TIME "}",
		"record: of format 2, which a newer version wrote; this one reads 1: upgrade it"},
	    {"{\"v\":1,\"sandbox\":\"s-42\",\"route\":" ROUTE
	     ",\"epoch\":0,\"version\":14,\"state\":\"active\",\"owner\":\"op-7\"," TIME "}",
		"record: `epoch` is below 1"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_record record = {.epoch = -1};
		struct sp_err err = {0};
		assert_int_equal(parse(cases[i].text, &record, &err), SP_E_BAD_RECORD);
		assert_string_equal(err.message, cases[i].words);
		assert_int_equal(record.epoch, -1);
	}
}

#define ENTRY(epoch, was)                                                                          \
	"{\"at\":\"2026-11-29T15:36:07Z\",\"epoch\":" epoch ",\"version\":" epoch                  \
	",\"effect\":\"replaced\",\"was\":" was "}"

static int read_text(const char *text, struct sp_record *ret)
{
	sp_auto_free char *copy = strdup(text);

	return sp_record_read(copy, strlen(copy), ret, NULL);
}

static void with_history(const char *rest, const char *history, char *text, size_t room)
{
	(void)snprintf(text, room,
	    "{" CORE ",\"state\":\"active\",\"owner\":\"op-7\"%s," TIME ",\"history\":%s}", rest,
	    history);
}

/* What a file has is what is written again, whatever looks like a history elsewhere in it. */
static void a_history_is_carried_as_it_stands(void **state)
{
	static const char *const histories[] = {"[]", "[" ENTRY("1", "{}") "]",
	    "[" ENTRY("1", "{\"owner\":\"a]\\\",{[\"}") "," ENTRY("2", "{\"attempt\":1}") "]"};
	static const char *const rests[] = {
	    "", ",\"bridge\":{\"a\":\",\\\"history\\\":[\",\"history\":[1]}"};
	char text[2048];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(histories) * SP_COUNT(rests); i++) {
		struct sp_record record;
		sp_auto_free char *again = NULL;
		with_history(
		    rests[i % SP_COUNT(rests)], histories[i / SP_COUNT(rests)], text, sizeof(text));
		assert_int_equal(read_text(text, &record), 0);
		assert_string_equal(record.history, histories[i / SP_COUNT(rests)]);
		again = sp_record_text(&record);
		assert_string_equal(again, text);
		sp_record_done(&record);
	}
}

static void a_history_in_another_place_is_found_too(void **state)
{
	struct sp_record record;

	(void)state;
	assert_int_equal(
	    read_text("{\"history\":[" ENTRY("1",
			  "{}") "]," CORE ",\"state\":\"active\",\"owner\":\"op-7\"," TIME "}\n",
		&record),
	    0);
	assert_string_equal(record.history, "[" ENTRY("1", "{}") "]");
	sp_record_done(&record);
}

static void a_history_that_is_no_json_is_refused(void **state)
{
	static const char *const histories[] = {
	    "[", "[}", "[1,]", "[\"\\u0000\"]", "{}", "1", "[],\"history\":[]", "[],\"more\":[]"};
	struct sp_record record;
	char text[2048];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(histories); i++) {
		with_history("", histories[i], text, sizeof(text));
		assert_int_equal(read_text(text, &record), SP_E_BAD_RECORD);
	}
}

static void the_oldest_entry_goes_first(void **state)
{
	struct sp_record record = {.history = NULL};

	(void)state;
	record.history =
	    strdup("[" ENTRY("1", "{\"owner\":\"a]\\\",{[\"}") "," ENTRY("2", "{}") "]");
	assert_true(sp_history_shorten(&record));
	assert_string_equal(record.history, "[" ENTRY("2", "{}") "]");
	assert_true(sp_history_shorten(&record));
	assert_null(record.history);
	assert_false(sp_history_shorten(&record));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_history_is_carried_as_it_stands),
	    cmocka_unit_test(a_history_in_another_place_is_found_too),
	    cmocka_unit_test(a_history_that_is_no_json_is_refused),
	    cmocka_unit_test(the_oldest_entry_goes_first),
	    cmocka_unit_test(what_is_written_is_what_was_read),
	    cmocka_unit_test(the_values_arrive),
	    cmocka_unit_test(nothing_else_is_a_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
