/* What the bundle verbs share. */
#ifndef SP_SPACECAP_BUNDLE_H
#define SP_SPACECAP_BUNDLE_H

#include <jansson.h>
#include "cli/cli.h"
#include "client/trail.h"
#include "token/bundle.h"

/* The root keys of --root, else [keys] root. */
int spacecap_roots(
    struct sp_cli *cli, const struct sp_config *config, struct sp_roots *ret, struct sp_err *err);

/* --realm, else [space] realm. */
const char *spacecap_realm(struct sp_cli *cli, const struct sp_config *config);

/* Signs, packs and writes a new bundle to --out, and says so on standard output. */
int spacecap_bundle_write(struct sp_cli *cli, const struct sp_manifest *manifest,
    const struct sp_signing_key *root, struct sp_err *err);

/* The audit line of a change of bundles, `op`, which was begun with sp_trail_start; `manifest` NULL
 * where none could be read, `kid` that of a key that was revoked, or NULL. `bad` and err as it
 * ended, `effect` what came of it otherwise. */
struct spacecap_changed {
	const char *op, *kid, *effect;
	const struct sp_manifest *manifest;
};
void spacecap_bundle_audit(struct sp_trail *trail, const struct spacecap_changed *changed, int bad,
    const struct sp_err *err);

/* realm, serial, times, counts: what the verbs print of a bundle. */
json_t *spacecap_bundle_summary(const struct sp_manifest *manifest);

#endif
