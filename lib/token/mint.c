/* What goes into a capability, and when one of before will do. */
#include "token/mint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "token/reuse.h"

struct sp_minter {
	struct sp_signing_key *key;
	char realm[SP_REALM_MAX + 1], issuer[SP_NAME_MAX + 1];
	int64_t life;
	struct sp_reuse *reuse;
	struct sp_claims claims; /* of the last token */
	char token[SP_TOKEN_MAX + 1];
};

bool sp_mint_reusable(const struct sp_request *request)
{
	bool list =
	    request->op->purpose == SP_PURPOSE_CONTROL || request->op->purpose == SP_PURPOSE_MANAGE;

	return list && !request->op->single_use && request->attempted == 1;
}

static bool granted(const json_t *access, const char *op)
{
	for (size_t i = 0; i < json_array_size(access); i++)
		if (sp_access_entry_covers(json_string_value(json_array_get(access, i)), op, true))
			return true;
	return false;
}

/* Does the entry allow anything that a multi-use capability of this purpose can be used for? */
static bool worth_carrying(const char *entry, enum sp_purpose purpose)
{
	const struct sp_op *op;

	for (size_t i = 0; (op = sp_op_at(i)); i++)
		if (op->purpose == purpose && !op->single_use &&
		    sp_access_entry_covers(entry, op->name, false))
			return true;
	return false;
}

static bool carried(const struct sp_claims *claims, const char *entry)
{
	for (unsigned i = 0; i < claims->access_count; i++)
		if (strcmp(claims->access[i], entry) == 0)
			return true;
	return false;
}

static void carry(struct sp_claims *claims, const char *entry)
{
	size_t length = strlen(entry);

	if (length >= sizeof(claims->access[0]) || claims->access_count >= SP_ACCESS_MAX)
		return;
	memcpy(claims->access[claims->access_count++], entry, length + 1);
}

static void take_access(const struct sp_request *request, struct sp_claims *claims)
{
	if (request->op->single_use) {
		carry(claims, request->op->name);
		return;
	}
	for (size_t i = 0; i < json_array_size(request->access); i++) {
		const char *entry = json_string_value(json_array_get(request->access, i));
		if (worth_carrying(entry, claims->purpose) && !carried(claims, entry))
			carry(claims, entry);
	}
}

static int take_session(const json_t *args, struct sp_claims *claims, struct sp_err *err)
{
	const char *session = json_string_value(json_object_get(args, "session"));

	if (!session)
		return sp_fail(err, SP_E_BAD_RECORD, "args: `session` is missing or no string");
	return sp_id_copy(session, "args: `session`", claims->session, err);
}

static int take_port(const json_t *args, struct sp_claims *claims, struct sp_err *err)
{
	json_int_t port = json_integer_value(json_object_get(args, "port"));
	const char *protocol = json_string_value(json_object_get(args, "protocol"));

	if (port < 1 || port > 65535)
		return sp_fail(err, SP_E_BAD_RECORD, "args: `port` is not within 1 to 65535");
	if (!protocol || !sp_protocol_parse(protocol, &claims->protocol))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "args: `protocol` is none of tcp, http, websocket, tls");
	claims->port = (uint16_t)port;
	return 0;
}

static int take_purpose(
    const struct sp_request *request, struct sp_claims *claims, struct sp_err *err)
{
	claims->purpose = request->op->purpose;
	claims->audience_fits = true;
	if (claims->purpose == SP_PURPOSE_ATTACH)
		return take_session(request->args, claims, err);
	if (claims->purpose == SP_PURPOSE_SERVICE_PORT)
		return take_port(request->args, claims, err);
	take_access(request, claims);
	return 0;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int sp_mint_claims(const struct sp_request *request, int64_t now, int64_t life,
    struct sp_claims *ret, enum sp_reason *ret_reason, struct sp_err *err)
{
	size_t caller = strlen(request->caller);
	int bad;

	memset(ret, 0, sizeof(*ret));
	if (caller > SP_NAME_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "request: `caller` has more than %d bytes", SP_NAME_MAX);
	memcpy(ret->caller, request->caller, caller + 1);
	memcpy(ret->identity.sandbox, request->sandbox, strlen(request->sandbox) + 1);
	ret->identity.route = request->route;
	ret->issued_at = ret->not_before = now;
	ret->expires_at = sooner(now + life, request->authorized_until);
	bad = take_purpose(request, ret, err);
	if (bad)
		return bad;
	*ret_reason = request->authorized_until <= now               ? SP_REASON_UNAUTHORIZED
		      : !granted(request->access, request->op->name) ? SP_REASON_ACCESS
								     : SP_REASON_NONE;
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
	minter->key = key;
	minter->life = life;
	memcpy(minter->realm, realm, realm_size + 1);
	memcpy(minter->issuer, issuer, issuer_size + 1);
	*ret = minter;
	return 0;
}

void sp_minter_free(struct sp_minter *minter)
{
	if (!minter)
		return;
	sp_signing_key_free(minter->key);
	sp_reuse_free(minter->reuse);
	free(minter);
}

const char *sp_minter_kid(const struct sp_minter *minter)
{
	return sp_signing_key_id(minter->key);
}

/* Signs minter->claims, whose times are set. */
static int sign(struct sp_minter *minter, struct sp_minted *ret, struct sp_err *err)
{
	struct sp_minted minted = {.token = minter->token, .jti = minter->claims.jti};
	int bad;

	memcpy(minter->claims.issuer, minter->issuer, sizeof(minter->issuer));
	sp_jti_make(minter->claims.jti);
	bad = sp_capability_sign(
	    &minter->claims, minter->realm, minter->key, minter->token, &minted.size, err);
	if (!bad)
		*ret = minted;
	return bad;
}

int sp_minter_request(struct sp_minter *minter, const struct sp_request *request, int64_t now,
    struct sp_minted *ret, struct sp_err *err)
{
	struct sp_minted minted = {.reason = SP_REASON_NONE};
	bool reusable = sp_mint_reusable(request);
	int bad = sp_mint_claims(request, now, minter->life, &minter->claims, &minted.reason, err);

	if (bad)
		return bad;
	if (minted.reason == SP_REASON_NONE && reusable)
		minted.token = sp_reuse_find(minter->reuse, &minter->claims, now,
		    request->authorized_until, &minted.size, &minted.jti);
	if (minted.token || minted.reason != SP_REASON_NONE) {
		minted.reused = minted.token != NULL;
		*ret = minted;
		return 0;
	}
	bad = sign(minter, ret, err);
	if (!bad && reusable)
		sp_reuse_put(minter->reuse, &minter->claims, ret->token, ret->size);
	return bad;
}

int sp_minter_claims(struct sp_minter *minter, struct sp_claims *claims, int64_t now, int64_t life,
    struct sp_minted *ret, struct sp_err *err)
{
	claims->issued_at = claims->not_before = now;
	claims->expires_at = now + (life > 0 ? life : minter->life);
	minter->claims = *claims;
	return sign(minter, ret, err);
}
