/* What a backend of the registry implements; each function as its namesake in routing/registry.h.
 * Not for others. */
#ifndef SP_ROUTING_REGISTRY_BACKEND_H
#define SP_ROUTING_REGISTRY_BACKEND_H

#include "routing/registry.h"

struct sp_registry_backend {
	const char *scheme; /* before the colon of the URL */
	int (*open)(const char *rest, const struct sp_registry_options *options,
	    struct sp_registry **ret, struct sp_err *err);
	void (*close)(struct sp_registry *registry);
	int (*change)(struct sp_registry *registry, const struct sp_route_change *wanted,
	    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err);
	int (*resolve)(struct sp_registry *registry, const char *sandbox, struct sp_placement *ret,
	    struct sp_err *err);
	int (*list)(struct sp_registry *registry, sp_registry_route_fn *each, void *context,
	    struct sp_err *err);
	void (*gather)(struct sp_registry *registry); /* or NULL, and so settle */
	int (*settle)(struct sp_registry *registry, struct sp_err *err);
	void (*tidy)(struct sp_registry *registry);
	int (*grant)(struct sp_registry *registry, const struct sp_grant *grant,
	    const unsigned char *credential, enum sp_grant_manner manner,
	    enum sp_grant_effect *ret_effect, int64_t *ret_revision, struct sp_err *err);
	int (*revoke)(struct sp_registry *registry, const char *principal, const char *pattern,
	    unsigned *ret_count, struct sp_err *err);
	int (*token)(struct sp_registry *registry, const char *principal,
	    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err);
	int (*grants)(struct sp_registry *registry, sp_registry_grant_fn *each, void *context,
	    struct sp_err *err);
	void (*lookup)(struct sp_registry *registry, const struct sp_flight_question *question,
	    int64_t now, sp_registry_looked_fn *looked, void *context);
	int (*descriptor)(struct sp_registry *registry);
	int (*poll)(
	    struct sp_registry *registry, const struct sp_registry_changes *changes, void *context);
	void (*resume)(struct sp_registry *registry, int64_t revision);
	int (*snapshot)(
	    struct sp_registry *registry, bool begin, int64_t *ret_revision, struct sp_err *err);
	int (*raise)(struct sp_registry *registry, int64_t revision, struct sp_err *err);
};

/* The first member of every backend's own structure. */
struct sp_registry {
	const struct sp_registry_backend *backend;
};

extern const struct sp_registry_backend SP_REGISTRY_SQLITE, SP_REGISTRY_ETCD;

#endif
