/* What test_cache_races.c holds the cache against: a registry's history, what is under way, what
 * was held before, and what each answer and each entry may be. */
#ifndef TESTS_UNIT_CACHE_RACES_H
#define TESTS_UNIT_CACHE_RACES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/cache.h"

enum {
	RUNS = 10000,
	STEPS = 80,
	CALLERS = 2,
	SANDBOXES = 2,
	KEYS = CALLERS * SANDBOXES,
	ASKERS = 12,
	FLIGHTS = ASKERS,
	CHANGES = 2 * STEPS,
	TTL = 3, /* seconds */
	HOUR = 3600,
};

static const char *const CALLER[] = {"uid:1", "uid:2"}, *const SANDBOX[] = {"s-1", "s-2"};

/* What a sandbox or a caller's rights were from a time on; the registry's history. */
struct truth {
	int64_t from; /* monotonic */
	int64_t execution, attempt, revision;
	bool retired;
};

struct rights {
	int64_t from, epoch; /* epoch: the port that is granted then, which names these rights */
	bool granted;
};

/* A change as the watch will tell it. */
struct change {
	int sandbox, caller; /* one of them -1 */
	struct truth truth;
	int64_t epoch;
};

struct flight {
	struct sp_flight *flight; /* NULL: free */
	int key;
	int64_t began;
	enum sp_cache_kind kind;
	unsigned thrown;         /* answers that were outrun */
	bool read, disturbed;    /* disturbed: something happened that may void its answer */
	struct sp_lookup lookup; /* once read */
};

struct asker {
	struct sp_cache_ask ask;
	bool waits;
	int key;
	struct flight *flight;
	int64_t since; /* nothing that was so before plays a part */
	struct sp_route rejected;
};

/* An entry as it was after the step before. */
struct held {
	bool there;
	int64_t execution, attempt, revision, epoch, expires, deadline;
};

static struct run {
	uint64_t seed, state;
	unsigned step;
	struct sp_cache *cache;
	struct sp_cache_time now;
	size_t max;
	bool follows, calm; /* calm: rights change more often, and little is forgotten */
	unsigned keys;
	int64_t revision;
	struct truth truths[SANDBOXES][CHANGES];
	struct rights rights[CALLERS][CHANGES];
	unsigned truth_count[SANDBOXES], right_count[CALLERS];
	struct change changes[2 * CHANGES];
	unsigned change_count, told;
	struct flight flights[FLIGHTS];
	struct asker askers[ASKERS];
	struct finished {
		int key;
		int64_t began, at;
	} finished[4 * STEPS];
	unsigned finished_count;
	struct held held[KEYS], before[KEYS];
	int64_t seen_execution[KEYS], seen_revision[KEYS]; /* the newest told or held */
	int64_t seen_epoch[KEYS];
	int64_t floor[CALLERS]; /* the epoch of the last revocation that was told */
	/* the step */
	int inserting, renewing; /* keys; -1: none */
	bool forgets;
} run;

/* Over all runs: each must have been met. */
static unsigned long effects[SP_CACHE_UNAVAILABLE + 1], thrown;

static void hold(bool good, const char *words, int key)
{
	if (good)
		return;
	print_error("not so: %s (key %d, step %u); replay: SP_RACES_SEED=%llu SP_RACES=1\n", words,
	    key, run.step, (unsigned long long)run.seed);
	fail();
}

static unsigned below(unsigned bound)
{
	uint64_t z = run.state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (unsigned)((z ^ z >> 31) % bound);
}

static struct truth *truth_of(int sandbox)
{
	return &run.truths[sandbox][run.truth_count[sandbox] - 1];
}

static struct rights *rights_of(int caller)
{
	return &run.rights[caller][run.right_count[caller] - 1];
}

static struct sp_route route_of(int64_t execution, int64_t attempt)
{
	struct sp_route route = {.execution = execution,
	    .attempt = attempt,
	    .substrate = SP_SUBSTRATE_HOST,
	    .worker = "worker-a"};

	(void)snprintf(
	    route.activation, sizeof(route.activation), "act-%lld", (long long)execution);
	return route;
}

static struct sp_placement placement_of(const struct truth *truth)
{
	struct sp_placement placement = {.route = route_of(truth->execution, truth->attempt),
	    .retired = truth->retired,
	    .revision = truth->revision};

	(void)snprintf(placement.endpoint, sizeof(placement.endpoint), "unix:/run/%lld",
	    (long long)truth->execution);
	return placement;
}

/* Publishes, also over a retirement (a resumption); or another attempt; or retires. */
static void change_route(int sandbox)
{
	struct truth truth = *truth_of(sandbox);
	unsigned what = below(4);

	truth.from = run.now.monotonic;
	truth.revision = ++run.revision;
	if (what == 0 && !truth.retired) {
		truth.retired = true;
	} else if (what == 1 && !truth.retired) {
		truth.attempt++;
	} else {
		truth.execution++;
		truth.attempt = 1;
		truth.retired = false;
	}
	run.truths[sandbox][run.truth_count[sandbox]++] = truth;
	run.changes[run.change_count++] = (struct change){sandbox, -1, truth, 0};
}

static void change_some_route(void)
{
	change_route((int)below(SANDBOXES));
}

/* Takes rights away, gives others. Only what is taken away is told. */
static void change_rights(int caller)
{
	struct rights rights = *rights_of(caller);

	rights.from = run.now.monotonic;
	rights.epoch++;
	rights.granted = !rights.granted || below(2);
	run.rights[caller][run.right_count[caller]++] = rights;
	run.changes[run.change_count++] =
	    (struct change){-1, caller, {.revision = ++run.revision}, rights.epoch};
}

static void change_some_rights(void)
{
	change_rights((int)below(CALLERS));
}

static void read_registry(struct flight *flight)
{
	int caller = flight->key / SANDBOXES, sandbox = flight->key % SANDBOXES;
	const struct rights *rights = rights_of(caller);
	struct sp_port_range port = {
	    (uint16_t)rights->epoch, (uint16_t)rights->epoch, SP_PROTOCOL_TCP};

	flight->lookup = (struct sp_lookup){.available = below(40) > 0};
	flight->lookup.routed = !truth_of(sandbox)->retired;
	flight->lookup.placement = placement_of(truth_of(sandbox));
	if (rights->granted && flight->kind != SP_CACHE_REJECT) {
		assert_int_equal(
		    sp_rights_add_op(&flight->lookup.authorization.rights, "ping", NULL), 0);
		assert_int_equal(
		    sp_rights_add_port(&flight->lookup.authorization.rights, &port, NULL), 0);
	}
	flight->read = true;
}

/* Was the sandbox once, since then, as `is` has it for the rejected route? */
typedef bool truth_fn(const struct truth *truth, const struct sp_route *rejected);

static bool ever(int sandbox, int64_t since, truth_fn *is, const struct sp_route *rejected)
{
	for (unsigned i = 0; i < run.truth_count[sandbox]; i++) {
		bool over =
		    i + 1 < run.truth_count[sandbox] && run.truths[sandbox][i + 1].from < since;
		if (!over && is(&run.truths[sandbox][i], rejected))
			return true;
	}
	return false;
}

static bool is_retired(const struct truth *truth, const struct sp_route *rejected)
{
	(void)rejected;
	return truth->retired;
}

static bool is_no_newer(const struct truth *truth, const struct sp_route *rejected)
{
	return !truth->retired && (truth->execution < rejected->execution ||
				      (truth->execution == rejected->execution &&
					  truth->attempt == rejected->attempt));
}

static bool ever_denied(int caller, int64_t since)
{
	for (unsigned i = 0; i < run.right_count[caller]; i++)
		if (!run.rights[caller][i].granted &&
		    (i + 1 == run.right_count[caller] || run.rights[caller][i + 1].from >= since))
			return true;
	return false;
}

/* Once told or held, nothing older is ever told or held for the key. */
static void see(int key, int64_t execution, int64_t revision)
{
	hold(execution > run.seen_execution[key] ||
		 (execution == run.seen_execution[key] && revision >= run.seen_revision[key]),
	    "nothing older follows", key);
	run.seen_execution[key] = execution;
	run.seen_revision[key] = revision;
}

/* An answer that is remembered is as old as the lookup it came of; a drop ends all memory. */
static bool remembered_since(const struct asker *asker, int64_t *ret_since)
{
	bool any = false;

	for (unsigned i = 0; i < run.finished_count; i++) {
		const struct finished *one = &run.finished[i];
		if (one->key != asker->key || run.now.monotonic >= one->at + SP_CACHE_MEMORY_MS)
			continue;
		if (one->began < *ret_since)
			*ret_since = one->began;
		any = true;
	}
	return any;
}

struct parsed {
	int64_t execution, attempt, revision, epoch;
};

static int64_t number_behind(const char *text, size_t size, const char *name)
{
	const char *at = memmem(text, size, name, strlen(name)), *end = text + size;
	int64_t number = 0;

	if (at)
		for (at += strlen(name); at < end && *at >= '0' && *at <= '9'; at++)
			number = number * 10 + *at - '0';
	return number;
}

static struct parsed parse(const struct sp_cache_answer *answer)
{
	struct parsed parsed = {0};

	if (answer->placement) {
		parsed.execution =
		    number_behind(answer->placement, answer->placement_size, "\"execution\":");
		parsed.attempt =
		    number_behind(answer->placement, answer->placement_size, "\"attempt\":");
		parsed.revision =
		    number_behind(answer->placement, answer->placement_size, "\"revision\":");
	}
	if (answer->rights)
		parsed.epoch = number_behind(answer->rights, answer->rights_size, "\"ports\":[\"");
	return parsed;
}

static bool is_as_held(const struct held *held, const struct parsed *parsed)
{
	return held->there && held->execution == parsed->execution &&
	       held->revision == parsed->revision;
}

static bool is_live(const struct held *held)
{
	return held->there && run.now.wall < held->expires && run.now.monotonic < held->deadline;
}

static bool is_rejected(const struct asker *asker, int64_t execution, int64_t attempt)
{
	return asker->rejected.execution == execution && asker->rejected.attempt == attempt;
}

/* No grant ever covers it. */
static bool is_lacking(const struct asker *asker)
{
	return asker->ask.op == sp_op_find("exec.run");
}

/* `held` still is as it was before the answer. */
static void check_replaced(
    const struct asker *asker, const struct held *held, const struct parsed *told)
{
	bool newer = told->execution > held->execution ||
		     (told->execution == held->execution && told->revision > held->revision);

	if (is_live(held) && is_rejected(asker, held->execution, held->attempt))
		hold(newer, "only newer replaces", asker->key);
	else
		hold(told->execution >= asker->rejected.execution &&
			 !is_rejected(asker, told->execution, told->attempt),
		    "replaced is another one and not lower", asker->key);
}

static void check_answer(
    const struct asker *asker, const struct sp_cache_answer *answer, bool at_once)
{
	const struct held *held = &run.held[asker->key];
	int caller = asker->key / SANDBOXES, sandbox = asker->key % SANDBOXES, key = asker->key;
	const struct parsed told = parse(answer);
	int64_t since = asker->since;
	bool remembered = remembered_since(asker, &since);

	effects[answer->effect]++;
	switch (answer->effect) {
	case SP_CACHE_HIT:
		hold(is_live(held), "a hit is of a live entry", key);
		hold(!at_once || is_as_held(held, &told), "a hit is what is held", key);
		break;
	case SP_CACHE_KEPT:
		hold(!at_once || is_as_held(held, &told), "kept is what is held", key);
		hold(!is_rejected(asker, told.execution, told.attempt), "kept is another one", key);
		break;
	case SP_CACHE_REPLACED:
		hold(!at_once, "replaced by the registry's word only", key);
		check_replaced(asker, held, &told);
		break;
	case SP_CACHE_UNCHANGED:
		hold(!at_once || remembered, "unchanged is remembered for a second", key);
		hold(ever(sandbox, since, is_no_newer, &asker->rejected),
		    "unchanged: the registry had it", key);
		break;
	case SP_CACHE_GONE:
		hold(!at_once || remembered, "gone is remembered for a second", key);
		hold(ever(sandbox, since, is_retired, NULL), "gone: it was", key);
		break;
	case SP_CACHE_DENIED:
		hold(is_lacking(asker) || ever_denied(caller, asker->since), "denied: he was", key);
		break;
	case SP_CACHE_UNAVAILABLE:
		hold(asker->flight && (!asker->flight->lookup.available ||
					  asker->flight->thrown >= SP_CACHE_RETRIES),
		    "unavailable: the registry was", key);
		break;
	case SP_CACHE_FILLED:
	case SP_CACHE_RENEWED:
		break;
	}
	if (answer->effect == SP_CACHE_HIT || answer->effect == SP_CACHE_FILLED)
		hold(!is_lacking(asker), "what is not granted is denied", key);
	if (answer->placement)
		see(key, told.execution, told.revision);
	if (answer->rights)
		hold(told.epoch >= run.floor[caller], "no right is told after it was taken", key);
}

static void on_answer(void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	struct asker *asker = (struct asker *)(void *)((char *)ask - offsetof(struct asker, ask));

	(void)context;
	hold(asker->waits, "each question is answered once", asker->key);
	check_answer(asker, answer, false);
	asker->waits = false;
}

static void look_at(
    void *context, const char *caller, const char *sandbox, const struct sp_cache_answer *entry)
{
	int key = (caller[4] - '1') * SANDBOXES + (sandbox[2] - '1');
	const struct parsed parsed = parse(entry);
	struct held *held = &run.held[key];
	const struct held *was = &run.before[key];

	(void)context;
	*held = (struct held){.there = true,
	    .execution = parsed.execution,
	    .attempt = parsed.attempt,
	    .revision = parsed.revision,
	    .epoch = parsed.epoch,
	    .expires = entry->expires,
	    .deadline = was->deadline};
	if (!was->there || entry->expires != was->expires)
		held->deadline = run.now.monotonic + TTL * 1000;
}

/* -1: of all keys. */
static void disturb(int key)
{
	for (int i = 0; i < FLIGHTS; i++)
		run.flights[i].disturbed |= key < 0 || run.flights[i].key == key;
}

/* What the step made of the entries. */
static void check_entries(void)
{
	size_t position = 0;

	memcpy(run.before, run.held, sizeof(run.held));
	memset(run.held, 0, sizeof(run.held));
	do
		sp_cache_walk(run.cache, &position, look_at, NULL);
	while (position);
	for (int key = 0; key < KEYS; key++) {
		const struct held *is = &run.held[key], *was = &run.before[key];
		if (is->there) {
			see(key, is->execution, is->revision);
			hold(is->epoch >= run.seen_epoch[key], "older rights never follow", key);
			run.seen_epoch[key] = is->epoch;
		}
		if (memcmp(is, was, sizeof(*is)) != 0)
			disturb(key);
		if (is->there && !was->there)
			hold(run.inserting == key, "nothing else inserts", key);
		if (is->there && was->there && is->expires != was->expires)
			hold(run.renewing == key, "nothing else moves expires", key);
		if (!is->there && was->there)
			hold(run.forgets || run.now.wall >= was->expires ||
				 run.now.monotonic >= was->deadline,
			    "nothing else forgets", key);
		if (is->there)
			hold(is->epoch >= run.floor[key / SANDBOXES],
			    "no entry rests on what was taken away", key);
	}
}

#endif
