/* What the registry said, applied to the entry it was asked for and told to all who waited. */
#include "routing/cache_internal.h"

#include <stdlib.h>

/* One answer of the registry being applied. */
struct settling {
	struct sp_cache *cache;
	struct sp_flight *flight;
	const struct sp_lookup *lookup;
	struct sp_cache_time now;
	struct sp_cache_entry *entry; /* live, as it was when the registry was asked; or NULL */
	sp_cache_answered_fn *answered;
	void *context;
};

static void tell(
    struct settling *settling, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	TAILQ_REMOVE(&settling->flight->asks, ask, link);
	ask->flight = NULL;
	if (ask->kind == SP_CACHE_REJECT)
		sp_cache_count_reject(settling->cache, answer->effect);
	settling->answered(settling->context, ask, answer);
}

static void tell_all(struct settling *settling, enum sp_cache_effect effect)
{
	struct sp_cache_answer answer = sp_cache_answer_with(settling->cache, effect, NULL);
	struct sp_cache_ask *ask;

	while ((ask = TAILQ_FIRST(&settling->flight->asks)))
		tell(settling, ask, &answer);
}

static void remember_all(struct settling *settling, enum sp_cache_effect effect)
{
	struct sp_cache_ask *ask;

	for (ask = TAILQ_FIRST(&settling->flight->asks); ask; ask = TAILQ_NEXT(ask, link))
		sp_cache_memorize(settling->cache, ask, effect, settling->now);
}

static void remove_entry(struct settling *settling)
{
	if (settling->entry)
		sp_cache_forget(settling->cache, settling->entry);
	settling->entry = NULL;
}

/* Every caller with an entry has those rights already: one copy serves all of his entries. */
static struct sp_cached_rights *shared_rights(struct settling *settling)
{
	struct sp_cached_rights *rights =
	    sp_cached_rights_new(&settling->lookup->authorization.rights);
	const struct sp_cache_entry *other =
	    sp_cache_table_any(&settling->cache->table, settling->flight->caller);

	if (!rights || !other || !sp_cached_rights_equal(rights, other->rights))
		return rights;
	sp_cached_rights_release(rights);
	return sp_cached_rights_hold(other->rights);
}

static void expire_at(struct sp_cache_entry *entry, int64_t expires, struct sp_cache_time now)
{
	entry->expires = expires;
	entry->deadline = now.monotonic + (expires - now.wall) * 1000;
}

/* As much time as a session has, but never beyond the end of a grant it rests on. */
static void start_session(struct settling *settling)
{
	int64_t expires = settling->now.wall + settling->cache->session_ttl;
	int64_t until = settling->lookup->authorization.until;

	expire_at(settling->entry, until != 0 && until < expires ? until : expires, settling->now);
}

static void make_room(struct sp_cache *cache)
{
	if (cache->table.count < cache->table.max)
		return;
	sp_cache_forget(cache, sp_cache_table_oldest(&cache->table));
	cache->stats.evicted++;
}

static bool insert(struct settling *settling)
{
	struct sp_flight *flight = settling->flight;
	struct sp_cached_rights *rights = shared_rights(settling);

	make_room(settling->cache);
	if (rights)
		settling->entry = sp_cache_table_insert(&settling->cache->table, flight->caller,
		    flight->has_credential ? flight->credential : NULL, flight->sandbox,
		    &settling->lookup->placement, rights);
	sp_cached_rights_release(rights);
	if (!settling->entry)
		return false;
	settling->entry->authorized = settling->now.monotonic;
	start_session(settling);
	return true;
}

/* The rights of an entry anew; its end moves only when that was asked for, or to come earlier. */
static bool reauthorize(struct settling *settling)
{
	struct sp_cache_entry *entry = settling->entry;
	struct sp_cached_rights *rights = shared_rights(settling);
	int64_t until = settling->lookup->authorization.until;

	if (!rights)
		return false;
	sp_cached_rights_release(entry->rights);
	entry->rights = rights;
	entry->authorized = settling->now.monotonic;
	entry->version = ++settling->cache->table.version;
	if (settling->flight->use == SP_CACHE_USE_RENEW)
		start_session(settling);
	else if (until != 0 && until < entry->expires)
		expire_at(entry, until, settling->now);
	return true;
}

/* Each by his own operation: one flight serves all of a caller's. */
static void tell_authorized(
    struct settling *settling, const struct sp_cached_rights *rights, enum sp_cache_effect effect)
{
	struct sp_cache_ask *ask;

	while ((ask = TAILQ_FIRST(&settling->flight->asks))) {
		struct sp_cache_answer answer =
		    sp_cache_answer_with(settling->cache, SP_CACHE_DENIED, NULL);
		if (!sp_cached_rights_allow(rights, ask->op, ask->port, ask->protocol))
			;
		else if (settling->entry)
			answer = sp_cache_answer_entry(settling->cache, effect, settling->entry);
		else
			answer = sp_cache_answer_with(settling->cache, effect, NULL);
		if (answer.effect == SP_CACHE_GONE)
			sp_cache_memorize(settling->cache, ask, SP_CACHE_GONE, settling->now);
		tell(settling, ask, &answer);
	}
}

static void tell_gone(struct settling *settling)
{
	struct sp_cached_rights *rights =
	    sp_cached_rights_new(&settling->lookup->authorization.rights);

	if (rights)
		tell_authorized(settling, rights, SP_CACHE_GONE);
	else
		tell_all(settling, SP_CACHE_UNAVAILABLE);
	sp_cached_rights_release(rights);
}

/* get and renew */
static void settle_authorization(struct settling *settling)
{
	const struct sp_flight *flight = settling->flight;
	bool theirs = settling->entry && sp_cache_caller_is(settling->entry->caller,
					     flight->has_credential ? flight->credential : NULL);
	bool renew = flight->use == SP_CACHE_USE_RENEW;

	if (settling->lookup->authorization.rights.op_count == 0) {
		/* A wrong credential says nothing about the entry of the right one. */
		if (theirs)
			remove_entry(settling);
		tell_all(settling, SP_CACHE_DENIED);
		return;
	}
	if (!theirs)
		remove_entry(settling);
	if (!theirs && !settling->lookup->routed)
		tell_gone(settling);
	else if (theirs ? reauthorize(settling) : insert(settling))
		tell_authorized(
		    settling, settling->entry->rights, renew ? SP_CACHE_RENEWED : SP_CACHE_FILLED);
	else
		tell_all(settling, SP_CACHE_UNAVAILABLE);
}

static void tell_placement(struct settling *settling, const struct sp_cached_placement *placement)
{
	struct sp_cache_answer answer =
	    sp_cache_answer_with(settling->cache, SP_CACHE_REPLACED, placement);
	struct sp_cache_ask *ask;

	while ((ask = TAILQ_FIRST(&settling->flight->asks)))
		tell(settling, ask, &answer);
}

/* The entry still holds the rejected route. */
static void settle_entry(struct settling *settling)
{
	const struct sp_placement *found = &settling->lookup->placement;
	const struct sp_cached_placement *held = &settling->entry->placement;
	struct sp_cache_entry *placed;

	if (!settling->lookup->routed) {
		remove_entry(settling);
		remember_all(settling, SP_CACHE_GONE);
		tell_all(settling, SP_CACHE_GONE);
		return;
	}
	if (!sp_placement_newer(
		found->route.execution, found->revision, held->execution, held->revision)) {
		remember_all(settling, SP_CACHE_UNCHANGED);
		tell_all(settling, SP_CACHE_UNCHANGED);
		return;
	}
	placed = sp_cache_table_place(&settling->cache->table, settling->entry, found);
	if (!placed) {
		tell_all(settling, SP_CACHE_UNAVAILABLE);
		return;
	}
	settling->entry = placed;
	tell_placement(settling, &placed->placement);
}

/* No entry: nothing is inserted, each rejected route is compared by itself. */
static void settle_without_entry(struct settling *settling)
{
	const struct sp_placement *found = &settling->lookup->placement;
	char text[SP_CACHED_PLACEMENT_ROOM];
	struct sp_cached_placement placement;
	bool placed = settling->lookup->routed &&
		      sp_cached_placement_init(&settling->cache->table, found, text, &placement);
	struct sp_cache_ask *ask;

	while ((ask = TAILQ_FIRST(&settling->flight->asks))) {
		enum sp_cache_effect effect = SP_CACHE_UNCHANGED;
		struct sp_cache_answer answer;
		if (!settling->lookup->routed)
			effect = SP_CACHE_GONE;
		else if (!placed)
			effect = SP_CACHE_UNAVAILABLE;
		else if (!sp_route_equal(&found->route, ask->rejected) &&
			 found->route.execution >= ask->rejected->execution)
			effect = SP_CACHE_REPLACED;
		if (effect == SP_CACHE_UNCHANGED || effect == SP_CACHE_GONE)
			sp_cache_memorize(settling->cache, ask, effect, settling->now);
		answer = sp_cache_answer_with(
		    settling->cache, effect, effect == SP_CACHE_REPLACED ? &placement : NULL);
		tell(settling, ask, &answer);
	}
	if (placed)
		sp_cached_placement_done(&placement);
	/* A fill that asked before us may have seen less. */
	sp_cache_outrun(settling->cache, settling->flight->caller, settling->flight->sandbox);
}

/* Outrun: whoever can be answered by what is there now is; for the others the registry is asked
 * again, as long as that has not happened too often. */
static bool look_again(struct settling *settling)
{
	struct sp_flight *flight = settling->flight;
	struct sp_cache_ask *ask = TAILQ_FIRST(&flight->asks), *next;
	struct sp_cache_answer answer;

	for (; ask; ask = next) {
		next = TAILQ_NEXT(ask, link);
		if (sp_cache_answer_now(settling->cache, ask, settling->now, &answer))
			tell(settling, ask, &answer);
	}
	if (TAILQ_EMPTY(&flight->asks))
		return false;
	if (++flight->tries > SP_CACHE_RETRIES) {
		tell_all(settling, SP_CACHE_UNAVAILABLE);
		return false;
	}
	flight->outrun = false;
	flight->version = settling->entry ? settling->entry->version : 0;
	settling->cache->stats.lookups++;
	return true;
}

enum sp_cache_step sp_cache_looked(struct sp_cache *cache, struct sp_flight *flight,
    const struct sp_lookup *lookup, struct sp_cache_time now, sp_cache_answered_fn *answered,
    void *context)
{
	struct settling settling = {.cache = cache,
	    .flight = flight,
	    .lookup = lookup,
	    .now = now,
	    .entry = sp_cache_live_entry(cache, flight->caller, flight->sandbox, now),
	    .answered = answered,
	    .context = context};
	uint64_t version = settling.entry ? settling.entry->version : 0;

	if (!lookup->available) {
		tell_all(&settling, SP_CACHE_UNAVAILABLE);
	} else if (flight->outrun || version != flight->version) {
		cache->stats.discarded++;
		if (look_again(&settling))
			return SP_CACHE_LOOK;
	} else if (flight->use != SP_CACHE_USE_REFRESH) {
		settle_authorization(&settling);
	} else if (settling.entry) {
		settle_entry(&settling);
	} else {
		settle_without_entry(&settling);
	}
	LIST_REMOVE(flight, link);
	free(flight);
	return SP_CACHE_ANSWERED;
}
