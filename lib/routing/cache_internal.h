/*
 * What the files of the cache's rules share. cache.c takes questions, cache_settle.c what the
 * registry said, cache_drop.c what is to be forgotten, cache_offer.c
 * what it says without being asked.
 *
 * Both filling and forgetting compare and swap: a flight carries the version its entry had (0: no
 * entry) when the registry was asked, and is marked when something about its key is forgotten.
 * What it brings counts only while neither has moved.
 */
#ifndef SP_ROUTING_CACHE_INTERNAL_H
#define SP_ROUTING_CACHE_INTERNAL_H

#include "routing/cache_table.h"

#define SP_CACHE_FLIGHT_BUCKETS 1024u
#define SP_CACHE_MEMOS          4096u

/* What a flight asks for; asks of different use do not share one. */
enum sp_cache_use { SP_CACHE_USE_FILL, SP_CACHE_USE_REFRESH, SP_CACHE_USE_RENEW };

struct sp_flight {
	LIST_ENTRY(sp_flight) link;
	TAILQ_HEAD(sp_cache_asks, sp_cache_ask) asks;
	enum sp_cache_use use;
	uint64_t version;
	unsigned tries;
	bool outrun, has_credential;
	unsigned char credential[SP_CREDENTIAL_SIZE];
	char *caller; /* behind the sandbox */
	char sandbox[];
};
LIST_HEAD(sp_flights, sp_flight);

/* A short memory of answers that leave no entry. One slot a digest: a later one takes its place. */
struct sp_cache_memo {
	struct sp_cache_digest digest;
	int64_t until; /* milliseconds, monotonic */
	uint64_t generation;
	enum sp_cache_effect effect;
};

struct sp_cache {
	struct sp_cache_table table;
	char *text; /* of SP_CACHED_TEXT_SIZE: the placement in the last answer */
	int64_t session_ttl;
	struct sp_cache_stats stats;
	struct sp_flights flights[SP_CACHE_FLIGHT_BUCKETS];
	uint64_t generation; /* of the memory: each drop starts a new one */
	int64_t memory_ends; /* milliseconds, monotonic: nothing in it lasts longer */
	struct sp_cache_memo memos[SP_CACHE_MEMOS];
};

struct sp_cache_answer sp_cache_answer_with(const struct sp_cache *cache,
    enum sp_cache_effect effect, const struct sp_cached_placement *placement /* or NULL */);
struct sp_cache_answer sp_cache_answer_entry(
    const struct sp_cache *cache, enum sp_cache_effect effect, const struct sp_cache_entry *entry);

/* The entry of a key, alive, or NULL: an expired one goes when it is met. */
struct sp_cache_entry *sp_cache_live_entry(
    struct sp_cache *cache, const char *caller, const char *sandbox, struct sp_cache_time now);

/* Removes an entry. Lookups under way for its key must not bring back what they saw before. */
void sp_cache_forget(struct sp_cache *cache, struct sp_cache_entry *entry);

/* Whatever lookups under way will say about a key is void; they ask again. */
void sp_cache_outrun(struct sp_cache *cache, const char *caller, const char *sandbox);

/* Is there an answer without the registry? */
bool sp_cache_answer_now(struct sp_cache *cache, const struct sp_cache_ask *ask,
    struct sp_cache_time now, struct sp_cache_answer *ret);

/* Gives this answer to the same question for SP_CACHE_MEMORY_MS. */
void sp_cache_memorize(struct sp_cache *cache, const struct sp_cache_ask *ask,
    enum sp_cache_effect effect, struct sp_cache_time now);

void sp_cache_count_reject(struct sp_cache *cache, enum sp_cache_effect effect);

#endif
