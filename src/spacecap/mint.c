/* mint: as a filter with the key at hand; with a signer, or one token from flags, elsewhere. */
#include "spacecap/verbs.h"

#include <unistd.h>
#include "call/mint.h"
#include "record/filter.h"
#include "record/reason.h"
#include "spacecap/signer.h"

struct filter {
	struct sp_minter *minter;
	struct sp_audit *audit;
};

static int answer(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	struct filter *filter = context;

	return sp_mint_stage_sign(filter->minter, filter->audit, record, ret, err);
}

static int run_filter(struct sp_cli *cli, const struct sp_config *config)
{
	struct filter filter = {.minter = NULL};
	struct sp_err err = {0};
	int exit_code = SP_EXIT_DONE;
	int bad = spacecap_minter_load(cli, config, &filter.minter, &err);

	if (!bad)
		bad = sp_trail_file(cli, config, &filter.audit, &err);
	if (!bad)
		bad = sp_filter_run(
		    STDIN_FILENO, STDOUT_FILENO, answer, NULL, &filter, &exit_code, &err);
	sp_audit_close(filter.audit);
	sp_minter_free(filter.minter);
	return bad ? sp_cli_fail(cli, &err) : exit_code;
}

/* Any option of the token itself means: one token. */
static bool from_flags(struct sp_cli *cli)
{
	static const char *const options[] = {"sandbox", "execution", "worker", "substrate",
	    "pod-uid", "activation", "attempt", "caller", "purpose", "access", "session", "port",
	    "protocol", NULL};

	for (size_t i = 0; options[i]; i++)
		if (sp_cli_text(cli, options[i]))
			return true;
	return false;
}

/* What the signer has for itself cannot be asked of it. */
static const char *not_with_agent(struct sp_cli *cli)
{
	static const char *const options[] = {
	    "key", "passphrase-file", "realm", "iss", "audit", NULL};

	for (size_t i = 0; options[i]; i++)
		if (sp_cli_text(cli, options[i]))
			return options[i];
	return sp_cli_text(cli, "ttl") && !from_flags(cli) ? "ttl" : NULL;
}

int spacecap_mint(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);

	if (!config)
		return SP_EXIT_USAGE;
	if (sp_cli_text(cli, "agent") && not_with_agent(cli))
		return sp_cli_usage(
		    cli, "--%s is the signer's own: not with --agent", not_with_agent(cli));
	if (from_flags(cli))
		return spacecap_mint_flags(cli, config);
	return sp_cli_text(cli, "agent") ? spacecap_mint_agent(cli) : run_filter(cli, config);
}
