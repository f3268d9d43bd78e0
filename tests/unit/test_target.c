/* Targets: which row of a table a request is for, and what its query says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "base/util.h"
#include "stream/target.h"

static void take(void *context, const struct sp_asked *asked)
{
	(void)context;
	(void)asked;
}

static const struct sp_target_row ROWS[] = {
    {"/healthz", SP_METHOD(GET) | SP_METHOD(HEAD), take},
    {"/s/{id}/tree", SP_METHOD(GET), take},
    {"/s/{id}/tree", SP_METHOD(PUT), take},
    {"/s/{id}/sessions/{session}/attach", SP_METHOD(GET), take},
    {"/s/{id}/ports/{port}/*", ~(uint64_t)0, take},
    {"/s/list/tree", SP_METHOD(POST), take},
    {"/", SP_METHOD(GET), take},
};

#define ALL  (~(uint64_t)0)
#define NONE -1

static const struct {
	const char *method, *target;
	int row;
	uint64_t allowed; /* where there is no row */
	const char *parts, *query;
} TARGETS[] = {
    {"GET", "/healthz", 0, 0, "", NULL},
    {"HEAD", "/healthz?", 0, 0, "", ""},
    {"GET", "/healthz?a?b", 0, 0, "", "a?b"},
    {"POST", "/healthz", NONE, SP_METHOD(GET) | SP_METHOD(HEAD), "", NULL},
    {"GET", "/healthz/", NONE, 0, "", NULL},
    {"GET", "/health", NONE, 0, "", NULL},
    {"GET", "/HEALTHZ", NONE, 0, "", NULL},
    {"GET", "/healthz%20", NONE, 0, "", NULL},
    {"GET", "//healthz", NONE, 0, "", NULL},
    {"GET", "/x/../healthz", NONE, 0, "", NULL},
    {"GET", "http://x/healthz", NONE, 0, "", NULL},
    {"OPTIONS", "*", NONE, 0, "", NULL},
    {"GET", "/", 6, 0, "", NULL},
    {"GET", "/s/a/tree?path=/", 1, 0, "a", "path=/"},
    {"PUT", "/s/a.b-c/tree", 2, 0, "a.b-c", NULL},
    {"HEAD", "/s/a/tree", NONE, SP_METHOD(GET) | SP_METHOD(PUT), "", NULL},
    {"GET", "/s/list/tree", 1, 0, "list", NULL},
    {"POST", "/s/list/tree", 5, 0, "", NULL},
    {"GET", "/s//tree", NONE, 0, "", NULL},
    {"GET", "/s/a/b/tree", NONE, 0, "", NULL},
    {"GET", "/s/a%2Fb/tree", 1, 0, "a%2Fb", NULL},
    {"GET", "/s/", NONE, 0, "", NULL},
    {"GET", "/s/a", NONE, 0, "", NULL},
    {"GET", "/s/a/sessions/b/attach", 3, 0, "a,b", NULL},
    {"GET", "/s/a/sessions//attach", NONE, 0, "", NULL},
    {"GET", "/s/a/sessions/b/attach/", NONE, 0, "", NULL},
    {"GET", "/s/a/ports/80/", 4, 0, "a,80,", NULL},
    {"PATCH", "/s/a/ports/80/x/../y%2F?q=1", 4, 0, "a,80,x/../y%2F", "q=1"},
    {"GET", "/s/a/ports/80", NONE, 0, "", NULL},
    {"GET", "/s/a/ports//", NONE, 0, "", NULL},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(TARGETS); i++) {
		char text[256], parts[128] = "";
		int size = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: a\r\n\r\n",
		    TARGETS[i].method, TARGETS[i].target);
		const struct sp_target_row *row;
		struct sp_head head;
		struct sp_asked asked;
		uint64_t allowed = 1;
		assert_int_equal(sp_head_parse(text, (size_t)size, &head, NULL), 0);
		row = sp_target_find(ROWS, SP_COUNT(ROWS), &head, (size_t)size, &asked, &allowed);
		if (row != (TARGETS[i].row < 0 ? NULL : &ROWS[TARGETS[i].row]))
			fail_msg("target %zu: %s", i, row ? row->path : "none");
		for (unsigned k = 0, at = 0; row && k < SP_TARGET_PARTS && asked.parts[k].text; k++)
			at += (unsigned)snprintf(parts + at, sizeof(parts) - at, "%s%.*s",
			    k ? "," : "", (int)asked.parts[k].size, asked.parts[k].text);
		if (row && strcmp(parts, TARGETS[i].parts) != 0)
			fail_msg("target %zu: parts %s", i, parts);
		if (!row && allowed != TARGETS[i].allowed)
			fail_msg("target %zu: allowed %llx", i, (unsigned long long)allowed);
		assert_ptr_equal(asked.head, &head);
		assert_int_equal(asked.head_size, size);
		assert_int_equal(asked.query == NULL, TARGETS[i].query == NULL);
		if (asked.query) {
			assert_int_equal(asked.query_size, strlen(TARGETS[i].query));
			assert_memory_equal(asked.query, TARGETS[i].query, asked.query_size);
		}
	}
}

static void test_methods(void **state)
{
	char text[64];

	(void)state;
	sp_target_methods(SP_METHOD(HEAD) | SP_METHOD(GET), ", ", text, sizeof(text));
	assert_string_equal(text, "GET, HEAD");
	sp_target_methods(SP_METHOD(POST), " or ", text, sizeof(text));
	assert_string_equal(text, "POST");
	sp_target_methods(0, ", ", text, sizeof(text));
	assert_string_equal(text, "");
}

static bool id(const char *text, size_t size, char *ret)
{
	return sp_target_id(&(struct sp_target_part){text, size}, ret);
}

static void test_id(void **state)
{
	char long_one[SP_ID_MAX + 1], ret[SP_ID_MAX + 1] = "before";

	(void)state;
	memset(long_one, 'a', sizeof(long_one));
	assert_false(id("a%2Fb", 5, ret));
	assert_false(id("-a", 2, ret));
	assert_false(id("a\0b", 3, ret));
	assert_false(id(long_one, SP_ID_MAX + 1, ret));
	assert_string_equal(ret, "before");
	assert_true(id("s-1/x", 3, ret));
	assert_string_equal(ret, "s-1");
	assert_true(id(long_one, SP_ID_MAX, ret));
	assert_int_equal(strlen(ret), SP_ID_MAX);
}

static const struct {
	const char *query, *path, *depth; /* NULL: not given */
	const char *bad;
} QUERIES[] = {
    {NULL, NULL, NULL, NULL},
    {"", NULL, NULL, NULL},
    {"&", NULL, NULL, NULL},
    {"path=/a", "/a", NULL, NULL},
    {"path=", "", NULL, NULL},
    {"depth=1&path=/a=b", "/a=b", "1", NULL},
    {"&path=%2fa%20b+c%2B%C3%A9&", "/a b c+\xc3\xa9", NULL, NULL},
    {"path=123456789012345", "123456789012345", NULL, NULL},
    {"path=1234567890123456", NULL, NULL, "query: path= is longer than 15 bytes"},
    {"path=%31234567890123456", NULL, NULL, "query: path= is longer than 15 bytes"},
    {"path=%00", NULL, NULL, "query: path= is not encoded as forms are"},
    {"path=%4", NULL, NULL, "query: path= is not encoded as forms are"},
    {"path=%", NULL, NULL, "query: path= is not encoded as forms are"},
    {"path=%4g", NULL, NULL, "query: path= is not encoded as forms are"},
    {"path=%g4", NULL, NULL, "query: path= is not encoded as forms are"},
    {"path=a&path=a", NULL, NULL, "query: path= twice"},
    {"path", NULL, NULL, "query: not NAME=VALUE, or a name that is none here"},
    {"pat=a", NULL, NULL, "query: not NAME=VALUE, or a name that is none here"},
    {"paths=a", NULL, NULL, "query: not NAME=VALUE, or a name that is none here"},
    {"p%61th=a", NULL, NULL, "query: not NAME=VALUE, or a name that is none here"},
    {"Path=a", NULL, NULL, "query: not NAME=VALUE, or a name that is none here"},
    {"=", NULL, NULL, "query: not NAME=VALUE, or a name that is none here"},
};

static void test_queries(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(QUERIES); i++) {
		char path[16], depth[4];
		struct sp_target_value values[] = {
		    {"path", path, sizeof(path), true}, {"depth", depth, sizeof(depth), true}};
		const struct sp_asked asked = {.query = QUERIES[i].query,
		    .query_size = QUERIES[i].query ? strlen(QUERIES[i].query) : 0};
		struct sp_err err = {0};
		int bad = sp_target_query(&asked, values, SP_COUNT(values), &err);
		assert_int_equal(bad, QUERIES[i].bad ? SP_E_BAD_RECORD : 0);
		if (bad) {
			assert_string_equal(err.message, QUERIES[i].bad);
			continue;
		}
		if (QUERIES[i].path) {
			assert_true(values[0].given);
			assert_string_equal(path, QUERIES[i].path);
		}
		assert_int_equal(values[1].given, QUERIES[i].depth != NULL);
		if (QUERIES[i].depth)
			assert_string_equal(depth, QUERIES[i].depth);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_methods),
	    cmocka_unit_test(test_id),
	    cmocka_unit_test(test_queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
