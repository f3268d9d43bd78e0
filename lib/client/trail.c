/* A tool's own audit lines. */
#include "client/trail.h"

#include <stdio.h>
#include <unistd.h>
#include "base/io.h"
#include "record/reason.h"

int sp_trail_file(
    struct sp_cli *cli, const struct sp_config *config, struct sp_audit **ret, struct sp_err *err)
{
	const char *path = sp_cli_text(cli, "audit");

	*ret = NULL;
	if (!path && config->audit_file[0])
		path = config->audit_file;
	return path ? sp_audit_open(path, ret, err) : 0;
}

/* 0, or the exit code, told; what the file failed by is in err. */
static int open_trail(
    struct sp_cli *cli, const char *role, struct sp_trail *ret, struct sp_err *err)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct sp_trail trail = {.role = role};

	if (!config)
		return SP_EXIT_USAGE;
	(void)sp_trail_file(cli, config, &trail.audit, err);
	(void)snprintf(trail.caller, sizeof(trail.caller), "uid:%u", (unsigned)geteuid());
	*ret = trail;
	return 0;
}

int sp_trail_open(struct sp_cli *cli, const char *role, struct sp_trail *ret)
{
	struct sp_err err = {0};
	int bad = open_trail(cli, role, ret, &err);

	if (bad || !err.code)
		return bad;
	(void)sp_err_prefix(&err, err.code, "nothing was changed: audit file");
	return sp_cli_fail(cli, &err);
}

int sp_trail_open_if_possible(struct sp_cli *cli, const char *role, struct sp_trail *ret)
{
	struct sp_err err = {0};
	int bad = open_trail(cli, role, ret, &err);

	if (!bad && err.code)
		sp_cli_warn(cli, "no audit line is written: %s", err.message);
	return bad;
}

void sp_trail_done(struct sp_trail *trail)
{
	sp_audit_close(trail->audit);
	trail->audit = NULL;
}

void sp_trail_start(struct sp_trail *trail)
{
	trail->started_us = sp_monotonic_us();
}

void sp_trail_end(struct sp_trail *trail, const struct sp_audit_line *line, const char *effect,
    const char *conflict, const struct sp_err *failed)
{
	struct sp_audit_line full = *line;

	if (!trail->audit)
		return;
	full.role = trail->role;
	full.caller = trail->caller;
	full.change = true;
	full.microseconds = sp_monotonic_us() - trail->started_us;
	full.action = effect ? effect : conflict ? "conflict" : "failed";
	if (conflict && !effect)
		full.note = conflict;
	else if (failed && failed->code)
		full.note = failed->message;
	if (!effect && !conflict)
		full.error = sp_error_name(SP_ERROR_UNAVAILABLE);
	sp_audit_write(trail->audit, &full);
}
