/* The cache's line protocol: what one side writes, the other side reads; anything else is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "routing/cache_table.h"
#include "record/json.h"
#include "routing/cache_wire.h"

#define ROUTE                                                                                      \
	"{\"execution\":7,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\","           \
	"\"attempt\":1}"

static void a_question_reads_as_it_was_written(void **state)
{
	static const char *const rows[] = {
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"op\":\"ping\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"op\":\"port.connect\","
	    "\"port\":8080,\"protocol\":\"http\"}",
	    "{\"ask\":\"get\",\"caller\":\"token:ci\",\"sandbox\":\"s\",\"op\":\"ping\","
	    "\"credential\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
	    "{\"ask\":\"reject\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"rejected\":" ROUTE "}",
	    "{\"ask\":\"renew\",\"caller\":\"uid:1\",\"sandbox\":\"s\"}",
	    "{\"ask\":\"drop\",\"sandbox\":\"s-*\"}",
	    "{\"ask\":\"drop\",\"caller\":\"uid:1\"}",
	    "{\"ask\":\"drop\"}",
	    "{\"ask\":\"stats\"}",
	    "{\"ask\":\"dump\",\"position\":7}",
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_question question;
		assert_int_equal(sp_question_parse(rows[i], strlen(rows[i]), &question, NULL), 0);
		sp_auto_free char *text = sp_question_text(&question);
		sp_auto_json json_t *expected = json_loads(rows[i], 0, NULL);
		sp_auto_json json_t *seen = json_loads(text, 0, NULL);
		if (!json_equal(expected, seen))
			fail_msg("%s: %s", rows[i], text);
	}
}

static void what_is_no_question_is_refused(void **state)
{
	static const char *const rows[] = {
	    "",
	    "[]",
	    "{}",
	    "{\"ask\":\"take\"}",
	    "{\"ask\":7}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\"}",
	    "{\"ask\":\"get\",\"sandbox\":\"s\"}",
	    "{\"ask\":\"get\",\"caller\":\"user:alice\",\"sandbox\":\"s\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:01\",\"sandbox\":\"s\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s*\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"op\":\"file.fly\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"port\":0}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"port\":65536}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"protocol\":\"udp\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"credential\":\"AA\"}",
	    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"rejected\":" ROUTE "}",
	    "{\"ask\":\"reject\",\"caller\":\"uid:1\",\"sandbox\":\"s\"}",
	    "{\"ask\":\"reject\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"rejected\":{}}",
	    "{\"ask\":\"renew\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"op\":\"ping\"}",
	    "{\"ask\":\"drop\",\"sandbox\":\"s/*\"}",
	    "{\"ask\":\"stats\",\"caller\":\"uid:1\"}",
	    "{\"ask\":\"dump\",\"position\":-1}",
	    "{\"ask\":\"stats\",\"ask\":\"stats\"}",
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_question question;
		if (sp_question_parse(rows[i], strlen(rows[i]), &question, NULL) != SP_E_BAD_RECORD)
			fail_msg("taken: %s", rows[i]);
	}
}

/* The lines that are read quickly; what they are made of, everything else is near to. */
static const char *const QUICK[] = {
    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"op\":\"ping\"}",
    "{\"ask\":\"get\",\"caller\":\"uid:4294967294\",\"sandbox\":\"s-4.2_B\"}",
    "{\"ask\":\"get\",\"caller\":\"token:ci\",\"sandbox\":\"s\",\"op\":\"ping\","
    "\"credential\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
    "{\"ask\":\"reject\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"rejected\":" ROUTE "}",
    "{\"ask\":\"reject\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"rejected\":{\"execution\":"
    "9007199254740,\"worker\":\"w\",\"substrate\":\"kubernetes\",\"pod_uid\":"
    "\"0b9fa1c2-1111-2222-3333-444455556666\",\"activation\":\"a\",\"attempt\":12}}",
};

static bool same(const struct sp_question *a, const struct sp_question *b)
{
	return a->kind == b->kind && strcmp(a->caller, b->caller) == 0 &&
	       strcmp(a->sandbox, b->sandbox) == 0 && a->has_credential == b->has_credential &&
	       (!a->has_credential ||
		   memcmp(a->credential, b->credential, sizeof(a->credential)) == 0) &&
	       a->op == b->op && a->port == b->port && a->protocol == b->protocol &&
	       a->position == b->position && sp_route_equal(&a->rejected, &b->rejected);
}

/* True: the quick reading took it. It takes nothing that the other does not, to the same result. */
static bool agrees(const char *line, size_t size)
{
	struct sp_question quick, slow;
	bool taken = sp_question_quick(line, size, &quick);

	if (taken && (sp_question_parse(line, size, &slow, NULL) < 0 || !same(&quick, &slow)))
		fail_msg("read in two ways: %.*s", (int)size, line);
	return taken;
}

static void the_quick_reading_takes_what_is_written_and_nothing_else(void **state)
{
	static const char odd[] = "\"\\{}[],:0129 aZ._-\n\t\x01\xc3*";
	uint64_t dice = 20261130;
	unsigned taken = 0;
	char line[512];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(QUICK); i++) {
		size_t size = strlen(QUICK[i]);
		assert_true(agrees(QUICK[i], size));
		for (size_t cut = 0; cut < size; cut++)
			assert_false(agrees(QUICK[i], cut));
		for (size_t at = 0; at < size; at++)
			for (size_t c = 0; c < sizeof(odd); c++) {
				memcpy(line, QUICK[i], size);
				line[at] = odd[c];
				taken += agrees(line, size);
				memcpy(line, QUICK[i], at);
				line[at] = odd[c];
				memcpy(line + at + 1, QUICK[i] + at, size - at);
				taken += agrees(line, size + 1);
			}
		for (int round = 0; round < 20000; round++) {
			memcpy(line, QUICK[i], size);
			for (int n = 0; n < 3; n++) {
				dice = dice * 6364136223846793005u + 1442695040888963407u;
				line[(dice >> 33) % size] = QUICK[i][(dice >> 13) % size];
			}
			taken += agrees(line, size);
		}
	}
	/* Other ids and numbers, of which there are many. */
	assert_true(taken > 1000);
}

/* Each bound once from either side. */
static void the_quick_reading_knows_the_bounds(void **state)
{
	char id[SP_ID_MAX + 2], line[512];

	(void)state;
	memset(id, 'i', sizeof(id));
	for (int size = SP_ID_MAX; size <= SP_ID_MAX + 1; size++) {
		int length = snprintf(line, sizeof(line),
		    "{\"ask\":\"get\",\"caller\":\"token:%.*s\",\"sandbox\":\"s\"}", size, id);
		assert_int_equal(agrees(line, (size_t)length), size == SP_ID_MAX);
		length = snprintf(line, sizeof(line),
		    "{\"ask\":\"get\",\"caller\":\"uid:1\",\"sandbox\":\"%.*s\"}", size, id);
		assert_int_equal(agrees(line, (size_t)length), size == SP_ID_MAX);
	}
	static const char *const numbers[] = {"999999999999999", "9007199254740992", "01", "0"};
	for (size_t i = 0; i < SP_COUNT(numbers); i++) {
		int length = snprintf(line, sizeof(line),
		    "{\"ask\":\"reject\",\"caller\":\"uid:1\",\"sandbox\":\"s\",\"rejected\":{"
		    "\"execution\":%s,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":"
		    "\"a\",\"attempt\":1}}",
		    numbers[i]);
		assert_int_equal(agrees(line, (size_t)length), i == 0);
	}
	static const char *const callers[] = {
	    "uid:4294967295", "uid:01", "user:a", "token:", "uid:", "nobody", "token:.a"};
	for (size_t i = 0; i < SP_COUNT(callers); i++) {
		int length = snprintf(line, sizeof(line),
		    "{\"ask\":\"get\",\"caller\":\"%s\",\"sandbox\":\"s\"}", callers[i]);
		assert_false(agrees(line, (size_t)length));
	}
}

static struct sp_placement placement(void)
{
	return (struct sp_placement){.route = {.execution = 7,
					 .attempt = 1,
					 .substrate = SP_SUBSTRATE_HOST,
					 .worker = "w",
					 .activation = "a"},
	    .endpoint = "unix:/with \"quotes\" and \\",
	    .revision = 9};
}

static void an_answer_reads_as_it_was_written(void **state)
{
	struct sp_placement where = placement();
	struct sp_rights rights = {0};
	struct sp_port_range range;
	char text[SP_REPLY_MAX];

	(void)state;
	assert_int_equal(sp_rights_add_op(&rights, "file.*", NULL), 0);
	assert_true(sp_port_range_parse("80/http", &range));
	assert_int_equal(sp_rights_add_port(&rights, &range, NULL), 0);
	static const unsigned char key[SP_CACHE_KEY_SIZE];
	struct sp_cache_table table;
	assert_int_equal(sp_cache_table_init(&table, 10, key), 0);
	struct sp_cached_placement kept;
	char kept_text[SP_CACHED_PLACEMENT_ROOM];
	assert_true(sp_cached_placement_init(&table, &where, kept_text, &kept));
	char ready[SP_CACHED_TEXT_SIZE];
	struct sp_cached_rights *may = sp_cached_rights_new(&rights);
	for (enum sp_cache_effect i = SP_CACHE_HIT; i <= SP_CACHE_UNAVAILABLE; i++) {
		bool routed = i <= SP_CACHE_KEPT, entry = i <= SP_CACHE_RENEWED;
		struct sp_cache_answer answer = {.effect = i};
		struct sp_reply reply;
		size_t size;
		if (routed) {
			answer.placement = ready;
			answer.placement_size = sp_cached_placement_text(&kept, ready);
		}
		if (entry) {
			answer.rights = may->text;
			answer.rights_size = may->size;
			answer.expires = 86400;
		}
		size = sp_reply_format(&answer, text, sizeof(text));
		assert_true(size > 0);
		assert_int_equal(sp_reply_parse(text, size, &reply, NULL), 0);
		assert_int_equal(reply.effect, i);
		assert_int_equal(reply.routed, routed);
		assert_int_equal(reply.message[0] != '\0', i == SP_CACHE_UNAVAILABLE);
		if (routed) {
			assert_true(sp_route_equal(&reply.route, &where.route));
			assert_string_equal(reply.endpoint, where.endpoint);
		}
		if (entry) {
			assert_int_equal(json_array_size(reply.access), 2);
			assert_int_equal(reply.expires, 86400);
		}
		sp_reply_done(&reply);
	}
	sp_cached_placement_done(&kept);
	sp_cached_rights_release(may);
	sp_cache_table_done(&table);
}

static void what_is_no_answer_is_not_believed(void **state)
{
	static const char *const rows[] = {
	    "",
	    "{}",
	    "{\"status\":\"fine\"}",
	    "{\"status\":\"ok\"}",
	    "{\"status\":\"ok\",\"effect\":\"denied\"}",
	    "{\"status\":\"ok\",\"effect\":\"magic\"}",
	    "{\"status\":\"ok\",\"effect\":\"replaced\"}",
	    "{\"status\":\"ok\",\"effect\":\"replaced\",\"route\":{},\"endpoint\":\"unix:/m\","
	    "\"revision\":1}",
	    "{\"status\":\"ok\",\"effect\":\"kept\",\"route\":" ROUTE ",\"endpoint\":\"m\","
	    "\"revision\":1}",
	    "{\"status\":\"ok\",\"effect\":\"hit\",\"route\":" ROUTE ",\"endpoint\":\"unix:/m\","
	    "\"revision\":1}",
	    "{\"status\":\"ok\",\"effect\":\"hit\",\"route\":" ROUTE ",\"endpoint\":\"unix:/m\","
	    "\"revision\":1,\"access\":[],\"ports\":[],\"expires\":\"tomorrow\"}",
	    "{\"status\":\"error\",\"error\":\"unavailable\"}",
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_reply reply;
		if (sp_reply_parse(rows[i], strlen(rows[i]), &reply, NULL) != SP_E_BAD_RECORD)
			fail_msg("believed: %s", rows[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_question_reads_as_it_was_written),
	    cmocka_unit_test(what_is_no_question_is_refused),
	    cmocka_unit_test(the_quick_reading_takes_what_is_written_and_nothing_else),
	    cmocka_unit_test(the_quick_reading_knows_the_bounds),
	    cmocka_unit_test(an_answer_reads_as_it_was_written),
	    cmocka_unit_test(what_is_no_answer_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
