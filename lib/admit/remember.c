/* A set-associative table of keyed BLAKE2b hashes: no chain to grow, no scan beyond one set. */
#include "admit/remember.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"

#define WAYS 4

struct entry {
	unsigned char hash[crypto_generichash_BYTES];
	struct sp_claims *claims; /* NULL: empty */
};

struct set {
	struct entry ways[WAYS];
	unsigned next; /* the way that is overwritten next */
};

struct sp_memory {
	unsigned char key[crypto_generichash_KEYBYTES];
	size_t count;
	struct set sets[];
};

int sp_memory_new(size_t entries, struct sp_memory **ret)
{
	size_t count = (entries + WAYS - 1) / WAYS;
	struct sp_memory *memory;

	if (sodium_init() < 0)
		return -EIO;
	memory = calloc(1, sizeof(*memory) + count * sizeof(struct set));
	if (!memory)
		return -ENOMEM;
	memory->count = count;
	randombytes_buf(memory->key, sizeof(memory->key));
	*ret = memory;
	return 0;
}

void sp_memory_forget(struct sp_memory *memory)
{
	for (size_t i = 0; i < memory->count; i++)
		for (size_t j = 0; j < WAYS; j++) {
			free(memory->sets[i].ways[j].claims);
			memory->sets[i].ways[j].claims = NULL;
		}
}

void sp_memory_free(struct sp_memory *memory)
{
	if (!memory)
		return;
	sp_memory_forget(memory);
	sodium_memzero(memory->key, sizeof(memory->key));
	free(memory);
}

static struct set *set_of(struct sp_memory *memory, const unsigned char *hash)
{
	uint64_t number;

	memcpy(&number, hash, sizeof(number));
	return &memory->sets[number % memory->count];
}

static const struct sp_claims *find(const struct set *set, const unsigned char *hash)
{
	for (size_t i = 0; i < WAYS; i++)
		if (set->ways[i].claims &&
		    memcmp(set->ways[i].hash, hash, sizeof(set->ways[i].hash)) == 0)
			return set->ways[i].claims;
	return NULL;
}

/* Out of memory only means that the token is verified in full again next time. */
static void keep(struct set *set, const unsigned char *hash, const struct sp_claims *claims)
{
	struct entry *entry = &set->ways[set->next];

	if (!entry->claims)
		entry->claims = malloc(sizeof(*entry->claims));
	if (!entry->claims)
		return;
	*entry->claims = *claims;
	memcpy(entry->hash, hash, sizeof(entry->hash));
	set->next = (set->next + 1) % WAYS;
}

enum sp_reason sp_memory_verify(struct sp_memory *memory, const char *token, size_t size,
    const struct sp_keyring *keys, const char *realm, const struct sp_cap_use *use, int64_t now,
    int64_t skew, struct sp_claims *ret)
{
	unsigned char hash[crypto_generichash_BYTES];
	const struct sp_claims *known;
	struct set *set;
	enum sp_reason reason;

	/* Hashing what is too long for a token would be work for nothing. */
	if (size > SP_TOKEN_MAX)
		return sp_capability_verify(token, size, keys, realm, use, now, skew, ret);
	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)token, size,
	    memory->key, sizeof(memory->key));
	set = set_of(memory, hash);
	known = find(set, hash);
	if (known) {
		*ret = *known;
		return sp_capability_recheck(known, keys, use, now, skew);
	}
	reason = sp_capability_verify(token, size, keys, realm, use, now, skew, ret);
	if (reason == SP_REASON_NONE)
		keep(set, hash, ret);
	return reason;
}
