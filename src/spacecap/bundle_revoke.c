/* bundle revoke: the bundle that follows a bundle, with one key revoked and all else as it was. */
#include "spacecap/bundle.h"

#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/reason.h"
#include "spacecap/verbs.h"

static int revoke_key(
    struct sp_manifest *manifest, const char *kid, int64_t now, struct sp_err *err)
{
	struct sp_bundle_key *key = manifest->keys;
	char expires_at[SP_TIME_SIZE];

	while (key < manifest->keys + manifest->count && strcmp(key->kid, kid) != 0)
		key++;
	if (key == manifest->keys + manifest->count)
		return sp_fail(err, SP_E_USAGE, "--kid %.64s: no such key in this bundle", kid);
	if (key->revoked)
		return sp_fail(err, SP_E_CONFLICT, "%s is revoked already", kid);
	if (now >= manifest->expires_at) {
		sp_time_format(manifest->expires_at, expires_at);
		return sp_fail(err, SP_E_BAD_ARCHIVE,
		    "this bundle expired at %s and so would the next: build one", expires_at);
	}
	key->revoked = true;
	manifest->serial++;
	manifest->issued_at = now;
	return 0;
}

/* Only what this root has signed is carried on. */
static int read_own(struct sp_cli *cli, const struct sp_signing_key *root,
    struct sp_manifest *manifest, struct sp_err *err)
{
	struct sp_roots roots = {.count = 1};
	struct sp_bundle bundle;
	int bad = sp_bundle_read_file(sp_cli_argument(cli, 0), &bundle, err);

	if (bad)
		return bad;
	memcpy(roots.keys[0], sp_signing_key_public(root), sizeof(roots.keys[0]));
	bad = sp_bundle_check(&bundle, &roots, NULL, manifest, err);
	sp_bundle_done(&bundle);
	return bad;
}

int spacecap_bundle_revoke(struct sp_cli *cli)
{
	sp_auto_signing_key struct sp_signing_key *root = NULL;
	auto_trail struct sp_trail trail = {.audit = NULL};
	struct sp_manifest manifest = {.count = 0};
	const char *kid = sp_cli_text(cli, "kid");
	struct sp_err err = {0};
	int bad = sp_trail_open_if_possible(cli, "spacecap", &trail);

	if (bad)
		return bad;
	sp_trail_start(&trail);
	bad = sp_signing_key_load(
	    sp_cli_text(cli, "key"), sp_cli_text(cli, "passphrase-file"), &root, &err);
	if (!bad)
		bad = read_own(cli, root, &manifest, &err);
	if (!bad)
		bad = revoke_key(&manifest, kid, sp_time_now(), &err);
	if (!bad)
		bad = spacecap_bundle_write(cli, &manifest, root, &err);
	spacecap_bundle_audit(&trail,
	    &(struct spacecap_changed){.op = "bundle revoke",
		.kid = kid,
		.effect = "revoked",
		.manifest = manifest.count > 0 ? &manifest : NULL},
	    bad, &err);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
