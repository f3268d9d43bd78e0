/* Verification, steps 1 to 6, in their order. */
#include "token/capability.h"

#include <stdio.h>
#include <string.h>
#include "base/base64.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "token/paseto.h"

static bool kid_shaped(const char *kid, size_t length)
{
	unsigned char bytes[33];
	size_t size;

	return length == SP_KID_SIZE - 1 && strncmp(kid, "k4.pid.", 7) == 0 &&
	       sp_base64_decode_public(kid + 7, length - 7, true, bytes, sizeof(bytes), &size);
}

#define FOOTER_START "{\"kid\":\""
#define FOOTER_SIZE  (sizeof(FOOTER_START) - 1 + SP_KID_SIZE - 1 + 2)

/* The one spelling that nearly every signer writes, without a parser: a key id needs no escapes. */
static const char *plain_footer(const struct sp_paseto *token)
{
	const char *text = (const char *)token->footer;

	return token->footer_size == FOOTER_SIZE &&
		       memcmp(text, FOOTER_START, sizeof(FOOTER_START) - 1) == 0 &&
		       memcmp(text + FOOTER_SIZE - 2, "\"}", 2) == 0
		   ? text + sizeof(FOOTER_START) - 1
		   : NULL;
}

/* `{"kid":"k4.pid.…"}` and nothing else. */
static bool read_footer(const struct sp_paseto *token, char ret_kid[SP_KID_SIZE])
{
	sp_auto_json json_t *footer = NULL;
	const json_t *value;
	const struct sp_json_field field = {"kid", SP_JSON_STRING, false, &value};
	const char *kid = plain_footer(token);
	size_t length = SP_KID_SIZE - 1;

	if (!kid) {
		if (sp_json_parse((const char *)token->footer, token->footer_size, &footer, NULL) <
			0 ||
		    sp_json_take(footer, "footer", &field, 1, NULL) < 0)
			return false;
		kid = json_string_value(value);
		length = json_string_length(value);
	}
	if (!kid_shaped(kid, length))
		return false;
	memcpy(ret_kid, kid, length);
	ret_kid[length] = '\0';
	return true;
}

static bool signature_fits(
    const struct sp_paseto *token, const unsigned char *public_key, const char *realm)
{
	char assertion[SP_PASETO_IMPLICIT_MAX];
	int size = snprintf(assertion, sizeof(assertion), "%s%s", SP_CAP_ASSERTION, realm);

	return size > 0 && (size_t)size < sizeof(assertion) &&
	       sp_paseto_verify(token, public_key, (struct sp_bytes){assertion, (size_t)size});
}

enum sp_reason sp_claims_clock(const struct sp_claims *claims, int64_t now, int64_t skew)
{
	if (skew < 0 || skew > SP_SKEW_MAX)
		skew = skew < 0 ? 0 : SP_SKEW_MAX;
	if (now < claims->not_before - skew)
		return SP_REASON_NOT_YET_VALID;
	if (claims->expires_at - claims->issued_at > SP_CAP_LIFE_MAX)
		return SP_REASON_LIFETIME;
	return now >= claims->expires_at + skew ? SP_REASON_EXPIRED : SP_REASON_NONE;
}

static bool access_covers(const struct sp_claims *claims, const char *name)
{
	const struct sp_op *op = sp_op_find(name);

	if (!op || op->purpose != claims->purpose)
		return false;
	if (op->single_use)
		return claims->access_count == 1 && strcmp(claims->access[0], name) == 0;
	for (unsigned i = 0; i < claims->access_count; i++)
		if (sp_access_entry_covers(claims->access[i], name, false))
			return true;
	return false;
}

static enum sp_reason check_use(const struct sp_claims *claims, const struct sp_cap_use *use)
{
	bool list = use->purpose == SP_PURPOSE_CONTROL || use->purpose == SP_PURPOSE_MANAGE;
	bool port = use->purpose == SP_PURPOSE_SERVICE_PORT;

	if (claims->purpose != use->purpose || !claims->audience_fits)
		return SP_REASON_PURPOSE;
	if (list && use->op && !access_covers(claims, use->op))
		return SP_REASON_ACCESS;
	if (use->purpose == SP_PURPOSE_ATTACH && use->session &&
	    strcmp(claims->session, use->session) != 0)
		return SP_REASON_SESSION;
	if (port && use->port && claims->port != use->port)
		return SP_REASON_PORT;
	if (port && use->protocol >= 0 && (int)claims->protocol != use->protocol)
		return SP_REASON_PROTOCOL;
	return SP_REASON_NONE;
}

enum sp_reason sp_capability_recheck(const struct sp_claims *claims, const struct sp_keyring *keys,
    const struct sp_cap_use *use, int64_t now, int64_t skew)
{
	const unsigned char *public_key;
	enum sp_reason reason = sp_keyring_find(keys, claims->kid, now, &public_key);

	if (reason == SP_REASON_NONE)
		reason = sp_claims_clock(claims, now, skew);
	return reason == SP_REASON_NONE ? check_use(claims, use) : reason;
}

enum sp_reason sp_capability_verify(const char *token, size_t size, const struct sp_keyring *keys,
    const char *realm, const struct sp_cap_use *use, int64_t now, int64_t skew,
    struct sp_claims *ret)
{
	struct sp_paseto parts;
	const unsigned char *public_key;
	enum sp_reason reason;
	char kid[SP_KID_SIZE];

	memset(ret, 0, sizeof(*ret));
	if (!sp_paseto_split(token, size, &parts) || !read_footer(&parts, kid))
		return SP_REASON_MALFORMED;
	memcpy(ret->kid, kid, sizeof(kid));
	reason = sp_keyring_find(keys, kid, now, &public_key);
	if (reason != SP_REASON_NONE)
		return reason;
	if (!signature_fits(&parts, public_key, realm))
		return SP_REASON_SIGNATURE;
	if (sp_claims_parse((const char *)parts.message, parts.message_size, ret, NULL) < 0)
		return SP_REASON_MALFORMED;
	memcpy(ret->kid, kid, sizeof(kid));
	reason = sp_claims_clock(ret, now, skew);
	return reason == SP_REASON_NONE ? check_use(ret, use) : reason;
}
