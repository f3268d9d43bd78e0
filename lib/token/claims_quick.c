/* Claims as every signer of ours writes them, without a tree: what is not plainly well is left to
 * sp_claims_parse. */
#include "token/claims_quick.h"

#include <string.h>
#include "base/base64.h"
#include "record/quick.h"

#define MEMBERS 12 /* of the largest set of claims: that of a service port */

struct claimed {
	const struct sp_scan_member *members;
	unsigned count, found;
};

/* The claim of this name; each is asked for once, so that they can be counted. */
static const struct sp_scan_member *claim(struct claimed *claimed, const char *name)
{
	const struct sp_scan_member *member = sp_scan_find(claimed->members, claimed->count, name);

	claimed->found += member != NULL;
	return member;
}

static bool take_name(const struct sp_scan_member *member, char ret[SP_NAME_MAX + 1])
{
	return sp_quick_text(member, ret, SP_NAME_MAX + 1) && ret[0];
}

static bool take_times(struct claimed *claimed, struct sp_claims *claims)
{
	return sp_quick_time(claim(claimed, "iat"), &claims->issued_at) &&
	       sp_quick_time(claim(claimed, "nbf"), &claims->not_before) &&
	       sp_quick_time(claim(claimed, "exp"), &claims->expires_at) &&
	       claims->not_before == claims->issued_at && claims->expires_at > claims->issued_at;
}

static bool take_jti(const struct sp_scan_member *member, char ret[SP_JTI_SIZE])
{
	unsigned char bytes[16];
	size_t size;

	return sp_quick_text(member, ret, SP_JTI_SIZE) &&
	       sp_base64_decode_public(ret, strlen(ret), true, bytes, sizeof(bytes), &size) &&
	       size == sizeof(bytes);
}

static bool take_port(struct claimed *claimed, struct sp_claims *claims)
{
	char protocol[16];
	int64_t port;

	if (!sp_quick_integer(claim(claimed, "port"), &port) || port < 1 || port > 65535 ||
	    !sp_quick_text(claim(claimed, "protocol"), protocol, sizeof(protocol)))
		return false;
	claims->port = (uint16_t)port;
	return sp_protocol_parse(protocol, &claims->protocol);
}

static bool take_purpose(struct claimed *claimed, struct sp_claims *claims)
{
	const struct sp_scan_member *audience = claim(claimed, "aud");
	char purpose[16];

	if (!sp_quick_text(claim(claimed, "purpose"), purpose, sizeof(purpose)) ||
	    !sp_purpose_parse(purpose, &claims->purpose) || !audience || audience->kind != '"' ||
	    !audience->plain)
		return false;
	claims->audience_fits = sp_scan_is(audience, sp_purpose_audience(claims->purpose));
	if (claims->purpose == SP_PURPOSE_ATTACH)
		return sp_quick_id(claim(claimed, "session"), claims->session);
	if (claims->purpose == SP_PURPOSE_SERVICE_PORT)
		return take_port(claimed, claims);
	return sp_quick_access(claim(claimed, "access"), claims->access, &claims->access_count);
}

bool sp_claims_quick(const char *text, size_t size, struct sp_claims *ret)
{
	struct sp_scan_member members[MEMBERS];
	struct claimed claimed = {.members = members};

	memset(ret, 0, sizeof(*ret));
	return sp_json_scan(text, size, members, MEMBERS, &claimed.count) &&
	       take_name(claim(&claimed, "iss"), ret->issuer) &&
	       take_name(claim(&claimed, "caller"), ret->caller) &&
	       sp_quick_id(claim(&claimed, "sub"), ret->identity.sandbox) &&
	       take_times(&claimed, ret) && take_jti(claim(&claimed, "jti"), ret->jti) &&
	       sp_quick_route(claim(&claimed, "route"), &ret->identity.route) &&
	       take_purpose(&claimed, ret) && claimed.found == claimed.count;
}
