/* Where a sandbox is served, as the registry knows it: route, endpoint, state, revision. Pure. */
#ifndef SP_ROUTING_PLACEMENT_H
#define SP_ROUTING_PLACEMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "record/route.h"

#define SP_ENDPOINT_MAX 1023 /* "unix:" and an absolute path */

struct sp_placement {
	struct sp_route route;
	char endpoint[SP_ENDPOINT_MAX + 1];
	bool retired;     /* a tombstone: `route` was the last one */
	int64_t revision; /* >= 1, of the registry's counter; grows with every change */
};

/* "unix:/path", without control characters, at most SP_ENDPOINT_MAX bytes. */
bool sp_endpoint_valid(const char *endpoint);

/* {sandbox, route, endpoint, state, revision} in this order, `state` active or retired. A new
 * reference, NULL: out of memory. */
json_t *sp_placement_json(const char *sandbox, const struct sp_placement *placement);

/* The reverse; `revision` may be missing, and is 0 then. Nothing is set on failure:
 * SP_E_BAD_RECORD.
 */
int sp_placement_parse(const json_t *object, char ret_sandbox[SP_ID_MAX + 1],
    struct sp_placement *ret, struct sp_err *err);

/*
 * Newer (05-routing, Cache): a higher execution; at the same execution a higher revision. The one
 * function that says so.
 */
bool sp_placement_newer(
    int64_t execution, int64_t revision, int64_t than_execution, int64_t than_revision);

#endif
