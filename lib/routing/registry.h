/*
 * The registry (05-routing): the control plane's truth about routes and grants. One interface; the
 * backend is chosen by the URL. "sqlite:/path" is an embedded database, in WAL mode and durable at
 * each change; "etcd:https://HOST:PORT,HOST:PORT/PREFIX" the members of a cluster.
 *
 * Every change raises one counter, the revision. What cannot be done now (the database is locked,
 * gone, full, damaged, no member answers) is SP_E_UNAVAILABLE.
 */
#ifndef SP_ROUTING_REGISTRY_H
#define SP_ROUTING_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "routing/cache.h"
#include "routing/granting.h"
#include "routing/grants.h"
#include "routing/publish.h"

struct sp_registry;

struct sp_registry_options {
	int timeout_ms; /* of each wait for the backend */
	bool create;    /* make an empty registry where there is none; else SP_E_ABSENT */
	bool mapped;    /* it stays and is read much: a file is mapped, which makes its pages the
			   process's, too */
	/* PEM files for https; NULL or "": the system's, and none */
	const char *tls_ca, *tls_cert, *tls_key;
};

/* SP_E_CONFIG: the URL, or a file that others may write or that is no registry of this version. */
int sp_registry_open(const char *url, const struct sp_registry_options *options,
    struct sp_registry **ret, struct sp_err *err);
void sp_registry_close(struct sp_registry *registry);

/* Decides (routing/publish.h) and carries out. A conflict is an effect, with its words in err;
 * *ret_revision is the sandbox's revision afterwards (0 at a conflict). */
int sp_registry_publish(struct sp_registry *registry, const struct sp_publication *wanted,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err);
int sp_registry_retire(struct sp_registry *registry, const char *sandbox, int64_t execution,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err);

/* Takes up what another registry has (sp_import_decide). */
int sp_registry_import(struct sp_registry *registry, const char *sandbox,
    const struct sp_placement *placement, enum sp_publish_effect *ret_effect, int64_t *ret_revision,
    struct sp_err *err);

/* What was last published, retired or not; SP_E_ABSENT: never anything. */
int sp_registry_resolve(struct sp_registry *registry, const char *sandbox, struct sp_placement *ret,
    struct sp_err *err);

/* In the order of sandboxes; a negative return of `each` ends it and is returned. */
typedef int sp_registry_route_fn(
    void *context, const char *sandbox, const struct sp_placement *placement);
int sp_registry_list(
    struct sp_registry *registry, sp_registry_route_fn *each, void *context, struct sp_err *err);

/* From now on every revision is above this one. */
int sp_registry_raise(struct sp_registry *registry, int64_t revision, struct sp_err *err);

/* Between the two, listing shows one instant, of which *ret_revision (may be NULL) is the revision.
 */
int sp_registry_snapshot_begin(
    struct sp_registry *registry, int64_t *ret_revision, struct sp_err *err);
void sp_registry_snapshot_end(struct sp_registry *registry);

/*
 * From now on changes are made together: what they answer holds, durably and for others, once
 * sp_registry_settle has returned 0. A negative return: none since the last settling was made. Not
 * for long, as nobody else can change anything meanwhile; a backend that cannot makes each at once.
 */
void sp_registry_gather(struct sp_registry *registry);
int sp_registry_settle(struct sp_registry *registry, struct sp_err *err);

/* Work put off so that no change waits for it; call it when nobody waits. */
void sp_registry_tidy(struct sp_registry *registry);

/*
 * One grant a principal and pattern: another one of the same takes its place. For token:NAME,
 * `credential` is the hash of its bearer token: NULL leaves the one there is (SP_E_ABSENT: there is
 * none). SP_E_CONFLICT with its words, where `manner` (routing/granting.h) forbids it.
 */
int sp_registry_grant(struct sp_registry *registry, const struct sp_grant *grant,
    const unsigned char *credential, enum sp_grant_manner manner, enum sp_grant_effect *ret_effect,
    int64_t *ret_revision, struct sp_err *err);

/* Takes away a principal's grant of exactly this pattern, or with NULL all; a bearer token goes
 * with the last of its grants. *ret_count may be 0. */
int sp_registry_revoke(struct sp_registry *registry, const char *principal, const char *pattern,
    unsigned *ret_count, struct sp_err *err);

/* 1 and the hash of the bearer token of a token:NAME; 0: it has none, or the principal is another
 * kind. */
int sp_registry_token(struct sp_registry *registry, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err);

/* All grants, by principal and pattern. */
typedef int sp_registry_grant_fn(void *context, const struct sp_grant *grant);
int sp_registry_grants(
    struct sp_registry *registry, sp_registry_grant_fn *each, void *context, struct sp_err *err);

/*
 * The cache's lookup: authorization and route at one instant, `now` in seconds. `looked` is called
 * exactly once, perhaps before this returns; the lookup is borrowed for the call.
 */
typedef void sp_registry_looked_fn(void *context, const struct sp_lookup *lookup);
void sp_registry_lookup(struct sp_registry *registry, const struct sp_flight_question *question,
    int64_t now, sp_registry_looked_fn *looked, void *context);

/*
 * What has changed since the last poll, in order. `revoked`: each subject and pattern whose grants
 * have been revoked or changed; a subject of NULL is anyone, and both NULL: not everything that has
 * changed is known any more, routes neither. `routed` (may be NULL): what a sandbox's route has
 * become, perhaps without what it was in between; it may be told twice.
 */
typedef void sp_registry_revoked_fn(void *context, const char *subject, const char *pattern);
typedef void sp_registry_routed_fn(
    void *context, const char *sandbox, const struct sp_placement *placement);
struct sp_registry_changes {
	sp_registry_revoked_fn *revoked;
	sp_registry_routed_fn *routed;
};

/*
 * Tells what has changed, and answers lookups under way. The first one tells what has changed since
 * the registry was opened, or since the revision of sp_registry_resume. Costs little when nothing
 * changed. Negative: the registry cannot be reached now.
 */
int sp_registry_poll(
    struct sp_registry *registry, const struct sp_registry_changes *changes, void *context);

/* Readable when there is something to poll for, from the first poll on. -1: nothing tells, look
 * once a second at most. The registry's. */
int sp_registry_descriptor(struct sp_registry *registry);

/* Before the first poll: tell what has changed since this revision. Where that is not known (any
 * more) the first poll says so. */
void sp_registry_resume(struct sp_registry *registry, int64_t revision);

#endif
