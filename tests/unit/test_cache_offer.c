/* What the cache does with a route that the registry tells unasked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "routing/cache.h"

static struct sp_cache *cache;
static const struct sp_cache_time NOW = {.wall = 1000000, .monotonic = 5000};

static int begin(void **state)
{
	static const unsigned char key[SP_CACHE_KEY_SIZE] = "0123456789abcde";

	(void)state;
	return sp_cache_new(100, 900, key, &cache);
}

static int end(void **state)
{
	(void)state;
	sp_cache_free(cache);
	return 0;
}

static struct sp_placement placement(int64_t execution, int64_t revision, bool retired)
{
	return (struct sp_placement){.route = {.execution = execution,
					 .attempt = 1,
					 .substrate = SP_SUBSTRATE_HOST,
					 .worker = "w",
					 .activation = "a"},
	    .endpoint = "unix:/m",
	    .retired = retired,
	    .revision = revision};
}

static int64_t told_execution;
static enum sp_cache_effect told_effect;

static void note(const struct sp_cache_answer *answer)
{
	told_effect = answer->effect;
	told_execution = 0;
	if (answer->placement)
		assert_int_equal(sscanf(answer->placement, "\"route\":{\"execution\":%lld",
				     (long long *)&told_execution),
		    1);
}

static void on_answer(void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	(void)context;
	(void)ask;
	note(answer);
}

static struct sp_cache_ask ask;

/* Asks; the flight when the registry is to be asked, else NULL. */
static struct sp_flight *get(const char *caller, const char *sandbox)
{
	struct sp_cache_answer answer;
	struct sp_flight *flight = NULL;

	ask = (struct sp_cache_ask){.kind = SP_CACHE_GET, .caller = caller, .sandbox = sandbox};
	if (sp_cache_take(cache, &ask, NOW, &answer, &flight) == SP_CACHE_ANSWERED)
		note(&answer);
	return flight;
}

static enum sp_cache_step looked(struct sp_flight *flight, int64_t execution, int64_t revision)
{
	struct sp_lookup lookup = {.available = true,
	    .routed = execution > 0,
	    .placement = placement(execution, revision, false)};

	assert_non_null(flight);
	assert_int_equal(sp_rights_add_op(&lookup.authorization.rights, "ping", NULL), 0);
	return sp_cache_looked(cache, flight, &lookup, NOW, on_answer, NULL);
}

static void fill(const char *caller, const char *sandbox, int64_t execution, int64_t revision)
{
	assert_int_equal(looked(get(caller, sandbox), execution, revision), SP_CACHE_ANSWERED);
}

/* What the cache serves now without asking; 0: nothing. */
static int64_t held(const char *caller, const char *sandbox)
{
	struct sp_flight *flight = get(caller, sandbox);

	if (!flight)
		return told_execution;
	assert_int_equal(looked(flight, 0, 0), SP_CACHE_ANSWERED);
	return 0;
}

static size_t offer(const char *sandbox, int64_t execution, int64_t revision, bool retired)
{
	const struct sp_placement offered = placement(execution, revision, retired);

	return sp_cache_offer(cache, sandbox, &offered);
}

static void only_newer_replaces(void **state)
{
	(void)state;
	fill("uid:1", "s", 7, 10);
	assert_int_equal(offer("s", 7, 10, false), 0);
	assert_int_equal(offer("s", 7, 9, false), 0);
	assert_int_equal(offer("s", 6, 11, false), 0);
	assert_int_equal(held("uid:1", "s"), 7);
	assert_int_equal(offer("s", 7, 11, false), 1);
	assert_int_equal(offer("s", 8, 12, false), 1);
	assert_int_equal(held("uid:1", "s"), 8);
	assert_int_equal(offer("s", 7, 13, false), 0);
	assert_int_equal(held("uid:1", "s"), 8);
}

static void every_caller_of_the_sandbox_follows_and_nobody_elses_entry(void **state)
{
	(void)state;
	fill("uid:1", "s", 7, 10);
	fill("uid:2", "s", 7, 10);
	fill("uid:1", "t", 7, 10);
	assert_int_equal(offer("s", 8, 11, false), 2);
	assert_int_equal(held("uid:1", "s"), 8);
	assert_int_equal(held("uid:2", "s"), 8);
	assert_int_equal(held("uid:1", "t"), 7);
}

static void a_retired_route_takes_its_entry_along_and_no_newer_one(void **state)
{
	(void)state;
	fill("uid:1", "s", 8, 12);
	assert_int_equal(offer("s", 7, 11, true), 0);
	assert_int_equal(offer("s", 7, 13, true), 0);
	assert_int_equal(held("uid:1", "s"), 8);
	assert_int_equal(offer("s", 8, 14, true), 1);
	assert_int_equal(held("uid:1", "s"), 0);
}

static void a_slow_fill_that_the_watch_outran_asks_again(void **state)
{
	struct sp_flight *flight = get("uid:1", "s");

	(void)state;
	assert_int_equal(offer("s", 8, 11, false), 0);
	assert_int_equal(looked(flight, 7, 10), SP_CACHE_LOOK);
	assert_int_equal(looked(flight, 8, 11), SP_CACHE_ANSWERED);
	assert_int_equal(told_effect, SP_CACHE_FILLED);
	assert_int_equal(held("uid:1", "s"), 8);
}

static void what_is_told_of_another_sandbox_outruns_nothing(void **state)
{
	struct sp_flight *flight = get("uid:1", "s");

	(void)state;
	assert_int_equal(offer("t", 8, 11, false), 0);
	assert_int_equal(looked(flight, 7, 10), SP_CACHE_ANSWERED);
	assert_int_equal(held("uid:1", "s"), 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(only_newer_replaces),
	    TEST(every_caller_of_the_sandbox_follows_and_nobody_elses_entry),
	    TEST(a_retired_route_takes_its_entry_along_and_no_newer_one),
	    TEST(a_slow_fill_that_the_watch_outran_asks_again),
	    TEST(what_is_told_of_another_sandbox_outruns_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
