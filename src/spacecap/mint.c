/* mint: as a filter with the key at hand; with a signer, or one token from flags, elsewhere. */
#include "spacecap/verbs.h"

#include <errno.h>
#include <unistd.h>
#include "call/mint.h"
#include "record/filter.h"
#include "record/reason.h"
#include "spacecap/signer.h"

/* What one thread of the filter has to itself. Only the key is one for all, and it is not written
 * to. */
struct job {
	struct sp_minter *minter;
	struct sp_audit *audit;
};

static int answer(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	struct job *job = context;

	return sp_mint_stage_sign(job->minter, job->audit, record, ret, err);
}

static bool answer_quickly(
    void *context, const char *line, size_t size, struct sp_out *out, int *ret_exit)
{
	struct job *job = context;

	*ret_exit = SP_EXIT_DONE;
	return sp_mint_stage_quick(job->minter, job->audit, line, size, out);
}

static int prepare(struct sp_cli *cli, const struct sp_config *config, struct job *jobs,
    unsigned count, struct sp_err *err)
{
	int bad = spacecap_minter_load(cli, config, &jobs[0].minter, err);

	for (unsigned i = 1; i < count && !bad; i++)
		if (sp_minter_beside(jobs[0].minter, &jobs[i].minter) < 0)
			bad = sp_fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < count && !bad; i++)
		bad = sp_trail_file(cli, config, &jobs[i].audit, err);
	return bad;
}

static int run_filter(struct sp_cli *cli, const struct sp_config *config)
{
	struct job jobs[SP_JOBS_MAX] = {{.minter = NULL}};
	void *contexts[SP_JOBS_MAX];
	struct sp_filter filter = {.quick = answer_quickly, .answer = answer, .contexts = contexts};
	struct sp_err err = {0};
	int exit_code = SP_EXIT_DONE, bad;

	if (sp_cli_jobs(cli, &filter.jobs) < 0)
		return SP_EXIT_USAGE;
	for (unsigned i = 0; i < filter.jobs; i++)
		contexts[i] = &jobs[i];
	bad = prepare(cli, config, jobs, filter.jobs, &err);
	if (!bad)
		bad = sp_filter_run_jobs(STDIN_FILENO, STDOUT_FILENO, &filter, &exit_code, &err);
	for (unsigned i = filter.jobs; i-- > 0;) {
		sp_audit_close(jobs[i].audit);
		sp_minter_free(jobs[i].minter);
	}
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
	    "key", "passphrase-file", "realm", "iss", "audit", "jobs", NULL};

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
	if (from_flags(cli) && sp_cli_text(cli, "jobs"))
		return sp_cli_usage(cli, "--jobs is for the filter: not with one token from flags");
	if (from_flags(cli))
		return spacecap_mint_flags(cli, config);
	return sp_cli_text(cli, "agent") ? spacecap_mint_agent(cli) : run_filter(cli, config);
}
