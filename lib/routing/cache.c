/* Questions: answered from an entry or a short memory, or put into a flight to the registry. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "routing/cache_internal.h"

static const char *const EFFECTS[] = {
    [SP_CACHE_HIT] = "hit",
    [SP_CACHE_FILLED] = "filled",
    [SP_CACHE_RENEWED] = "renewed",
    [SP_CACHE_REPLACED] = "replaced",
    [SP_CACHE_KEPT] = "kept",
    [SP_CACHE_UNCHANGED] = "unchanged",
    [SP_CACHE_GONE] = "gone",
    [SP_CACHE_DENIED] = "denied",
    [SP_CACHE_UNAVAILABLE] = "unavailable",
};

const char *sp_cache_effect_name(enum sp_cache_effect effect)
{
	return EFFECTS[effect];
}

int sp_cache_new(size_t max_entries, int64_t session_ttl,
    const unsigned char key[SP_CACHE_KEY_SIZE], struct sp_cache **ret)
{
	struct sp_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->text = malloc(SP_CACHED_TEXT_SIZE);
	if (!cache || !cache->text || sp_cache_table_init(&cache->table, max_entries, key) < 0) {
		if (cache)
			free(cache->text);
		free(cache);
		return -ENOMEM;
	}
	cache->session_ttl = session_ttl;
	*ret = cache;
	return 0;
}

void sp_cache_free(struct sp_cache *cache)
{
	struct sp_flight *flight;

	if (!cache)
		return;
	for (size_t i = 0; i < SP_CACHE_FLIGHT_BUCKETS; i++)
		while ((flight = LIST_FIRST(&cache->flights[i]))) {
			LIST_REMOVE(flight, link);
			free(flight);
		}
	sp_cache_table_done(&cache->table);
	free(cache->text);
	free(cache);
}

void sp_cache_session_ttl(struct sp_cache *cache, int64_t session_ttl)
{
	cache->session_ttl = session_ttl;
}

struct sp_cache_answer sp_cache_answer_with(const struct sp_cache *cache,
    enum sp_cache_effect effect, const struct sp_cached_placement *placement)
{
	struct sp_cache_answer answer = {.effect = effect};

	if (placement) {
		answer.placement = cache->text;
		answer.placement_size = sp_cached_placement_text(placement, cache->text);
	}
	return answer;
}

struct sp_cache_answer sp_cache_answer_entry(
    const struct sp_cache *cache, enum sp_cache_effect effect, const struct sp_cache_entry *entry)
{
	struct sp_cache_answer answer = sp_cache_answer_with(cache, effect, &entry->placement);

	answer.rights = entry->rights->text;
	answer.rights_size = entry->rights->size;
	answer.expires = entry->expires;
	return answer;
}

static struct sp_flights *flights_of(
    struct sp_cache *cache, const char *caller, const char *sandbox)
{
	const struct iovec parts[] = {{(void *)(uintptr_t)caller, strlen(caller)},
	    {(void *)(uintptr_t)sandbox, strlen(sandbox)}};

	return &cache
		    ->flights[sp_cache_table_digest(&cache->table, parts, SP_COUNT(parts)).word[0] %
			      SP_CACHE_FLIGHT_BUCKETS];
}

void sp_cache_outrun(struct sp_cache *cache, const char *caller, const char *sandbox)
{
	struct sp_flight *flight;

	for (flight = LIST_FIRST(flights_of(cache, caller, sandbox)); flight;
	     flight = LIST_NEXT(flight, link))
		if (strcmp(flight->sandbox, sandbox) == 0 && strcmp(flight->caller, caller) == 0)
			flight->outrun = true;
}

void sp_cache_forget(struct sp_cache *cache, struct sp_cache_entry *entry)
{
	sp_cache_outrun(cache, entry->caller->name, entry->sandbox);
	sp_cache_table_remove(&cache->table, entry);
}

struct sp_cache_entry *sp_cache_live_entry(
    struct sp_cache *cache, const char *caller, const char *sandbox, struct sp_cache_time now)
{
	struct sp_cache_entry *entry = sp_cache_table_find(&cache->table, caller, sandbox);

	if (!entry || (now.wall < entry->expires && now.monotonic < entry->deadline))
		return entry;
	sp_cache_forget(cache, entry);
	cache->stats.expired++;
	return NULL;
}

/* What makes a remembered answer the answer to this very question. */
static struct sp_cache_memo *memo_of(
    struct sp_cache *cache, const struct sp_cache_ask *ask, struct sp_cache_digest *ret_digest)
{
	char route[SP_ROUTE_TEXT_SIZE];
	int port[3] = {(int)ask->kind, ask->port, ask->protocol};
	struct iovec parts[] = {
	    {port, sizeof(port)},
	    {(void *)(uintptr_t)ask->caller, strlen(ask->caller)},
	    {(void *)(uintptr_t)ask->sandbox, strlen(ask->sandbox)},
	    {(void *)(uintptr_t)ask->credential, ask->credential ? SP_CREDENTIAL_SIZE : 0},
	    {(void *)(uintptr_t)(ask->op ? ask->op->name : ""),
		ask->op ? strlen(ask->op->name) : 0},
	};

	if (ask->kind == SP_CACHE_REJECT)
		parts[4] = (struct iovec){route, sp_route_text(ask->rejected, route)};
	*ret_digest = sp_cache_table_digest(&cache->table, parts, SP_COUNT(parts));
	return &cache->memos[ret_digest->word[0] % SP_CACHE_MEMOS];
}

static bool recall(struct sp_cache *cache, const struct sp_cache_ask *ask, struct sp_cache_time now,
    struct sp_cache_answer *ret)
{
	struct sp_cache_digest digest;
	const struct sp_cache_memo *memo;

	if (now.monotonic >= cache->memory_ends)
		return false;
	memo = memo_of(cache, ask, &digest);
	if (now.monotonic >= memo->until || memo->generation != cache->generation ||
	    memcmp(&memo->digest, &digest, sizeof(digest)) != 0)
		return false;
	*ret = sp_cache_answer_with(cache, memo->effect, NULL);
	return true;
}

void sp_cache_memorize(struct sp_cache *cache, const struct sp_cache_ask *ask,
    enum sp_cache_effect effect, struct sp_cache_time now)
{
	struct sp_cache_digest digest;
	struct sp_cache_memo *memo = memo_of(cache, ask, &digest);

	*memo = (struct sp_cache_memo){.digest = digest,
	    .until = now.monotonic + SP_CACHE_MEMORY_MS,
	    .generation = cache->generation,
	    .effect = effect};
	if (memo->until > cache->memory_ends)
		cache->memory_ends = memo->until;
}

static bool get_now(struct sp_cache *cache, const struct sp_cache_ask *ask,
    struct sp_cache_time now, struct sp_cache_answer *ret)
{
	struct sp_cache_entry *entry = sp_cache_live_entry(cache, ask->caller, ask->sandbox, now);

	if (!entry || !sp_cache_caller_is(entry->caller, ask->credential))
		return recall(cache, ask, now, ret);
	if (sp_cached_rights_allow(entry->rights, ask->op, ask->port, ask->protocol)) {
		sp_cache_table_use(&cache->table, entry);
		*ret = sp_cache_answer_entry(cache, SP_CACHE_HIT, entry);
		return true;
	}
	if (now.monotonic - entry->authorized >= SP_CACHE_AUTHORIZE_MS)
		return false;
	*ret = sp_cache_answer_with(cache, SP_CACHE_DENIED, NULL);
	return true;
}

static bool reject_now(struct sp_cache *cache, const struct sp_cache_ask *ask,
    struct sp_cache_time now, struct sp_cache_answer *ret)
{
	struct sp_cache_entry *entry = sp_cache_live_entry(cache, ask->caller, ask->sandbox, now);

	if (!entry || sp_cached_placement_is(&entry->placement, ask->rejected))
		return recall(cache, ask, now, ret);
	sp_cache_table_use(&cache->table, entry);
	*ret = sp_cache_answer_with(cache, SP_CACHE_KEPT, &entry->placement);
	return true;
}

bool sp_cache_answer_now(struct sp_cache *cache, const struct sp_cache_ask *ask,
    struct sp_cache_time now, struct sp_cache_answer *ret)
{
	switch (ask->kind) {
	case SP_CACHE_GET:
		return get_now(cache, ask, now, ret);
	case SP_CACHE_REJECT:
		return reject_now(cache, ask, now, ret);
	case SP_CACHE_RENEW:
		break;
	}
	return false;
}

void sp_cache_count_reject(struct sp_cache *cache, enum sp_cache_effect effect)
{
	cache->stats.replaced += effect == SP_CACHE_REPLACED;
	cache->stats.kept += effect == SP_CACHE_KEPT;
	cache->stats.unchanged += effect == SP_CACHE_UNCHANGED;
	cache->stats.gone += effect == SP_CACHE_GONE;
}

static const unsigned char *flight_credential(const struct sp_flight *flight)
{
	return flight->has_credential ? flight->credential : NULL;
}

static bool may_join(const struct sp_flight *flight, enum sp_cache_use use, const char *caller,
    const unsigned char *credential, const char *sandbox)
{
	if (flight->use != use || strcmp(flight->sandbox, sandbox) != 0 ||
	    strcmp(flight->caller, caller) != 0)
		return false;
	/* An authorization speaks for one credential; a route for everyone. */
	if (use == SP_CACHE_USE_REFRESH)
		return true;
	return credential ? flight->has_credential &&
				memcmp(flight->credential, credential, SP_CREDENTIAL_SIZE) == 0
			  : !flight->has_credential;
}

static struct sp_flight *new_flight(enum sp_cache_use use, const struct sp_cache_ask *ask,
    const unsigned char *credential, const struct sp_cache_entry *entry)
{
	size_t sandbox = strlen(ask->sandbox) + 1, caller = strlen(ask->caller) + 1;
	struct sp_flight *flight = calloc(1, sizeof(*flight) + sandbox + caller);

	if (!flight)
		return NULL;
	TAILQ_INIT(&flight->asks);
	flight->use = use;
	flight->version = entry ? entry->version : 0;
	flight->caller = flight->sandbox + sandbox;
	memcpy(flight->sandbox, ask->sandbox, sandbox);
	memcpy(flight->caller, ask->caller, caller);
	if (credential) {
		flight->has_credential = true;
		memcpy(flight->credential, credential, SP_CREDENTIAL_SIZE);
	}
	return flight;
}

static void wait_in(struct sp_flight *flight, struct sp_cache_ask *ask)
{
	ask->flight = flight;
	TAILQ_INSERT_TAIL(&flight->asks, ask, link);
}

/* Into a flight under way, or a new one. */
static enum sp_cache_step board(struct sp_cache *cache, struct sp_cache_ask *ask,
    struct sp_cache_answer *ret, struct sp_flight **ret_flight)
{
	static const enum sp_cache_use uses[] = {[SP_CACHE_GET] = SP_CACHE_USE_FILL,
	    [SP_CACHE_REJECT] = SP_CACHE_USE_REFRESH,
	    [SP_CACHE_RENEW] = SP_CACHE_USE_RENEW};
	struct sp_cache_entry *entry =
	    sp_cache_table_find(&cache->table, ask->caller, ask->sandbox);
	struct sp_flights *bucket = flights_of(cache, ask->caller, ask->sandbox);
	const unsigned char *credential = ask->credential;
	enum sp_cache_use use = uses[ask->kind];
	struct sp_flight *flight;

	/* Whoever may renew in a caller's name has no credential of his. */
	if (use == SP_CACHE_USE_RENEW && !credential && entry && entry->caller->has_credential)
		credential = entry->caller->credential;
	for (flight = LIST_FIRST(bucket); flight; flight = LIST_NEXT(flight, link))
		if (may_join(flight, use, ask->caller, credential, ask->sandbox)) {
			cache->stats.coalesced++;
			wait_in(flight, ask);
			return SP_CACHE_WAIT;
		}
	flight = new_flight(use, ask, credential, entry);
	if (!flight) {
		*ret = sp_cache_answer_with(cache, SP_CACHE_UNAVAILABLE, NULL);
		return SP_CACHE_ANSWERED;
	}
	LIST_INSERT_HEAD(bucket, flight, link);
	cache->stats.lookups++;
	wait_in(flight, ask);
	*ret_flight = flight;
	return SP_CACHE_LOOK;
}

enum sp_cache_step sp_cache_take(struct sp_cache *cache, struct sp_cache_ask *ask,
    struct sp_cache_time now, struct sp_cache_answer *ret, struct sp_flight **ret_flight)
{
	bool answered = sp_cache_answer_now(cache, ask, now, ret);

	ask->flight = NULL;
	if (ask->kind == SP_CACHE_GET) {
		cache->stats.hits += answered;
		cache->stats.misses += !answered;
	}
	if (!answered)
		return board(cache, ask, ret, ret_flight);
	if (ask->kind == SP_CACHE_REJECT)
		sp_cache_count_reject(cache, ret->effect);
	return SP_CACHE_ANSWERED;
}

struct sp_flight_question sp_flight_question(const struct sp_flight *flight)
{
	return (struct sp_flight_question){.caller = flight->caller,
	    .credential = flight_credential(flight),
	    .sandbox = flight->sandbox,
	    .authorize = flight->use != SP_CACHE_USE_REFRESH};
}

void sp_cache_abandon(struct sp_cache_ask *ask)
{
	if (ask->flight)
		TAILQ_REMOVE(&ask->flight->asks, ask, link);
	ask->flight = NULL;
}
