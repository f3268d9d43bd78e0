/* What the registry tells without being asked: a route that a sandbox has now. */
#include <string.h>
#include "routing/cache_internal.h"

/* Only what is newer counts; a route that was taken away takes the entry along. True: it changed.
 */
static bool offer_entry(
    struct sp_cache *cache, struct sp_cache_entry *entry, const struct sp_placement *placement)
{
	const struct sp_cached_placement *held = &entry->placement;

	if (!sp_placement_newer(
		placement->route.execution, placement->revision, held->execution, held->revision))
		return false;
	/* Out of memory: the entry goes, and is filled anew. */
	if (placement->retired || !sp_cache_table_place(&cache->table, entry, placement))
		sp_cache_forget(cache, entry);
	return true;
}

/* A lookup under way may have been answered before this. */
static void outrun_sandbox(struct sp_cache *cache, const char *sandbox)
{
	struct sp_flight *flight;

	for (size_t i = 0; i < SP_CACHE_FLIGHT_BUCKETS; i++)
		for (flight = LIST_FIRST(&cache->flights[i]); flight;
		     flight = LIST_NEXT(flight, link))
			flight->outrun |= strcmp(flight->sandbox, sandbox) == 0;
}

size_t sp_cache_offer(
    struct sp_cache *cache, const char *sandbox, const struct sp_placement *placement)
{
	struct sp_cache_entry *entry = LIST_FIRST(sp_cache_table_sandbox(&cache->table, sandbox)),
			      *next;
	size_t count = 0;

	outrun_sandbox(cache, sandbox);
	for (; entry; entry = next) {
		next = LIST_NEXT(entry, by_sandbox);
		if (strcmp(entry->sandbox, sandbox) == 0)
			count += offer_entry(cache, entry, placement);
	}
	cache->stats.followed += (int64_t)count;
	return count;
}
