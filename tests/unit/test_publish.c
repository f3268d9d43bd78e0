/* Every row of `publish` and `retire` in 05-routing, and which of two placements is newer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/publish.h"

enum { ANY = -1 }; /* no --if-rev */

/* A placement in short: execution, attempt, activation, endpoint. */
struct brief {
	int64_t execution, attempt;
	const char *activation, *endpoint;
};

static struct sp_placement placement(struct brief brief, bool retired, int64_t revision)
{
	struct sp_placement made = {.retired = retired, .revision = revision};

	made.route = (struct sp_route){.execution = brief.execution,
	    .attempt = brief.attempt,
	    .substrate = SP_SUBSTRATE_HOST,
	    .worker = "w"};
	(void)snprintf(
	    made.route.activation, sizeof(made.route.activation), "%s", brief.activation);
	(void)snprintf(made.endpoint, sizeof(made.endpoint), "%s", brief.endpoint);
	return made;
}

static struct sp_publication publication(struct brief brief, int64_t if_revision)
{
	struct sp_placement made = placement(brief, false, 0);
	struct sp_publication wanted = {.identity = {"s", made.route},
	    .conditional = if_revision != ANY,
	    .if_revision = if_revision};

	memcpy(wanted.endpoint, made.endpoint, sizeof(wanted.endpoint));
	return wanted;
}

#define SEVEN                                                                                      \
	{                                                                                          \
		7, 2, "a", "unix:/m"                                                               \
	}

static void publish_decides_by_the_first_row_that_applies(void **state)
{
	static const struct {
		const char *what;
		struct brief wanted;
		bool retired;
		int64_t if_revision;
		enum sp_publish_effect effect;
	} rows[] = {
	    {"the same", SEVEN, false, ANY, SP_PUBLISH_NONE},
	    {"the same at its revision", SEVEN, false, 5, SP_PUBLISH_NONE},
	    {"the same at another revision", SEVEN, false, 4, SP_PUBLISH_CONFLICT},
	    {"higher", {8, 1, "b", "unix:/n"}, false, ANY, SP_PUBLISH_REPLACED},
	    {"higher after a retirement", {8, 1, "b", "unix:/n"}, true, ANY, SP_PUBLISH_REPLACED},
	    {"higher at another revision", {8, 1, "b", "unix:/n"}, false, 6, SP_PUBLISH_CONFLICT},
	    {"higher, as if first", {8, 1, "b", "unix:/n"}, false, 0, SP_PUBLISH_CONFLICT},
	    {"lower", {6, 9, "b", "unix:/n"}, false, ANY, SP_PUBLISH_CONFLICT},
	    {"lower at its revision", {6, 9, "b", "unix:/n"}, false, 5, SP_PUBLISH_CONFLICT},
	    {"lower after a retirement", {6, 2, "a", "unix:/m"}, true, ANY, SP_PUBLISH_CONFLICT},
	    {"the retired one", SEVEN, true, ANY, SP_PUBLISH_CONFLICT},
	    {"the retired one at its revision", SEVEN, true, 5, SP_PUBLISH_CONFLICT},
	    {"attempt higher", {7, 3, "a", "unix:/m"}, false, ANY, SP_PUBLISH_ATTEMPT_ONLY},
	    {"attempt lower", {7, 1, "a", "unix:/m"}, false, ANY, SP_PUBLISH_CONFLICT},
	    {"attempt lower at its revision", {7, 1, "a", "unix:/m"}, false, 5,
		SP_PUBLISH_ATTEMPT_ONLY},
	    {"endpoint", {7, 2, "a", "unix:/n"}, false, ANY, SP_PUBLISH_ENDPOINT},
	    {"attempt and endpoint", {7, 3, "a", "unix:/n"}, false, ANY, SP_PUBLISH_CONFLICT},
	    {"attempt and endpoint at its revision", {7, 3, "a", "unix:/n"}, false, 5,
		SP_PUBLISH_REPLACED},
	    {"activation", {7, 2, "b", "unix:/m"}, false, ANY, SP_PUBLISH_CONFLICT},
	    {"activation at its revision", {7, 2, "b", "unix:/m"}, false, 5, SP_PUBLISH_REPLACED},
	    {"activation at another revision", {7, 2, "b", "unix:/m"}, false, 4,
		SP_PUBLISH_CONFLICT},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_placement current = placement((struct brief)SEVEN, rows[i].retired, 5);
		struct sp_publication wanted = publication(rows[i].wanted, rows[i].if_revision);
		struct sp_err why = {0};
		enum sp_publish_effect effect = sp_publish_decide(&current, &wanted, &why);
		if (effect != rows[i].effect)
			fail_msg("%s: %s", rows[i].what, sp_publish_effect_name(effect));
		assert_int_equal(why.message[0] != '\0', effect == SP_PUBLISH_CONFLICT);
	}
}

static void the_first_publication_needs_nothing(void **state)
{
	struct sp_publication any = publication((struct brief)SEVEN, ANY);
	struct sp_publication first = publication((struct brief)SEVEN, 0);
	struct sp_publication later = publication((struct brief)SEVEN, 1);

	(void)state;
	assert_int_equal(sp_publish_decide(NULL, &any, NULL), SP_PUBLISH_REPLACED);
	assert_int_equal(sp_publish_decide(NULL, &first, NULL), SP_PUBLISH_REPLACED);
	assert_int_equal(sp_publish_decide(NULL, &later, NULL), SP_PUBLISH_CONFLICT);
}

static void retire_takes_down_exactly_the_execution_it_names(void **state)
{
	struct sp_placement active = placement((struct brief)SEVEN, false, 5);
	struct sp_placement retired = placement((struct brief)SEVEN, true, 6);

	(void)state;
	assert_int_equal(sp_retire_decide(&active, 7, NULL), SP_PUBLISH_RETIRED);
	assert_int_equal(sp_retire_decide(&active, 6, NULL), SP_PUBLISH_CONFLICT);
	assert_int_equal(sp_retire_decide(&active, 8, NULL), SP_PUBLISH_CONFLICT);
	assert_int_equal(sp_retire_decide(&retired, 7, NULL), SP_PUBLISH_NONE);
	assert_int_equal(sp_retire_decide(&retired, 6, NULL), SP_PUBLISH_CONFLICT);
	assert_int_equal(sp_retire_decide(NULL, 7, NULL), SP_PUBLISH_CONFLICT);
}

static void import_takes_what_is_higher_and_the_retirement_of_the_same(void **state)
{
	static const struct brief seven = SEVEN;
	static const struct {
		struct brief imported;
		bool held_retired, retired;
		enum sp_publish_effect effect;
	} rows[] = {
	    {SEVEN, false, false, SP_PUBLISH_NONE},
	    {SEVEN, true, true, SP_PUBLISH_NONE},
	    {SEVEN, false, true, SP_PUBLISH_RETIRED},
	    {SEVEN, true, false, SP_PUBLISH_CONFLICT},
	    {{8, 1, "b", "unix:/n"}, false, false, SP_PUBLISH_REPLACED},
	    {{8, 1, "b", "unix:/n"}, true, true, SP_PUBLISH_REPLACED},
	    {{6, 1, "b", "unix:/n"}, false, false, SP_PUBLISH_CONFLICT},
	    {{7, 3, "a", "unix:/m"}, false, false, SP_PUBLISH_CONFLICT},
	    {{7, 2, "a", "unix:/n"}, false, true, SP_PUBLISH_CONFLICT},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_placement held = placement(seven, rows[i].held_retired, 5);
		struct sp_placement imported = placement(rows[i].imported, rows[i].retired, 99);
		const struct sp_route_change change = {.sandbox = "s", .import = &imported};
		assert_int_equal(sp_import_decide(NULL, &imported, NULL), SP_PUBLISH_REPLACED);
		assert_int_equal(sp_route_change_apply(&change, true, &held, NULL), rows[i].effect);
		assert_int_equal(held.revision, 5);
		if (rows[i].effect == SP_PUBLISH_REPLACED || rows[i].effect == SP_PUBLISH_RETIRED)
			assert_int_equal(held.retired, rows[i].retired);
		else
			assert_int_equal(held.retired, rows[i].held_retired);
	}
}

static void newer_is_by_execution_then_by_revision(void **state)
{
	(void)state;
	assert_true(sp_placement_newer(8, 1, 7, 9));
	assert_false(sp_placement_newer(7, 9, 8, 1));
	assert_true(sp_placement_newer(7, 2, 7, 1));
	assert_false(sp_placement_newer(7, 1, 7, 1));
	assert_false(sp_placement_newer(7, 1, 7, 2));
}

static void the_text_of_a_route_is_its_json(void **state)
{
	struct sp_route routes[2] = {{.execution = SP_INT_MAX,
					 .attempt = SP_INT_MAX,
					 .substrate = SP_SUBSTRATE_KUBERNETES,
					 .pod_uid = "0b9fa1c2-1111-2222-3333-444455556666"},
	    {.execution = 1, .attempt = 1, .substrate = SP_SUBSTRATE_HOST, .worker = "w"}};
	char text[SP_ROUTE_TEXT_SIZE];

	(void)state;
	memset(routes[0].worker, 'w', SP_ID_MAX);
	memset(routes[0].activation, 'a', SP_ID_MAX);
	for (size_t i = 0; i < SP_COUNT(routes); i++) {
		sp_auto_json json_t *object = sp_route_json(&routes[i]);
		sp_auto_free char *expected = sp_json_text(object);
		assert_int_equal(sp_route_text(&routes[i], text), strlen(expected));
		assert_string_equal(text, expected);
	}
}

static void a_publication_is_closed(void **state)
{
#define ROUTE                                                                                      \
	"{\"execution\":7,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\","           \
	"\"attempt\":1}"
	static const struct {
		const char *text;
		int code;
	} rows[] = {
	    {"{\"sandbox\":\"s\",\"route\":" ROUTE ",\"endpoint\":\"unix:/m\"}", 0},
	    {"{\"sandbox\":\"s\",\"route\":" ROUTE ",\"endpoint\":\"unix:m\"}", SP_E_BAD_RECORD},
	    {"{\"sandbox\":\"s\",\"route\":" ROUTE ",\"endpoint\":\"unix:/m\\n\"}",
		SP_E_BAD_RECORD},
	    {"{\"sandbox\":\"s\",\"route\":" ROUTE ",\"endpoint\":\"tcp:1.2.3.4:5\"}",
		SP_E_BAD_RECORD},
	    {"{\"sandbox\":\"s\",\"route\":" ROUTE "}", SP_E_BAD_RECORD},
	    {"{\"sandbox\":\"s\",\"endpoint\":\"unix:/m\"}", SP_E_BAD_RECORD},
	    {"{\"sandbox\":\"-s\",\"route\":" ROUTE ",\"endpoint\":\"unix:/m\"}", SP_E_BAD_RECORD},
	    {"{\"sandbox\":\"s\",\"route\":" ROUTE ",\"endpoint\":\"unix:/m\",\"revision\":1}",
		SP_E_BAD_RECORD},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		sp_auto_json json_t *object = json_loads(rows[i].text, 0, NULL);
		struct sp_publication wanted;
		assert_int_equal(sp_publication_parse(object, &wanted, NULL), rows[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(publish_decides_by_the_first_row_that_applies),
	    cmocka_unit_test(the_first_publication_needs_nothing),
	    cmocka_unit_test(retire_takes_down_exactly_the_execution_it_names),
	    cmocka_unit_test(import_takes_what_is_higher_and_the_retirement_of_the_same),
	    cmocka_unit_test(newer_is_by_execution_then_by_revision),
	    cmocka_unit_test(the_text_of_a_route_is_its_json),
	    cmocka_unit_test(a_publication_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
