/* The backends by the scheme of their URLs, and the way through to them. */
#include "routing/registry.h"

#include <string.h>
#include "base/util.h"
#include "routing/registry_backend.h"

static const struct sp_registry_backend *const BACKENDS[] = {
    &SP_REGISTRY_SQLITE, &SP_REGISTRY_ETCD};

int sp_registry_open(const char *url, const struct sp_registry_options *options,
    struct sp_registry **ret, struct sp_err *err)
{
	const char *colon = strchr(url, ':');
	size_t length = colon ? (size_t)(colon - url) : 0;

	for (size_t i = 0; i < SP_COUNT(BACKENDS); i++)
		if (strlen(BACKENDS[i]->scheme) == length &&
		    strncmp(BACKENDS[i]->scheme, url, length) == 0)
			return BACKENDS[i]->open(colon + 1, options, ret, err);
	return sp_fail(err, SP_E_CONFIG,
	    "registry `%.200s`: no such kind; write sqlite:/path/to/registry.db or "
	    "etcd:https://host:port",
	    url);
}

void sp_registry_close(struct sp_registry *registry)
{
	if (registry)
		registry->backend->close(registry);
}

int sp_registry_publish(struct sp_registry *registry, const struct sp_publication *wanted,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err)
{
	const struct sp_route_change change = {
	    .sandbox = wanted->identity.sandbox, .publish = wanted};

	return registry->backend->change(registry, &change, ret_effect, ret_revision, err);
}

int sp_registry_retire(struct sp_registry *registry, const char *sandbox, int64_t execution,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err)
{
	const struct sp_route_change change = {.sandbox = sandbox, .execution = execution};

	return registry->backend->change(registry, &change, ret_effect, ret_revision, err);
}

int sp_registry_import(struct sp_registry *registry, const char *sandbox,
    const struct sp_placement *placement, enum sp_publish_effect *ret_effect, int64_t *ret_revision,
    struct sp_err *err)
{
	const struct sp_route_change change = {.sandbox = sandbox, .import = placement};

	return registry->backend->change(registry, &change, ret_effect, ret_revision, err);
}

void sp_registry_gather(struct sp_registry *registry)
{
	if (registry->backend->gather)
		registry->backend->gather(registry);
}

int sp_registry_settle(struct sp_registry *registry, struct sp_err *err)
{
	return registry->backend->settle ? registry->backend->settle(registry, err) : 0;
}

int sp_registry_token(struct sp_registry *registry, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err)
{
	return registry->backend->token(registry, principal, ret_hash, err);
}

int sp_registry_resolve(
    struct sp_registry *registry, const char *sandbox, struct sp_placement *ret, struct sp_err *err)
{
	return registry->backend->resolve(registry, sandbox, ret, err);
}

int sp_registry_list(
    struct sp_registry *registry, sp_registry_route_fn *each, void *context, struct sp_err *err)
{
	return registry->backend->list(registry, each, context, err);
}

void sp_registry_tidy(struct sp_registry *registry)
{
	registry->backend->tidy(registry);
}

int sp_registry_grant(struct sp_registry *registry, const struct sp_grant *grant,
    const unsigned char *credential, enum sp_grant_manner manner, enum sp_grant_effect *ret_effect,
    int64_t *ret_revision, struct sp_err *err)
{
	return registry->backend->grant(
	    registry, grant, credential, manner, ret_effect, ret_revision, err);
}

int sp_registry_revoke(struct sp_registry *registry, const char *principal, const char *pattern,
    unsigned *ret_count, struct sp_err *err)
{
	return registry->backend->revoke(registry, principal, pattern, ret_count, err);
}

int sp_registry_grants(
    struct sp_registry *registry, sp_registry_grant_fn *each, void *context, struct sp_err *err)
{
	return registry->backend->grants(registry, each, context, err);
}

void sp_registry_lookup(struct sp_registry *registry, const struct sp_flight_question *question,
    int64_t now, sp_registry_looked_fn *looked, void *context)
{
	registry->backend->lookup(registry, question, now, looked, context);
}

int sp_registry_poll(
    struct sp_registry *registry, const struct sp_registry_changes *changes, void *context)
{
	return registry->backend->poll(registry, changes, context);
}

int sp_registry_descriptor(struct sp_registry *registry)
{
	return registry->backend->descriptor(registry);
}

void sp_registry_resume(struct sp_registry *registry, int64_t revision)
{
	registry->backend->resume(registry, revision);
}

int sp_registry_raise(struct sp_registry *registry, int64_t revision, struct sp_err *err)
{
	return registry->backend->raise(registry, revision, err);
}

int sp_registry_snapshot_begin(
    struct sp_registry *registry, int64_t *ret_revision, struct sp_err *err)
{
	return registry->backend->snapshot(registry, true, ret_revision, err);
}

void sp_registry_snapshot_end(struct sp_registry *registry)
{
	(void)registry->backend->snapshot(registry, false, NULL, NULL);
}
