/* What a signer is asked for: the part of a routed record that a capability is made from. Pure. */
#ifndef SP_TOKEN_ORDER_H
#define SP_TOKEN_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/request.h"
#include "token/capability.h"

struct sp_order {
	char id[SP_REQUEST_ID_MAX + 1]; /* the record's; "": it has none */
	const struct sp_op *op;
	int attempted; /* 1 or 2 */
	int64_t authorized_until;
	unsigned granted_count;
	char granted[SP_ACCESS_MAX][SP_ACCESS_TEXT_SIZE];
	/* `caller` and `identity`, `session` with purpose attach, `port` and `protocol` with
	 * service-port; the signer sets the rest */
	struct sp_claims claims;
};

/* SP_E_BAD_RECORD: args without what the operation needs, a caller over SP_NAME_MAX. */
int sp_order_read(const struct sp_request *request, struct sp_order *ret, struct sp_err *err);

/* The same from the record as it came, where that is a usual one: compact (record/scan.h), of an
 * operation whose capability names neither session nor port. False: not judged, *ret is void. */
bool sp_order_quick(const char *line, size_t size, struct sp_order *ret);

/*
 * Completes the claims but for issuer and jti: purpose and access by the operation, times from
 * `now`, never beyond authorized_until or `life` seconds. SP_REASON_NONE, SP_REASON_UNAUTHORIZED
 * (authorized_until has passed) or SP_REASON_ACCESS (the operation is not among those granted).
 */
enum sp_reason sp_order_claims(struct sp_order *order, int64_t now, int64_t life);

/* May a capability for it be one that was minted before? */
bool sp_order_reusable(const struct sp_order *order);

#endif
