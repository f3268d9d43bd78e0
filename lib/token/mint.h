/* Minting (02-capability): what a routed request may carry, and the signer that makes it. Time is
 * handed in. */
#ifndef SP_TOKEN_MINT_H
#define SP_TOKEN_MINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "record/request.h"
#include "token/capability.h"
#include "token/order.h"
#include "token/signing_key.h"

#define SP_REUSE_ENTRIES 16384 /* tokens that a signer remembers, about 1 KiB each */

/*
 * The claims of a routed request but for issuer and jti: purpose by the operation, `access`,
 * `session`, or `port` and `protocol`, times from `now`, never beyond authorized_until or `life`
 * seconds. *ret_reason is SP_REASON_NONE, SP_REASON_UNAUTHORIZED (authorized_until has passed) or
 * SP_REASON_ACCESS (the operation is not among those granted). SP_E_BAD_RECORD: args without what
 * the operation needs, a caller over SP_NAME_MAX. Pure.
 */
int sp_mint_claims(const struct sp_request *request, int64_t now, int64_t life,
    struct sp_claims *ret, enum sp_reason *ret_reason, struct sp_err *err);

struct sp_minter;

/* Steals `key`, also on failure. `life` is 1 to SP_CAP_LIFE_MAX seconds. */
int sp_minter_new(struct sp_signing_key *key, const char *realm, const char *issuer, int64_t life,
    struct sp_minter **ret, struct sp_err *err);
void sp_minter_free(struct sp_minter *minter);

/* Another one for another thread: the same key, which stays the first one's, and tokens of its own
 * to reuse. To be freed before the first. -ENOMEM or 0. */
int sp_minter_beside(const struct sp_minter *minter, struct sp_minter **ret);

const char *sp_minter_kid(const struct sp_minter *minter);

struct sp_minted {
	enum sp_reason
	    reason; /* SP_REASON_NONE: a token; else it was refused and the rest is empty */
	bool reused;
	const char *token; /* borrowed until the minter's next call */
	size_t size;
	const char *jti; /* borrowed likewise */
};

/* A token for a routed request. SP_E_BAD_RECORD as sp_mint_claims; SP_E_TOO_LARGE: claims that do
 * not fit into a token. */
int sp_minter_request(struct sp_minter *minter, const struct sp_request *request, int64_t now,
    struct sp_minted *ret, struct sp_err *err);

/* The same for what was read of it; its claims are completed. */
int sp_minter_order(struct sp_minter *minter, struct sp_order *order, int64_t now,
    struct sp_minted *ret, struct sp_err *err);

/* A token from claims without issuer, times and jti, which are set here (`life` as above, 0: the
 * minter's). Errors as sp_capability_sign. */
int sp_minter_claims(struct sp_minter *minter, struct sp_claims *claims, int64_t now, int64_t life,
    struct sp_minted *ret, struct sp_err *err);

#endif
