/* Admission, steps 7 and 8: each reason, the order between them, the edges of the fence, the time
 * of verification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "admit/admit.h"
#include "base/util.h"

#define ISSUED 1000000

static const struct sp_identity SEVEN = {
    "s-42", {.execution = 7,
		.attempt = 2,
		.substrate = SP_SUBSTRATE_KUBERNETES,
		.worker = "worker-a",
		.pod_uid = "0b9f0000-0000-4000-8000-000000000000",
		.activation = "act-19"}};

/* One way in which record, request or journal differ from what was selected. */
enum change {
	SAME,
	OTHER_REQUEST,
	NAMELESS_REQUEST,
	NO_RECORD,
	OTHER_RECORD,
	RETIRED,
	SUBSTRATE,
	EXECUTION_LOWER,
	EXECUTION_HIGHER,
	WORKER,
	POD_UID,
	ACTIVATION,
	ATTEMPT,
	USED,
	FENCED_BEFORE, /* 16 s before it was issued */
	FENCED_SLACK,  /* 15 s before */
	FENCED_AFTER,
	OWNER,
};

static void change(struct sp_record *record, enum change what)
{
	struct sp_route *route = &record->identity.route;

	switch (what) {
	case OTHER_RECORD:
		strcpy(record->identity.sandbox, "s-43");
		break;
	case RETIRED:
		record->retired = true;
		break;
	case SUBSTRATE:
		route->substrate = SP_SUBSTRATE_HOST;
		route->pod_uid[0] = '\0';
		break;
	case EXECUTION_LOWER:
		route->execution = 6;
		break;
	case EXECUTION_HIGHER:
		route->execution = 8;
		break;
	case WORKER:
		strcpy(route->worker, "worker-b");
		break;
	case POD_UID:
		route->pod_uid[0] = '1';
		break;
	case ACTIVATION:
		strcpy(route->activation, "act-20");
		break;
	case ATTEMPT:
		route->attempt = 3;
		break;
	case FENCED_BEFORE:
		record->fenced_at = ISSUED - 16;
		break;
	case FENCED_SLACK:
		record->fenced_at = ISSUED - 15;
		break;
	case FENCED_AFTER:
		record->fenced_at = ISSUED + 40;
		break;
	case OWNER:
		strcpy(record->owner, "op-8");
		break;
	default:
		break;
	}
}

static const struct {
	enum change changes[3];
	enum sp_use use;
	enum sp_reason reason;
	enum sp_behind behind;
} CASES[] = {
    {{SAME}, SP_USE_OPEN, SP_REASON_NONE, SP_BEHIND_NONE},
    {{OWNER}, SP_USE_OPEN, SP_REASON_NONE, SP_BEHIND_NONE},
    {{NAMELESS_REQUEST}, SP_USE_OPEN, SP_REASON_NONE, SP_BEHIND_NONE},
    {{OTHER_REQUEST}, SP_USE_OPEN, SP_REASON_SANDBOX, SP_BEHIND_NONE},
    {{OTHER_RECORD}, SP_USE_OPEN, SP_REASON_SANDBOX, SP_BEHIND_NONE},
    {{NO_RECORD}, SP_USE_OPEN, SP_REASON_ABSENT, SP_BEHIND_NONE},
    {{RETIRED}, SP_USE_OPEN, SP_REASON_RETIRED, SP_BEHIND_NONE},
    {{SUBSTRATE}, SP_USE_OPEN, SP_REASON_SUBSTRATE, SP_BEHIND_NONE},
    {{EXECUTION_LOWER}, SP_USE_OPEN, SP_REASON_EXECUTION, SP_BEHIND_RECEIVER},
    {{EXECUTION_HIGHER}, SP_USE_OPEN, SP_REASON_EXECUTION, SP_BEHIND_CALLER},
    {{WORKER}, SP_USE_OPEN, SP_REASON_WORKER, SP_BEHIND_NONE},
    {{POD_UID}, SP_USE_OPEN, SP_REASON_POD_UID, SP_BEHIND_NONE},
    {{ACTIVATION}, SP_USE_OPEN, SP_REASON_ACTIVATION, SP_BEHIND_NONE},
    {{ATTEMPT}, SP_USE_OPEN, SP_REASON_ATTEMPT, SP_BEHIND_NONE},
    {{ATTEMPT}, SP_USE_ESTABLISHED_CONTROL, SP_REASON_ATTEMPT, SP_BEHIND_NONE},
    {{ATTEMPT}, SP_USE_ESTABLISHED_GATEWAY, SP_REASON_NONE, SP_BEHIND_NONE},
    {{FENCED_BEFORE}, SP_USE_OPEN, SP_REASON_NONE, SP_BEHIND_NONE},
    {{FENCED_SLACK}, SP_USE_OPEN, SP_REASON_FENCED, SP_BEHIND_NONE},
    {{FENCED_AFTER}, SP_USE_OPEN, SP_REASON_FENCED, SP_BEHIND_NONE},
    {{USED}, SP_USE_OPEN, SP_REASON_REPLAYED, SP_BEHIND_NONE},
    /* the order: what comes first in the text speaks */
    {{OTHER_REQUEST, NO_RECORD}, SP_USE_OPEN, SP_REASON_SANDBOX, SP_BEHIND_NONE},
    {{OTHER_REQUEST, EXECUTION_HIGHER}, SP_USE_OPEN, SP_REASON_SANDBOX, SP_BEHIND_NONE},
    {{RETIRED, EXECUTION_HIGHER}, SP_USE_OPEN, SP_REASON_RETIRED, SP_BEHIND_NONE},
    {{EXECUTION_HIGHER, WORKER}, SP_USE_OPEN, SP_REASON_EXECUTION, SP_BEHIND_CALLER},
    {{SUBSTRATE, EXECUTION_LOWER}, SP_USE_OPEN, SP_REASON_SUBSTRATE, SP_BEHIND_NONE},
    {{RETIRED, FENCED_AFTER}, SP_USE_OPEN, SP_REASON_RETIRED, SP_BEHIND_NONE},
    {{ATTEMPT, FENCED_AFTER}, SP_USE_OPEN, SP_REASON_ATTEMPT, SP_BEHIND_NONE},
    {{ATTEMPT, USED}, SP_USE_OPEN, SP_REASON_ATTEMPT, SP_BEHIND_NONE},
    {{FENCED_AFTER, USED}, SP_USE_OPEN, SP_REASON_FENCED, SP_BEHIND_NONE},
};

static void each_case_has_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++) {
		struct sp_claims claims = {.identity = SEVEN, .issued_at = ISSUED};
		struct sp_record record = {.identity = SEVEN, .epoch = 9, .version = 14};
		struct sp_admit_question question = {
		    .claims = &claims, .sandbox = "s-42", .record = &record, .use = CASES[i].use};

		for (size_t j = 0; j < SP_COUNT(CASES[i].changes); j++) {
			enum change what = CASES[i].changes[j];
			change(&record, what);
			question.used |= what == USED;
			if (what == OTHER_REQUEST)
				question.sandbox = "s-43";
			else if (what == NAMELESS_REQUEST)
				question.sandbox = NULL;
			else if (what == NO_RECORD)
				question.record = NULL;
		}
		struct sp_admission admission = sp_admit(&question);
		if (admission.reason != CASES[i].reason || admission.behind != CASES[i].behind)
			fail_msg("case %zu: reason %d behind %d", i, (int)admission.reason,
			    (int)admission.behind);
	}
}

static void the_sandbox_is_asked_without_a_record(void **state)
{
	struct sp_claims claims = {.identity = SEVEN};

	(void)state;
	assert_int_equal(sp_admit_sandbox(&claims, "s-42"), SP_REASON_NONE);
	assert_int_equal(sp_admit_sandbox(&claims, "s-4"), SP_REASON_SANDBOX);
	assert_int_equal(sp_admit_sandbox(&claims, "S-42"), SP_REASON_SANDBOX);
	assert_int_equal(sp_admit_sandbox(&claims, NULL), SP_REASON_NONE);
}

static void single_use_time_never_falls_below_the_journal(void **state)
{
	const struct sp_op *run = sp_op_find("exec.run"), *read = sp_op_find("file.read");

	(void)state;
	assert_int_equal(sp_admit_time(run, 100, 250), 250);
	assert_int_equal(sp_admit_time(run, 300, 250), 300);
	assert_int_equal(sp_admit_time(read, 100, 250), 100);
}

static void the_use_follows_from_the_operation(void **state)
{
	struct sp_cap_use use = sp_admit_use(sp_op_find("exec.run"));

	(void)state;
	assert_int_equal(use.purpose, SP_PURPOSE_CONTROL);
	assert_string_equal(use.op, "exec.run");
	assert_null(use.session);
	assert_int_equal(use.port, 0);
	assert_int_equal(use.protocol, -1);
	assert_int_equal(sp_admit_use(sp_op_find("port.connect")).purpose, SP_PURPOSE_SERVICE_PORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_case_has_its_reason),
	    cmocka_unit_test(the_sandbox_is_asked_without_a_record),
	    cmocka_unit_test(single_use_time_never_falls_below_the_journal),
	    cmocka_unit_test(the_use_follows_from_the_operation),
	};

	return cmocka_run_group_tests_name("admit", tests, NULL, NULL);
}
