/* bundle list: the keys of a bundle, and whether a root that is trusted here vouches for them. */
#include "spacecap/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/table.h"
#include "record/reason.h"
#include "spacecap/verbs.h"
#include "token/manifest.h"

/* Without a root to check against the keys are shown all the same, as what they are. */
static int read_bundle(struct sp_cli *cli, const struct sp_config *config,
    struct sp_manifest *manifest, bool *ret_verified, struct sp_err *err)
{
	const char *source = sp_cli_count(cli) ? sp_cli_argument(cli, 0) : config->keys_bundle;
	const char *root = sp_cli_text(cli, "root") ? sp_cli_text(cli, "root") : config->keys_root;
	struct sp_roots roots;
	struct sp_bundle bundle = {.manifest = NULL};
	struct stat info;
	int bad;

	*ret_verified = *root != '\0';
	bad = *ret_verified ? sp_roots_parse(root, &roots, err) : 0;
	if (bad)
		return bad;
	if (stat(source, &info) == 0 && !S_ISDIR(info.st_mode))
		bad = sp_bundle_read_file(source, &bundle, err);
	else
		bad = sp_bundle_read_directory(source, &bundle, err);
	if (bad)
		return bad;
	bad = *ret_verified
		  ? sp_bundle_check(&bundle, &roots, spacecap_realm(cli, config), manifest, err)
		  : sp_manifest_parse(bundle.manifest, bundle.size, manifest, err);
	sp_bundle_done(&bundle);
	return bad;
}

static const char *standing(
    const struct sp_manifest *manifest, const struct sp_bundle_key *key, int64_t now)
{
	if (now >= manifest->expires_at)
		return "bundle expired";
	if (key->revoked)
		return "revoked";
	if (now < key->not_before)
		return "not yet";
	return now >= key->not_after ? "over" : "active";
}

static int print_table(
    struct sp_cli *cli, const struct sp_manifest *manifest, bool verified, int64_t now)
{
	static const char *const headings[] = {"key", "now", "until", "from", NULL};
	struct sp_table *table;
	int bad = sp_cli_table(cli, headings, 2, &table);
	char expires_at[SP_TIME_SIZE];

	if (bad)
		return bad;
	sp_time_format(manifest->expires_at, expires_at);
	(void)printf("serial %lld of realm %s, until %s%s\n", (long long)manifest->serial,
	    manifest->realm, expires_at, verified ? "" : ", UNVERIFIED (no [keys] root)");
	for (unsigned i = 0; i < manifest->count; i++) {
		const struct sp_bundle_key *key = &manifest->keys[i];
		const char *now_is = standing(manifest, key, now);
		char from[SP_TIME_SIZE], until[SP_TIME_SIZE];
		const char *cells[] = {key->kid, now_is, until, from};
		sp_time_format(key->not_before, from);
		sp_time_format(key->not_after, until);
		(void)sp_table_add(table, now_is[0] == 'a' ? SP_TONE_GOOD : SP_TONE_BAD, cells);
	}
	bad = sp_table_finish(table);
	sp_table_free(table);
	return bad ? SP_EXIT_FAILED : SP_EXIT_DONE;
}

int spacecap_bundle_list(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct sp_manifest manifest = {.count = 0};
	struct sp_err err = {0};
	int64_t now = sp_time_now();
	bool verified;
	json_t *object;

	if (!config)
		return SP_EXIT_USAGE;
	if (read_bundle(cli, config, &manifest, &verified, &err) < 0)
		return sp_cli_fail(cli, &err);
	if (!sp_cli_json(cli))
		return print_table(cli, &manifest, verified, now);
	object = sp_manifest_json(&manifest);
	if (!object || json_object_set_new(object, "verified", json_boolean(verified)) < 0 ||
	    json_object_set_new(object, "expired", json_boolean(now >= manifest.expires_at)) < 0) {
		json_decref(object);
		(void)sp_fail(&err, -ENOMEM, "out of memory");
		return sp_cli_fail(cli, &err);
	}
	return sp_cli_put_json(cli, object);
}
