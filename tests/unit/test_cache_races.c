/*
 * Random interleavings of everything that meets in the cache: questions, lookups that are read at
 * one time and answered at another, the watch, drops, revocations, retirements and resumptions, a
 * clock that steps, a restart. After every step each entry and each answer is held against the
 * history of a registry that the test keeps itself.
 *
 * SP_RACES_SEED=N SP_RACES=1 replays the run that failed; SP_RACES=N makes so many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cache_races.h"

static struct flight *flight_with(struct sp_flight *flight)
{
	for (int i = 0; i < FLIGHTS; i++)
		if (run.flights[i].flight == flight)
			return &run.flights[i];
	return NULL;
}

/* Mostly what is held or true, sometimes long past or not yet. */
static struct sp_route some_route(int key)
{
	const struct truth *truth = truth_of(key % SANDBOXES);

	if (run.held[key].there && below(2))
		return route_of(run.held[key].execution, 1);
	return route_of(truth->execution > 2 ? truth->execution - 1 + below(3) : 1 + below(3),
	    below(3) ? truth->attempt : 1);
}

static void ask(void)
{
	struct asker *asker = &run.askers[below(ASKERS)];
	struct sp_cache_answer answer;
	struct sp_flight *flight;

	if (asker->waits)
		return;
	*asker = (struct asker){.key = (int)below(run.keys), .since = run.now.monotonic};
	asker->rejected = some_route(asker->key);
	asker->ask = (struct sp_cache_ask){.kind = (enum sp_cache_kind)below(3),
	    .caller = CALLER[asker->key / SANDBOXES],
	    .sandbox = SANDBOX[asker->key % SANDBOXES],
	    .op = sp_op_find("ping"),
	    .rejected = &asker->rejected};
	if (asker->ask.kind == SP_CACHE_GET && below(2))
		asker->ask.op = below(4) ? sp_op_find("exec.run") : NULL;
	switch (sp_cache_take(run.cache, &asker->ask, run.now, &answer, &flight)) {
	case SP_CACHE_ANSWERED:
		check_answer(asker, &answer, true);
		return;
	case SP_CACHE_WAIT:
		asker->flight = flight_with(asker->ask.flight);
		hold(asker->flight != NULL, "only a lookup under way is shared", asker->key);
		asker->since = asker->flight->began;
		break;
	case SP_CACHE_LOOK:
		asker->flight = flight_with(NULL);
		*asker->flight = (struct flight){.flight = flight,
		    .key = asker->key,
		    .began = run.now.monotonic,
		    .kind = asker->ask.kind};
		break;
	}
	asker->waits = true;
}

static void go_on(struct flight *flight)
{
	bool inserts = flight->kind != SP_CACHE_REJECT;

	if (!flight->read) {
		read_registry(flight);
		return;
	}
	run.inserting = inserts ? flight->key : -1;
	run.renewing = flight->kind == SP_CACHE_RENEW ? flight->key : -1;
	/* It says no, or another makes room. */
	run.forgets = true;
	if (sp_cache_looked(run.cache, flight->flight, &flight->lookup, run.now, on_answer, NULL) ==
	    SP_CACHE_LOOK) {
		hold(flight->disturbed || !is_live(&run.held[flight->key]),
		    "nothing is asked again without a cause", flight->key);
		flight->read = flight->disturbed = false;
		flight->thrown++;
		thrown++;
		hold(flight->thrown <= SP_CACHE_RETRIES, "asked again too often", flight->key);
	} else {
		run.finished[run.finished_count++] =
		    (struct finished){flight->key, flight->began, run.now.monotonic};
		flight->flight = NULL;
		disturb(flight->key);
	}
}

/* The watch tells the next change; perhaps one that it has told, too. */
static void tell(void)
{
	const struct change *change;

	if (run.told == run.change_count)
		return;
	disturb(-1);
	change = &run.changes[run.told && below(8) == 0 ? run.told - 1 : run.told++];
	run.forgets = true;
	if (change->caller >= 0) {
		if (change->epoch > run.floor[change->caller])
			run.floor[change->caller] = change->epoch;
		(void)sp_cache_drop(run.cache, CALLER[change->caller], below(2) ? "*" : NULL);
		run.finished_count = 0;
	} else if (run.follows) {
		const struct sp_placement placement = placement_of(&change->truth);
		(void)sp_cache_offer(run.cache, SANDBOX[change->sandbox], &placement);
		run.forgets = change->truth.retired;
	}
}

static void drop(void)
{
	run.forgets = true;
	run.finished_count = 0;
	disturb(-1);
	(void)sp_cache_drop(run.cache, below(2) ? CALLER[below(CALLERS)] : NULL,
	    below(2) ? SANDBOX[below(SANDBOXES)] : NULL);
}

static void abandon(void)
{
	struct asker *asker = &run.askers[below(ASKERS)];

	if (asker->waits)
		sp_cache_abandon(&asker->ask);
	asker->waits = false;
}

static void pass(void)
{
	unsigned ms = below(3) ? below(900) : below(TTL * 1000);

	run.now.wall += (run.now.monotonic % 1000 + ms) / 1000;
	run.now.monotonic += ms;
	if (below(4) == 0)
		run.now.wall += below(2) ? HOUR : -HOUR;
}

static void begin_cache(void)
{
	static const unsigned char key[SP_CACHE_KEY_SIZE] = "0123456789abcde";

	assert_int_equal(sp_cache_new(run.max, TTL, key, &run.cache), 0);
	memset(run.held, 0, sizeof(run.held));
	/* Its watch begins now, and whatever it reads is of now or later. */
	run.told = run.change_count;
	for (int i = 0; i < CALLERS; i++)
		run.floor[i] = rights_of(i)->epoch;
}

/* Who waited has lost his connection. */
static void restart(void)
{
	for (int i = 0; i < ASKERS; i++)
		if (run.askers[i].waits)
			sp_cache_abandon(&run.askers[i].ask);
	memset(run.askers, 0, sizeof(run.askers));
	memset(run.flights, 0, sizeof(run.flights));
	run.finished_count = 0;
	sp_cache_free(run.cache);
	begin_cache();
}

static void fly(void)
{
	struct flight *flight = &run.flights[below(FLIGHTS)];

	if (flight->flight)
		go_on(flight);
}

/* What happens, and how likely each is, in percent: of any run, and of a calm one. */
static const struct {
	void (*happens)(void);
	unsigned weight, calm;
} EVENTS[] = {{ask, 35, 40}, {fly, 35, 40}, {change_some_route, 8, 4}, {change_some_rights, 5, 8},
    {tell, 8, 3}, {pass, 6, 5}, {drop, 1, 0}, {abandon, 1, 0}, {restart, 1, 0}};

static void step(void)
{
	unsigned what = below(100);
	size_t i = 0;

	run.inserting = run.renewing = -1;
	run.forgets = false;
	for (; what >= (run.calm ? EVENTS[i].calm : EVENTS[i].weight); i++)
		what -= run.calm ? EVENTS[i].calm : EVENTS[i].weight;
	EVENTS[i].happens();
	check_entries();
}

/* Whatever is under way arrives; then the cache and the registry are of one mind. */
static void settle(void)
{
	for (int rounds = 0; rounds < 4 * FLIGHTS; rounds++) {
		run.inserting = run.renewing = -1;
		run.forgets = false;
		if (run.flights[rounds % FLIGHTS].flight)
			go_on(&run.flights[rounds % FLIGHTS]);
		check_entries();
	}
	while (run.told < run.change_count) {
		run.inserting = run.renewing = -1;
		tell();
		check_entries();
	}
	for (int i = 0; i < FLIGHTS; i++)
		while (run.flights[i].flight) {
			run.renewing = -1;
			go_on(&run.flights[i]);
			check_entries();
		}
	for (int i = 0; i < ASKERS; i++)
		hold(!run.askers[i].waits, "every question is answered", run.askers[i].key);
	for (int key = 0; run.follows && key < KEYS; key++)
		hold(!run.held[key].there ||
			 (!truth_of(key % SANDBOXES)->retired &&
			     run.held[key].revision == truth_of(key % SANDBOXES)->revision),
		    "in the end what is held is true", key);
}

static void one_run(uint64_t seed)
{
	memset(&run, 0, sizeof(run));
	run.seed = run.state = seed;
	run.now = (struct sp_cache_time){.wall = 1000000, .monotonic = 50000};
	run.follows = below(3) > 0;
	run.calm = below(2);
	run.keys = below(2) ? KEYS : 1;
	run.max = below(3) > 0 ? 100 : 1 + below(KEYS - 1);
	for (int i = 0; i < SANDBOXES; i++)
		run.truths[i][run.truth_count[i]++] =
		    (struct truth){.execution = 1 + below(3), .attempt = 1, .revision = 1};
	for (int i = 0; i < CALLERS; i++)
		run.rights[i][run.right_count[i]++] = (struct rights){.epoch = 1, .granted = true};
	run.revision = 1;
	begin_cache();
	for (run.step = 0; run.step < STEPS; run.step++)
		step();
	settle();
	sp_cache_free(run.cache);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void nothing_goes_wrong_in_ten_thousand_random_races(void **state)
{
	uint64_t seed = setting("SP_RACES_SEED", 20261130), runs = setting("SP_RACES", RUNS);

	(void)state;
	print_message("seed %llu, %llu runs\n", (unsigned long long)seed, (unsigned long long)runs);
	for (uint64_t i = 0; i < runs; i++)
		one_run(seed + i);
	print_message("%lu answers of the registry were outrun\n", thrown);
	for (unsigned i = 0; i <= SP_CACHE_UNAVAILABLE; i++) {
		print_message("%s %lu\n", sp_cache_effect_name(i), effects[i]);
		assert_true(effects[i] > 0 || runs < RUNS);
	}
	assert_true(thrown > 0 || runs < RUNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_goes_wrong_in_ten_thousand_random_races),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
