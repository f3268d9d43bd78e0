/*
 * Capabilities that were minted before and may be handed out again: a bounded table, keyed by a
 * digest of all that a capability says besides its times and jti, under a secret of this process,
 * so that nobody can aim at an entry. Pure, but for that secret.
 */
#ifndef SP_TOKEN_REUSE_H
#define SP_TOKEN_REUSE_H

#include <stddef.h>
#include <stdint.h>
#include "token/capability.h"

struct sp_reuse;

/* Room for `entries` tokens (a power of two, at least 4), about 1 KiB each, taken as they come.
 * -ENOMEM or 0. */
int sp_reuse_new(size_t entries, struct sp_reuse **ret);
void sp_reuse_free(struct sp_reuse *reuse);

/* What one kind of capability is found by: a digest of caller, sandbox, route, purpose and access.
 */
struct sp_reuse_key {
	unsigned char digest[32];
};
void sp_reuse_key(
    const struct sp_reuse *reuse, const struct sp_claims *claims, struct sp_reuse_key *ret);

/*
 * A token of this kind, in the first half of its life at `now`, that expires by `until` at the
 * latest. NULL: none. On success *ret_jti and the token are borrowed until the next call.
 */
const char *sp_reuse_find(struct sp_reuse *reuse, const struct sp_reuse_key *key, int64_t now,
    int64_t until, size_t *ret_size, const char **ret_jti);

/* Remembers a token that was just minted from `claims`, of which `key` is. Copies. Out of memory:
 * it is not remembered. */
void sp_reuse_put(struct sp_reuse *reuse, const struct sp_reuse_key *key,
    const struct sp_claims *claims, const char *token, size_t size);

#endif
