/*
 * The cache's rules (05-routing, Cache): what an entry, a lookup in flight and an answer of the
 * registry come to. Values in, values out: the time is handed in, the registry is asked by the
 * caller, nothing is read or written here.
 *
 * An ask is answered at once, or it waits in a flight: one lookup of the registry that all asks of
 * the same kind and key share. Whoever is told SP_CACHE_LOOK asks the registry and hands what it
 * said to sp_cache_looked, at any later time.
 */
#ifndef SP_ROUTING_CACHE_H
#define SP_ROUTING_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "record/op.h"
#include "routing/granting.h"
#include "routing/placement.h"

#define SP_CACHE_KEY_SIZE  16   /* SipHash key: random, against chosen collisions */
#define SP_CACHE_MEMORY_MS 1000 /* how long `gone` and `unchanged` are remembered */
#define SP_CACHE_AUTHORIZE_MS                                                                      \
	1000               /* between two authorizations of one entry for lack of a right          \
			    */
#define SP_CACHE_RETRIES 3 /* how often an outrun lookup is asked again */

struct sp_cache;
struct sp_flight;

/* Both clocks: `expires` is a time of day that records carry, and an entry also ends when as much
 * monotonic time has passed, so that a clock set back prolongs nothing. */
struct sp_cache_time {
	int64_t wall;      /* seconds */
	int64_t monotonic; /* milliseconds */
};

enum sp_cache_kind { SP_CACHE_GET, SP_CACHE_REJECT, SP_CACHE_RENEW };

/* A question. What it points to, and the ask itself once it waits, lives until it is answered or
 * abandoned. */
struct sp_cache_ask {
	enum sp_cache_kind kind;
	const char *caller;              /* uid:N or token:NAME */
	const unsigned char *credential; /* SP_CREDENTIAL_SIZE bytes; NULL: none */
	const char *sandbox;
	const struct sp_op
	    *op;            /* get: what the caller is about to do; NULL: nothing in particular */
	int port, protocol; /* of port.connect */
	const struct sp_route *rejected; /* reject */
	/* the cache's own */
	TAILQ_ENTRY(sp_cache_ask) link;
	struct sp_flight *flight;
};

enum sp_cache_effect {
	SP_CACHE_HIT,         /* get: a live entry */
	SP_CACHE_FILLED,      /* get, renew: authorized and resolved now */
	SP_CACHE_RENEWED,     /* renew */
	SP_CACHE_REPLACED,    /* reject: the registry has a newer one: here it is */
	SP_CACHE_KEPT,        /* reject: the entry held another one already: here it is */
	SP_CACHE_UNCHANGED,   /* reject: the registry still has the rejected one, or an older one */
	SP_CACHE_GONE,        /* no such sandbox has a route */
	SP_CACHE_DENIED,      /* no grant covers it */
	SP_CACHE_UNAVAILABLE, /* the registry did not answer, or was outrun too often */
};
const char *sp_cache_effect_name(enum sp_cache_effect effect);

/* Texts are members of a JSON object, without braces, and valid until the cache is used again. */
struct sp_cache_answer {
	enum sp_cache_effect effect;
	const char *placement; /* "route":{...},"endpoint":"...","revision":N; or NULL */
	size_t placement_size;
	const char *rights; /* "access":[...],"ports":[...]; NULL but for get and renew */
	size_t rights_size;
	int64_t expires; /* seconds; 0 without an entry behind the answer */
};

/* What the registry said about a caller and a sandbox, read at one instant. */
struct sp_lookup {
	bool available;                        /* false: it did not answer; the rest is void */
	struct sp_authorization authorization; /* no operations: not authorized */
	bool routed;                           /* false: no such sandbox has a route */
	struct sp_placement placement;
};

/* `max_entries` >= 1; `session_ttl` in seconds. -ENOMEM or 0. */
int sp_cache_new(size_t max_entries, int64_t session_ttl,
    const unsigned char key[SP_CACHE_KEY_SIZE], struct sp_cache **ret);
void sp_cache_free(struct sp_cache *cache); /* no ask may wait any more */
void sp_cache_session_ttl(struct sp_cache *cache, int64_t session_ttl); /* of later entries */

enum sp_cache_step {
	SP_CACHE_ANSWERED,
	SP_CACHE_WAIT, /* another lookup under way will answer it */
	SP_CACHE_LOOK, /* ask the registry on behalf of *ret_flight, which will answer it */
};

/* Takes a question. */
enum sp_cache_step sp_cache_take(struct sp_cache *cache, struct sp_cache_ask *ask,
    struct sp_cache_time now, struct sp_cache_answer *ret, struct sp_flight **ret_flight);

/* What a flight asks the registry; borrowed. */
struct sp_flight_question {
	const char *caller;
	const unsigned char *credential; /* NULL: none */
	const char *sandbox;
	bool authorize; /* false: only the route matters */
};
struct sp_flight_question sp_flight_question(const struct sp_flight *flight);

/*
 * What the registry said. Each ask that waited is given to `answered` (which must not use the
 * cache), and the flight is gone: SP_CACHE_ANSWERED. Or the lookup was outrun (the entry was
 * replaced, dropped, its grant revoked since the question): SP_CACHE_LOOK, ask again.
 */
typedef void sp_cache_answered_fn(
    void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer);
enum sp_cache_step sp_cache_looked(struct sp_cache *cache, struct sp_flight *flight,
    const struct sp_lookup *lookup, struct sp_cache_time now, sp_cache_answered_fn *answered,
    void *context);

/* An ask that waits is wanted no more. */
void sp_cache_abandon(struct sp_cache_ask *ask);

/*
 * Forgets entries, and whatever a lookup under way will say about them: of one caller, of a sandbox
 * or pattern, of both; NULL: any. Also when a grant has been revoked: then `caller` is its subject.
 * Returns how many entries went.
 */
size_t sp_cache_drop(struct sp_cache *cache, const char *caller, const char *pattern);

/*
 * What a sandbox's route has become: every entry of it that holds an older one gets this one, and
 * goes when it is retired; `expires` stays. Lookups under way for the sandbox ask again. Returns
 * how many entries changed.
 */
size_t sp_cache_offer(
    struct sp_cache *cache, const char *sandbox, const struct sp_placement *placement);

struct sp_cache_stats {
	int64_t hits, misses;                    /* gets answered at once, and not */
	int64_t lookups, coalesced;              /* asked of the registry; asks that shared one */
	int64_t replaced, kept, unchanged, gone; /* rejects answered so */
	int64_t followed;                        /* entries changed by sp_cache_offer */
	int64_t evicted, expired, dropped;       /* entries that went */
	int64_t discarded;                       /* answers of the registry thrown away */
	int64_t entries;                         /* held now */
};
void sp_cache_stats(const struct sp_cache *cache, struct sp_cache_stats *ret);

/* The n-th counter, 0 first, by name: for printing all of them. False past the last. */
bool sp_cache_counter(
    const struct sp_cache_stats *stats, unsigned index, const char **ret_name, int64_t *ret_value);

/* Live and dead entries of one part of the cache, to walk all of it in pieces: *position starts at
 * 0 and is 0 again after the last part. */
typedef void sp_cache_each_fn(
    void *context, const char *caller, const char *sandbox, const struct sp_cache_answer *entry);
void sp_cache_walk(
    const struct sp_cache *cache, size_t *position, sp_cache_each_fn *each, void *context);

#endif
