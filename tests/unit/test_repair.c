/* The retry table: every operation with every ending, as 07-operations has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/repair.h"

/* Written from the page, not from the code: rebuilt, retried unsent, retried when possibly sent. */
static const struct {
	const char *op;
	const char *rights;
} ROWS[] = {
    {"ping", "yyy"},
    {"guest.info", "yyy"},
    {"file.read", "yyy"},
    {"file.stat", "yyy"},
    {"file.list", "yyy"},
    {"file.write", "yyn"},
    {"file.mkdir", "yyn"},
    {"file.rename", "yyn"},
    {"file.remove", "yyn"},
    {"file.chmod", "yyn"},
    {"tree.get", "yyn"},
    {"tree.put", "yyn"},
    {"file.watch", "yyy"},
    {"exec.run", "yyn"},
    {"exec.start", "yyn"},
    {"terminal.open", "yyn"},
    {"exec.list", "yyy"},
    {"exec.signal", "nnn"},
    {"terminal.resize", "nnn"},
    {"exec.attach", "yyy"},
    {"port.connect", "yyn"},
    {"lease.status", "nyy"},
    {"lease.list", "nyy"},
    {"lease.cancel", "nyy"},
};

static void every_operation_with_every_ending(void **state)
{
	size_t known = 0;

	(void)state;
	while (sp_op_at(known))
		known++;
	assert_int_equal(known, SP_COUNT(ROWS));
	for (size_t i = 0; i < SP_COUNT(ROWS); i++) {
		const struct sp_op *op = sp_op_find(ROWS[i].op);
		const char *may = ROWS[i].rights;
		assert_int_equal(sp_repair_decide(op, 1, SP_ENDING_REFRESH),
		    may[0] == 'y' ? SP_REPAIR_REBUILD : SP_REPAIR_PASS);
		assert_int_equal(sp_repair_decide(op, 1, SP_ENDING_UNSENT),
		    may[1] == 'y' ? SP_REPAIR_RETRY : SP_REPAIR_PASS);
		assert_int_equal(sp_repair_decide(op, 1, SP_ENDING_SENT),
		    may[2] == 'y' ? SP_REPAIR_RETRY : SP_REPAIR_PASS);
		assert_int_equal(sp_repair_decide(op, 1, SP_ENDING_DENY), SP_REPAIR_PASS);
		assert_int_equal(sp_repair_decide(op, 1, SP_ENDING_OTHER), SP_REPAIR_PASS);
		for (enum sp_ending ending = SP_ENDING_OTHER; ending <= SP_ENDING_SENT; ending++)
			assert_int_equal(sp_repair_decide(op, 2, ending), SP_REPAIR_PASS);
	}
}

static void the_ending_of_every_shape_of_answer(void **state)
{
	static const struct {
		const char *text;
		enum sp_ending ending;
	} rows[] = {
	    {"{\"status\":\"ok\",\"result\":{}}", SP_ENDING_OTHER},
	    {"{\"status\":\"open\",\"lease\":\"l\",\"epoch\":1}", SP_ENDING_OTHER},
	    {"{\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"execution\","
	     "\"hop\":\"h\",\"behind\":\"receiver\"}",
		SP_ENDING_REFRESH},
	    {"{\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"absent\","
	     "\"hop\":\"h\"}",
		SP_ENDING_REFRESH},
	    {"{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"expired\",\"hop\":\"h\"}",
		SP_ENDING_DENY},
	    {"{\"status\":\"error\",\"error\":\"transport\",\"sent\":false,\"message\":\"m\"}",
		SP_ENDING_UNSENT},
	    {"{\"status\":\"error\",\"error\":\"transport\",\"sent\":true,\"message\":\"m\"}",
		SP_ENDING_SENT},
	    {"{\"status\":\"error\",\"error\":\"timeout\",\"sent\":false,\"message\":\"m\"}",
		SP_ENDING_UNSENT},
	    {"{\"status\":\"error\",\"error\":\"timeout\",\"sent\":true,\"message\":\"m\"}",
		SP_ENDING_SENT},
	    {"{\"status\":\"error\",\"error\":\"overloaded\",\"message\":\"m\"}", SP_ENDING_OTHER},
	    {"{\"status\":\"error\",\"error\":\"unavailable\",\"message\":\"m\"}", SP_ENDING_OTHER},
	    {"{\"status\":\"error\",\"error\":\"too-large\",\"message\":\"m\"}", SP_ENDING_OTHER},
	    {"{\"status\":\"error\",\"error\":\"internal\",\"message\":\"m\"}", SP_ENDING_OTHER},
	    {"{\"status\":\"error\",\"error\":\"bad-record\",\"message\":\"m\"}", SP_ENDING_OTHER},
	    {"{\"status\":\"error\",\"error\":\"op\",\"errno\":\"ENOENT\",\"message\":\"m\"}",
		SP_ENDING_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		sp_auto_json json_t *record = json_loads(rows[i].text, 0, NULL);
		enum sp_ending ending;
		assert_int_equal(sp_ending_of(record, &ending, NULL), 0);
		assert_int_equal(ending, rows[i].ending);
	}
}

static void what_is_no_answer_has_no_ending(void **state)
{
	static const char *const rows[] = {
	    "{\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"sandbox\","
	    "\"hop\":\"h\"}",
	    "{\"status\":\"refused\",\"decision\":\"match\",\"reason\":\"execution\","
	    "\"hop\":\"h\"}",
	    "{\"status\":\"error\",\"error\":\"overloaded\",\"sent\":false,\"message\":\"m\"}",
	    "{\"status\":\"error\",\"error\":\"transport\",\"message\":\"m\"}",
	    "{\"status\":\"ok\"}",
	    "{\"status\":\"fine\",\"result\":{}}",
	    "{}",
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		sp_auto_json json_t *record = json_loads(rows[i], 0, NULL);
		enum sp_ending ending = SP_ENDING_DENY;
		assert_int_equal(sp_ending_of(record, &ending, NULL), SP_E_BAD_RECORD);
		assert_int_equal(ending, SP_ENDING_DENY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_operation_with_every_ending),
	    cmocka_unit_test(the_ending_of_every_shape_of_answer),
	    cmocka_unit_test(what_is_no_answer_has_no_ending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
