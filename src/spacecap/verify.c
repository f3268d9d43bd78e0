/* verify: where keys, realm and time come from. */
#include "spacecap/verify.h"

#include "base/text.h"
#include "record/reason.h"
#include "spacecap/verbs.h"

int64_t spacecap_verifier_now(const struct spacecap_verifier *verifier)
{
	return verifier->at >= 0 ? verifier->at : sp_time_now();
}

int spacecap_verifier_load(
    struct sp_cli *cli, const struct sp_config *config, struct spacecap_verifier *ret)
{
	const char *source = sp_cli_text(cli, "keys"), *realm = sp_cli_text(cli, "realm"),
		   *roots = sp_cli_text(cli, "root"), *at = sp_cli_text(cli, "at");
	struct spacecap_verifier verifier = {.source = source ? source : config->keys_bundle,
	    .realm = realm ? realm : config->realm,
	    .roots = roots ? roots : config->keys_root,
	    .at = -1};
	struct sp_err err = {0};

	if (sp_cli_number(cli, "skew", config->max_skew, 0, config->max_skew, &verifier.skew) < 0)
		return SP_EXIT_USAGE;
	if (at)
		(void)sp_time_parse(at, &verifier.at);
	if (sp_keyring_load(verifier.source, verifier.realm, verifier.roots, &verifier.keys, &err) <
	    0)
		return sp_cli_fail(cli, &err);
	*ret = verifier;
	return 0;
}

int spacecap_verify(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct spacecap_verifier verifier = {.keys = NULL};
	int exit_code = config ? spacecap_verifier_load(cli, config, &verifier) : SP_EXIT_USAGE;

	if (!exit_code && sp_cli_count(cli) > 0 && sp_cli_text(cli, "jobs"))
		exit_code = sp_cli_usage(cli, "--jobs is for the filter: not with one TOKEN");
	if (exit_code)
		return exit_code;
	exit_code = sp_cli_count(cli) > 0 ? spacecap_verify_token(cli, &verifier)
					  : spacecap_verify_filter(cli, &verifier);
	sp_keyring_free(verifier.keys);
	return exit_code;
}
