/* The bytes of a member, between all that may stand around it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "record/span.h"

static const struct {
	const char *text, *name, *value; /* NULL: not found */
} CASES[] = {
    {"{\"args\":{}}", "args", "{}"},
    {" { \"a\" : 1 , \"args\" : { \"x\" : [ 1 , \"}\" ] } } ", "args", "{ \"x\" : [ 1 , \"}\" ] }"},
    {"{\"a\":\"\\\"args\\\":1\",\"args\":{\"b\":2}}", "args", "{\"b\":2}"},
    {"{\"a\":{\"args\":1},\"b\":2}", "args", NULL},
    {"{\"a\":[{\"args\":1}],\"args\":\"x\\\\\"}", "args", "\"x\\\\\""},
    {"{\"ar\\u0067s\":1,\"b\":2}", "args", NULL},
    {"{\"argsx\":1,\"arg\":2}", "args", NULL},
    {"{\"result\":{\"text\":\"a,b}]\"},\"status\":\"ok\"}", "result", "{\"text\":\"a,b}]\"}"},
    {"{\"result\":true,\"status\":\"ok\"}", "status", "\"ok\""},
    {"{\"n\":-12 }", "n", "-12"},
    {"{}", "args", NULL},
    {"{\"a\":1}", "a", "1"},
};

static void members_are_found_as_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++) {
		const char *value = NULL;
		size_t size = 0, length = strlen(CASES[i].text);
		sp_auto_json json_t *parsed = NULL;
		bool found;

		assert_int_equal(sp_json_parse(CASES[i].text, length, &parsed, NULL), 0);
		found = sp_json_span(CASES[i].text, length, CASES[i].name, &value, &size);
		if (found != (CASES[i].value != NULL) ||
		    (found && (size != strlen(CASES[i].value) ||
				  memcmp(value, CASES[i].value, size) != 0)))
			fail_msg("case %zu: %.*s", i, (int)size, value ? value : "");
	}
}

/* Cut short anywhere, the walk stays inside: the input was checked, but memory safety must not hang
 * on that. */
static void the_walk_stays_inside(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++)
		for (size_t cut = 0; cut < strlen(CASES[i].text); cut++) {
			sp_auto_free char *piece = malloc(cut ? cut : 1);
			const char *value;
			size_t size;
			memcpy(piece, CASES[i].text, cut);
			if (sp_json_span(piece, cut, CASES[i].name, &value, &size))
				assert_true(value >= piece && value + size <= piece + cut);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(members_are_found_as_written),
	    cmocka_unit_test(the_walk_stays_inside),
	};

	return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
