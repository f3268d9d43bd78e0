/* spacebridge attest: takes and judges the kernel evidence of 04-bridge. Here: which mode. */
#include "spacebridge/attest.h"

#include <string.h>
#include "base/util.h"
#include "spacebridge/verbs.h"

static const struct {
	const char *option;
	int (*run)(struct sp_cli *cli);
} MODES[] = {
    {"check", attest_check},
    {"all", attest_all},
    {"level", attest_level},
    {"enroll", attest_enroll}, /* before `sandbox`, which it takes too */
    {"pid", attest_process},
    {"sandbox", attest_sandbox},
};

/* Options that mean something in one mode only. */
static const struct {
	const char *option, *mode, *other;
} BELONGS[] = {
    {"bridge-pid", "enroll", NULL},
    {"bridge", "enroll", NULL},
    {"vmm-pid", "enroll", NULL},
    {"cid", "enroll", NULL},
    {"api", "enroll", NULL},
    {"record", "enroll", NULL},
    {"guest-key", "enroll", NULL},
    {"connect", "sandbox", NULL},
    {"records", "sandbox", "enroll"},
    {"evidence", "sandbox", "pid"},
    {"vsock", "enroll", "pid"},
};

static bool given(const struct sp_cli *cli, const char *option)
{
	return sp_cli_flag(cli, option) || sp_cli_text(cli, option);
}

static int check_options(struct sp_cli *cli, const char *mode)
{
	for (size_t i = 0; i < SP_COUNT(BELONGS); i++)
		if (given(cli, BELONGS[i].option) && strcmp(BELONGS[i].mode, mode) != 0 &&
		    (!BELONGS[i].other || strcmp(BELONGS[i].other, mode) != 0))
			return sp_cli_usage(cli, "--%s goes with --%s%s%s", BELONGS[i].option,
			    BELONGS[i].mode, BELONGS[i].other ? " or --" : "",
			    BELONGS[i].other ? BELONGS[i].other : "");
	if (given(cli, "pid") && (given(cli, "sandbox") || given(cli, "enroll")))
		return sp_cli_usage(cli, "--pid goes with neither --sandbox nor --enroll");
	if (given(cli, "check") &&
	    (given(cli, "pid") || given(cli, "sandbox") || given(cli, "enroll")))
		return sp_cli_usage(cli, "--check goes alone: the archive says what it is of");
	if (given(cli, "evidence") && strcmp(sp_cli_text(cli, "evidence"), "-") == 0)
		return sp_cli_usage(cli, "--evidence: standard output has the report, name a file");
	return 0;
}

int verb_attest(struct sp_cli *cli)
{
	for (size_t i = 0; i < SP_COUNT(MODES); i++)
		if (given(cli, MODES[i].option)) {
			int bad = check_options(cli, MODES[i].option);
			return bad ? bad : MODES[i].run(cli);
		}
	return sp_cli_usage(cli,
	    "what is to be attested? --sandbox, --all, --pid, --level, --enroll or "
	    "--check");
}

int attest_min_level(struct sp_cli *cli, enum sp_level *ret)
{
	const struct sp_config *config = sp_cli_config(cli);

	if (!config)
		return SP_EXIT_USAGE;
	if (!sp_level_parse(config->min_level, ret))
		return sp_cli_usage(cli, "[bridge] min_level: `%s` is no level", config->min_level);
	return 0;
}
