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
#define KEY_TEXT_MAX       (2 * (SP_PRINCIPAL_MAX + 2))

_Static_assert(SP_CACHE_KEY_SIZE == crypto_shorthash_siphashx24_KEYBYTES, "the key of SipHash");

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
	*table = (struct sp_cache_table){.max = max, .buckets = power_of_two(max)};
	table->caller_buckets =
	    table->buckets < CALLER_BUCKETS_MAX ? table->buckets : CALLER_BUCKETS_MAX;
	table->place_buckets = power_of_two(max / ENTRIES_A_PLACE);
	memcpy(table->key, key, SP_CACHE_KEY_SIZE);
	TAILQ_INIT(&table->by_use);
	table->by_key = calloc(table->buckets, sizeof(*table->by_key));
	table->by_sandbox = calloc(table->buckets, sizeof(*table->by_sandbox));
	table->callers = calloc(table->caller_buckets, sizeof(*table->callers));
	table->places = calloc(table->place_buckets, sizeof(*table->places));
	if (table->by_key && table->by_sandbox && table->callers && table->places)
		return 0;
	sp_cache_table_done(table);
	return -ENOMEM;
}

void sp_cache_table_done(struct sp_cache_table *table)
{
	struct sp_cache_entry *entry;

	while ((entry = TAILQ_FIRST(&table->by_use)))
		sp_cache_table_remove(table, entry);
	free(table->by_key);
	free(table->by_sandbox);
	free(table->callers);
	free(table->places);
	table->places = NULL;
	table->by_key = table->by_sandbox = NULL;
	table->callers = NULL;
}

static struct sp_cache_entries *key_bucket(
    struct sp_cache_table *table, const char *caller, const char *sandbox)
{
	return &table->by_key[hash_of(table, caller, sandbox) & (table->buckets - 1)];
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
	struct sp_cache_entry *entry;

	for (entry = LIST_FIRST(key_bucket(table, caller, sandbox)); entry;
	     entry = LIST_NEXT(entry, by_key))
		if (strcmp(entry->sandbox, sandbox) == 0 &&
		    strcmp(entry->caller->name, caller) == 0)
			return entry;
	return NULL;
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

struct sp_cache_entry *sp_cache_table_insert(struct sp_cache_table *table, const char *caller,
    const unsigned char *credential, const char *sandbox, struct sp_cached_placement *placement,
    struct sp_cached_rights *rights)
{
	size_t size = strlen(sandbox) + 1;
	struct sp_cache_entry *entry = calloc(1, sizeof(*entry) + size);

	if (!entry)
		return NULL;
	entry->caller = caller_of(table, caller, credential);
	if (!entry->caller) {
		free(entry);
		return NULL;
	}
	memcpy(entry->sandbox, sandbox, size);
	entry->placement = sp_cached_placement_hold(placement);
	entry->rights = sp_cached_rights_hold(rights);
	entry->version = ++table->version;
	LIST_INSERT_HEAD(&entry->caller->entries, entry, by_caller);
	LIST_INSERT_HEAD(key_bucket(table, caller, sandbox), entry, by_key);
	LIST_INSERT_HEAD(sp_cache_table_sandbox(table, sandbox), entry, by_sandbox);
	TAILQ_INSERT_TAIL(&table->by_use, entry, by_use);
	table->count++;
	return entry;
}

void sp_cache_table_remove(struct sp_cache_table *table, struct sp_cache_entry *entry)
{
	LIST_REMOVE(entry, by_key);
	LIST_REMOVE(entry, by_sandbox);
	LIST_REMOVE(entry, by_caller);
	TAILQ_REMOVE(&table->by_use, entry, by_use);
	release_caller(entry->caller);
	sp_cached_placement_release(entry->placement);
	sp_cached_rights_release(entry->rights);
	free(entry);
	table->count--;
}

void sp_cache_table_use(struct sp_cache_table *table, struct sp_cache_entry *entry)
{
	TAILQ_REMOVE(&table->by_use, entry, by_use);
	TAILQ_INSERT_TAIL(&table->by_use, entry, by_use);
}
