/* The verbs of spacerouted, each in its own file, and what they share (common.c). */
#ifndef SPACEROUTED_VERBS_H
#define SPACEROUTED_VERBS_H

#include "base/util.h"
#include "cli/cli.h"
#include "client/trail.h"
#include "routing/cache_wire.h"
#include "routing/registry.h"

int spacerouted_publish(struct sp_cli *cli);
int spacerouted_retire(struct sp_cli *cli);
int spacerouted_resolve(struct sp_cli *cli);
int spacerouted_list(struct sp_cli *cli);
int spacerouted_watch(struct sp_cli *cli);
int spacerouted_export(struct sp_cli *cli);
int spacerouted_import(struct sp_cli *cli);
int spacerouted_grant(struct sp_cli *cli);
int spacerouted_revoke(struct sp_cli *cli);
int spacerouted_grants(struct sp_cli *cli);
int spacerouted_serve(struct sp_cli *cli);
int spacerouted_cache_get(struct sp_cli *cli);
int spacerouted_cache_reject(struct sp_cli *cli);
int spacerouted_cache_renew(struct sp_cli *cli);
int spacerouted_cache_drop(struct sp_cli *cli);
int spacerouted_cache_stats(struct sp_cli *cli);
int spacerouted_cache_dump(struct sp_cli *cli);
int spacerouted_route(struct sp_cli *cli);
int spacerouted_repair(struct sp_cli *cli);
int spacerouted_call(struct sp_cli *cli);

static inline void spacerouted_registry_close(struct sp_registry **registry)
{
	sp_registry_close(*registry);
}
#define auto_registry sp_cleanup(spacerouted_registry_close)

/* The registry of --registry, else of the configuration. `create`: make it where there is none. 0,
 * or the exit code, told. */
int spacerouted_open(struct sp_cli *cli, bool create, struct sp_registry **ret);

/* The same for a server: made where it is not there, and read much. */
int spacerouted_open_to_stay(struct sp_cli *cli, struct sp_registry **ret);

/* An option that must be an id. 0 or SP_EXIT_USAGE, told. */
int spacerouted_id(struct sp_cli *cli, const char *option, const char **ret);

/* Prints what came of one change of a route; the exit code. */
int spacerouted_told(struct sp_cli *cli, const char *sandbox, enum sp_publish_effect effect,
    int64_t revision, const struct sp_err *why);

/* What came of a grant: {principal, sandbox, changed, effect, revision}. A new reference. */
json_t *spacerouted_grant_line(
    const struct sp_grant *grant, enum sp_grant_effect effect, int64_t revision);

/* The audit line of one change of a route, or of grants; `bad` as from the registry. `has_route`
 * false: the identity has its sandbox alone. */
void spacerouted_audit_route(struct sp_trail *trail, const char *op,
    const struct sp_identity *identity, bool has_route, int bad, enum sp_publish_effect effect,
    const struct sp_err *why);
void spacerouted_audit_grant(struct sp_trail *trail, const char *op, const char *principal,
    const char *pattern, int bad, const char *effect, const struct sp_err *why);

/* Where the cache listens: --cache, else the configuration. */
const char *spacerouted_socket(struct sp_cli *cli, const struct sp_config *config);

#endif
