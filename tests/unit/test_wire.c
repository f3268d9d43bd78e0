/* The line from send to forward: the quick reading and the slow one have the same results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "record/wire.h"

static const struct {
	const char *line;
	bool well, quick;
	const char *id, *args; /* as they go on */
} CASES[] = {
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{\"path\":\"/x\"},\"cap\":"
     "\"v4.public.x\"}",
	true, true, "\"1\"", "{\"path\":\"/x\"}"},
    {" {\"cap\" : \"v4.public.x\" , \"args\" : { \"a\" : [ ] } ,\"sandbox\":\"s-42\", "
     "\"op\":\"file.read\",\"id\":\"caf\xc3\xa9\"} ",
	true, true, "\"caf\xc3\xa9\"", "{ \"a\" : [ ] }"},
    {"{\"id\":\"a\\\"b\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{},\"cap\":"
     "\"v4.public.x\"}",
	true, false, "\"a\\\"b\"", "{}"},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"ar\\u0067s\":{ \"a\" : 1 },\"cap\":"
     "\"v4.public.x\"}",
	true, false, "\"1\"", "{\"a\":1}"},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{\"a\":\"\\ud83d\\ude00\"},"
     "\"cap\":\"v4.public.x\"}",
	true, false, "\"1\"", "{\"a\":\"\\ud83d\\ude00\"}"},
    /* bad in both */
    {"{\"id\":\"\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{},\"cap\":\"x\"}", false,
	false, NULL, NULL},
    {"{\"id\":1,\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{},\"cap\":\"x\"}", false, false,
	NULL, NULL},
    {"{\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{},\"cap\":\"x\"}", false, false, NULL,
	NULL},
    {"{\"id\":\"1\",\"op\":\"file.rea\",\"sandbox\":\"s-42\",\"args\":{},\"cap\":\"x\"}", false,
	false, NULL, NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"-42\",\"args\":{},\"cap\":\"x\"}", false,
	false, NULL, NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"\",\"args\":{},\"cap\":\"x\"}", false, false,
	NULL, NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":[],\"cap\":\"x\"}", false,
	false, NULL, NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{},\"cap\":null}", false,
	false, NULL, NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{}}", false, false, NULL,
	NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{},\"cap\":\"x\",\"route\":"
     "{}}",
	false, false, NULL, NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{},\"caq\":\"x\"}", false,
	false, NULL, NULL},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{\"a\":1,\"a\":1},\"cap\":"
     "\"x\"}",
	false, false, NULL, NULL},
    {"", false, false, NULL, NULL},
};

static void quick_and_slow_have_the_same_results(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++) {
		sp_auto_free char *line = strdup(CASES[i].line);
		sp_auto_json json_t *slow = NULL;
		struct sp_request request;
		struct sp_wire wire;
		size_t size = strlen(CASES[i].line);
		bool well = sp_json_parse(line, size, &slow, NULL) == 0 &&
			    sp_request_parse_wire(slow, &request, NULL) == 0;

		if ((sp_wire_read(line, size, &wire, NULL) == 0) != CASES[i].well ||
		    well != CASES[i].well)
			fail_msg("case %zu", i);
		if (!well) {
			assert_string_equal(line, CASES[i].line);
			continue;
		}
		if ((wire.record == NULL) != CASES[i].quick)
			fail_msg("case %zu: read another way", i);
		assert_string_equal(wire.request.id, request.id);
		assert_string_equal(wire.request.sandbox, request.sandbox);
		assert_string_equal(wire.request.cap, request.cap);
		assert_ptr_equal(wire.request.op, request.op);
		assert_int_equal(wire.id_size, strlen(CASES[i].id));
		assert_memory_equal(wire.id, CASES[i].id, wire.id_size);
		assert_int_equal(wire.args_size, strlen(CASES[i].args));
		assert_memory_equal(wire.args, CASES[i].args, wire.args_size);
		sp_wire_done(&wire);
	}
}

static void an_id_is_measured(void **state)
{
	char line[512];

	(void)state;
	for (int length = 127; length <= 129; length++) {
		struct sp_wire wire;
		int n = snprintf(line, sizeof(line),
		    "{\"id\":\"%0*d\",\"op\":\"ping\",\"sandbox\":\"s\",\"args\":{},\"cap\":\"x\"}",
		    length, 0);
		int bad = sp_wire_read(line, (size_t)n, &wire, NULL);
		assert_int_equal(bad, length <= 128 ? 0 : SP_E_BAD_RECORD);
		if (!bad)
			sp_wire_done(&wire);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quick_and_slow_have_the_same_results),
	    cmocka_unit_test(an_id_is_measured),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
