/* Done records: as made, and judged as closed as they are made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"

static void is(json_t *record, const char *text)
{
	sp_auto_free char *written = record ? sp_json_text(record) : NULL;

	if (!written || strcmp(written, text) != 0)
		fail_msg("%s, not %s", written ? written : "nothing", text);
	assert_int_equal(sp_result_check(record, false, NULL, NULL), 0);
	json_decref(record);
}

static void records_as_specified(void **state)
{
	(void)state;
	is(sp_result_ok("r1", json_pack("{si}", "size", 3)),
	    "{\"id\":\"r1\",\"status\":\"ok\",\"result\":{\"size\":3}}");
	is(sp_result_ok(NULL, json_object()), "{\"status\":\"ok\",\"result\":{}}");
	is(sp_result_refused("r3", SP_REASON_EXECUTION, SP_BEHIND_RECEIVER, "sbx-manager"),
	    "{\"id\":\"r3\",\"status\":\"refused\",\"decision\":\"refresh-route\","
	    "\"reason\":\"execution\",\"hop\":\"sbx-manager\",\"behind\":\"receiver\"}");
	is(sp_result_refused("r4", SP_REASON_SANDBOX, SP_BEHIND_NONE, "sbx-manager"),
	    "{\"id\":\"r4\",\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"sandbox\","
	    "\"hop\":\"sbx-manager\"}");
	/* `behind` belongs to execution, whatever is asked for. */
	is(sp_result_refused(NULL, SP_REASON_SANDBOX, SP_BEHIND_CALLER, "h"),
	    "{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"sandbox\",\"hop\":\"h\"}");
	is(sp_result_error("r5", SP_ERROR_TRANSPORT, false, "gone"),
	    "{\"id\":\"r5\",\"status\":\"error\",\"error\":\"transport\",\"sent\":false,"
	    "\"message\":\"gone\"}");
	is(sp_result_error("r5", SP_ERROR_TIMEOUT, true, "late"),
	    "{\"id\":\"r5\",\"status\":\"error\",\"error\":\"timeout\",\"sent\":true,"
	    "\"message\":\"late\"}");
	is(sp_result_error("r5", SP_ERROR_OVERLOADED, true, "full"),
	    "{\"id\":\"r5\",\"status\":\"error\",\"error\":\"overloaded\",\"message\":\"full\"}");
	is(sp_result_op_error("r6", ENOENT, "/x"),
	    "{\"id\":\"r6\",\"status\":\"error\",\"error\":\"op\",\"errno\":\"ENOENT\","
	    "\"message\":\"/x\"}");
	is(sp_result_bad_record(NULL, 7, "what"),
	    "{\"status\":\"error\",\"error\":\"bad-record\",\"line\":7,\"message\":\"what\"}");
}

static void any_words_make_a_record(void **state)
{
	char words[2 * SP_ERR_MAX];
	sp_auto_json json_t *record = NULL;

	(void)state;
	is(sp_result_error(NULL, SP_ERROR_INTERNAL, false, "a\xff\033\xc3"),
	    "{\"status\":\"error\",\"error\":\"internal\",\"message\":\"a???\"}");
	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	record = sp_result_op_error("1", EIO, words);
	assert_int_equal(json_string_length(json_object_get(record, "message")), SP_ERR_MAX - 1);
}

static void no_memory_or_value_is_no_record(void **state)
{
	(void)state;
	assert_null(sp_result_ok("r", NULL));
	assert_null(sp_result_ok("\xff", json_object()));
}

static void errno_names(void **state)
{
	(void)state;
	assert_string_equal(sp_errno_name(ENOENT), "ENOENT");
	assert_string_equal(sp_errno_name(ENOTEMPTY), "ENOTEMPTY");
	assert_string_equal(sp_errno_name(0), "EIO");
	assert_string_equal(sp_errno_name(-5), "EIO");
	assert_string_equal(sp_errno_name(100000), "EIO");
}

#define REFUSED "\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"execution\""

static const struct {
	const char *text;
	int exit;
} GOOD[] = {
    {"{\"id\":\"1\",\"status\":\"ok\",\"result\":{}}", 0},
    {"{\"status\":\"open\",\"lease\":\"l\",\"epoch\":9}", 0},
    {"{" REFUSED ",\"hop\":\"h\",\"behind\":\"caller\"}", 10},
    {"{" REFUSED ",\"hop\":\"h\"}", 10},
    {"{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"signature\",\"hop\":\"h\"}", 11},
    {"{\"status\":\"error\",\"error\":\"transport\",\"sent\":true,\"message\":\"\"}", 1},
    {"{\"status\":\"error\",\"error\":\"op\",\"errno\":\"ENOENT\",\"message\":\"\"}", 1},
    {"{\"status\":\"error\",\"error\":\"bad-record\",\"line\":1,\"message\":\"\"}", 3},
    {"{\"status\":\"error\",\"error\":\"bad-record\",\"message\":\"\"}", 3},
    {"{\"status\":\"error\",\"error\":\"unavailable\",\"message\":\"\"}", 1},
};

static const struct {
	const char *text, *words;
} BAD[] = {
    {"{}", "done record: `status` is missing"},
    {"{\"status\":1}", "done record: `status` is missing"},
    {"{\"status\":\"OK\",\"result\":{}}", "done record: unknown status `OK`"},
    {"{\"status\":\"ok\"}", "done record: `result` is missing"},
    {"{\"status\":\"ok\",\"result\":[]}", "done record: `result` is not an object"},
    {"{\"status\":\"ok\",\"result\":{},\"cap\":\"x\"}", "done record: unknown field `cap`"},
    {"{\"status\":\"ok\",\"result\":{},\"decision\":\"match\"}",
	"done record: unknown field `decision`"},
    {"{\"id\":1,\"status\":\"ok\",\"result\":{}}", "done record: `id` is not a string"},
    {"{\"status\":\"open\",\"lease\":\"l\"}", "done record: `epoch` is missing"},
    {"{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"sandbox\"}",
	"done record: `hop` is missing"},
    {"{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"execution\",\"hop\":\"h\"}",
	"done record: `deny` with `execution` is no decision"},
    {"{\"status\":\"refused\",\"decision\":\"match\",\"reason\":\"execution\",\"hop\":\"h\"}",
	"done record: `match` with `execution` is no decision"},
    {"{\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"worker\",\"hop\":\"h\","
     "\"behind\":\"caller\"}",
	"done record: `behind` without reason execution"},
    {"{" REFUSED ",\"hop\":\"h\",\"behind\":\"both\"}",
	"done record: `behind` is neither receiver nor caller"},
    {"{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"sandbox\",\"hop\":\"h\","
     "\"installed\":{}}",
	"done record: unknown field `installed`"},
    {"{\"status\":\"error\",\"error\":\"oops\",\"message\":\"\"}",
	"done record: unknown error `oops`"},
    {"{\"status\":\"error\",\"error\":\"transport\",\"message\":\"\"}",
	"done record: `sent` belongs to transport and timeout"},
    {"{\"status\":\"error\",\"error\":\"internal\",\"sent\":true,\"message\":\"\"}",
	"done record: `sent` belongs to transport and timeout"},
    {"{\"status\":\"error\",\"error\":\"timeout\",\"sent\":1,\"message\":\"\"}",
	"done record: `sent` is not true or false"},
    {"{\"status\":\"error\",\"error\":\"op\",\"message\":\"\"}",
	"done record: `errno` belongs to op"},
    {"{\"status\":\"error\",\"error\":\"internal\",\"errno\":\"EIO\",\"message\":\"\"}",
	"done record: `errno` belongs to op"},
    {"{\"status\":\"error\",\"error\":\"internal\",\"line\":1,\"message\":\"\"}",
	"done record: `line` belongs to bad-record"},
    {"{\"status\":\"error\",\"error\":\"internal\"}", "done record: `message` is missing"},
};

static json_t *parsed(const char *text)
{
	json_t *value = NULL;

	assert_int_equal(sp_json_parse(text, strlen(text), &value, NULL), 0);
	return value;
}

static void good_records_have_their_exit_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(GOOD); i++) {
		sp_auto_json json_t *record = parsed(GOOD[i].text);
		int exit = -77;
		assert_int_equal(sp_result_check(record, false, &exit, NULL), 0);
		assert_int_equal(exit, GOOD[i].exit);
		assert_int_equal(sp_record_exit(record), GOOD[i].exit);
		assert_int_equal(json_object_set_new(record, "request", json_object()), 0);
		assert_int_equal(sp_result_check(record, true, NULL, NULL), 0);
		exit = -77;
		assert_int_equal(sp_result_check(record, false, &exit, NULL), SP_E_BAD_RECORD);
		assert_int_equal(exit, -77);
	}
}

static void everything_else_is_no_done_record(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(BAD); i++) {
		sp_auto_json json_t *record = parsed(BAD[i].text);
		struct sp_err err = {0};
		int exit = -77;
		assert_int_equal(sp_result_check(record, true, &exit, &err), SP_E_BAD_RECORD);
		assert_string_equal(err.message, BAD[i].words);
		assert_int_equal(exit, -77);
	}
}

static void records_on_their_way_call_for_nothing(void **state)
{
	sp_auto_json json_t *asked = parsed("{\"op\":\"ping\"}");
	sp_auto_json json_t *broken = parsed("{\"status\":\"ok\"}");

	(void)state;
	assert_int_equal(sp_record_exit(asked), 0);
	assert_int_equal(sp_record_exit(broken), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(records_as_specified),
	    cmocka_unit_test(any_words_make_a_record),
	    cmocka_unit_test(no_memory_or_value_is_no_record),
	    cmocka_unit_test(errno_names),
	    cmocka_unit_test(good_records_have_their_exit_code),
	    cmocka_unit_test(everything_else_is_no_done_record),
	    cmocka_unit_test(records_on_their_way_call_for_nothing),
	};

	return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}
