/*
 * The cache's memory: entries by key, by sandbox, by caller and by last use, within a bound. What
 * may go in and out is decided in cache.c; this file is not for others.
 */
#ifndef SP_ROUTING_CACHE_TABLE_H
#define SP_ROUTING_CACHE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>
#include "routing/cache.h"
#include "routing/cache_arena.h"

/* A worker and the endpoint it is reached at: what many sandboxes have in common, kept once. */
struct sp_cached_place {
	LIST_ENTRY(sp_cached_place) link;
	unsigned references;
	uint16_t worker_size, endpoint_size;
	char text[]; /* the worker, then the endpoint as a JSON string */
};
LIST_HEAD(sp_cached_places, sp_cached_place);

/* A million of them are held: what can be put together when it is asked for is not kept. */
struct sp_cached_placement {
	int64_t execution, attempt, revision;
	struct sp_cached_place *place;
	const char *text; /* the pod's UID, then the activation; the holder's */
	uint8_t substrate, pod_uid_size, activation_size;
};

/* A value that several entries share; never changed once made. */
struct sp_cached_rights {
	unsigned references;
	uint64_t ops; /* a bit for each row of the operations table */
	unsigned port_count;
	struct sp_port_range *ports; /* behind the text */
	size_t size;
	char text[]; /* as in struct sp_cache_answer */
};

struct sp_cached_rights *sp_cached_rights_new(const struct sp_rights *rights);
struct sp_cached_rights *sp_cached_rights_hold(struct sp_cached_rights *rights);
void sp_cached_rights_release(struct sp_cached_rights *rights); /* takes NULL */
bool sp_cached_rights_equal(const struct sp_cached_rights *a, const struct sp_cached_rights *b);
/* `op` NULL: nothing in particular is wanted. */
bool sp_cached_rights_allow(
    const struct sp_cached_rights *rights, const struct sp_op *op, int port, int protocol);

struct sp_cache_entry;
LIST_HEAD(sp_cache_entries, sp_cache_entry);

/* One caller with one credential; lives as long as it has entries. */
struct sp_cache_caller {
	LIST_ENTRY(sp_cache_caller) link;
	struct sp_cache_entries entries;
	bool has_credential;
	unsigned char credential[SP_CREDENTIAL_SIZE];
	char name[];
};

/* What every hit looks at stands together, and behind each other: among a million, a line of the
 * processor's cache more is a visit to memory more, and an address that is read there first is one
 * that waits for another. */
struct sp_cache_entry {
	LIST_ENTRY(sp_cache_entry) by_sandbox, by_caller;
	uint64_t version;   /* never the same twice, also over the life of several entries */
	int64_t authorized; /* milliseconds, monotonic: when the registry was last asked for rights
			     */
	TAILQ_ENTRY(sp_cache_entry) by_use;
	struct sp_cache_caller *caller;
	struct sp_cached_rights *rights;
	int64_t expires;  /* seconds, time of day */
	int64_t deadline; /* milliseconds, monotonic */
	struct sp_cached_placement placement;
	char sandbox[]; /* and the placement's text */
};

/* An address, which has 48 bits, and 16 of the hash of caller and sandbox, so that no entry is
 * looked at but the one that is meant. It stands where the hash's low bits say or in the next free
 * slot. 0: free. */
struct sp_cache_slot {
	uint64_t word;
};

struct sp_cache_table {
	size_t count, max;
	uint64_t version; /* the last one given */
	unsigned char key[SP_CACHE_KEY_SIZE];
	struct sp_cache_arena arena; /* of the entries */
	size_t slot_count, buckets;  /* powers of two; there is always a free slot */
	struct sp_cache_slot *slots;
	struct sp_cache_entries *by_sandbox;
	size_t place_buckets;
	struct sp_cached_places *places;
	size_t caller_buckets;
	LIST_HEAD(sp_cache_callers, sp_cache_caller) * callers;
	TAILQ_HEAD(sp_cache_uses, sp_cache_entry) by_use; /* see sp_cache_table_oldest */
	struct sp_cache_entry *used; /* the last one, not yet where it belongs in there; or NULL */
};

/* Its text goes to `text`, with room for the size of sp_cached_placement_room. False: out of
 * memory, or an endpoint that is no UTF-8; nothing has changed then. */
#define SP_CACHED_PLACEMENT_ROOM (36 + SP_ID_MAX)
size_t sp_cached_placement_room(const struct sp_placement *placement);
bool sp_cached_placement_init(struct sp_cache_table *table, const struct sp_placement *placement,
    char *text, struct sp_cached_placement *ret);
void sp_cached_placement_done(struct sp_cached_placement *placement);
bool sp_cached_placement_is(
    const struct sp_cached_placement *placement, const struct sp_route *route);

/* As in struct sp_cache_answer; its size. */
#define SP_CACHED_TEXT_SIZE (SP_ROUTE_TEXT_SIZE + 2 * SP_ENDPOINT_MAX + 64)
size_t sp_cached_placement_text(
    const struct sp_cached_placement *placement, char text[SP_CACHED_TEXT_SIZE]);

int sp_cache_table_init(
    struct sp_cache_table *table, size_t max, const unsigned char key[SP_CACHE_KEY_SIZE]);
void sp_cache_table_done(struct sp_cache_table *table);

/* NULL: the slot is free. */
struct sp_cache_entry *sp_cache_slot_entry(struct sp_cache_slot slot);

struct sp_cache_entry *sp_cache_table_find(
    struct sp_cache_table *table, const char *caller, const char *sandbox);

/* A new entry, the most recently used, with a reference of its own to the rights; there must be
 * none of this key, and room for it. NULL: as sp_cached_placement_init. */
struct sp_cache_entry *sp_cache_table_insert(struct sp_cache_table *table, const char *caller,
    const unsigned char *credential, const char *sandbox, const struct sp_placement *placement,
    struct sp_cached_rights *rights);

/* Gives an entry another placement, and a new version. The entry may be at another address then.
 * NULL: as sp_cached_placement_init, and it has the one before. */
struct sp_cache_entry *sp_cache_table_place(struct sp_cache_table *table,
    struct sp_cache_entry *entry, const struct sp_placement *placement);
void sp_cache_table_remove(struct sp_cache_table *table, struct sp_cache_entry *entry);
void sp_cache_table_use(struct sp_cache_table *table, struct sp_cache_entry *entry);

/* The least recently used entry; the others follow it in by_use. NULL: there is none. */
struct sp_cache_entry *sp_cache_table_oldest(struct sp_cache_table *table);

/* 128 bits over some parts, each with its length. At most SP_CACHE_DIGEST_MAX bytes in all; what is
 * longer is cut. */
#define SP_CACHE_DIGEST_MAX 1024
struct sp_cache_digest {
	uint64_t word[2];
};
struct sp_cache_digest sp_cache_table_digest(
    const struct sp_cache_table *table, const struct iovec *parts, size_t count);

bool sp_cache_caller_is(const struct sp_cache_caller *caller, const unsigned char *credential);

/* Some entry of this caller, or NULL. */
struct sp_cache_entry *sp_cache_table_any(struct sp_cache_table *table, const char *caller);

/* Where the callers of this name are; others may be among them. */
struct sp_cache_callers *sp_cache_table_callers(struct sp_cache_table *table, const char *name);
/* Where the entries of this sandbox are; others may be among them. */
struct sp_cache_entries *sp_cache_table_sandbox(struct sp_cache_table *table, const char *sandbox);

#endif
