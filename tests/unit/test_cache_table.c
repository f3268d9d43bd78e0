/* The cache's memory against a plain list of what should be in it: keys, order of use, placements
 * that grow and shrink; and the memory that its entries are made of. */
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

#define KEYS  96 /* of them at most MAX are in at once: the slots are as full as they get */
#define MAX   21
#define STEPS 200000

static struct sp_cache_table table;
static struct sp_cached_rights *rights;

/* What should be there. */
static struct {
	bool in;
	unsigned used; /* the step at which it was, last */
	int64_t execution;
	size_t activation;
} model[KEYS];
static unsigned held, now;

static const char *caller_of(unsigned key)
{
	static const char *const callers[] = {"uid:1", "uid:20", "token:ci"};

	return callers[key % SP_COUNT(callers)];
}

static const char *sandbox_of(unsigned key)
{
	static char text[SP_ID_MAX + 1];

	(void)snprintf(text, sizeof(text), "s-%0*u", (int)(1 + key % 40), key / 3);
	return text;
}

static struct sp_placement placement_of(int64_t execution, size_t activation)
{
	struct sp_placement placement = {.endpoint = "unix:/m", .revision = 1};

	placement.route =
	    (struct sp_route){.execution = execution, .attempt = 1, .substrate = SP_SUBSTRATE_HOST};
	(void)snprintf(placement.route.worker, sizeof(placement.route.worker), "worker-%d",
	    (int)(execution % 2));
	memset(placement.route.activation, 'a' + (int)(execution % 26), activation);
	return placement;
}

static void note(unsigned key, int64_t execution, size_t activation)
{
	model[key].execution = execution;
	model[key].activation = activation;
}

static void put(unsigned key)
{
	size_t activation = 1 + (size_t)rand() % SP_ID_MAX;
	struct sp_placement placement = placement_of(1 + now, activation);
	struct sp_cache_entry *entry;

	entry = sp_cache_table_insert(
	    &table, caller_of(key), NULL, sandbox_of(key), &placement, rights);
	assert_non_null(entry);
	entry->expires = entry->deadline = entry->authorized = key;
	note(key, 1 + now, activation);
	model[key].in = true;
	model[key].used = now;
	held++;
}

static void take_away(unsigned key, struct sp_cache_entry *entry)
{
	sp_cache_table_remove(&table, entry);
	model[key].in = false;
	held--;
}

static void place(unsigned key, struct sp_cache_entry *entry)
{
	size_t activation = 1 + (size_t)rand() % SP_ID_MAX;
	struct sp_placement placement = placement_of(1 + now, activation);
	uint64_t version = entry->version;

	entry = sp_cache_table_place(&table, entry, &placement);
	assert_non_null(entry);
	assert_true(entry->version > version);
	note(key, 1 + now, activation);
}

static unsigned oldest(void)
{
	unsigned key = KEYS;

	for (unsigned i = 0; i < KEYS; i++)
		if (model[i].in && (key == KEYS || model[i].used < model[key].used))
			key = i;
	return key;
}

static void is_as_it_should_be(unsigned key)
{
	const struct sp_cache_entry *entry =
	    sp_cache_table_find(&table, caller_of(key), sandbox_of(key));
	struct sp_placement placement = placement_of(model[key].execution, model[key].activation);

	assert_int_equal(entry != NULL, model[key].in);
	if (!entry)
		return;
	assert_string_equal(entry->sandbox, sandbox_of(key));
	assert_string_equal(entry->caller->name, caller_of(key));
	assert_int_equal(entry->expires, key);
	assert_int_equal(entry->deadline, key);
	assert_int_equal(entry->authorized, key);
	assert_ptr_equal(entry->rights, rights);
	assert_true(sp_cached_placement_is(&entry->placement, &placement.route));
}

/* From the least recently used on, and by each sandbox and caller. */
static void all_is_as_it_should_be(void)
{
	const struct sp_cache_entry *entry;
	unsigned count = 0, used = 0;

	for (unsigned key = 0; key < KEYS; key++)
		is_as_it_should_be(key);
	for (entry = sp_cache_table_oldest(&table); entry; entry = TAILQ_NEXT(entry, by_use)) {
		const struct sp_cache_entry *of_sandbox, *of_caller;
		unsigned key = (unsigned)entry->expires;
		assert_true(count == 0 || model[key].used > used);
		used = model[key].used;
		count++;
		of_sandbox = LIST_FIRST(sp_cache_table_sandbox(&table, entry->sandbox));
		while (of_sandbox && of_sandbox != entry)
			of_sandbox = LIST_NEXT(of_sandbox, by_sandbox);
		assert_ptr_equal(of_sandbox, entry);
		of_caller = LIST_FIRST(&entry->caller->entries);
		while (of_caller && of_caller != entry)
			of_caller = LIST_NEXT(of_caller, by_caller);
		assert_ptr_equal(of_caller, entry);
	}
	assert_int_equal(count, held);
	assert_int_equal(table.count, held);
}

static void something_happens(void)
{
	unsigned key = (unsigned)rand() % KEYS;
	struct sp_cache_entry *entry = sp_cache_table_find(&table, caller_of(key), sandbox_of(key));

	assert_int_equal(entry != NULL, model[key].in);
	if (!entry) {
		if (held == MAX)
			take_away(oldest(), sp_cache_table_oldest(&table));
		put(key);
		return;
	}
	switch (rand() % 4) {
	case 0:
		take_away(key, entry);
		break;
	case 1:
		place(key, entry);
		break;
	default:
		sp_cache_table_use(&table, entry);
		model[key].used = now;
	}
}

static void the_table_holds_what_was_put_into_it(void **state)
{
	static const unsigned char hash_key[SP_CACHE_KEY_SIZE] = "0123456789abcde";
	struct sp_rights all = {0};
	struct sp_cache_entry *entry;

	(void)state;
	srand(1);
	assert_int_equal(sp_rights_add_op(&all, "file.*", NULL), 0);
	rights = sp_cached_rights_new(&all);
	assert_non_null(rights);
	assert_int_equal(sp_cache_table_init(&table, MAX, hash_key), 0);
	/* A run of slots at the end goes on at the beginning: often, with so few. */
	assert_true(table.slot_count <= 32);
	for (now = 0; now < STEPS; now++) {
		something_happens();
		if (now % 16 == 0)
			all_is_as_it_should_be();
	}
	while ((entry = sp_cache_table_oldest(&table)))
		sp_cache_table_remove(&table, entry);
	/* What entries had in common went with the last one. */
	for (size_t i = 0; i < table.place_buckets; i++)
		assert_true(LIST_EMPTY(&table.places[i]));
	for (size_t i = 0; i < table.caller_buckets; i++)
		assert_true(LIST_EMPTY(&table.callers[i]));
	assert_int_equal(rights->references, 1);
	sp_cache_table_done(&table);
	sp_cached_rights_release(rights);
}

static void memory_is_given_out_once_and_serves_every_size_again(void **state)
{
	enum { VALUES = 40000 };
	static unsigned char *values[VALUES];
	static size_t sizes[VALUES];
	struct sp_cache_arena arena = {0};

	(void)state;
	srand(2);
	for (int round = 0; round < 6; round++) {
		for (unsigned i = 0; i < VALUES; i++) {
			sizes[i] = round % 2 ? 1 + (size_t)rand() % SP_CACHE_ARENA_MAX
					     : (size_t)(16 * (round + 1));
			values[i] = sp_cache_arena_get(&arena, sizes[i]);
			assert_non_null(values[i]);
			assert_int_equal((uintptr_t)values[i] % SP_CACHE_ARENA_STEP, 0);
			memset(values[i], (int)(i % 251), sizes[i]);
		}
		/* In another order than they came. */
		for (unsigned at = 0, i = 0; at < VALUES; at++, i = (i + 7919) % VALUES) {
			for (size_t byte = 0; byte < sizes[i]; byte++)
				assert_int_equal(values[i][byte], i % 251);
			sp_cache_arena_put(values[i]);
		}
	}
	for (size_t size = 0; size < SP_COUNT(arena.open); size++)
		assert_true(LIST_EMPTY(&arena.open[size]));
	sp_cache_arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_table_holds_what_was_put_into_it),
	    cmocka_unit_test(memory_is_given_out_once_and_serves_every_size_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
