/* What goes into a capability, and when one of before will do. */
#include "token/mint.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include "base/base64.h"
#include "base/util.h"
#include "token/reuse.h"

struct sp_minter {
	const struct sp_signing_key *key;
	struct sp_signing_key *own_key; /* NULL: it is another minter's */
	char realm[SP_REALM_MAX + 1], issuer[SP_NAME_MAX + 1];
	int64_t life;
	size_t entries;
	struct sp_reuse *reuse;
	char jti[SP_JTI_SIZE];                   /* of the last token */
	unsigned char random[16 * SP_JTI_BYTES]; /* for the next ones: a system call for many */
	size_t random_left;
	char token[SP_TOKEN_MAX + 1];
};

int sp_mint_claims(const struct sp_request *request, int64_t now, int64_t life,
    struct sp_claims *ret, enum sp_reason *ret_reason, struct sp_err *err)
{
	struct sp_order order;
	int bad = sp_order_read(request, &order, err);

	if (bad)
		return bad;
	*ret_reason = sp_order_claims(&order, now, life);
	*ret = order.claims;
	return 0;
}

int sp_minter_new(struct sp_signing_key *key, const char *realm, const char *issuer, int64_t life,
    struct sp_minter **ret, struct sp_err *err)
{
	struct sp_minter *minter = calloc(1, sizeof(*minter));
	size_t realm_size = strlen(realm), issuer_size = strlen(issuer);
	int bad = 0;

	if (!minter || sp_reuse_new(SP_REUSE_ENTRIES, &minter->reuse) < 0)
		bad = sp_fail(err, -ENOMEM, "signer: out of memory");
	else if (realm_size < 1 || realm_size > SP_REALM_MAX)
		bad = sp_fail(err, SP_E_CONFIG, "a realm of 1 to %d bytes is needed", SP_REALM_MAX);
	else if (issuer_size < 1 || issuer_size > SP_NAME_MAX)
		bad =
		    sp_fail(err, SP_E_CONFIG, "an issuer of 1 to %d bytes is needed", SP_NAME_MAX);
	if (bad) {
		sp_signing_key_free(key);
		sp_minter_free(minter);
		return bad;
	}
	minter->key = minter->own_key = key;
	minter->life = life;
	minter->entries = SP_REUSE_ENTRIES;
	memcpy(minter->realm, realm, realm_size + 1);
	memcpy(minter->issuer, issuer, issuer_size + 1);
	*ret = minter;
	return 0;
}

int sp_minter_beside(const struct sp_minter *minter, struct sp_minter **ret)
{
	struct sp_minter *other = malloc(sizeof(*other));

	if (!other)
		return -ENOMEM;
	*other = *minter;
	other->own_key = NULL;
	other->random_left = 0;
	if (sp_reuse_new(other->entries, &other->reuse) < 0) {
		free(other);
		return -ENOMEM;
	}
	*ret = other;
	return 0;
}

void sp_minter_free(struct sp_minter *minter)
{
	if (!minter)
		return;
	sp_signing_key_free(minter->own_key);
	sp_reuse_free(minter->reuse);
	free(minter);
}

const char *sp_minter_kid(const struct sp_minter *minter)
{
	return sp_signing_key_id(minter->key);
}

/* Never twice the same bytes: what has been given out is gone. */
static void make_jti(struct sp_minter *minter, char ret[SP_JTI_SIZE])
{
	if (minter->random_left == 0) {
		randombytes_buf(minter->random, sizeof(minter->random));
		minter->random_left = sizeof(minter->random);
	}
	minter->random_left -= SP_JTI_BYTES;
	sp_base64_encode_public(
	    minter->random + minter->random_left, SP_JTI_BYTES, true, ret, SP_JTI_SIZE);
}

/* Completes and signs claims whose times are set. */
static int sign(
    struct sp_minter *minter, struct sp_claims *claims, struct sp_minted *ret, struct sp_err *err)
{
	struct sp_minted minted = {.token = minter->token, .jti = minter->jti};
	int bad;

	memcpy(claims->issuer, minter->issuer, sizeof(minter->issuer));
	make_jti(minter, claims->jti);
	memcpy(minter->jti, claims->jti, sizeof(minter->jti));
	bad = sp_capability_sign(
	    claims, minter->realm, minter->key, minter->token, &minted.size, err);
	if (!bad)
		*ret = minted;
	return bad;
}

int sp_minter_order(struct sp_minter *minter, struct sp_order *order, int64_t now,
    struct sp_minted *ret, struct sp_err *err)
{
	struct sp_minted minted = {.reason = sp_order_claims(order, now, minter->life)};
	bool reusable = sp_order_reusable(order);
	struct sp_reuse_key key;
	int bad;

	if (minted.reason != SP_REASON_NONE) {
		*ret = minted;
		return 0;
	}
	if (reusable) {
		sp_reuse_key(minter->reuse, &order->claims, &key);
		minted.token = sp_reuse_find(
		    minter->reuse, &key, now, order->authorized_until, &minted.size, &minted.jti);
		minted.reused = minted.token != NULL;
		if (minted.reused) {
			*ret = minted;
			return 0;
		}
	}
	bad = sign(minter, &order->claims, ret, err);
	if (!bad && reusable)
		sp_reuse_put(minter->reuse, &key, &order->claims, ret->token, ret->size);
	return bad;
}

int sp_minter_request(struct sp_minter *minter, const struct sp_request *request, int64_t now,
    struct sp_minted *ret, struct sp_err *err)
{
	struct sp_order order;
	int bad = sp_order_read(request, &order, err);

	return bad ? bad : sp_minter_order(minter, &order, now, ret, err);
}

int sp_minter_claims(struct sp_minter *minter, struct sp_claims *claims, int64_t now, int64_t life,
    struct sp_minted *ret, struct sp_err *err)
{
	claims->issued_at = claims->not_before = now;
	claims->expires_at = now + (life > 0 ? life : minter->life);
	return sign(minter, claims, ret, err);
}
