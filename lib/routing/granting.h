/* What a grant does to what was granted before (05-routing, Registry): the one function that
 * decides. Pure. */
#ifndef SP_ROUTING_GRANTING_H
#define SP_ROUTING_GRANTING_H

#include <stdbool.h>
#include "base/err.h"
#include "routing/grants.h"

#define SP_CREDENTIAL_SIZE 32 /* BLAKE2b-256 of a bearer token */

enum sp_grant_effect { SP_GRANT_NONE, SP_GRANT_GRANTED, SP_GRANT_CHANGED };
const char *sp_grant_effect_name(enum sp_grant_effect effect);

/* May what is granted take the place of what was granted before? */
enum sp_grant_manner {
	SP_GRANT_PUTS,    /* the grant may, a bearer token may not */
	SP_GRANT_ROTATES, /* both may; the token that was there ends */
	/* Neither may. Nobody can tell which of two registries' grants is the later one, and to
	 * take the earlier would give back what was taken away since. */
	SP_GRANT_IMPORTS,
};

/* The name in token:NAME; NULL: the principal is none. */
const char *sp_token_name(const char *principal);

/* What is asked for, and what there is: NULL for what there is not. */
struct sp_granting {
	const struct sp_grant *wanted, *held; /* of the same principal and pattern */
	const unsigned char *credential;      /* the token's hash, of SP_CREDENTIAL_SIZE bytes */
	const unsigned char *held_credential;
	enum sp_grant_manner manner;
};

struct sp_granted {
	enum sp_grant_effect effect;
	bool put_grant; /* `wanted` takes the place of `held` */
	bool put_token; /* `credential` takes the place of `held_credential` */
};

/* SP_E_ABSENT: no token yet. SP_E_CONFLICT, with its words: see the manners. */
int sp_granting_decide(
    const struct sp_granting *granting, struct sp_granted *ret, struct sp_err *err);

#endif
