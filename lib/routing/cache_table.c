/* Hash tables of the size of the bound from the start (untouched pages cost nothing), so that no
 * request ever pays for a table that grows. */
#include "routing/cache_table.h"

#include <errno.h>
#include <sodium/crypto_shorthash.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"

#define CALLER_BUCKETS_MAX 65536u
#define ENTRIES_A_PLACE    8 /* at least, or the lists of places are longer than one */
#define ADDRESS            ((UINT64_C(1) << 48) - 1)
#define KEY_TEXT_MAX       (2 * (SP_PRINCIPAL_MAX + 2))

_Static_assert(SP_CACHE_KEY_SIZE == crypto_shorthash_siphashx24_KEYBYTES, "the key of SipHash");
_Static_assert(
    sizeof(struct sp_cache_entry) + SP_ID_MAX + 1 + SP_CACHED_PLACEMENT_ROOM <= SP_CACHE_ARENA_MAX,
    "every entry finds room");

static uint64_t hash_of(const struct sp_cache_table *table, const char *first, const char *second)
{
	char text[KEY_TEXT_MAX];
	size_t one = strnlen(first, SP_PRINCIPAL_MAX);
	size_t two = second ? strnlen(second, SP_PRINCIPAL_MAX) : 0;
	uint64_t hash;

	memcpy(text, first, one);
	text[one] = '\0';
	if (second)
		memcpy(text + one + 1, second, two);
	(void)crypto_shorthash_siphash24(
	    (unsigned char *)&hash, (const unsigned char *)text, one + 1 + two, table->key);
	return hash;
}

struct sp_cache_digest sp_cache_table_digest(
    const struct sp_cache_table *table, const struct iovec *parts, size_t count)
{
	unsigned char all[SP_CACHE_DIGEST_MAX];
	struct sp_cache_digest digest;
	size_t used = 0;

	for (size_t i = 0; i < count && used + 2 < sizeof(all); i++) {
		size_t left = sizeof(all) - used - 2;
		size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
		all[used++] = (unsigned char)(size >> 8);
		all[used++] = (unsigned char)size;
		if (size > 0)
			memcpy(all + used, parts[i].iov_base, size);
		used += size;
	}
	(void)crypto_shorthash_siphashx24((unsigned char *)&digest, all, used, table->key);
	return digest;
}

static size_t power_of_two(size_t wanted)
{
	size_t size = 16;

	while (size < wanted)
		size *= 2;
	return size;
}

int sp_cache_table_init(
    struct sp_cache_table *table, size_t max, const unsigned char key[SP_CACHE_KEY_SIZE])
{
	*table = (struct sp_cache_table){
	    .max = max, .slot_count = power_of_two(max + max / 2), .buckets = power_of_two(max)};
	table->caller_buckets =
	    table->buckets < CALLER_BUCKETS_MAX ? table->buckets : CALLER_BUCKETS_MAX;
	table->place_buckets = power_of_two(max / ENTRIES_A_PLACE);
	memcpy(table->key, key, SP_CACHE_KEY_SIZE);
	TAILQ_INIT(&table->by_use);
	table->slots = calloc(table->slot_count, sizeof(*table->slots));
	table->by_sandbox = calloc(table->buckets, sizeof(*table->by_sandbox));
	table->callers = calloc(table->caller_buckets, sizeof(*table->callers));
	table->places = calloc(table->place_buckets, sizeof(*table->places));
	if (table->slots && table->by_sandbox && table->callers && table->places)
		return 0;
	sp_cache_table_done(table);
	return -ENOMEM;
}

void sp_cache_table_done(struct sp_cache_table *table)
{
	struct sp_cache_entry *entry;

	while ((entry = sp_cache_table_oldest(table)))
		sp_cache_table_remove(table, entry);
	sp_cache_arena_done(&table->arena);
	free(table->slots);
	free(table->by_sandbox);
	free(table->callers);
	free(table->places);
	table->slots = NULL;
	table->places = NULL;
	table->by_sandbox = NULL;
	table->callers = NULL;
}

static bool is_of(const struct sp_cache_entry *entry, const char *caller, const char *sandbox)
{
	return strcmp(entry->sandbox, sandbox) == 0 && strcmp(entry->caller->name, caller) == 0;
}

struct sp_cache_entry *sp_cache_slot_entry(struct sp_cache_slot slot)
{
	return (struct sp_cache_entry *)(uintptr_t)(slot.word & ADDRESS);
}

static struct sp_cache_slot slot_with(uint64_t hash, const struct sp_cache_entry *entry)
{
	return (struct sp_cache_slot){(hash & ~ADDRESS) | (uintptr_t)entry};
}

/* The slot of a key, or the free one where it would go. */
static struct sp_cache_slot *slot_of(
    struct sp_cache_table *table, uint64_t hash, const char *caller, const char *sandbox)
{
	size_t at = hash & (table->slot_count - 1);

	while (table->slots[at].word &&
	       (((table->slots[at].word ^ hash) & ~ADDRESS) != 0 ||
		   !is_of(sp_cache_slot_entry(table->slots[at]), caller, sandbox)))
		at = (at + 1) & (table->slot_count - 1);
	return &table->slots[at];
}

static uint64_t hash_in(const struct sp_cache_table *table, struct sp_cache_slot slot)
{
	const struct sp_cache_entry *entry = sp_cache_slot_entry(slot);

	return hash_of(table, entry->caller->name, entry->sandbox);
}

/* Whatever stands behind it moves up, as far as it may: no search stops short of it. */
static void free_slot(struct sp_cache_table *table, struct sp_cache_slot *slot)
{
	size_t mask = table->slot_count - 1, hole = (size_t)(slot - table->slots), at = hole;

	for (at = (hole + 1) & mask; table->slots[at].word; at = (at + 1) & mask)
		if (((at - hash_in(table, table->slots[at])) & mask) >= ((at - hole) & mask)) {
			table->slots[hole] = table->slots[at];
			hole = at;
		}
	table->slots[hole] = (struct sp_cache_slot){0};
}

struct sp_cache_entries *sp_cache_table_sandbox(struct sp_cache_table *table, const char *sandbox)
{
	return &table->by_sandbox[hash_of(table, sandbox, NULL) & (table->buckets - 1)];
}

struct sp_cache_callers *sp_cache_table_callers(struct sp_cache_table *table, const char *name)
{
	return &table->callers[hash_of(table, name, NULL) & (table->caller_buckets - 1)];
}

struct sp_cache_entry *sp_cache_table_find(
    struct sp_cache_table *table, const char *caller, const char *sandbox)
{
	return sp_cache_slot_entry(
	    *slot_of(table, hash_of(table, caller, sandbox), caller, sandbox));
}

bool sp_cache_caller_is(const struct sp_cache_caller *caller, const unsigned char *credential)
{
	if (!credential)
		return !caller->has_credential;
	return caller->has_credential &&
	       memcmp(caller->credential, credential, SP_CREDENTIAL_SIZE) == 0;
}

static struct sp_cache_caller *caller_of(
    struct sp_cache_table *table, const char *name, const unsigned char *credential)
{
	struct sp_cache_callers *bucket = sp_cache_table_callers(table, name);
	struct sp_cache_caller *caller;
	size_t size = strlen(name) + 1;

	for (caller = LIST_FIRST(bucket); caller; caller = LIST_NEXT(caller, link))
		if (strcmp(caller->name, name) == 0 && sp_cache_caller_is(caller, credential))
			return caller;
	caller = calloc(1, sizeof(*caller) + size);
	if (!caller)
		return NULL;
	memcpy(caller->name, name, size);
	if (credential) {
		caller->has_credential = true;
		memcpy(caller->credential, credential, SP_CREDENTIAL_SIZE);
	}
	LIST_INSERT_HEAD(bucket, caller, link);
	return caller;
}

struct sp_cache_entry *sp_cache_table_any(struct sp_cache_table *table, const char *caller)
{
	struct sp_cache_caller *one;

	for (one = LIST_FIRST(sp_cache_table_callers(table, caller)); one;
	     one = LIST_NEXT(one, link))
		if (strcmp(one->name, caller) == 0)
			return LIST_FIRST(&one->entries);
	return NULL;
}

static void release_caller(struct sp_cache_caller *caller)
{
	if (!LIST_EMPTY(&caller->entries))
		return;
	LIST_REMOVE(caller, link);
	free(caller);
}

static void settle_use(struct sp_cache_table *table)
{
	struct sp_cache_entry *entry = sp_steal(&table->used);

	if (!entry)
		return;
	TAILQ_REMOVE(&table->by_use, entry, by_use);
	TAILQ_INSERT_TAIL(&table->by_use, entry, by_use);
}

/* What it takes up, and what of that it needs. */
static size_t size_of(const char *sandbox, size_t placement)
{
	return sizeof(struct sp_cache_entry) + strlen(sandbox) + 1 + placement;
}

/* With a sandbox and a placement, in no list. */
static struct sp_cache_entry *new_entry(
    struct sp_cache_table *table, const char *sandbox, const struct sp_placement *placement)
{
	size_t size = strlen(sandbox) + 1;
	struct sp_cache_entry *entry = sp_cache_arena_get(
	    &table->arena, size_of(sandbox, sp_cached_placement_room(placement)));

	if (!entry)
		return NULL;
	*entry = (struct sp_cache_entry){0};
	memcpy(entry->sandbox, sandbox, size);
	if (sp_cached_placement_init(table, placement, entry->sandbox + size, &entry->placement))
		return entry;
	sp_cache_arena_put(entry);
	return NULL;
}

static void free_entry(struct sp_cache_entry *entry)
{
	sp_cached_placement_done(&entry->placement);
	sp_cache_arena_put(entry);
}

struct sp_cache_entry *sp_cache_table_insert(struct sp_cache_table *table, const char *caller,
    const unsigned char *credential, const char *sandbox, const struct sp_placement *placement,
    struct sp_cached_rights *rights)
{
	uint64_t hash = hash_of(table, caller, sandbox);
	struct sp_cache_entry *entry = new_entry(table, sandbox, placement);

	if (!entry)
		return NULL;
	entry->caller = caller_of(table, caller, credential);
	if (!entry->caller) {
		free_entry(entry);
		return NULL;
	}
	entry->rights = sp_cached_rights_hold(rights);
	entry->version = ++table->version;
	LIST_INSERT_HEAD(&entry->caller->entries, entry, by_caller);
	*slot_of(table, hash, caller, sandbox) = slot_with(hash, entry);
	LIST_INSERT_HEAD(sp_cache_table_sandbox(table, sandbox), entry, by_sandbox);
	settle_use(table);
	TAILQ_INSERT_TAIL(&table->by_use, entry, by_use);
	table->count++;
	return entry;
}

void sp_cache_table_remove(struct sp_cache_table *table, struct sp_cache_entry *entry)
{
	const char *caller = entry->caller->name;
	uint64_t hash = hash_of(table, caller, entry->sandbox);

	free_slot(table, slot_of(table, hash, caller, entry->sandbox));
	LIST_REMOVE(entry, by_sandbox);
	LIST_REMOVE(entry, by_caller);
	settle_use(table);
	TAILQ_REMOVE(&table->by_use, entry, by_use);
	release_caller(entry->caller);
	sp_cached_rights_release(entry->rights);
	free_entry(entry);
	table->count--;
}

static bool fits(const struct sp_cache_entry *entry, const struct sp_placement *placement)
{
	size_t held = entry->placement.pod_uid_size + entry->placement.activation_size;

	return size_of(entry->sandbox, sp_cached_placement_room(placement)) <=
	       sp_cache_arena_room(size_of(entry->sandbox, held));
}

/* In every list where the other one was, which is gone. */
static void take_over(
    struct sp_cache_table *table, struct sp_cache_entry *entry, struct sp_cache_entry *other)
{
	uint64_t hash = hash_of(table, other->caller->name, other->sandbox);

	entry->caller = other->caller;
	entry->rights = other->rights;
	entry->expires = other->expires;
	entry->deadline = other->deadline;
	entry->authorized = other->authorized;
	*slot_of(table, hash, other->caller->name, other->sandbox) = slot_with(hash, entry);
	LIST_INSERT_AFTER(other, entry, by_sandbox);
	LIST_REMOVE(other, by_sandbox);
	LIST_INSERT_AFTER(other, entry, by_caller);
	LIST_REMOVE(other, by_caller);
	settle_use(table);
	TAILQ_INSERT_AFTER(&table->by_use, other, entry, by_use);
	TAILQ_REMOVE(&table->by_use, other, by_use);
	free_entry(other);
}

struct sp_cache_entry *sp_cache_table_place(struct sp_cache_table *table,
    struct sp_cache_entry *entry, const struct sp_placement *placement)
{
	struct sp_cached_placement held = entry->placement;
	struct sp_cache_entry *moved;

	if (fits(entry, placement)) {
		char *text = entry->sandbox + strlen(entry->sandbox) + 1;
		if (!sp_cached_placement_init(table, placement, text, &entry->placement))
			return NULL;
		sp_cached_placement_done(&held);
	} else {
		moved = new_entry(table, entry->sandbox, placement);
		if (!moved)
			return NULL;
		take_over(table, moved, entry);
		entry = moved;
	}
	entry->version = ++table->version;
	return entry;
}

/* Its neighbours in the list are any two of all entries: they are only sent for now, and touched
 * when the next one is used, or somebody looks at the order. */
void sp_cache_table_use(struct sp_cache_table *table, struct sp_cache_entry *entry)
{
	settle_use(table);
	table->used = entry;
	__builtin_prefetch(entry->by_use.tqe_prev, 1);
	if (entry->by_use.tqe_next)
		__builtin_prefetch(&entry->by_use.tqe_next->by_use, 1);
}

struct sp_cache_entry *sp_cache_table_oldest(struct sp_cache_table *table)
{
	settle_use(table);
	return TAILQ_FIRST(&table->by_use);
}
