/* Forgetting, and looking at what is there. */
#include "routing/cache_internal.h"

#include <string.h>
#include "base/util.h"

static bool concerns(const char *name, const char *sandbox, const char *caller, const char *pattern)
{
	return (!caller || strcmp(caller, name) == 0) &&
	       (!pattern || sp_sandbox_matches(pattern, sandbox));
}

static size_t drop_entry(
    struct sp_cache *cache, struct sp_cache_entry *entry, const char *caller, const char *pattern)
{
	if (!concerns(entry->caller->name, entry->sandbox, caller, pattern))
		return 0;
	sp_cache_forget(cache, entry);
	return 1;
}

/* The last entry of a caller takes him along: the next of each list is read before. */
static size_t drop_of_caller(struct sp_cache *cache, const char *name, const char *pattern)
{
	struct sp_cache_caller *caller = LIST_FIRST(sp_cache_table_callers(&cache->table, name)),
			       *next_caller;
	struct sp_cache_entry *entry, *next;
	size_t count = 0;

	for (; caller; caller = next_caller) {
		next_caller = LIST_NEXT(caller, link);
		for (entry = LIST_FIRST(&caller->entries); entry; entry = next) {
			next = LIST_NEXT(entry, by_caller);
			count += drop_entry(cache, entry, name, pattern);
		}
	}
	return count;
}

static size_t drop_of_sandbox(struct sp_cache *cache, const char *sandbox)
{
	struct sp_cache_entry *entry = LIST_FIRST(sp_cache_table_sandbox(&cache->table, sandbox)),
			      *next;
	size_t count = 0;

	for (; entry; entry = next) {
		next = LIST_NEXT(entry, by_sandbox);
		count += drop_entry(cache, entry, NULL, sandbox);
	}
	return count;
}

static size_t drop_any(struct sp_cache *cache, const char *pattern)
{
	struct sp_cache_entry *entry = sp_cache_table_oldest(&cache->table), *next;
	size_t count = 0;

	for (; entry; entry = next) {
		next = TAILQ_NEXT(entry, by_use);
		count += drop_entry(cache, entry, NULL, pattern);
	}
	return count;
}

static void outrun_flights(struct sp_cache *cache, const char *caller, const char *pattern)
{
	struct sp_flight *flight;

	for (size_t i = 0; i < SP_CACHE_FLIGHT_BUCKETS; i++)
		for (flight = LIST_FIRST(&cache->flights[i]); flight;
		     flight = LIST_NEXT(flight, link))
			flight->outrun |=
			    concerns(flight->caller, flight->sandbox, caller, pattern);
}

size_t sp_cache_drop(struct sp_cache *cache, const char *caller, const char *pattern)
{
	size_t count;

	outrun_flights(cache, caller, pattern);
	cache->generation++;
	if (caller)
		count = drop_of_caller(cache, caller, pattern);
	else if (pattern && !sp_sandbox_pattern_is_glob(pattern))
		count = drop_of_sandbox(cache, pattern);
	else
		count = drop_any(cache, pattern);
	cache->stats.dropped += (int64_t)count;
	return count;
}

void sp_cache_stats(const struct sp_cache *cache, struct sp_cache_stats *ret)
{
	*ret = cache->stats;
	ret->entries = (int64_t)cache->table.count;
}

bool sp_cache_counter(
    const struct sp_cache_stats *stats, unsigned index, const char **ret_name, int64_t *ret_value)
{
	const struct {
		const char *name;
		int64_t value;
	} counters[] = {
	    {"entries", stats->entries},
	    {"hits", stats->hits},
	    {"misses", stats->misses},
	    {"lookups", stats->lookups},
	    {"coalesced", stats->coalesced},
	    {"replaced", stats->replaced},
	    {"kept", stats->kept},
	    {"unchanged", stats->unchanged},
	    {"gone", stats->gone},
	    {"followed", stats->followed},
	    {"evicted", stats->evicted},
	    {"expired", stats->expired},
	    {"dropped", stats->dropped},
	    {"discarded", stats->discarded},
	};

	if (index >= SP_COUNT(counters))
		return false;
	*ret_name = counters[index].name;
	*ret_value = counters[index].value;
	return true;
}

void sp_cache_walk(
    const struct sp_cache *cache, size_t *position, sp_cache_each_fn *each, void *context)
{
	const struct sp_cache_table *table = &cache->table;
	const struct sp_cache_entry *entry;
	size_t at = *position;

	/* Up to a free slot: what goes meanwhile moves nobody across one. */
	for (; at < table->slot_count && (entry = sp_cache_slot_entry(table->slots[at])); at++) {
		struct sp_cache_answer answer = sp_cache_answer_entry(cache, SP_CACHE_HIT, entry);
		each(context, entry->caller->name, entry->sandbox, &answer);
	}
	while (at < table->slot_count && !table->slots[at].word)
		at++;
	*position = at < table->slot_count ? at : 0;
}
