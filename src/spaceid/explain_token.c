/* A token: what it says, and whether anybody may believe it. */
#include <string.h>
#include "base/text.h"
#include "spaceid/explain.h"
#include "token/keyring.h"
#include "token/paseto.h"

/* Steps that come after the signature in the order of verification. */
static bool is_behind_signature(enum sp_reason reason)
{
	switch (reason) {
	case SP_REASON_MALFORMED:
	case SP_REASON_UNKNOWN_KEY:
	case SP_REASON_REVOKED_KEY:
	case SP_REASON_SIGNATURE:
		return false;
	default:
		return true;
	}
}

/* Every claim that says what it is for is taken as given: who explains presents it for nothing. */
static void verify(struct explain_token *token, const char *text, const struct sp_keyring *keys,
    const struct sp_config *config)
{
	const struct sp_cap_use use = {.purpose = token->claims.purpose, .protocol = -1};
	struct sp_claims claims;

	token->reason = sp_capability_verify(text, strlen(text), keys, config->realm, &use,
	    sp_time_now(), config->max_skew, &claims);
	token->signature = is_behind_signature(token->reason) ? SIGNATURE_GOOD : SIGNATURE_BAD;
	if (token->reason == SP_REASON_UNKNOWN_KEY)
		token->signature = SIGNATURE_UNCHECKED;
}

static void take_claims(struct explained *explained)
{
	const struct sp_claims *claims = &explained->token.claims;
	struct explain_event *event = &explained->event;

	memcpy(event->sandbox, claims->identity.sandbox, sizeof(event->sandbox));
	memcpy(event->jti, claims->jti, sizeof(claims->jti));
	event->route = claims->identity.route;
	event->has_route = true;
}

void explain_token(
    struct explained *explained, const char *text, const char *keys, const struct sp_config *config)
{
	struct explain_token *token = &explained->token;
	struct sp_paseto parts;
	struct sp_keyring *ring = NULL;
	struct sp_err err = {0};

	token->reason = SP_REASON_MALFORMED;
	token->signature = SIGNATURE_BAD;
	if (!sp_paseto_split(text, strlen(text), &parts))
		return;
	token->has_claims = sp_claims_parse((const char *)parts.message, parts.message_size,
				&token->claims, NULL) == 0;
	if (!token->has_claims)
		return;
	take_claims(explained);
	if (sp_keyring_load(keys, config->realm, config->keys_root, &ring, &err) == 0) {
		verify(token, text, ring, config);
		if (token->signature == SIGNATURE_UNCHECKED)
			explain_unseen(explained, "the token's signature",
			    "no key that is installed here has its key id");
		sp_keyring_free(ring);
		return;
	}
	token->signature = SIGNATURE_UNCHECKED;
	token->reason = sp_claims_clock(&token->claims, sp_time_now(), config->max_skew);
	explain_unseen(explained, "the token's signature", err.message);
}
