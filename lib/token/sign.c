/* Claims as text, written straight into the token: minting is a hot path. */
#include "token/capability.h"

#include <sodium.h>
#include "base/base64.h"
#include "token/paseto.h"
#include "token/signing_key.h"

/* What a verifier would refuse in any case is not signed. */
static int check(const struct sp_claims *claims, struct sp_err *err)
{
	int64_t life = claims->expires_at - claims->issued_at;

	if (claims->not_before != claims->issued_at || life < 1 || life > SP_CAP_LIFE_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "a capability lives 1 to %d s, not %lld",
		    SP_CAP_LIFE_MAX, (long long)life);
	if (!claims->issuer[0] || !claims->caller[0])
		return sp_fail(err, SP_E_BAD_RECORD, "a capability names issuer and caller");
	return 0;
}

int sp_capability_sign(const struct sp_claims *claims, const char *realm,
    const struct sp_signing_key *key, char *ret_token, size_t *ret_size, struct sp_err *err)
{
	char text[SP_PASETO_MESSAGE_MAX], footer[SP_KID_SIZE + 16],
	    implicit[SP_PASETO_IMPLICIT_MAX];
	struct sp_out claimed = {.at = text, .room = sizeof(text)};
	struct sp_out keyed = {.at = footer, .room = sizeof(footer)};
	struct sp_out meant = {.at = implicit, .room = sizeof(implicit)};
	int bad = check(claims, err);

	if (bad)
		return bad;
	sp_claims_put(claims, &claimed);
	sp_out_text(&keyed, "{\"kid\":\"");
	sp_out_text(&keyed, sp_signing_key_id(key));
	sp_out_text(&keyed, "\"}");
	sp_out_text(&meant, SP_CAP_ASSERTION);
	sp_out_text(&meant, realm);
	if (claimed.used > claimed.room || meant.used > meant.room)
		return sp_fail(
		    err, SP_E_TOO_LARGE, "claims that do not fit into %d bytes", SP_TOKEN_MAX);
	return sp_paseto_sign(sp_signing_key_secret(key), (struct sp_bytes){text, claimed.used},
	    (struct sp_bytes){footer, keyed.used}, (struct sp_bytes){implicit, meant.used},
	    ret_token, ret_size, err);
}

void sp_jti_make(char ret[SP_JTI_SIZE])
{
	unsigned char bytes[16];

	randombytes_buf(bytes, sizeof(bytes));
	sp_base64_encode_public(bytes, sizeof(bytes), true, ret, SP_JTI_SIZE);
}
