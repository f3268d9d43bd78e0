/* A signer from flags and configuration. */
#include "spacecap/signer.h"

#include <errno.h>
#include "client/setup.h"

int spacecap_minter_load(
    struct sp_cli *cli, const struct sp_config *config, struct sp_minter **ret, struct sp_err *err)
{
	const char *path = sp_cli_text(cli, "key");
	const char *realm = sp_cli_text(cli, "realm");
	const char *issuer = sp_cli_text(cli, "iss");
	struct sp_signing_key *key;
	int64_t life;
	int bad = sp_cli_number(cli, "ttl", SP_CAP_LIFE_MAX, 1, SP_CAP_LIFE_MAX, &life);

	if (bad)
		return sp_fail(err, bad, "--ttl: 1 to %d seconds", SP_CAP_LIFE_MAX);
	bad = sp_signing_key_load(
	    path ? path : config->keys_secret, sp_cli_text(cli, "passphrase-file"), &key, err);
	if (bad == -ENOENT && !path)
		return sp_fail(err, bad, SP_NO_SECRET_KEY, err->message);
	return bad ? bad
		   : sp_minter_new(key, realm ? realm : config->realm,
			 issuer ? issuer : config->name, life, ret, err);
}
