/*
 * Tokens that were verified before: the signature of a multi-use capability is checked once, the
 * rest each time. Bounded, keyed with a random key of this process, so that nobody can aim at an
 * entry.
 */
#ifndef SP_ADMIT_REMEMBER_H
#define SP_ADMIT_REMEMBER_H

#include <stddef.h>
#include <stdint.h>
#include "record/reason.h"
#include "token/capability.h"
#include "token/keyring.h"

struct sp_memory;

/* Room for `entries` tokens, about 4 KiB each, taken as they come. -ENOMEM or 0. */
int sp_memory_new(size_t entries, struct sp_memory **ret);
void sp_memory_free(struct sp_memory *memory);

/* Forgets everything: call it whenever the keyring was loaded anew. */
void sp_memory_forget(struct sp_memory *memory);

/*
 * sp_capability_verify, or for a token whose bytes passed before, its steps 2, 5 and 6 again. Only
 * what passed all six steps is remembered. All tokens of one memory are of one realm.
 */
enum sp_reason sp_memory_verify(struct sp_memory *memory, const char *token, size_t size,
    const struct sp_keyring *keys, const char *realm, const struct sp_cap_use *use, int64_t now,
    int64_t skew, struct sp_claims *ret);

#endif
