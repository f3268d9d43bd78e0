/* The table of 06-streams, Lease: row by row, for both kinds, on both substrates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/util.h"
#include "lease/rules.h"

static struct sp_record a_record(enum sp_substrate substrate)
{
	struct sp_record record = {.identity = {.sandbox = "s-42",
				       .route = {.execution = 7,
					   .attempt = 2,
					   .substrate = substrate,
					   .worker = "worker-a",
					   .activation = "act-19"}},
	    .epoch = 5,
	    .version = 9,
	    .owner = "op-7"};

	if (substrate == SP_SUBSTRATE_KUBERNETES)
		strcpy(record.identity.route.pod_uid, "0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b");
	return record;
}

static struct sp_lease_terms terms_of(const struct sp_record *record, enum sp_lease_kind kind)
{
	return (struct sp_lease_terms){kind, record->identity, record->epoch, record->version};
}

/* The verdict's reason; SP_REASON_NONE: it is not cut. */
static enum sp_reason judged(const struct sp_lease_terms *terms, const struct sp_record *record,
    enum sp_lease_between between, enum sp_lease_verdict expected)
{
	enum sp_reason reason = SP_REASON_NONE;

	assert_int_equal(sp_lease_judge(terms, record, between, &reason), expected);
	return reason;
}

typedef void change_fn(struct sp_record *record);

static void owner_only(struct sp_record *record)
{
	strcpy(record->owner, "op-8");
}
static void attempt_only(struct sp_record *record)
{
	record->epoch++;
	record->identity.route.attempt++;
}
static void activation(struct sp_record *record)
{
	record->epoch++;
	strcpy(record->identity.route.activation, "act-20");
}
static void worker(struct sp_record *record)
{
	record->epoch++;
	strcpy(record->identity.route.worker, "worker-b");
}
static void execution(struct sp_record *record)
{
	record->epoch++;
	record->identity.route.execution++;
}
static void substrate(struct sp_record *record)
{
	record->epoch++;
	record->identity.route.substrate = !record->identity.route.substrate;
}
static void retired(struct sp_record *record)
{
	record->epoch++;
	record->retired = true;
}
static void fence(struct sp_record *record)
{
	record->fenced_at = 1000;
}
static void fence_cut(struct sp_record *record)
{
	record->fenced_at = 1000;
	record->cut_version = record->version;
}

static const struct {
	change_fn *change;
	enum sp_reason control, gateway; /* SP_REASON_NONE: stays */
} ROWS[] = {
    {owner_only, SP_REASON_NONE, SP_REASON_NONE},
    {attempt_only, SP_REASON_ATTEMPT, SP_REASON_NONE},
    {activation, SP_REASON_ACTIVATION, SP_REASON_ACTIVATION},
    {worker, SP_REASON_WORKER, SP_REASON_WORKER},
    {execution, SP_REASON_EXECUTION, SP_REASON_EXECUTION},
    {substrate, SP_REASON_SUBSTRATE, SP_REASON_SUBSTRATE},
    {retired, SP_REASON_RETIRED, SP_REASON_RETIRED},
    {fence, SP_REASON_NONE, SP_REASON_NONE},
    {fence_cut, SP_REASON_FENCED, SP_REASON_FENCED},
};

static void each_row_on_each_substrate(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(ROWS); i++)
		for (int on = 0; on < 2; on++)
			for (int kind = 0; kind < 2; kind++) {
				struct sp_record record = a_record((enum sp_substrate)on);
				struct sp_lease_terms terms =
				    terms_of(&record, (enum sp_lease_kind)kind);
				enum sp_reason wanted =
				    kind == SP_LEASE_CONTROL ? ROWS[i].control : ROWS[i].gateway;
				record.version++;
				ROWS[i].change(&record);
				enum sp_lease_verdict verdict = wanted ? SP_LEASE_CUT
								: record.epoch != terms.epoch
								    ? SP_LEASE_GOES_ON
								    : SP_LEASE_STAYS;
				assert_int_equal(
				    judged(&terms, &record, SP_BETWEEN_NOTHING, verdict), wanted);
			}
}

static void a_pod_that_changed_cuts_both(void **state)
{
	struct sp_record record = a_record(SP_SUBSTRATE_KUBERNETES);
	struct sp_lease_terms terms = terms_of(&record, SP_LEASE_GATEWAY);

	(void)state;
	record.version++;
	record.epoch++;
	record.identity.route.pod_uid[0] = 'f';
	assert_int_equal(
	    judged(&terms, &record, SP_BETWEEN_NOTHING, SP_LEASE_CUT), SP_REASON_POD_UID);
}

static void a_record_that_is_gone_cuts_both(void **state)
{
	struct sp_record record = a_record(SP_SUBSTRATE_HOST);
	struct sp_lease_terms terms = terms_of(&record, SP_LEASE_GATEWAY);

	(void)state;
	assert_int_equal(judged(&terms, NULL, SP_BETWEEN_NOTHING, SP_LEASE_CUT), SP_REASON_ABSENT);
	terms.kind = SP_LEASE_CONTROL;
	assert_int_equal(judged(&terms, NULL, SP_BETWEEN_NOTHING, SP_LEASE_CUT), SP_REASON_ABSENT);
}

/* A fence that cut before the lease was opened says nothing about it. */
static void only_leases_opened_before_the_fence_are_cut(void **state)
{
	struct sp_record record = a_record(SP_SUBSTRATE_HOST);
	struct sp_lease_terms terms;

	(void)state;
	record.cut_version = record.version;
	terms = terms_of(&record, SP_LEASE_CONTROL);
	record.version++;
	assert_int_equal(
	    judged(&terms, &record, SP_BETWEEN_NOTHING, SP_LEASE_STAYS), SP_REASON_NONE);
	terms.version--;
	assert_int_equal(
	    judged(&terms, &record, SP_BETWEEN_NOTHING, SP_LEASE_CUT), SP_REASON_FENCED);
}

/* The route is the lease's again, but what lay between was another. */
static void a_route_that_came_back_is_not_the_same(void **state)
{
	struct sp_record record = a_record(SP_SUBSTRATE_HOST);
	struct sp_lease_terms control = terms_of(&record, SP_LEASE_CONTROL);
	struct sp_lease_terms gateway = terms_of(&record, SP_LEASE_GATEWAY);

	(void)state;
	record.version += 2;
	record.epoch += 2;
	assert_int_equal(
	    judged(&control, &record, SP_BETWEEN_ATTEMPTS, SP_LEASE_CUT), SP_REASON_ATTEMPT);
	assert_int_equal(
	    judged(&gateway, &record, SP_BETWEEN_ATTEMPTS, SP_LEASE_GOES_ON), SP_REASON_NONE);
	assert_int_equal(
	    judged(&gateway, &record, SP_BETWEEN_REPLACED, SP_LEASE_CUT), SP_REASON_ACTIVATION);
	assert_int_equal(
	    judged(&gateway, &record, SP_BETWEEN_UNKNOWN, SP_LEASE_CUT), SP_REASON_ACTIVATION);
	/* Taken away, and installed anew with numbers that start over. */
	record.epoch = control.epoch;
	assert_int_equal(
	    judged(&control, &record, SP_BETWEEN_REPLACED, SP_LEASE_CUT), SP_REASON_ACTIVATION);
	assert_int_equal(
	    judged(&control, &record, SP_BETWEEN_UNKNOWN, SP_LEASE_CUT), SP_REASON_ACTIVATION);
	assert_int_equal(
	    judged(&gateway, &record, SP_BETWEEN_UNKNOWN, SP_LEASE_CUT), SP_REASON_ACTIVATION);
	record.epoch = 1;
	assert_int_equal(
	    judged(&gateway, &record, SP_BETWEEN_UNKNOWN, SP_LEASE_CUT), SP_REASON_ACTIVATION);
}

static void kinds_have_names(void **state)
{
	enum sp_lease_kind kind = SP_LEASE_CONTROL;

	(void)state;
	assert_string_equal(sp_lease_kind_name(SP_LEASE_GATEWAY), "gateway");
	assert_true(sp_lease_kind_parse("gateway", &kind));
	assert_int_equal(kind, SP_LEASE_GATEWAY);
	assert_false(sp_lease_kind_parse("Gateway", &kind));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_row_on_each_substrate),
	    cmocka_unit_test(a_pod_that_changed_cuts_both),
	    cmocka_unit_test(a_record_that_is_gone_cuts_both),
	    cmocka_unit_test(only_leases_opened_before_the_fence_are_cut),
	    cmocka_unit_test(a_route_that_came_back_is_not_the_same),
	    cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
