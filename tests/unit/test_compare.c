/* The comparison (03-identity): each row by hand, the order of the rows, then every line of the
 * vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "record/compare.h"
#include "record/json.h"

#define VECTORS "tests/vectors/compare.jsonl"

static struct sp_identity identity(void)
{
	return (struct sp_identity){.sandbox = "s-42",
	    .route = {.execution = 7,
		.attempt = 1,
		.substrate = SP_SUBSTRATE_KUBERNETES,
		.worker = "worker-a",
		.pod_uid = "0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b",
		.activation = "act-19"}};
}

static void change_field(struct sp_route *route, unsigned field)
{
	if (field & SP_FIELD_SUBSTRATE)
		route->substrate = SP_SUBSTRATE_HOST;
	if (field & SP_FIELD_EXECUTION)
		route->execution++;
	if (field & SP_FIELD_WORKER)
		strcpy(route->worker, "worker-b");
	if (field & SP_FIELD_POD_UID)
		route->pod_uid[0] = 'f';
	if (field & SP_FIELD_ACTIVATION)
		strcpy(route->activation, "act-20");
	if (field & SP_FIELD_ATTEMPT)
		route->attempt++;
}

/* The lowest differing field speaks, whatever differs after it: all 64 sets, each use. */
static void the_first_differing_field_gives_the_reason(void **state)
{
	static const enum sp_reason reasons[] = {SP_REASON_SUBSTRATE, SP_REASON_EXECUTION,
	    SP_REASON_WORKER, SP_REASON_POD_UID, SP_REASON_ACTIVATION, SP_REASON_ATTEMPT};

	(void)state;
	for (unsigned set = 0; set < 64; set++)
		for (enum sp_use use = SP_USE_OPEN; use <= SP_USE_ESTABLISHED_GATEWAY; use++) {
			struct sp_identity selected = identity(), installed = identity();
			enum sp_reason expected = SP_REASON_NONE;
			change_field(&installed.route, set);
			for (unsigned i = 0; i < 6 && !expected; i++)
				if (set & 1u << i)
					expected = reasons[i];
			if (set == SP_FIELD_ATTEMPT && use == SP_USE_ESTABLISHED_GATEWAY)
				expected = SP_REASON_NONE;
			struct sp_comparison got = sp_compare(&selected, &installed, false, use);
			assert_int_equal(got.reason, expected);
			assert_int_equal(got.decision, expected ? SP_REFRESH_ROUTE : SP_MATCH);
			assert_true(got.has_differs);
			assert_int_equal(got.differs, set);
			assert_int_equal(got.behind,
			    expected == SP_REASON_EXECUTION ? SP_BEHIND_CALLER : SP_BEHIND_NONE);
		}
}

static void sandbox_then_absent_then_retired_come_first(void **state)
{
	struct sp_identity selected = identity(), installed = identity();
	struct sp_comparison got;

	(void)state;
	change_field(&installed.route, 63);
	got = sp_compare(&selected, &installed, true, SP_USE_OPEN);
	assert_int_equal(got.reason, SP_REASON_RETIRED);
	assert_int_equal(got.decision, SP_REFRESH_ROUTE);
	assert_int_equal(got.differs, 63);
	assert_int_equal(got.behind, SP_BEHIND_NONE);
	strcpy(installed.sandbox, "s-43");
	got = sp_compare(&selected, &installed, true, SP_USE_OPEN);
	assert_int_equal(got.reason, SP_REASON_SANDBOX);
	assert_int_equal(got.decision, SP_DENY);
	assert_false(got.has_differs);
	got = sp_compare(&selected, NULL, false, SP_USE_OPEN);
	assert_int_equal(got.reason, SP_REASON_ABSENT);
	assert_int_equal(got.decision, SP_REFRESH_ROUTE);
	assert_false(got.has_differs);
}

static void behind_says_who_is_older(void **state)
{
	struct sp_identity selected = identity(), installed = identity();

	(void)state;
	selected.route.execution = 8;
	assert_int_equal(
	    sp_compare(&selected, &installed, false, SP_USE_OPEN).behind, SP_BEHIND_RECEIVER);
	selected.route.execution = 6;
	assert_int_equal(
	    sp_compare(&selected, &installed, false, SP_USE_OPEN).behind, SP_BEHIND_CALLER);
}

static void check_differs(const struct sp_comparison *got, const json_t *expected)
{
	const char *name;
	unsigned n = 0;

	assert_int_equal(got->has_differs, expected != NULL);
	while ((name = sp_differs_name(got->differs, n)) != NULL)
		assert_string_equal(name, json_string_value(json_array_get(expected, n++)));
	assert_int_equal(n, json_array_size(expected));
}

static void check_vector(const json_t *line)
{
	const json_t *c = json_object_get(line, "case"), *expect = json_object_get(line, "expect");
	const char *reason = json_string_value(json_object_get(expect, "reason"));
	const char *behind = json_string_value(json_object_get(expect, "behind"));
	json_t *installed = json_object_get(c, "installed");
	struct sp_identity ours, theirs;
	struct sp_comparison got;
	enum sp_use use;
	bool retired = false;

	assert_int_equal(sp_identity_parse(json_object_get(c, "selected"), &ours, NULL), 0);
	if (json_is_object(installed)) {
		retired =
		    strcmp(json_string_value(json_object_get(installed, "state")), "retired") == 0;
		json_object_del(installed, "state");
		assert_int_equal(sp_identity_parse(installed, &theirs, NULL), 0);
	}
	assert_true(sp_use_parse(json_string_value(json_object_get(c, "use")), &use));
	got = sp_compare(&ours, json_is_object(installed) ? &theirs : NULL, retired, use);
	assert_string_equal(
	    sp_decision_name(got.decision), json_string_value(json_object_get(expect, "decision")));
	assert_int_equal(got.reason != SP_REASON_NONE, reason != NULL);
	if (reason)
		assert_string_equal(sp_reason_name(got.reason), reason);
	assert_int_equal(got.behind != SP_BEHIND_NONE, behind != NULL);
	if (behind)
		assert_string_equal(sp_behind_name(got.behind), behind);
	check_differs(&got, json_object_get(expect, "differs"));
}

static void every_vector_holds(void **state)
{
	FILE *file = fopen(VECTORS, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t size;
	int lines = 0;

	(void)state;
	assert_non_null(file);
	while ((size = getline(&text, &room, file)) > 0) {
		json_t *line = NULL;
		assert_int_equal(sp_json_parse(text, (size_t)size, &line, NULL), 0);
		check_vector(line);
		json_decref(line);
		lines++;
	}
	assert_int_equal(lines, 120);
	free(text);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_differing_field_gives_the_reason),
	    cmocka_unit_test(sandbox_then_absent_then_retired_come_first),
	    cmocka_unit_test(behind_says_who_is_older),
	    cmocka_unit_test(every_vector_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
