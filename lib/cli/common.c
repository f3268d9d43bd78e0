/* The verbs that every tool has. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "cli/config_keys.h"
#include "cli/internal.h"
#include "cli/table.h"
#include "record/reason.h"

static int run_help(struct sp_cli *cli)
{
	const char *first = sp_cli_argument(cli, 0), *second = sp_cli_argument(cli, 1);
	const struct sp_verb *verb;

	if (!first) {
		sp_cli_help_tool(cli->tool, stdout);
		return SP_EXIT_DONE;
	}
	verb = sp_cli_find_verb(cli->tool, first, second);
	if (!verb) {
		const char *nearest = sp_cli_nearest_verb(cli->tool, first, second);
		return sp_cli_usage(cli, "no verb `%.64s`%s%s%s", first,
		    nearest ? "; did you mean `" : "", nearest ? nearest : "", nearest ? "`?" : "");
	}
	sp_cli_help_verb(cli->tool, verb, stdout);
	return SP_EXIT_DONE;
}

static const char *source_name(enum sp_config_source source)
{
	static const char *const names[] = {"default", "file", "derived"};

	return names[source];
}

/* Is it of the section that was asked for, if one was? */
static bool asked_for(const struct sp_cli *cli, const struct sp_config_row *row)
{
	const char *section = sp_cli_argument(cli, 0);

	return !section || strcmp(section, row->section) == 0;
}

static int config_as_table(struct sp_cli *cli, const struct sp_config *config)
{
	static const char *const headings[] = {"key", "value", "unit", "from", NULL};
	struct sp_table *table = sp_table_new(headings);
	struct sp_config_row row;
	char key[64];

	if (!table)
		return SP_EXIT_FAILED;
	for (unsigned i = 0; sp_config_row(config, i, &row); i++) {
		const char *cells[] = {key, row.value, row.unit, source_name(row.source)};
		if (!asked_for(cli, &row))
			continue;
		(void)snprintf(key, sizeof(key), "[%s] %s", row.section, row.key);
		(void)sp_table_add(
		    table, row.source == SP_CONFIG_FILE ? SP_TONE_GOOD : SP_TONE_PLAIN, cells);
	}
	(void)sp_table_print(table, stdout, sp_cli_color(cli), sp_table_width(STDOUT_FILENO));
	sp_table_free(table);
	return SP_EXIT_DONE;
}

static int run_config(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *section = sp_cli_argument(cli, 0);
	char hint[SP_CONFIG_HINT_MAX];
	struct sp_config_row row;

	if (!config)
		return SP_EXIT_USAGE;
	if (section && !sp_config_has_section(section)) {
		sp_config_hint_section(section, strlen(section), hint, sizeof(hint));
		return sp_cli_usage(cli, "`%.64s`: %s", section, hint);
	}
	if (!sp_cli_json(cli))
		return config_as_table(cli, config);
	for (unsigned i = 0; sp_config_row(config, i, &row); i++)
		if (asked_for(cli, &row) &&
		    sp_cli_put_json(cli,
			json_pack("{ssssssssss}", "section", row.section, "key", row.key, "value",
			    row.value, "unit", row.unit, "from", source_name(row.source))))
			return SP_EXIT_FAILED;
	return SP_EXIT_DONE;
}

static int run_completions(struct sp_cli *cli)
{
	if (sp_cli_completions(cli->tool, sp_cli_argument(cli, 0), stdout) < 0)
		return sp_cli_usage(
		    cli, "`%.64s`: none of bash, zsh, fish", sp_cli_argument(cli, 0));
	return SP_EXIT_DONE;
}

const struct sp_verb SP_COMMON_VERBS[] = {
    {"help", "[VERB]", 0, 2, "say what a verb does and takes", NULL,
	"TOOL help\nTOOL help config\n", run_help},
    {"config", "[SECTION]", 0, 1, "print the configuration in force and where each value came from",
	NULL,
	"TOOL config\nTOOL config keys\nTOOL config -c ./space.ini -o json | jq -r "
	"'select(.from==\"file\").key'\n",
	run_config},
    {"completions", "SHELL", 1, 1, "print completions for bash, zsh or fish", NULL,
	". <(TOOL completions bash)\nTOOL completions fish | source\n", run_completions},
    {0},
};
