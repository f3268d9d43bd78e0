/* What is believed of an answer, from a guest and from a manager, and how it travels on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "bridge/answer.h"
#include "record/json.h"

static const struct {
	const char *line;
	bool matched, guest, manager;
} CASES[] = {
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{}}", true, true, true},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"op\",\"errno\":\"ENOENT\",\"message\":\"x\"}",
	true, true, true},
    /* a guest that plays the manager */
    {"{\"id\":\"7\",\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"execution\","
     "\"hop\":\"sbx-manager\",\"behind\":\"caller\"}",
	true, false, true},
    {"{\"id\":\"7\",\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"expired\","
     "\"hop\":\"sbx-manager\"}",
	true, false, true},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"transport\",\"sent\":false,\"message\":\"x\"}",
	true, false, true},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"timeout\",\"sent\":false,\"message\":\"x\"}",
	true, false, true},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"unavailable\",\"message\":\"x\"}", true, false,
	true},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"bad-record\",\"message\":\"x\"}", true, false,
	true},
    /* nobody may say these on such a connection */
    {"{\"id\":\"7\",\"status\":\"open\",\"lease\":\"l\",\"epoch\":9}", true, false, false},
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{},\"request\":{}}", true, false, false},
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{},\"cap\":\"v4.public.x\"}", true, false, false},
    {"{\"id\":\"7\",\"status\":\"ok\"}", true, false, false},
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":[]}", true, false, false},
    {"{\"id\":\"7\",\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"expired\","
     "\"hop\":\"x\"}",
	true, false, false},
    {"{\"id\":\"7\",\"status\":\"refused\",\"decision\":\"match\",\"reason\":\"none\",\"hop\":"
     "\"x\"}",
	true, false, false},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"op\",\"errno\":\"ENOENT\",\"sent\":false,"
     "\"message\":\"x\"}",
	true, false, false},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"transport\",\"message\":\"x\"}", true, false,
	false},
    {"{\"id\":\"7\",\"op\":\"ping\",\"sandbox\":\"s\",\"args\":{}}", true, false, false},
    {"{\"id\":\"7\"}", true, false, false},
    /* no number to match */
    {"{\"status\":\"ok\",\"result\":{}}", false, false, false},
    {"{\"id\":7,\"status\":\"ok\",\"result\":{}}", false, false, false},
    {"{\"id\":\"07\",\"status\":\"ok\",\"result\":{}}", false, false, false},
    {"{\"id\":\"0\",\"status\":\"ok\",\"result\":{}}", false, false, false},
    {"{\"id\":\"-7\",\"status\":\"ok\",\"result\":{}}", false, false, false},
    {"{\"id\":\"r7\",\"status\":\"ok\",\"result\":{}}", false, false, false},
    {"{\"id\":\"7\",\"id\":\"8\",\"status\":\"ok\",\"result\":{}}", false, false, false},
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{}} x", false, false, false},
    {"[]", false, false, false},
    {"", false, false, false},
};

static void only_what_a_neighbour_may_say_is_believed(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++) {
		struct sp_answer answer = {0};
		bool matched =
		    sp_answer_read(CASES[i].line, strlen(CASES[i].line), &answer, NULL) == 0;

		if (matched != CASES[i].matched || (matched && answer.number != 7))
			fail_msg("case %zu: matched %d", i, (int)matched);
		if (matched && (sp_answer_of_guest(&answer, NULL) == 0) != CASES[i].guest)
			fail_msg("case %zu: guest", i);
		if (matched && (sp_answer_of_manager(&answer, NULL) == 0) != CASES[i].manager)
			fail_msg("case %zu: manager", i);
		sp_answer_done(&answer);
	}
}

static const struct {
	const char *line;
	bool stream;
	int64_t from;
} STREAMS[] = {
    {"{\"id\":\"7\",\"status\":\"open\"}", true, -1},
    {"{\"id\":\"7\",\"status\":\"open\",\"from\":0}", true, 0},
    {"{\"id\":\"7\",\"from\":9007199254740991,\"status\":\"open\"}", true, 9007199254740991},
    {"{\"id\":\"7\",\"status\":\"open\",\"from\":-1}", false, 0},
    {"{\"id\":\"7\",\"status\":\"open\",\"from\":\"0\"}", false, 0},
    {"{\"id\":\"7\",\"status\":\"open\",\"from\":null}", false, 0},
    {"{\"id\":\"7\",\"status\":\"open\",\"lease\":\"l\"}", false, 0},
    {"{\"id\":\"7\",\"status\":\"open\",\"from\":0,\"lease\":\"l\"}", false, 0},
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{}}", false, 0},
};

static void a_guests_open_says_where_its_output_begins_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(STREAMS); i++) {
		struct sp_answer answer;
		int64_t from = 42;

		assert_int_equal(
		    sp_answer_read(STREAMS[i].line, strlen(STREAMS[i].line), &answer, NULL), 0);
		if (sp_answer_of_stream(&answer, &from) != STREAMS[i].stream ||
		    from != (STREAMS[i].stream ? STREAMS[i].from : 42))
			fail_msg("case %zu: from %lld", i, (long long)from);
		assert_int_equal(sp_answer_of_stream(&answer, NULL), STREAMS[i].stream);
		sp_answer_done(&answer);
	}
}

static const struct {
	const char *line, *id, *under;
} RENAMED[] = {
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{\"text\":\"a\\u00e9,}\"}}", "\"r1\"",
	"{\"id\":\"r1\",\"status\":\"ok\",\"result\":{\"text\":\"a\\u00e9,}\"}}"},
    {" { \"result\" : {\"a\" : 1} , \"id\":\"7\",\"status\":\"ok\"}", "\"q\\\"\\u0001\"",
	"{\"id\":\"q\\\"\\u0001\",\"status\":\"ok\",\"result\":{\"a\" : 1}}"},
    {"{\"id\":\"7\",\"status\":\"ok\",\"res\\u0075lt\":{\"a\":1}}", "\"r1\"",
	"{\"id\":\"r1\",\"status\":\"ok\",\"result\":{\"a\":1}}"},
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{\"a\":1}}", NULL,
	"{\"status\":\"ok\",\"result\":{\"a\":1}}"},
    {"{\"id\":\"7\",\"status\":\"ok\",\"result\":{\"a\":\"\\u0041\"}}", NULL,
	"{\"status\":\"ok\",\"result\":{\"a\":\"\\u0041\"}}"},
    {"{\"id\":\"7\",\"status\":\"error\",\"error\":\"op\",\"errno\":\"EIO\",\"message\":\"m\"}",
	"\"r1\"",
	"{\"id\":\"r1\",\"status\":\"error\",\"error\":\"op\",\"errno\":\"EIO\",\"message\":"
	"\"m\"}"},
};

static void an_answer_travels_on_under_the_callers_id(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(RENAMED); i++) {
		sp_auto_free char *text = NULL;
		struct sp_answer answer;
		size_t size = strlen(RENAMED[i].line), under = 0;

		assert_int_equal(sp_answer_read(RENAMED[i].line, size, &answer, NULL), 0);
		text = sp_answer_under(&answer, RENAMED[i].id, &under);
		assert_string_equal(text, RENAMED[i].under);
		assert_int_equal(under, strlen(text));
		sp_answer_done(&answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_what_a_neighbour_may_say_is_believed),
	    cmocka_unit_test(a_guests_open_says_where_its_output_begins_and_nothing_else),
	    cmocka_unit_test(an_answer_travels_on_under_the_callers_id),
	};

	return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
