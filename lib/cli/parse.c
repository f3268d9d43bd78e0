/* The words of a command line, by the tables of its verb and of all verbs. */
#include <stdint.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/internal.h"

static const struct sp_option *option_by(
    const struct sp_cli *cli, const char *name, size_t length, char letter, const char ***ret_value)
{
	const struct sp_option *tables[] = {cli->verb->options, SP_COMMON_OPTIONS};
	struct sp_cli *mutable = (struct sp_cli *)(uintptr_t)cli;

	for (size_t t = 0; t < SP_COUNT(tables); t++)
		for (size_t i = 0; tables[t] && tables[t][i].name; i++) {
			const struct sp_option *option = &tables[t][i];
			bool hit = letter ? option->letter == letter
					  : strlen(option->name) == length &&
						strncmp(option->name, name, length) == 0;
			if (hit) {
				*ret_value = t == 0 ? &mutable->values[i] : &mutable->common[i];
				return option;
			}
		}
	return NULL;
}

static bool in_choices(const char *choices, const char *value)
{
	size_t length = strlen(value);

	for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
		size_t n = strcspn(at, "|");
		if (n == length && strncmp(at, value, n) == 0)
			return true;
	}
	return false;
}

static int check_value(const struct sp_cli *cli, const struct sp_option *option, const char *value)
{
	int64_t number;

	switch (option->kind) {
	case SP_OPTION_NUMBER:
		if (!sp_number_parse(value, 0, INT64_MAX, &number))
			return sp_cli_usage(
			    cli, "--%s: `%.64s` is no whole number", option->name, value);
		return 0;
	case SP_OPTION_TIME:
		if (!sp_time_parse(value, &number))
			return sp_cli_usage(cli,
			    "--%s: `%.64s` is no time like 2026-11-29T15:36:07Z", option->name,
			    value);
		return 0;
	case SP_OPTION_CHOICE:
		if (!in_choices(option->choices, value))
			return sp_cli_usage(cli, "--%s: `%.64s` is none of %s", option->name, value,
			    option->choices);
		return 0;
	case SP_OPTION_FLAG:
	case SP_OPTION_TEXT:
	case SP_OPTION_FILE:
	case SP_OPTION_DIRECTORY:
	case SP_OPTION_SANDBOX:
		break;
	}
	return 0;
}

/* `--name`, `--name=value`, `--name value`. Advances *at over what it used. 0 or an exit code. */
static int parse_long(struct sp_cli *cli, int argc, char **argv, int *at)
{
	const char *word = argv[*at] + 2;
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const char **value;
	const struct sp_option *option = option_by(cli, word, length, 0, &value);

	if (!option) {
		const char *nearest = sp_cli_nearest_option(cli->verb, word);
		return sp_cli_usage(cli, "unknown option --%.*s%s%s%s",
		    (int)(length > 64 ? 64 : length), word, nearest ? "; did you mean --" : "",
		    nearest ? nearest : "", nearest ? "?" : "");
	}
	if (option->kind == SP_OPTION_FLAG) {
		if (equals)
			return sp_cli_usage(cli, "--%s takes no value", option->name);
		*value = "";
		return 0;
	}
	if (!equals && *at + 1 >= argc)
		return sp_cli_usage(cli, "--%s wants a value (%s)", option->name, option->argument);
	*value = equals ? equals + 1 : argv[++*at];
	return check_value(cli, option, *value);
}

/* `-a`, `-abc` for flags, `-k value`, `-kvalue`. */
static int parse_short(struct sp_cli *cli, int argc, char **argv, int *at)
{
	for (const char *letter = argv[*at] + 1; *letter; letter++) {
		const char **value;
		const struct sp_option *option = option_by(cli, "", 0, *letter, &value);
		if (!option)
			return sp_cli_usage(cli, "unknown option -%.1s", letter);
		if (option->kind == SP_OPTION_FLAG) {
			*value = "";
			continue;
		}
		if (letter[1])
			*value = letter + 1;
		else if (*at + 1 < argc)
			*value = argv[++*at];
		else
			return sp_cli_usage(
			    cli, "-%c wants a value (%s)", *letter, option->argument);
		return check_value(cli, option, *value);
	}
	return 0;
}

int sp_cli_parse(struct sp_cli *cli, int argc, char **argv, int from)
{
	bool options = true;

	for (int at = from; at < argc; at++) {
		int bad = 0;
		if (options && strcmp(argv[at], "--") == 0)
			options = false;
		else if (options && strncmp(argv[at], "--", 2) == 0)
			bad = parse_long(cli, argc, argv, &at);
		else if (options && argv[at][0] == '-' && argv[at][1])
			bad = parse_short(cli, argc, argv, &at);
		else
			cli->arguments[cli->count++] = argv[at];
		if (bad)
			return bad;
	}
	return 0;
}

int sp_cli_check(struct sp_cli *cli)
{
	const struct sp_verb *verb = cli->verb;

	if (cli->count < verb->min_arguments)
		return sp_cli_usage(cli, "missing argument: %s", verb->arguments);
	if (cli->count > verb->max_arguments)
		return sp_cli_usage(
		    cli, "`%.64s`: one argument too many", cli->arguments[verb->max_arguments]);
	for (size_t i = 0; verb->options && verb->options[i].name; i++)
		if (verb->options[i].required && !cli->values[i])
			return sp_cli_usage(cli, "--%s %s is required", verb->options[i].name,
			    verb->options[i].argument);
	return 0;
}
