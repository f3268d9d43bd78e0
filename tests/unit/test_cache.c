/* Every sentence of 05-routing's Cache table, and the interleavings of slow lookups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "routing/cache.h"

#define TTL 900

static struct sp_cache *cache;
static struct sp_cache_time now;

static int begin_with(size_t entries)
{
	static const unsigned char key[SP_CACHE_KEY_SIZE] = "0123456789abcde";

	now = (struct sp_cache_time){.wall = 1000000, .monotonic = 5000};
	return sp_cache_new(entries, TTL, key, &cache);
}

static int begin(void **state)
{
	(void)state;
	return begin_with(100);
}

static int end(void **state)
{
	(void)state;
	sp_cache_free(cache);
	return 0;
}

static void pass(int64_t milliseconds)
{
	now.monotonic += milliseconds;
	now.wall = 1000000 + (now.monotonic - 5000) / 1000;
}

/* What the registry would say now; each test sets it. */
static struct sp_lookup down(void)
{
	return (struct sp_lookup){.available = false};
}

static struct sp_lookup says(int64_t execution, int64_t revision, const char *op)
{
	struct sp_lookup lookup = {.available = true, .routed = execution > 0};
	struct sp_placement *placement = &lookup.placement;

	if (op)
		assert_int_equal(sp_rights_add_op(&lookup.authorization.rights, op, NULL), 0);
	placement->route = (struct sp_route){.execution = execution,
	    .attempt = 1,
	    .substrate = SP_SUBSTRATE_HOST,
	    .worker = "worker-a",
	    .activation = "act-1"};
	(void)snprintf(placement->endpoint, sizeof(placement->endpoint), "unix:/run/%lld",
	    (long long)execution);
	placement->revision = revision;
	return lookup;
}

static struct sp_route route(int64_t execution)
{
	return says(execution, 1, NULL).placement.route;
}

/* One asker and what he was told. */
struct asker {
	struct sp_cache_ask ask;
	struct sp_route rejected;
	enum sp_cache_step step;
	struct sp_flight *flight;
	bool answered;
	enum sp_cache_effect effect;
	int64_t execution; /* 0: no route in the answer */
	int64_t expires;
	char access[128];
};

static void note(struct asker *asker, const struct sp_cache_answer *answer)
{
	assert_false(asker->answered);
	asker->answered = true;
	asker->effect = answer->effect;
	asker->expires = answer->expires;
	if (answer->placement)
		assert_int_equal(sscanf(answer->placement, "\"route\":{\"execution\":%lld",
				     (long long *)&asker->execution),
		    1);
	(void)snprintf(
	    asker->access, sizeof(asker->access), "%s", answer->rights ? answer->rights : "");
}

static void on_answer(void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	(void)context;
	note((struct asker *)(void *)((char *)ask - offsetof(struct asker, ask)), answer);
}

static struct asker *take(struct asker *asker)
{
	struct sp_cache_answer answer;

	asker->step = sp_cache_take(cache, &asker->ask, now, &answer, &asker->flight);
	if (asker->step == SP_CACHE_ANSWERED)
		note(asker, &answer);
	return asker;
}

static struct asker *get_as(
    struct asker *asker, const char *caller, const char *sandbox, const char *op)
{
	*asker = (struct asker){.ask = {.kind = SP_CACHE_GET,
				    .caller = caller,
				    .sandbox = sandbox,
				    .op = op ? sp_op_find(op) : NULL}};
	return take(asker);
}

static struct asker *get(struct asker *asker, const char *op)
{
	return get_as(asker, "uid:1", "s", op);
}

static struct asker *reject(struct asker *asker, int64_t execution)
{
	*asker = (struct asker){.ask = {.kind = SP_CACHE_REJECT, .caller = "uid:1", .sandbox = "s"},
	    .rejected = route(execution)};
	asker->ask.rejected = &asker->rejected;
	return take(asker);
}

static struct asker *renew(struct asker *asker)
{
	*asker = (struct asker){.ask = {.kind = SP_CACHE_RENEW, .caller = "uid:1", .sandbox = "s"}};
	return take(asker);
}

static enum sp_cache_step looked(struct asker *asker, struct sp_lookup lookup)
{
	return sp_cache_looked(cache, asker->flight, &lookup, now, on_answer, NULL);
}

/* A question that needs the registry, and its answer at once. */
static struct asker *with(struct asker *asker, struct sp_lookup lookup)
{
	assert_int_equal(asker->step, SP_CACHE_LOOK);
	assert_int_equal(looked(asker, lookup), SP_CACHE_ANSWERED);
	return asker;
}

static void is(const struct asker *asker, enum sp_cache_effect effect, int64_t execution)
{
	assert_true(asker->answered);
	assert_string_equal(sp_cache_effect_name(asker->effect), sp_cache_effect_name(effect));
	assert_int_equal(asker->execution, execution);
}

static int64_t counter(const char *wanted)
{
	struct sp_cache_stats stats;
	const char *name;
	int64_t value;

	sp_cache_stats(cache, &stats);
	for (unsigned i = 0; sp_cache_counter(&stats, i, &name, &value); i++)
		if (strcmp(name, wanted) == 0)
			return value;
	fail_msg("no counter %s", wanted);
	return -1;
}

static void fill(int64_t execution, int64_t revision)
{
	struct asker a;

	is(with(get(&a, "file.read"), says(execution, revision, "file.*")), SP_CACHE_FILLED,
	    execution);
}

static void a_get_is_filled_once_and_hit_from_then_on(void **state)
{
	struct asker a;

	(void)state;
	is(with(get(&a, "file.read"), says(7, 3, "file.*")), SP_CACHE_FILLED, 7);
	assert_int_equal(a.expires, now.wall + TTL);
	assert_string_equal(a.access, "\"access\":[\"file.*\"],\"ports\":[]");
	is(get(&a, "file.write"), SP_CACHE_HIT, 7);
	assert_int_equal(counter("hits"), 1);
	assert_int_equal(counter("misses"), 1);
	assert_int_equal(counter("lookups"), 1);
	assert_int_equal(counter("entries"), 1);
}

static void a_hit_never_moves_expires_and_the_entry_ends_then(void **state)
{
	struct asker a;
	int64_t expires = now.wall + TTL;

	(void)state;
	fill(7, 3);
	pass(TTL * 1000 - 1000);
	is(get(&a, "file.read"), SP_CACHE_HIT, 7);
	assert_int_equal(a.expires, expires);
	pass(1000);
	is(with(get(&a, "file.read"), says(8, 4, "file.*")), SP_CACHE_FILLED, 8);
	assert_int_equal(counter("expired"), 1);
	assert_int_equal(a.expires, expires + TTL);
}

static void a_clock_set_back_prolongs_nothing_and_one_set_forward_ends_it(void **state)
{
	struct asker a;

	(void)state;
	fill(7, 3);
	now.wall -= 3600;
	now.monotonic += TTL * 1000 - 1;
	is(get(&a, "file.read"), SP_CACHE_HIT, 7);
	now.monotonic += 1;
	is(with(get(&a, "file.read"), says(7, 3, "file.*")), SP_CACHE_FILLED, 7);
	now.wall += 3600;
	assert_int_equal(get(&a, "file.read")->step, SP_CACHE_LOOK);
	assert_int_equal(counter("expired"), 2);
	sp_cache_abandon(&a.ask);
}

static void an_entry_ends_with_the_grant_it_rests_on(void **state)
{
	struct asker a;
	struct sp_lookup lookup = says(7, 3, "file.*");

	(void)state;
	lookup.authorization.until = now.wall + 10;
	is(with(get(&a, "file.read"), lookup), SP_CACHE_FILLED, 7);
	assert_int_equal(a.expires, now.wall + 10);
	pass(9999);
	is(get(&a, "file.read"), SP_CACHE_HIT, 7);
	pass(1);
	is(with(get(&a, "file.read"), says(7, 3, NULL)), SP_CACHE_DENIED, 0);
}

static void concurrent_misses_make_one_lookup_and_each_is_judged_by_its_operation(void **state)
{
	struct asker a, b, c, other;

	(void)state;
	assert_int_equal(get(&a, "file.read")->step, SP_CACHE_LOOK);
	assert_int_equal(get(&b, "file.write")->step, SP_CACHE_WAIT);
	assert_int_equal(get(&c, "exec.run")->step, SP_CACHE_WAIT);
	assert_int_equal(get_as(&other, "uid:2", "s", "file.read")->step, SP_CACHE_LOOK);
	with(&a, says(7, 3, "file.*"));
	is(&a, SP_CACHE_FILLED, 7);
	is(&b, SP_CACHE_FILLED, 7);
	is(&c, SP_CACHE_DENIED, 0);
	assert_false(other.answered);
	is(with(&other, says(7, 3, NULL)), SP_CACHE_DENIED, 0);
	assert_int_equal(counter("lookups"), 2);
	assert_int_equal(counter("coalesced"), 2);
}

static void an_operation_not_granted_is_asked_for_once_a_second_and_expires_stays(void **state)
{
	struct asker a;
	int64_t expires = now.wall + TTL;

	(void)state;
	fill(7, 3);
	pass(999);
	is(get(&a, "exec.run"), SP_CACHE_DENIED, 0);
	assert_int_equal(counter("lookups"), 1);
	pass(1);
	is(with(get(&a, "exec.run"), says(8, 9, "file.*")), SP_CACHE_DENIED, 0);
	pass(999);
	is(get(&a, "exec.run"), SP_CACHE_DENIED, 0);
	pass(1);
	is(with(get(&a, "exec.run"), says(8, 9, "exec.*")), SP_CACHE_FILLED, 7);
	assert_int_equal(a.expires, expires);
	assert_string_equal(a.access, "\"access\":[\"exec.*\"],\"ports\":[]");
	is(get(&a, "exec.run"), SP_CACHE_HIT, 7); /* the route is not authorization's affair */
	assert_int_equal(counter("lookups"), 3);
}

static void nobody_is_authorized_by_an_entry_once_the_registry_says_no(void **state)
{
	struct asker a;

	(void)state;
	fill(7, 3);
	pass(1000);
	is(with(get(&a, "exec.run"), says(7, 3, NULL)), SP_CACHE_DENIED, 0);
	assert_int_equal(counter("entries"), 0);
	is(with(get(&a, "file.read"), says(7, 3, NULL)), SP_CACHE_DENIED, 0);
	assert_int_equal(counter("entries"), 0);
}

static void ports_are_granted_with_their_protocols(void **state)
{
	const struct {
		int port, protocol;
		bool allowed;
	} rows[] = {
	    {8080, SP_PROTOCOL_HTTP, true},
	    {8080, SP_PROTOCOL_TCP, false},
	    {8079, SP_PROTOCOL_HTTP, false},
	    {8090, SP_PROTOCOL_HTTP, true},
	    {8091, SP_PROTOCOL_HTTP, false},
	    {0, SP_PROTOCOL_HTTP, false},
	    {8080, -1, false},
	};
	struct sp_lookup lookup = says(7, 3, "ping");
	struct sp_port_range range;
	struct asker a;

	(void)state;
	assert_true(sp_port_range_parse("8080-8090/http", &range));
	assert_int_equal(sp_rights_add_port(&lookup.authorization.rights, &range, NULL), 0);
	is(with(get(&a, "ping"), lookup), SP_CACHE_FILLED, 7);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		a = (struct asker){.ask = {.kind = SP_CACHE_GET,
				       .caller = "uid:1",
				       .sandbox = "s",
				       .op = sp_op_find("port.connect"),
				       .port = rows[i].port,
				       .protocol = rows[i].protocol}};
		is(take(&a), rows[i].allowed ? SP_CACHE_HIT : SP_CACHE_DENIED,
		    rows[i].allowed ? 7 : 0);
	}
}

static void gone_is_remembered_for_a_second_and_told_to_the_authorized_only(void **state)
{
	struct asker a;

	(void)state;
	is(with(get(&a, "file.read"), says(0, 0, "file.*")), SP_CACHE_GONE, 0);
	pass(999);
	is(get(&a, "file.read"), SP_CACHE_GONE, 0);
	is(with(get(&a, "exec.run"), says(0, 0, "file.*")), SP_CACHE_DENIED, 0);
	is(with(get_as(&a, "uid:2", "s", "file.read"), says(0, 0, NULL)), SP_CACHE_DENIED, 0);
	pass(1);
	is(with(get(&a, "file.read"), says(7, 1, "file.*")), SP_CACHE_FILLED, 7);
}

static void unavailable_is_another_answer_and_never_remembered(void **state)
{
	struct asker a;

	(void)state;
	is(with(get(&a, "file.read"), down()), SP_CACHE_UNAVAILABLE, 0);
	fill(7, 3);
	pass(1000);
	is(with(get(&a, "exec.run"), down()), SP_CACHE_UNAVAILABLE, 0);
	is(with(reject(&a, 7), down()), SP_CACHE_UNAVAILABLE, 0);
	is(with(renew(&a), down()), SP_CACHE_UNAVAILABLE, 0);
	is(get(&a, "file.read"), SP_CACHE_HIT, 7); /* live entries serve on */
}

static void the_least_recently_used_entry_goes_first(void **state)
{
	struct asker a;

	(void)state;
	sp_cache_free(cache);
	assert_int_equal(begin_with(2), 0);
	with(get_as(&a, "uid:1", "a", "ping"), says(7, 1, "ping"));
	with(get_as(&a, "uid:1", "b", "ping"), says(7, 1, "ping"));
	is(get_as(&a, "uid:1", "a", "ping"), SP_CACHE_HIT, 7);
	with(get_as(&a, "uid:1", "c", "ping"), says(7, 1, "ping"));
	assert_int_equal(counter("evicted"), 1);
	assert_int_equal(counter("entries"), 2);
	is(get_as(&a, "uid:1", "a", "ping"), SP_CACHE_HIT, 7);
	is(get_as(&a, "uid:1", "c", "ping"), SP_CACHE_HIT, 7);
	is(with(get_as(&a, "uid:1", "b", "ping"), says(8, 2, "ping")), SP_CACHE_FILLED, 8);
}

static void a_reject_replaces_by_the_newer_only_and_keeps_expires(void **state)
{
	const struct {
		int64_t execution, revision;
		enum sp_cache_effect effect;
		int64_t then; /* what a get finds */
	} rows[] = {
	    {8, 1, SP_CACHE_REPLACED, 8},   /* a higher execution, whatever its revision */
	    {7, 6, SP_CACHE_REPLACED, 7},   /* the same execution, a higher revision */
	    {7, 5, SP_CACHE_UNCHANGED, 7},  /* the same */
	    {7, 4, SP_CACHE_UNCHANGED, 7},  /* older */
	    {6, 99, SP_CACHE_UNCHANGED, 7}, /* older, whatever its revision */
	};
	struct asker a;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		int64_t expires;
		(void)sp_cache_drop(cache, NULL, NULL);
		expires = now.wall + TTL;
		fill(7, 5);
		pass(5000);
		with(reject(&a, 7), says(rows[i].execution, rows[i].revision, NULL));
		is(&a, rows[i].effect, rows[i].effect == SP_CACHE_REPLACED ? rows[i].execution : 0);
		is(get(&a, "file.read"), SP_CACHE_HIT, rows[i].then);
		assert_int_equal(a.expires, expires);
	}
	assert_int_equal(counter("replaced"), 2);
	assert_int_equal(counter("unchanged"), 3);
}

static void unchanged_is_answered_for_a_second_without_asking_again(void **state)
{
	struct asker a;

	(void)state;
	fill(7, 5);
	is(with(reject(&a, 7), says(7, 5, NULL)), SP_CACHE_UNCHANGED, 0);
	pass(999);
	is(reject(&a, 7), SP_CACHE_UNCHANGED, 0);
	assert_int_equal(counter("lookups"), 2);
	pass(1);
	is(with(reject(&a, 7), says(8, 6, NULL)), SP_CACHE_REPLACED, 8);
}

static void a_rejected_route_that_is_gone_takes_its_entry_along(void **state)
{
	struct asker a;

	(void)state;
	fill(7, 5);
	is(with(reject(&a, 7), says(0, 0, NULL)), SP_CACHE_GONE, 0);
	assert_int_equal(counter("entries"), 0);
	is(reject(&a, 7), SP_CACHE_GONE, 0);
	assert_int_equal(counter("gone"), 2);
	pass(1000);
	is(with(reject(&a, 7), says(0, 0, NULL)), SP_CACHE_GONE, 0);
}

static void an_entry_that_holds_another_route_already_is_kept(void **state)
{
	struct asker a;

	(void)state;
	fill(8, 6);
	is(reject(&a, 7), SP_CACHE_KEPT, 8); /* a late rejection of 7 after 8 is in */
	is(get(&a, "file.read"), SP_CACHE_HIT, 8);
	assert_int_equal(counter("lookups"), 1);
	assert_int_equal(counter("kept"), 1);
}

static void a_reject_without_an_entry_inserts_nothing(void **state)
{
	const struct {
		int64_t execution;
		enum sp_cache_effect effect;
		int64_t answer;
	} rows[] = {
	    {8, SP_CACHE_REPLACED, 8},
	    {7, SP_CACHE_UNCHANGED, 0},
	    {6, SP_CACHE_UNCHANGED, 0},
	    {0, SP_CACHE_GONE, 0},
	};
	struct asker a;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		is(with(reject(&a, 7), says(rows[i].execution, 9, NULL)), rows[i].effect,
		    rows[i].answer);
		assert_int_equal(counter("entries"), 0);
		pass(1000);
	}
	/* The same execution elsewhere differs and is not lower. */
	reject(&a, 7);
	struct sp_lookup moved = says(7, 9, NULL);
	(void)snprintf(moved.placement.route.worker, sizeof(moved.placement.route.worker), "b");
	is(with(&a, moved), SP_CACHE_REPLACED, 7);
}

static void concurrent_rejects_make_one_lookup(void **state)
{
	struct asker a, b, c;

	(void)state;
	fill(7, 5);
	assert_int_equal(reject(&a, 7)->step, SP_CACHE_LOOK);
	assert_int_equal(reject(&b, 7)->step, SP_CACHE_WAIT);
	is(get(&c, "file.read"), SP_CACHE_HIT, 7); /* a get does not wait for it */
	with(&a, says(8, 6, NULL));
	is(&a, SP_CACHE_REPLACED, 8);
	is(&b, SP_CACHE_REPLACED, 8);
	assert_int_equal(counter("lookups"), 2);
	assert_int_equal(counter("coalesced"), 1);
	(void)sp_cache_drop(cache, NULL, NULL);
	/* Without an entry each is compared by itself. */
	assert_int_equal(reject(&a, 7)->step, SP_CACHE_LOOK);
	assert_int_equal(reject(&b, 8)->step, SP_CACHE_WAIT);
	with(&a, says(8, 6, NULL));
	is(&a, SP_CACHE_REPLACED, 8);
	is(&b, SP_CACHE_UNCHANGED, 0);
}

static void renew_alone_moves_expires(void **state)
{
	struct asker a;
	struct sp_lookup lookup = says(8, 9, "exec.*");

	(void)state;
	fill(7, 5);
	pass(100000);
	is(with(renew(&a), lookup), SP_CACHE_RENEWED, 7);
	assert_int_equal(a.expires, now.wall + TTL);
	assert_string_equal(a.access, "\"access\":[\"exec.*\"],\"ports\":[]");
	is(get(&a, "exec.run"), SP_CACHE_HIT, 7);
	is(with(renew(&a), says(7, 5, NULL)), SP_CACHE_DENIED, 0);
	assert_int_equal(counter("entries"), 0);
	is(with(renew(&a), says(8, 9, "file.*")), SP_CACHE_RENEWED, 8);
	is(get(&a, "file.read"), SP_CACHE_HIT, 8);
	(void)sp_cache_drop(cache, NULL, NULL);
	is(with(renew(&a), says(0, 0, "file.*")), SP_CACHE_GONE, 0);
}

static void drop_forgets_an_entry_a_sandbox_a_caller_or_all(void **state)
{
	static const char *const callers[] = {"uid:1", "uid:2"}, *const sandboxes[] = {"a", "b-1"};
	const struct {
		const char *caller, *pattern;
		size_t count;
	} rows[] = {{"uid:1", "a", 1}, {NULL, "a", 2}, {"uid:1", NULL, 2}, {"uid:1", "b-*", 1},
	    {NULL, "b-*", 2}, {NULL, NULL, 4}, {"uid:3", NULL, 0}, {"uid:1", "c", 0}};
	struct asker a;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		(void)sp_cache_drop(cache, NULL, NULL);
		for (size_t c = 0; c < 2; c++)
			for (size_t s = 0; s < 2; s++)
				with(get_as(&a, callers[c], sandboxes[s], "ping"),
				    says(7, 1, "ping"));
		assert_int_equal(
		    sp_cache_drop(cache, rows[i].caller, rows[i].pattern), rows[i].count);
		assert_int_equal(counter("entries"), 4 - rows[i].count);
	}
}

static void a_bearer_token_that_is_not_the_entrys_is_not_served_by_it(void **state)
{
	unsigned char right[SP_CREDENTIAL_SIZE] = "right", wrong[SP_CREDENTIAL_SIZE] = "wrong";
	const unsigned char *const others[] = {wrong, NULL};
	struct asker a;
	const struct sp_cache_ask ask = {
	    .kind = SP_CACHE_GET, .caller = "token:ci", .sandbox = "s", .op = sp_op_find("ping")};

	(void)state;
	a = (struct asker){.ask = ask};
	a.ask.credential = right;
	is(with(take(&a), says(7, 1, "ping")), SP_CACHE_FILLED, 7);
	for (size_t i = 0; i < SP_COUNT(others); i++) {
		a = (struct asker){.ask = ask};
		a.ask.credential = others[i];
		is(with(take(&a), says(7, 1, NULL)), SP_CACHE_DENIED, 0);
	}
	a = (struct asker){.ask = ask};
	a.ask.credential = right;
	is(take(&a), SP_CACHE_HIT, 7); /* the entry did not suffer */
	/* A renewal without a credential is the entry's own. */
	a = (struct asker){.ask = ask};
	a.ask.kind = SP_CACHE_RENEW;
	assert_int_equal(take(&a)->step, SP_CACHE_LOOK);
	assert_memory_equal(sp_flight_question(a.flight).credential, right, SP_CREDENTIAL_SIZE);
	is(with(&a, says(7, 1, "ping")), SP_CACHE_RENEWED, 7);
	/* The token was replaced: the new one takes the entry over. */
	a = (struct asker){.ask = ask};
	a.ask.credential = wrong;
	is(with(take(&a), says(7, 1, "ping")), SP_CACHE_FILLED, 7);
	a = (struct asker){.ask = ask};
	a.ask.credential = right;
	is(with(take(&a), says(7, 1, NULL)), SP_CACHE_DENIED, 0);
	assert_int_equal(counter("entries"), 1);
}

static void an_abandoned_question_is_told_nothing_and_its_lookup_still_fills(void **state)
{
	struct asker a, b;

	(void)state;
	get(&a, "file.read");
	sp_cache_abandon(&a.ask);
	assert_int_equal(get(&b, "file.read")->step, SP_CACHE_WAIT);
	sp_cache_abandon(&b.ask);
	assert_int_equal(looked(&a, says(7, 3, "file.*")), SP_CACHE_ANSWERED);
	assert_false(a.answered);
	is(get(&b, "file.read"), SP_CACHE_HIT, 7);
}

static void a_drop_while_a_fill_is_under_way_makes_it_ask_again_thrice_at_most(void **state)
{
	struct asker a;

	(void)state;
	get(&a, "file.read");
	for (int i = 0; i < SP_CACHE_RETRIES; i++) {
		assert_int_equal(sp_cache_drop(cache, "uid:1", "s*"), 0);
		assert_int_equal(looked(&a, says(7, 3, "file.*")), SP_CACHE_LOOK);
	}
	assert_int_equal(sp_cache_drop(cache, NULL, "s"), 0);
	assert_int_equal(looked(&a, says(7, 3, "file.*")), SP_CACHE_ANSWERED);
	is(&a, SP_CACHE_UNAVAILABLE, 0);
	assert_int_equal(counter("lookups"), 4);
	assert_int_equal(counter("discarded"), 4);
	assert_int_equal(counter("entries"), 0);
}

static void a_drop_that_concerns_another_key_disturbs_no_fill(void **state)
{
	struct asker a;

	(void)state;
	get(&a, "file.read");
	(void)sp_cache_drop(cache, "uid:2", NULL);
	(void)sp_cache_drop(cache, "uid:1", "t*");
	is(with(&a, says(7, 3, "file.*")), SP_CACHE_FILLED, 7);
	assert_int_equal(counter("discarded"), 0);
}

static void a_grant_revoked_while_its_lookup_is_slow_does_not_come_back(void **state)
{
	struct asker a;

	(void)state;
	get(&a, "file.read");
	(void)sp_cache_drop(cache, "uid:1", "*");
	assert_int_equal(looked(&a, says(7, 3, "file.*")), SP_CACHE_LOOK);
	is(with(&a, says(7, 3, NULL)), SP_CACHE_DENIED, 0);
	assert_int_equal(counter("entries"), 0);
}

static void a_slow_fill_never_brings_an_old_route_back(void **state)
{
	struct asker slow, a;

	(void)state;
	/* Another way in filled the key meanwhile. */
	get(&slow, "file.read");
	is(with(renew(&a), says(8, 4, "file.*")), SP_CACHE_RENEWED, 8);
	assert_int_equal(looked(&slow, says(7, 3, "file.*")), SP_CACHE_ANSWERED);
	is(&slow, SP_CACHE_HIT, 8);
	assert_int_equal(counter("discarded"), 1);
	/* ... and it is gone again when the slow one arrives. */
	(void)sp_cache_drop(cache, NULL, NULL);
	get(&slow, "file.read");
	with(renew(&a), says(8, 4, "file.*"));
	pass(TTL * 1000);
	assert_int_equal(looked(&slow, says(7, 3, "file.*")), SP_CACHE_LOOK);
	is(with(&slow, says(8, 4, "file.*")), SP_CACHE_FILLED, 8);
	/* A rejection saw the newer one, without an entry. */
	(void)sp_cache_drop(cache, NULL, NULL);
	get(&slow, "file.read");
	is(with(reject(&a, 7), says(8, 4, NULL)), SP_CACHE_REPLACED, 8);
	assert_int_equal(looked(&slow, says(7, 3, "file.*")), SP_CACHE_LOOK);
	is(with(&slow, says(8, 4, "file.*")), SP_CACHE_FILLED, 8);
}

static void an_evicted_key_takes_no_old_fill_either(void **state)
{
	struct asker slow, a;

	(void)state;
	sp_cache_free(cache);
	assert_int_equal(begin_with(1), 0);
	get(&slow, "file.read");
	with(renew(&a), says(8, 4, "file.*"));
	with(get_as(&a, "uid:1", "other", "ping"), says(1, 1, "ping"));
	assert_int_equal(counter("evicted"), 1);
	assert_int_equal(looked(&slow, says(7, 3, "file.*")), SP_CACHE_LOOK);
	is(with(&slow, says(8, 4, "file.*")), SP_CACHE_FILLED, 8);
}

static void a_slow_reject_replaces_only_what_still_holds_the_rejected_one(void **state)
{
	struct asker slow, a;

	(void)state;
	fill(7, 3);
	reject(&slow, 7);
	(void)sp_cache_drop(cache, NULL, NULL);
	fill(9, 5);
	assert_int_equal(looked(&slow, says(8, 4, NULL)), SP_CACHE_ANSWERED);
	is(&slow, SP_CACHE_KEPT, 9);
	is(get(&a, "file.read"), SP_CACHE_HIT, 9);
	/* Dropped and not filled: the registry is asked again, nothing is inserted. */
	reject(&slow, 9);
	(void)sp_cache_drop(cache, NULL, NULL);
	assert_int_equal(looked(&slow, says(10, 6, NULL)), SP_CACHE_LOOK);
	is(with(&slow, says(10, 6, NULL)), SP_CACHE_REPLACED, 10);
	assert_int_equal(counter("entries"), 0);
}

static void renewing_and_rejecting_at_once_lose_nothing(void **state)
{
	struct asker r, n, a;

	(void)state;
	fill(7, 3);
	pass(10000);
	reject(&r, 7);
	renew(&n);
	is(with(&r, says(8, 4, NULL)), SP_CACHE_REPLACED, 8);
	assert_int_equal(looked(&n, says(7, 3, "file.*")), SP_CACHE_LOOK);
	is(with(&n, says(8, 4, "file.*")), SP_CACHE_RENEWED, 8);
	is(get(&a, "file.read"), SP_CACHE_HIT, 8);
	assert_int_equal(a.expires, now.wall + TTL);
}

static void a_slow_authorization_never_brings_older_rights_back(void **state)
{
	struct asker slow, a;

	(void)state;
	fill(7, 3);
	pass(1000);
	assert_int_equal(get(&slow, "exec.run")->step, SP_CACHE_LOOK);
	is(with(renew(&a), says(7, 3, "ping")), SP_CACHE_RENEWED, 7);
	is(with(&slow, says(7, 3, "exec.*")), SP_CACHE_DENIED, 0);
	is(get(&a, "ping"), SP_CACHE_HIT, 7);
	assert_string_equal(a.access, "\"access\":[\"ping\"],\"ports\":[]");
}

/* Random interleavings against a registry that only moves forward: what a key was once told is
 * never followed by something older. */
static uint64_t random_state = 42;

static unsigned dice(unsigned sides)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(random_state >> 33) % sides;
}

#define SLOTS 6
static struct asker slots[SLOTS];
static bool busy[SLOTS];
static struct {
	struct sp_flight *flight;
	struct sp_lookup seen;
} under_way[SLOTS];

static void ask_something(unsigned slot, int64_t truth)
{
	unsigned kind = dice(8);

	if (kind < 4)
		get(&slots[slot], "file.read");
	else if (kind < 7)
		reject(&slots[slot], truth > 1 ? truth - dice(2) : truth);
	else
		renew(&slots[slot]);
	busy[slot] = true;
	for (unsigned i = 0; slots[slot].step == SP_CACHE_LOOK && i < SLOTS; i++)
		if (!under_way[i].flight) {
			under_way[i].flight = slots[slot].flight;
			under_way[i].seen = says(truth, truth, "file.*");
			break;
		}
}

/* What a lookup saw when it asked arrives now. */
static void one_arrives(unsigned i, int64_t truth)
{
	if (!under_way[i].flight)
		return;
	if (sp_cache_looked(cache, under_way[i].flight, &under_way[i].seen, now, on_answer, NULL) ==
	    SP_CACHE_LOOK)
		under_way[i].seen = says(truth, truth, "file.*");
	else
		under_way[i].flight = NULL;
}

static unsigned check_told(int64_t *told)
{
	unsigned served = 0;

	for (unsigned i = 0; i < SLOTS; i++) {
		if (!busy[i] || !slots[i].answered)
			continue;
		busy[i] = false;
		if (!slots[i].execution)
			continue;
		assert_true(slots[i].execution >= *told);
		*told = slots[i].execution;
		served++;
	}
	return served;
}

static void nothing_older_follows_in_any_order_of_events(void **state)
{
	int64_t truth = 1, told = 0;
	unsigned served = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		unsigned slot = dice(SLOTS);
		if (!busy[slot])
			ask_something(slot, truth);
		served += check_told(&told);
		if (dice(2) == 0)
			one_arrives(dice(SLOTS), truth);
		served += check_told(&told);
		truth += dice(10) == 0;
		if (dice(60) == 0)
			(void)sp_cache_drop(cache, dice(2) ? "uid:1" : NULL, dice(2) ? "s" : NULL);
		if (dice(15) == 0)
			pass(dice(400) * 1000);
	}
	assert_true(served > 2000);
	assert_true(counter("discarded") > 500);
	assert_true(counter("expired") > 10);
	for (unsigned i = 0; i < SLOTS; i++)
		if (busy[i])
			sp_cache_abandon(&slots[i].ask);
}

static void each(
    void *context, const char *caller, const char *sandbox, const struct sp_cache_answer *entry)
{
	int *count = context;

	assert_string_equal(caller, "uid:1");
	assert_int_equal(sandbox[0], 'x');
	assert_non_null(entry->placement);
	(*count)++;
}

static void a_walk_in_pieces_meets_every_entry(void **state)
{
	char sandbox[16];
	struct asker a;
	size_t position = 0;
	int count = 0;

	(void)state;
	for (int i = 0; i < 60; i++) {
		(void)snprintf(sandbox, sizeof(sandbox), "x%d", i);
		with(get_as(&a, "uid:1", sandbox, "ping"), says(7, 1, "ping"));
	}
	do
		sp_cache_walk(cache, &position, each, &count);
	while (position);
	assert_int_equal(count, 60);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_get_is_filled_once_and_hit_from_then_on),
	    TEST(a_hit_never_moves_expires_and_the_entry_ends_then),
	    TEST(a_clock_set_back_prolongs_nothing_and_one_set_forward_ends_it),
	    TEST(an_entry_ends_with_the_grant_it_rests_on),
	    TEST(concurrent_misses_make_one_lookup_and_each_is_judged_by_its_operation),
	    TEST(an_operation_not_granted_is_asked_for_once_a_second_and_expires_stays),
	    TEST(nobody_is_authorized_by_an_entry_once_the_registry_says_no),
	    TEST(ports_are_granted_with_their_protocols),
	    TEST(gone_is_remembered_for_a_second_and_told_to_the_authorized_only),
	    TEST(unavailable_is_another_answer_and_never_remembered),
	    TEST(the_least_recently_used_entry_goes_first),
	    TEST(a_reject_replaces_by_the_newer_only_and_keeps_expires),
	    TEST(unchanged_is_answered_for_a_second_without_asking_again),
	    TEST(a_rejected_route_that_is_gone_takes_its_entry_along),
	    TEST(an_entry_that_holds_another_route_already_is_kept),
	    TEST(a_reject_without_an_entry_inserts_nothing),
	    TEST(concurrent_rejects_make_one_lookup),
	    TEST(renew_alone_moves_expires),
	    TEST(drop_forgets_an_entry_a_sandbox_a_caller_or_all),
	    TEST(a_bearer_token_that_is_not_the_entrys_is_not_served_by_it),
	    TEST(an_abandoned_question_is_told_nothing_and_its_lookup_still_fills),
	    TEST(a_drop_while_a_fill_is_under_way_makes_it_ask_again_thrice_at_most),
	    TEST(a_drop_that_concerns_another_key_disturbs_no_fill),
	    TEST(a_grant_revoked_while_its_lookup_is_slow_does_not_come_back),
	    TEST(a_slow_fill_never_brings_an_old_route_back),
	    TEST(an_evicted_key_takes_no_old_fill_either),
	    TEST(a_slow_reject_replaces_only_what_still_holds_the_rejected_one),
	    TEST(renewing_and_rejecting_at_once_lose_nothing),
	    TEST(a_slow_authorization_never_brings_older_rights_back),
	    TEST(nothing_older_follows_in_any_order_of_events),
	    TEST(a_walk_in_pieces_meets_every_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
