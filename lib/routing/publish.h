/* What a publication or a retirement does to a sandbox's placement (05-routing, Registry): the one
 * function that decides each. Pure. */
#ifndef SP_ROUTING_PUBLISH_H
#define SP_ROUTING_PUBLISH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "routing/placement.h"

/* What is asked for: this placement for this sandbox. */
struct sp_publication {
	struct sp_identity identity;
	char endpoint[SP_ENDPOINT_MAX + 1];
	bool conditional;    /* --if-rev was given */
	int64_t if_revision; /* 0: nothing was ever published */
};

enum sp_publish_effect {
	SP_PUBLISH_NONE, /* already so: nothing changes */
	SP_PUBLISH_REPLACED,
	SP_PUBLISH_ATTEMPT_ONLY,
	SP_PUBLISH_ENDPOINT,
	SP_PUBLISH_RETIRED,
	SP_PUBLISH_CONFLICT, /* nothing changes, exit 14 */
};

const char *sp_publish_effect_name(enum sp_publish_effect effect);

/*
 * `current` is NULL when nothing was ever published; a tombstone still says which execution was the
 * highest. *ret_why (may be NULL) has words for a conflict.
 */
enum sp_publish_effect sp_publish_decide(const struct sp_placement *current,
    const struct sp_publication *wanted, struct sp_err *ret_why);

/* Retires exactly `execution`. NONE: it is retired already. */
enum sp_publish_effect sp_retire_decide(
    const struct sp_placement *current, int64_t execution, struct sp_err *ret_why);

/* What an import does with a placement of another registry, a tombstone perhaps. Where nothing is
 * known of the sandbox, or only a lower execution, it is taken over (REPLACED); so is the
 * retirement of the very same route (RETIRED). NONE: already so. */
enum sp_publish_effect sp_import_decide(const struct sp_placement *current,
    const struct sp_placement *imported, struct sp_err *ret_why);

/* One change that is asked for; exactly one of the two pointers, or none: retire `execution`. */
struct sp_route_change {
	const char *sandbox;
	const struct sp_publication *publish;
	const struct sp_placement *import;
	int64_t execution;
};

/* Decides and, when something changes, makes *placement what it is from then on, but for its
 * revision. `known` is false: nothing was ever published, and *placement is void. */
enum sp_publish_effect sp_route_change_apply(const struct sp_route_change *change, bool known,
    struct sp_placement *placement, struct sp_err *ret_why);

/* {sandbox, route, endpoint} exactly; never conditional. */
int sp_publication_parse(const json_t *object, struct sp_publication *ret, struct sp_err *err);

/*
 * The line a change prints: {sandbox, changed, effect, revision}, or {sandbox, changed: false,
 * conflict} with the words of `why`. A new reference, NULL: out of memory.
 */
json_t *sp_publish_line(
    const char *sandbox, enum sp_publish_effect effect, int64_t revision, const struct sp_err *why);

#endif
