/* A grant compared with the one before, and its token with the one before. */
#include "routing/granting.h"

#include <sodium/utils.h>
#include <string.h>

const char *sp_grant_effect_name(enum sp_grant_effect effect)
{
	static const char *const names[] = {"none", "granted", "changed"};

	return names[effect];
}

const char *sp_token_name(const char *principal)
{
	enum sp_principal_kind kind;

	return sp_principal_parse(principal, &kind) && kind == SP_PRINCIPAL_TOKEN
		   ? strchr(principal, ':') + 1
		   : NULL;
}

static bool same_grant(const struct sp_grant *a, const struct sp_grant *b)
{
	return a->until == b->until && strcmp(a->subject, b->subject) == 0 &&
	       memcmp(&a->rights, &b->rights, sizeof(a->rights)) == 0;
}

static int decide_token(
    const struct sp_granting *granting, const char *principal, bool *ret_put, struct sp_err *err)
{
	const unsigned char *held = granting->held_credential;

	*ret_put = false;
	if (!sp_token_name(principal))
		return 0;
	if (!granting->credential)
		return held ? 0
			    : sp_fail(err, SP_E_ABSENT,
				  "%s has no token yet; --token-file FILE makes one", principal);
	if (held && sodium_memcmp(held, granting->credential, SP_CREDENTIAL_SIZE) == 0)
		return 0;
	if (held && granting->manner == SP_GRANT_IMPORTS)
		return sp_fail(err, SP_E_CONFLICT, "another token is there");
	if (held && granting->manner != SP_GRANT_ROTATES)
		return sp_fail(err, SP_E_CONFLICT,
		    "%s has another token; --rotate lets this one take its place", principal);
	*ret_put = true;
	return 0;
}

int sp_granting_decide(
    const struct sp_granting *granting, struct sp_granted *ret, struct sp_err *err)
{
	struct sp_granted granted = {.effect = SP_GRANT_GRANTED, .put_grant = true};
	int bad = decide_token(granting, granting->wanted->principal, &granted.put_token, err);

	if (bad)
		return bad;
	if (granting->held) {
		granted.put_grant = !same_grant(granting->held, granting->wanted);
		if (granted.put_grant && granting->manner == SP_GRANT_IMPORTS)
			return sp_fail(err, SP_E_CONFLICT, "another grant is there");
		granted.effect =
		    granted.put_grant || granted.put_token ? SP_GRANT_CHANGED : SP_GRANT_NONE;
	}
	*ret = granted;
	return 0;
}
