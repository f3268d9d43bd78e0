/* Capabilities (02-capability): claims, verification steps 1 to 6, minting. Pure: time and keys are
 * handed in. */
#ifndef SP_TOKEN_CAPABILITY_H
#define SP_TOKEN_CAPABILITY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "record/op.h"
#include "record/out.h"
#include "record/reason.h"
#include "record/route.h"
#include "token/keyring.h"

#define SP_JTI_BYTES 16  /* random ones, */
#define SP_JTI_SIZE  23  /* in base64url, and a NUL */
#define SP_NAME_MAX  256 /* iss, caller */

struct sp_claims {
	char issuer[SP_NAME_MAX + 1], caller[SP_NAME_MAX + 1];
	struct sp_identity identity;               /* `sub` and `route` */
	int64_t issued_at, not_before, expires_at; /* seconds */
	char jti[SP_JTI_SIZE];
	char kid[SP_KID_SIZE];
	enum sp_purpose purpose;
	bool audience_fits;    /* `aud` is the purpose's: told apart from malformed by step 6 */
	unsigned access_count; /* control, manage */
	char access[SP_ACCESS_MAX][SP_ACCESS_TEXT_SIZE];
	char session[SP_ID_MAX + 1]; /* attach, else "" */
	uint16_t port;               /* service-port, else 0 */
	enum sp_protocol protocol;
};

/* What the token is presented for. */
struct sp_cap_use {
	enum sp_purpose purpose;
	const char *op; /* control, manage; NULL: the access list is not looked at (spacecap verify
			   without --op) */
	const char *session; /* attach; NULL: not looked at */
	int port;            /* service-port; 0: not looked at */
	int protocol;        /* enum sp_protocol; -1: not looked at */
};

/*
 * Steps 1 to 6 in order; the first failure is returned, SP_REASON_NONE when it passes. *ret is set
 * from step 4 on (also when a later step fails, for audit lines), otherwise its kid may be known
 * and the rest is empty. `now` in seconds, `skew` <= SP_SKEW_MAX.
 */
enum sp_reason sp_capability_verify(const char *token, size_t size, const struct sp_keyring *keys,
    const char *realm, const struct sp_cap_use *use, int64_t now, int64_t skew,
    struct sp_claims *ret);

/* Steps 2, 5 and 6 alone, for a token whose bytes were verified before under the same keyring
 * serial (remembered). */
enum sp_reason sp_capability_recheck(const struct sp_claims *claims, const struct sp_keyring *keys,
    const struct sp_cap_use *use, int64_t now, int64_t skew);

/* Step 5 alone: what the clock says. */
enum sp_reason sp_claims_clock(const struct sp_claims *claims, int64_t now, int64_t skew);

/* Claims as JSON, as in the token: a new reference, NULL when out of memory. */
json_t *sp_claims_json(const struct sp_claims *claims);

/* The same as text, byte for byte what sp_json_write makes of it. */
void sp_claims_put(const struct sp_claims *claims, struct sp_out *out);

/* Step 4 alone: strict JSON with exactly the claims of a purpose. SP_E_BAD_RECORD names the first
 * thing wrong. kid stays empty: it is no claim. */
int sp_claims_parse(const char *text, size_t size, struct sp_claims *ret, struct sp_err *err);

#define SP_REALM_MAX     SP_ID_MAX
#define SP_CAP_ASSERTION "space.cap.v1:" /* and the realm: the implicit assertion */

/*
 * Signs claims as they are: kid and `aud` follow from key and purpose. `ret_token` has
 * SP_TOKEN_MAX + 1 bytes. SP_E_TOO_LARGE when they do not fit into a token; SP_E_BAD_RECORD when no
 * verifier could accept them (a life over SP_CAP_LIFE_MAX or below 1 s, an empty name).
 */
struct sp_signing_key;
int sp_capability_sign(const struct sp_claims *claims, const char *realm,
    const struct sp_signing_key *key, char *ret_token, size_t *ret_size, struct sp_err *err);

/* 128 random bits. */
void sp_jti_make(char ret[SP_JTI_SIZE]);

#endif
