/*
 * Command lines from one table: parsing, help, typo hints, completions. A tool's main.c is such a
 * table and a call.
 *
 * Verbs may be two words ("bundle install"). Every tool has -h/--help, -V/--version, `help VERB`,
 * `config`, and `completions SHELL` without saying so. Every verb takes the common options (-c, -o,
 * --color, -v, -q).
 */
#ifndef SP_CLI_CLI_H
#define SP_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "cli/config.h"

enum sp_option_kind {
	SP_OPTION_FLAG,
	SP_OPTION_TEXT,
	SP_OPTION_NUMBER, /* whole, >= 0 */
	SP_OPTION_FILE,   /* completes file names */
	SP_OPTION_DIRECTORY,
	SP_OPTION_SANDBOX, /* completes from the store */
	SP_OPTION_CHOICE,  /* one of `choices` */
	SP_OPTION_TIME,    /* RFC 3339 as in 01-records */
};

struct sp_option {
	const char *name; /* long name, without dashes */
	char letter;      /* or 0 */
	enum sp_option_kind kind;
	const char *argument; /* placeholder in help: "FILE"; NULL for flags */
	const char *help;     /* one line, no full stop */
	const char *choices;  /* "tcp|http": SP_OPTION_CHOICE only */
	bool required;
};

struct sp_cli;

/* Returns the process's exit code (enum sp_exit). Errors are told with sp_cli_fail. */
typedef int sp_verb_fn(struct sp_cli *cli);

struct sp_verb {
	const char *name; /* "mint", "bundle install" */
	const char *
	    arguments; /* usage of what is no option: "FILE", "[TOKEN]", "-- CMD ..."; NULL: none */
	unsigned min_arguments, max_arguments;
	const char *summary;             /* one line */
	const struct sp_option *options; /* ended by one without a name; NULL: none */
	const char *examples;            /* two or three lines, each a command */
	sp_verb_fn *run;
};

struct sp_tool {
	const char *name;
	const char *summary;
	const struct sp_verb *verbs; /* ended by one without a name */
};

/* The whole of main: `return sp_cli_main(&TOOL, argc, argv);` Standard output's flush and close are
 * checked here. */
int sp_cli_main(const struct sp_tool *tool, int argc, char **argv);

/* An option's value; NULL when it was not given. The last one given counts. An unknown name aborts
 * (a bug). */
const char *sp_cli_text(const struct sp_cli *cli, const char *option);
bool sp_cli_flag(const struct sp_cli *cli, const char *option);
/* Checked against [min, max] on first use: outside is SP_E_USAGE, told. */
int sp_cli_number(struct sp_cli *cli, const char *option, int64_t fallback, int64_t min,
    int64_t max, int64_t *ret);

/* A row of an option table, and what it says: threads, from 1 to SP_JOBS_MAX; 0 is as many as there
 * are processors to use. SP_E_USAGE, told. */
#define SP_CLI_JOBS                                                                                \
	{                                                                                          \
		"jobs", 'j', SP_OPTION_NUMBER, "N",                                                \
		    "threads, 0: one for each processor (default: 1)", NULL, false                 \
	}
int sp_cli_jobs(struct sp_cli *cli, unsigned *ret);

size_t sp_cli_count(const struct sp_cli *cli); /* arguments that are no options */
const char *sp_cli_argument(const struct sp_cli *cli, size_t index); /* NULL past the last */
char **sp_cli_rest(const struct sp_cli *cli); /* all of them, NULL-terminated: for -- CMD ... */

/* The configuration, read on first use: -c, $SPACE_CONFIG, /etc/space/space.ini (which may be
 * missing). NULL: told on stderr, return SP_EXIT_USAGE. */
const struct sp_config *sp_cli_config(struct sp_cli *cli);

/* For servers that reload: where it is read from, and what it says now (*ret untouched on failure).
 */
const char *sp_cli_config_path(const struct sp_cli *cli);
int sp_cli_config_again(const struct sp_cli *cli, struct sp_config *ret, struct sp_err *err);

bool sp_cli_json(const struct sp_cli *cli);  /* -o json, or standard output is no terminal */
bool sp_cli_color(const struct sp_cli *cli); /* --color, NO_COLOR, terminal */
bool sp_cli_verbose(const struct sp_cli *cli);
bool sp_cli_quiet(const struct sp_cli *cli);

/* A list for people on standard output (sp_table_finish, sp_table_free), of whose columns the first
 * `kept` are always shown; *ret is NULL where lines of JSON are wanted. 0, or an exit code, told.
 */
struct sp_table;
int sp_cli_table(
    const struct sp_cli *cli, const char *const *headings, unsigned kept, struct sp_table **ret);

/* "tool: verb: words" on stderr; returns the exit code for err->code. */
int sp_cli_fail(const struct sp_cli *cli, const struct sp_err *err);
int sp_cli_usage(const struct sp_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sp_cli_note(const struct sp_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* with -v only */
void sp_cli_warn(const struct sp_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* but with -q */

/* How far work is that may last, to be called for each step: shown on standard error where that is
 * a terminal, after a second, ten times a second at most, and taken away by whatever is said next.
 * `flows`: the work's lines go to standard output, and are enough where that is a terminal. */
void sp_cli_progress(struct sp_cli *cli, int64_t count, const char *unit, bool flows);
void sp_cli_progress_bytes(struct sp_cli *cli, uint64_t bytes, bool flows);
/* The same where nothing can be counted: what is waited for. */
void sp_cli_progress_words(struct sp_cli *cli, const char *words);

/* Writes one JSON line (stolen) to standard output. 0 or SP_EXIT_FAILED, told. */
int sp_cli_put_json(struct sp_cli *cli, void *json /* json_t */);

/* An argument that may be `-`: reads standard input (up to max bytes, one trailing LF taken off).
 * *ret is heap; wipe it if secret. */
int sp_cli_secret(
    struct sp_cli *cli, const char *argument, size_t max, char **ret, struct sp_err *err);

#endif
