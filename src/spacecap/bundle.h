/* What the bundle verbs share. */
#ifndef SP_SPACECAP_BUNDLE_H
#define SP_SPACECAP_BUNDLE_H

#include <jansson.h>
#include "cli/cli.h"
#include "token/bundle.h"

/* The root keys of --root, else [keys] root. */
int spacecap_roots(
    struct sp_cli *cli, const struct sp_config *config, struct sp_roots *ret, struct sp_err *err);

/* --realm, else [space] realm. */
const char *spacecap_realm(struct sp_cli *cli, const struct sp_config *config);

/* Signs, packs and writes a new bundle to --out, and says so on standard output. */
int spacecap_bundle_write(struct sp_cli *cli, const struct sp_manifest *manifest,
    const struct sp_signing_key *root, struct sp_err *err);

/* realm, serial, times, counts: what the verbs print of a bundle. */
json_t *spacecap_bundle_summary(const struct sp_manifest *manifest);

#endif
