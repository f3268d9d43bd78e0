/* The table of decisions, reasons and exit codes, spelled out a second time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/reason.h"

static const struct {
	const char *decision, *reason;
	int exit;
} ROWS[] = {
    {"refresh-route", "execution", 10},
    {"refresh-route", "worker", 10},
    {"refresh-route", "substrate", 10},
    {"refresh-route", "pod_uid", 10},
    {"refresh-route", "activation", 10},
    {"refresh-route", "attempt", 10},
    {"refresh-route", "retired", 10},
    {"refresh-route", "absent", 10},
    {"deny", "malformed", 11},
    {"deny", "unknown-key", 11},
    {"deny", "revoked-key", 11},
    {"deny", "signature", 11},
    {"deny", "not-yet-valid", 11},
    {"deny", "expired", 11},
    {"deny", "lifetime", 11},
    {"deny", "purpose", 11},
    {"deny", "access", 11},
    {"deny", "port", 11},
    {"deny", "protocol", 11},
    {"deny", "session", 11},
    {"deny", "fenced", 11},
    {"deny", "replayed", 11},
    {"deny", "sandbox", 11},
    {"deny", "unauthorized", 11},
    {"deny", "peer-credentials", 11},
    {"deny", "bridge-process", 11},
    {"deny", "bridge-executable", 11},
    {"deny", "vmm-process", 11},
    {"deny", "vmm-executable", 11},
    {"deny", "listener-owner", 11},
    {"deny", "listener-replaced", 11},
    {"deny", "guest-identity", 11},
    {"deny", "evidence-unavailable", 11},
};

static void every_row_reads_as_it_is_written(void **state)
{
	(void)state;
	assert_int_equal(SP_COUNT(ROWS), SP_REASON_COUNT - 1);
	for (size_t i = 0; i < SP_COUNT(ROWS); i++) {
		enum sp_reason reason = SP_REASON_NONE;
		assert_true(sp_reason_parse(ROWS[i].decision, ROWS[i].reason, &reason));
		assert_int_equal(reason, i + 1);
		assert_string_equal(sp_reason_name(reason), ROWS[i].reason);
		assert_string_equal(sp_decision_name(sp_reason_decision(reason)), ROWS[i].decision);
		assert_int_equal(sp_reason_exit(reason), ROWS[i].exit);
	}
}

static void a_match_has_no_reason(void **state)
{
	(void)state;
	assert_null(sp_reason_name(SP_REASON_NONE));
	assert_string_equal(sp_decision_name(sp_reason_decision(SP_REASON_NONE)), "match");
	assert_int_equal(sp_reason_exit(SP_REASON_NONE), 0);
}

static void what_is_no_row_is_no_decision(void **state)
{
	static const struct {
		const char *decision, *reason;
	} cases[] = {
	    {"deny", "execution"},
	    {"refresh-route", "sandbox"},
	    {"refresh-route", "expired"},
	    {"match", "execution"},
	    {"match", ""},
	    {"", "sandbox"},
	    {"deny", ""},
	    {"Deny", "sandbox"},
	    {"deny", "Sandbox"},
	    {"deny", "sandbox "},
	    {"deny", "unknown"},
	    {"deny", "pod-uid"},
	};
	enum sp_reason reason = SP_REASON_COUNT;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		assert_false(sp_reason_parse(cases[i].decision, cases[i].reason, &reason));
	assert_int_equal(reason, SP_REASON_COUNT);
}

static void errors(void **state)
{
	static const struct {
		const char *name;
		int exit;
	} rows[] = {
	    {"bad-record", 3},
	    {"transport", 1},
	    {"timeout", 1},
	    {"op", 1},
	    {"overloaded", 1},
	    {"too-large", 1},
	    {"unavailable", 1},
	    {"internal", 1},
	};
	enum sp_error_kind kind = SP_ERROR_COUNT;

	(void)state;
	assert_int_equal(SP_COUNT(rows), SP_ERROR_COUNT);
	assert_false(sp_error_parse("", &kind));
	assert_false(sp_error_parse("Transport", &kind));
	assert_false(sp_error_parse("bad record", &kind));
	assert_int_equal(kind, SP_ERROR_COUNT);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		assert_true(sp_error_parse(rows[i].name, &kind));
		assert_int_equal(kind, i);
		assert_string_equal(sp_error_name(kind), rows[i].name);
		assert_int_equal(sp_error_exit(kind), rows[i].exit);
	}
}

/* The order of 01-records: each code against every other, both ways round. */
static void of_two_exit_codes_the_first_in_the_order_speaks(void **state)
{
	static const int order[] = {2, 3, 11, 10, 12, 14, 1, 0};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(order); i++)
		for (size_t j = i; j < SP_COUNT(order); j++) {
			assert_int_equal(sp_exit_worse(order[i], order[j]), order[i]);
			assert_int_equal(sp_exit_worse(order[j], order[i]), order[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_row_reads_as_it_is_written),
	    cmocka_unit_test(a_match_has_no_reason),
	    cmocka_unit_test(what_is_no_row_is_no_decision),
	    cmocka_unit_test(errors),
	    cmocka_unit_test(of_two_exit_codes_the_first_in_the_order_speaks),
	};

	return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
