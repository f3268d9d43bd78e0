/* bundle verify: realm, signature and expiry of a bundle's file. */
#include "spacecap/bundle.h"

#include <errno.h>
#include <stdio.h>
#include "base/text.h"
#include "base/util.h"
#include "record/reason.h"
#include "spacecap/verbs.h"

static int check(struct sp_cli *cli, const struct sp_config *config, struct sp_manifest *manifest,
    struct sp_err *err)
{
	struct sp_roots roots;
	struct sp_bundle bundle;
	char expires_at[SP_TIME_SIZE];
	int bad = spacecap_roots(cli, config, &roots, err);

	if (!bad)
		bad = sp_bundle_read_file(sp_cli_argument(cli, 0), &bundle, err);
	if (bad)
		return bad;
	bad = sp_bundle_check(&bundle, &roots, spacecap_realm(cli, config), manifest, err);
	sp_bundle_done(&bundle);
	if (!bad && sp_time_now() >= manifest->expires_at) {
		sp_time_format(manifest->expires_at, expires_at);
		bad = sp_fail(err, SP_E_BAD_ARCHIVE, "bundle: expired at %s", expires_at);
	}
	return bad;
}

int spacecap_bundle_verify(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct sp_manifest manifest = {.count = 0};
	struct sp_err err = {0};
	json_t *summary;

	if (!config)
		return SP_EXIT_USAGE;
	if (check(cli, config, &manifest, &err) < 0)
		return sp_cli_fail(cli, &err);
	if (!sp_cli_json(cli)) {
		(void)printf("valid: serial %lld of realm %s, %u keys\n",
		    (long long)manifest.serial, manifest.realm, manifest.count);
		return SP_EXIT_DONE;
	}
	summary = spacecap_bundle_summary(&manifest);
	if (!summary || json_object_set_new(summary, "valid", json_true()) < 0) {
		json_decref(summary);
		(void)sp_fail(&err, -ENOMEM, "out of memory");
		return sp_cli_fail(cli, &err);
	}
	return sp_cli_put_json(cli, summary);
}
