/* bundle build: public keys with their state and window, under the root's signature. */
#include "spacecap/bundle.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/reason.h"
#include "spacecap/verbs.h"

#define LIFE_DEFAULT (30 * 86400)
#define LIFE_MAX     (10LL * 366 * 86400)

static int set_time(const char *text, const char *word, int64_t *ret, struct sp_err *err)
{
	if (!sp_time_parse(text, ret))
		return sp_fail(err, SP_E_USAGE, "%s: no time like 2026-11-29T15:36:07Z", word);
	return 0;
}

/* One of the words behind a key: revoked, from=TIME, until=TIME. */
static int set_word(struct sp_bundle_key *key, const char *word, struct sp_err *err)
{
	if (strcmp(word, "revoked") == 0) {
		key->revoked = true;
		return 0;
	}
	if (strncmp(word, "from=", 5) == 0)
		return set_time(word + 5, word, &key->not_before, err);
	if (strncmp(word, "until=", 6) == 0)
		return set_time(word + 6, word, &key->not_after, err);
	return sp_fail(err, SP_E_USAGE, "%s: none of revoked, from=TIME, until=TIME", word);
}

/* KEY[,revoked][,from=TIME][,until=TIME]: KEY is a file or a k4.public. */
static int add_key(struct sp_manifest *manifest, const char *argument, struct sp_err *err)
{
	struct sp_bundle_key *key = &manifest->keys[manifest->count];
	char copy[PATH_MAX + 128];
	char *rest = copy, *word;
	int bad, size = snprintf(copy, sizeof(copy), "%s", argument);

	if (size < 0 || (size_t)size >= sizeof(copy))
		return sp_fail(err, SP_E_USAGE, "%.64s…: too long", argument);
	word = strsep(&rest, ",");
	if (manifest->count == SP_BUNDLE_KEYS_MAX)
		return sp_fail(err, SP_E_USAGE, "more than %d keys", SP_BUNDLE_KEYS_MAX);
	/* A worker's clock may be behind: the key counts there from the moment it is used here. */
	key->not_before = manifest->issued_at - SP_SKEW_MAX;
	key->not_after = manifest->expires_at;
	bad = strncmp(word, "k4.public.", 10) == 0
		  ? sp_paserk_public_read(word, key->public, err)
		  : sp_public_key_load(word, NULL, key->public, err);
	if (!bad)
		bad = sp_paserk_id(key->public, sizeof(key->public), key->kid, err);
	while (!bad && (word = strsep(&rest, ",")))
		bad = set_word(key, word, err);
	if (!bad)
		manifest->count++;
	return bad;
}

static int describe(struct sp_cli *cli, const struct sp_config *config,
    struct sp_manifest *manifest, struct sp_err *err)
{
	int64_t life;
	int bad = 0;

	if (sp_cli_number(cli, "serial", 0, 1, SP_INT_MAX, &manifest->serial) < 0 ||
	    sp_cli_number(cli, "life", LIFE_DEFAULT, 1, LIFE_MAX, &life) < 0)
		return sp_fail(err, SP_E_USAGE, "--serial and --life");
	if (!sp_id_valid(spacecap_realm(cli, config)))
		return sp_fail(
		    err, SP_E_USAGE, "--realm: `%.64s` is no id", spacecap_realm(cli, config));
	memcpy(
	    manifest->realm, spacecap_realm(cli, config), strlen(spacecap_realm(cli, config)) + 1);
	manifest->issued_at = sp_time_now();
	manifest->expires_at = manifest->issued_at + life;
	for (size_t i = 0; i < sp_cli_count(cli) && !bad; i++)
		bad = add_key(manifest, sp_cli_argument(cli, i), err);
	return bad;
}

int spacecap_bundle_build(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	sp_auto_signing_key struct sp_signing_key *root = NULL;
	struct sp_manifest manifest = {.count = 0};
	struct sp_err err = {0};
	int bad;

	if (!config)
		return SP_EXIT_USAGE;
	bad = describe(cli, config, &manifest, &err);
	if (!bad)
		bad = sp_signing_key_load(
		    sp_cli_text(cli, "key"), sp_cli_text(cli, "passphrase-file"), &root, &err);
	if (!bad)
		bad = spacecap_bundle_write(cli, &manifest, root, &err);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
