/* What the files of lib/cli share: the parsed command line and the common options. */
#ifndef SP_CLI_INTERNAL_H
#define SP_CLI_INTERNAL_H

#include <jansson.h>
#include <stdio.h>
#include "cli/cli.h"
#include "cli/screen.h"

#define SP_CLI_OPTIONS_MAX 48

struct sp_cli_progress {
	bool asked, wanted;
	int64_t next_ms; /* monotonic: when it may be shown */
	int width;       /* of what is shown; 0: nothing is */
};

struct sp_cli {
	const struct sp_tool *tool;
	const struct sp_verb *verb;
	const char
	    *values[SP_CLI_OPTIONS_MAX]; /* of the verb's options; "" for a flag that was given */
	const char *common[SP_CLI_OPTIONS_MAX]; /* of SP_COMMON_OPTIONS */
	char **arguments;                       /* NULL-terminated, heap */
	size_t count;
	struct sp_config *config;
	struct sp_cli_progress progress;
	struct sp_screen *screen; /* of a view; given back before anything else is said */
	bool output_lost;         /* a write to standard output failed, and was told */
};

/* -c, -o, --color, -v, -q, -h: ended by one without a name. */
extern const struct sp_option SP_COMMON_OPTIONS[];

/* The verbs every tool has: help, config, completions. */
extern const struct sp_verb SP_COMMON_VERBS[];

const struct sp_verb *sp_cli_find_verb(
    const struct sp_tool *tool, const char *first, const char *second);

/* The nearest of the tool's verbs or a verb's options; NULL when none is near. `second` is the word
 * after, or NULL: a verb may have two. */
const char *sp_cli_nearest_verb(const struct sp_tool *tool, const char *first, const char *second);
const char *sp_cli_nearest_option(const struct sp_verb *verb, const char *word);

/* Takes the words from argv[from] on into options and arguments. 0, or an exit code, told. */
int sp_cli_parse(struct sp_cli *cli, int argc, char **argv, int from);
/* Is everything there that the verb requires, and nothing besides? 0, or an exit code, told. */
int sp_cli_check(struct sp_cli *cli);

/* Takes away what sp_cli_progress shows, before anything else is said. */
void sp_cli_progress_end(const struct sp_cli *cli);

/* A line for each library that this process is linked to, or would load: name, version. */
void sp_cli_versions(FILE *out);

/* The same as a bill of materials, CycloneDX 1.5: a new reference; NULL: out of memory. */
json_t *sp_cli_bom(const char *tool);

void sp_cli_help_tool(const struct sp_tool *tool, FILE *out);
void sp_cli_help_verb(const struct sp_tool *tool, const struct sp_verb *verb, FILE *out);

/* 0, or -EINVAL for an unknown shell. */
int sp_cli_completions(const struct sp_tool *tool, const char *shell, FILE *out);

#endif
