/* The quick look: what it takes, jansson takes too and means the same; what is usual, it takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "record/scan.h"

#define ROOM 8

static const struct {
	const char *text;
	bool taken;
} CASES[] = {
    {"{}", true},
    {" {\t} \r", true},
    {"{\"id\":\"1\",\"op\":\"file.read\",\"args\":{\"path\":\"/"
     "x\",\"n\":[1,-2,0,true,false,null]}}",
	true},
    {"{ \"a\" : { } , \"b\" : [ ] , \"c\" : [ [ ] , { \"d\" : [ { } ] } ] }", true},
    {"{\"a\":\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 long enough for the quick steps\"}", true},
    {"{\"a\":\"tab\\t quote\\\" slash\\/ back\\\\ end\"}", true},
    {"{\"a\":\"\\u0041\\u001b\\uFFFF\\ud7ff\\ue000\"}", true},
    {"{\"a\":123456789012345}", true},
    {"{\"a\":{\"x\":1},\"b\":{\"x\":1}}", true},
    {"{\"a\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}", true}, /* 16 deep with the outer one */
    /* left to jansson, which takes some of it */
    {"{\"a\":\"\\ud83d\\ude00\"}", false},
    {"{\"\\t\":1}", false},
    {"{\"a\":1234567890123456}", false},
    {"{\"a\":-0}", false},
    {"{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1}", false},
    {"{\"a\":{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":1,"
     "\"11\":1,\"12\":1,\"13\":1,\"14\":1,\"15\":1,\"16\":1,\"17\":1}}",
	false},
    /* wrong */
    {"", false},
    {"[]", false},
    {"{", false},
    {"{}x", false},
    {"{\"a\"}", false},
    {"{\"a\":}", false},
    {"{\"a\":1,}", false},
    {"{,\"a\":1}", false},
    {"{\"a\":[1,]}", false},
    {"{\"a\":[,1]}", false},
    {"{\"a\":[1 2]}", false},
    {"{\"a\":[}", false},
    {"{\"a\":[1}]", false},
    {"{\"a\":{\"b\":1]}", false},
    {"{\"a\":01}", false},
    {"{\"a\":+1}", false},
    {"{\"a\":-}", false},
    {"{\"a\":1.0}", false},
    {"{\"a\":1e2}", false},
    {"{\"a\":tru}", false},
    {"{\"a\":nul", false},
    {"{\"a\":1", false},
    {"{\"a\":\"x}", false},
    {"{\"a\":\"\\x\"}", false},
    {"{\"a\":\"\\", false},
    {"{\"a\":\"\\u0000\"}", false},
    {"{\"a\":\"\\u00g1\"}", false},
    {"{\"a\":\"\\u12", false},
    {"{\"a\":\"\\ud800\"}", false},
    {"{\"a\":\"line\nfeed in a string that is long\"}", false},
    {"{\"a\":\"\xff\"}", false},
    {"{\"a\":\"\xc0\x80\"}", false},
    {"{\"a\":\"\xed\xa0\x80\"}", false},
    {"{\"a\":1,\"a\":2}", false},
    {"{\"a\":{\"b\":1,\"b\":2}}", false},
    {"{\"a\":[{\"b\":1,\"c\":[],\"b\":2}]}", false},
    {"{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}", false},
};

/* All of it must be as jansson has it. */
static void check_taken(
    const char *text, size_t size, const struct sp_scan_member *members, unsigned count)
{
	sp_auto_json json_t *whole = NULL;
	struct sp_err err = {0};

	if (sp_json_parse(text, size, &whole, &err))
		fail_msg("taken, but: %s: %.*s", err.message, (int)size, text);
	assert_int_equal(json_object_size(whole), count);
	for (unsigned i = 0; i < count; i++) {
		sp_auto_json json_t *value =
		    json_loadb(members[i].value, members[i].size, JSON_DECODE_ANY, NULL);
		char name[256];
		assert_true(members[i].name_size < sizeof(name));
		(void)snprintf(
		    name, sizeof(name), "%.*s", (int)members[i].name_size, members[i].name);
		if (!value || !json_equal(value, json_object_get(whole, name)))
			fail_msg("member %s of %.*s", name, (int)size, text);
		if (members[i].plain) {
			assert_int_equal(json_string_length(value) + 2, members[i].size);
			assert_memory_equal(
			    json_string_value(value), members[i].value + 1, members[i].size - 2);
		}
	}
}

static bool look(const char *text, size_t size)
{
	/* On the heap and without a NUL behind it: a step too far is seen by the sanitizers. */
	sp_auto_free char *copy = malloc(size ? size : 1);
	struct sp_scan_member members[ROOM];
	unsigned count;
	bool taken;

	memcpy(copy, text, size);
	taken = sp_json_scan(copy, size, members, ROOM, &count);
	if (taken)
		check_taken(copy, size, members, count);
	return taken;
}

static void the_usual_is_taken_and_the_rest_left(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++)
		if (look(CASES[i].text, strlen(CASES[i].text)) != CASES[i].taken)
			fail_msg("case %zu: %s", i, CASES[i].text);
}

static void a_line_cut_anywhere_is_not_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++)
		for (size_t cut = 0; CASES[i].taken && cut < strlen(CASES[i].text) - 2; cut++)
			assert_false(look(CASES[i].text, cut));
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Two texts crossed, some bytes changed: whatever is still taken must be what jansson sees. */
static void what_is_taken_of_mutations_is_what_jansson_sees(void **state)
{
	static const char bytes[] = "{}[]\",:\\0123456789-.eEtfnuud \n\t\x80\xc3\xa9\x01";
	uint32_t seed = 2463534242u;
	unsigned taken = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char text[1024];
		const char *a = CASES[next_random(&seed) % SP_COUNT(CASES)].text;
		const char *b = CASES[next_random(&seed) % SP_COUNT(CASES)].text;
		size_t from_a = *a ? next_random(&seed) % (strlen(a) + 1) : 0;
		size_t from_b = *b ? next_random(&seed) % (strlen(b) + 1) : 0;
		int n = snprintf(text, sizeof(text), "%.*s%s", (int)from_a, a, b + from_b);
		for (unsigned i = next_random(&seed) % 3; n > 0 && i > 0; i--)
			text[next_random(&seed) % (unsigned)n] =
			    bytes[next_random(&seed) % (sizeof(bytes) - 1)];
		taken += look(text, (size_t)n);
	}
	assert_true(taken > 1000);
}

static void members_are_found(void **state)
{
	static const char text[] = "{\"id\":\"7\",\"status\":\"ok\",\"result\":{\"a\":1}}";
	struct sp_scan_member members[ROOM];
	unsigned count;

	(void)state;
	assert_true(sp_json_scan(text, strlen(text), members, ROOM, &count));
	assert_int_equal(count, 3);
	assert_true(sp_scan_is(sp_scan_find(members, count, "status"), "ok"));
	assert_false(sp_scan_is(sp_scan_find(members, count, "status"), "okay"));
	assert_false(sp_scan_is(sp_scan_find(members, count, "result"), "ok"));
	assert_null(sp_scan_find(members, count, "stat"));
	assert_int_equal(sp_scan_find(members, count, "result")->kind, '{');
	assert_false(sp_json_scan(text, strlen(text), members, 2, &count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_usual_is_taken_and_the_rest_left),
	    cmocka_unit_test(a_line_cut_anywhere_is_not_taken),
	    cmocka_unit_test(what_is_taken_of_mutations_is_what_jansson_sees),
	    cmocka_unit_test(members_are_found),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
