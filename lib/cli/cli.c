/* From argv to one call of a verb, and what verbs ask about their command line. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium/core.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/io.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/internal.h"
#include "cli/table.h"
#include "record/json.h"
#include "record/reason.h"

#define CONFIG_PATH "/etc/space/space.ini"

const struct sp_option SP_COMMON_OPTIONS[] = {
    {"config", 'c', SP_OPTION_FILE, "FILE",
	"configuration (default: $SPACE_CONFIG, then " CONFIG_PATH ")", NULL, false},
    {"output", 'o', SP_OPTION_CHOICE, "FORMAT", "json or table (default: table on a terminal)",
	"json|table", false},
    {"color", 0, SP_OPTION_CHOICE, "WHEN", "auto, always or never (NO_COLOR is heeded)",
	"auto|always|never", false},
    {"verbose", 'v', SP_OPTION_FLAG, NULL, "say more on standard error", NULL, false},
    {"quiet", 'q', SP_OPTION_FLAG, NULL, "say errors only", NULL, false},
    {"help", 'h', SP_OPTION_FLAG, NULL, "this text", NULL, false},
    {0},
};

static void say(const struct sp_cli *cli, const char *words)
{
	char clean[SP_ERR_MAX];

	sp_cli_progress_end(cli);
	if (cli->screen)
		sp_screen_leave(cli->screen);
	(void)snprintf(clean, sizeof(clean), "%s", words);
	sp_text_printable(clean);
	(void)fprintf(stderr, "%s: %s%s%s\n", cli->tool->name, cli->verb ? cli->verb->name : "",
	    cli->verb ? ": " : "", clean);
}

int sp_cli_fail(const struct sp_cli *cli, const struct sp_err *err)
{
	say(cli, err->message[0] ? err->message : sp_code_text(err->code));
	return sp_code_exit(err->code) ? sp_code_exit(err->code) : SP_EXIT_FAILED;
}

static void say_list(const struct sp_cli *cli, const char *format, va_list list)
{
	char words[SP_ERR_MAX];

	(void)vsnprintf(words, sizeof(words), format, list);
	say(cli, words);
}

int sp_cli_usage(const struct sp_cli *cli, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say_list(cli, format, list);
	va_end(list);
	if (cli->verb)
		(void)fprintf(stderr, "try: %s help %s\n", cli->tool->name, cli->verb->name);
	else
		(void)fprintf(stderr, "try: %s --help\n", cli->tool->name);
	return SP_EXIT_USAGE;
}

void sp_cli_note(const struct sp_cli *cli, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (sp_cli_verbose(cli))
		say_list(cli, format, list);
	va_end(list);
}

void sp_cli_warn(const struct sp_cli *cli, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (!sp_cli_quiet(cli))
		say_list(cli, format, list);
	va_end(list);
}

static const char **find_value(const struct sp_cli *cli, const char *name)
{
	struct sp_cli *mutable = (struct sp_cli *)(uintptr_t)cli;

	for (size_t i = 0; cli->verb->options && cli->verb->options[i].name; i++)
		if (strcmp(cli->verb->options[i].name, name) == 0)
			return &mutable->values[i];
	for (size_t i = 0; SP_COMMON_OPTIONS[i].name; i++)
		if (strcmp(SP_COMMON_OPTIONS[i].name, name) == 0)
			return &mutable->common[i];
	return NULL;
}

const char *sp_cli_text(const struct sp_cli *cli, const char *option)
{
	const char **value = find_value(cli, option);

	if (!value)
		abort();
	return *value;
}

bool sp_cli_flag(const struct sp_cli *cli, const char *option)
{
	return sp_cli_text(cli, option) != NULL;
}

int sp_cli_number(struct sp_cli *cli, const char *option, int64_t fallback, int64_t min,
    int64_t max, int64_t *ret)
{
	const char *text = sp_cli_text(cli, option);

	if (!text) {
		*ret = fallback;
		return 0;
	}
	if (sp_number_parse(text, min, max, ret))
		return 0;
	(void)sp_cli_usage(cli, "--%s: `%.64s` is not a whole number from %lld to %lld", option,
	    text, (long long)min, (long long)max);
	return SP_E_USAGE;
}

int sp_cli_jobs(struct sp_cli *cli, unsigned *ret)
{
	int64_t jobs;
	int bad = sp_cli_number(cli, "jobs", 1, 0, SP_JOBS_MAX, &jobs);

	if (!bad)
		*ret = sp_pool_size((unsigned)jobs);
	return bad;
}

size_t sp_cli_count(const struct sp_cli *cli)
{
	return cli->count;
}

const char *sp_cli_argument(const struct sp_cli *cli, size_t index)
{
	return index < cli->count ? cli->arguments[index] : NULL;
}

char **sp_cli_rest(const struct sp_cli *cli)
{
	return cli->arguments;
}

/* NULL: nobody named one. */
static const char *named_config(const struct sp_cli *cli)
{
	const char *given = sp_cli_text(cli, "config");
	const char *environment = getenv("SPACE_CONFIG");

	return given ? given : environment && *environment ? environment : NULL;
}

const char *sp_cli_config_path(const struct sp_cli *cli)
{
	const char *path = named_config(cli);

	return path ? path : CONFIG_PATH;
}

int sp_cli_config_again(const struct sp_cli *cli, struct sp_config *ret, struct sp_err *err)
{
	return sp_config_load(sp_cli_config_path(cli), !named_config(cli), ret, err);
}

const struct sp_config *sp_cli_config(struct sp_cli *cli)
{
	struct sp_err err = {0};

	if (cli->config)
		return cli->config;
	cli->config = calloc(1, sizeof(*cli->config));
	if (!cli->config) {
		(void)sp_fail(&err, -ENOMEM, "out of memory");
	} else if (sp_cli_config_again(cli, cli->config, &err) < 0) {
		free(cli->config);
		cli->config = NULL;
	}
	if (!cli->config)
		(void)sp_cli_fail(cli, &err);
	return cli->config;
}

bool sp_cli_json(const struct sp_cli *cli)
{
	const char *format = sp_cli_text(cli, "output");

	return format ? strcmp(format, "json") == 0 : !isatty(STDOUT_FILENO);
}

bool sp_cli_color(const struct sp_cli *cli)
{
	const char *when = sp_cli_text(cli, "color");
	const char *never = getenv("NO_COLOR");

	if (when && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return isatty(STDOUT_FILENO) && !(never && *never);
}

int sp_cli_table(
    const struct sp_cli *cli, const char *const *headings, unsigned kept, struct sp_table **ret)
{
	struct sp_err err = {0};
	struct sp_table *table;

	*ret = NULL;
	if (sp_cli_json(cli))
		return 0;
	table = sp_table_new(headings);
	if (!table) {
		(void)sp_fail(&err, -ENOMEM, "out of memory");
		return sp_cli_fail(cli, &err);
	}
	sp_table_stream(table, kept, stdout, sp_cli_color(cli), sp_table_width(STDOUT_FILENO));
	*ret = table;
	return 0;
}

bool sp_cli_verbose(const struct sp_cli *cli)
{
	return sp_cli_flag(cli, "verbose");
}

bool sp_cli_quiet(const struct sp_cli *cli)
{
	return sp_cli_flag(cli, "quiet");
}

/* Told once, however many writes fail after the first. */
static int lose_output(struct sp_cli *cli, int error)
{
	struct sp_err err = {0};

	/* A reader that has gone knows it. */
	if (!cli->output_lost && error != EPIPE) {
		(void)sp_fail(&err, -error, "standard output: %s", strerror(error));
		(void)sp_cli_fail(cli, &err);
	}
	cli->output_lost = true;
	return SP_EXIT_FAILED;
}

int sp_cli_put_json(struct sp_cli *cli, void *json)
{
	sp_auto_json json_t *value = json;
	sp_auto_free char *text = value ? sp_json_text(value) : NULL;

	if (text && fprintf(stdout, "%s\n", text) >= 0)
		return 0;
	return lose_output(cli, text ? errno : ENOMEM);
}

/* Reads standard input to its end, at most `max` bytes and an LF, into a buffer of max + 2. */
static int read_secret(char *data, size_t max, size_t *ret_size, struct sp_err *err)
{
	size_t size = 0;
	ssize_t n;

	while ((n = sp_read_some(STDIN_FILENO, data + size, max + 2 - size)) > 0)
		size += (size_t)n;
	if (n < 0)
		return sp_fail(err, (int)n, "standard input: %s", strerror((int)-n));
	if (size > 0 && data[size - 1] == '\n')
		size--;
	if (size > max)
		return sp_fail(err, SP_E_TOO_LARGE, "standard input: more than %zu bytes", max);
	/* As text it would end there, and be another secret than the one given. */
	if (memchr(data, '\0', size))
		return sp_fail(err, SP_E_BAD_RECORD, "standard input: a NUL byte");
	*ret_size = size;
	return 0;
}

int sp_cli_secret(
    struct sp_cli *cli, const char *argument, size_t max, char **ret, struct sp_err *err)
{
	size_t size = 0;
	char *data;
	int bad;

	(void)cli;
	if (strcmp(argument, "-") != 0) {
		*ret = strdup(argument);
		return *ret ? 0 : sp_fail(err, -ENOMEM, "out of memory");
	}
	data = malloc(max + 2);
	if (!data)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = read_secret(data, max, &size, err);
	if (bad) {
		sp_secret_free(data, max + 2);
		return bad;
	}
	data[size] = '\0';
	*ret = data;
	return 0;
}

/* A full disk shows at the last write: the exit code must say so. */
static int finish_output(struct sp_cli *cli, int exit_code)
{
	if (fflush(stdout) == 0 && !ferror(stdout) && (close(STDOUT_FILENO) == 0 || errno == EBADF))
		return exit_code;
	(void)lose_output(cli, errno);
	return exit_code == SP_EXIT_DONE ? SP_EXIT_FAILED : exit_code;
}

static int run_verb(struct sp_cli *cli, int argc, char **argv, int from)
{
	size_t options = 0;
	int bad;

	while (cli->verb->options && cli->verb->options[options].name)
		options++;
	if (options > SP_CLI_OPTIONS_MAX)
		abort(); /* a bug in the table: their values have no place */
	bad = sp_cli_parse(cli, argc, argv, from);

	if (!bad && sp_cli_flag(cli, "help")) {
		sp_cli_help_verb(cli->tool, cli->verb, stdout);
		return SP_EXIT_DONE;
	}
	if (!bad)
		bad = sp_cli_check(cli);
	return bad ? bad : cli->verb->run(cli);
}

static int unknown_verb(const struct sp_cli *cli, const char *first, const char *second)
{
	const char *nearest = sp_cli_nearest_verb(cli->tool, first, second);

	if (first[0] == '-')
		return sp_cli_usage(cli, "unknown option %.64s; a verb comes first", first);
	return sp_cli_usage(cli, "unknown verb `%.64s`%s%s%s", first,
	    nearest ? "; did you mean `" : "", nearest ? nearest : "", nearest ? "`?" : "");
}

/* What -o or --output at argv[*at] says, which may be the next word; NULL: it is another one. */
static const char *output_word(char **argv, int *at)
{
	const char *word = argv[*at];

	if (strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0)
		return argv[*at + 1] ? argv[++*at] : "";
	if (strncmp(word, "--output=", 9) == 0)
		return word + 9;
	return strncmp(word, "-o", 2) == 0 ? word + 2 : NULL;
}

/* -V [-v] [-o json|table]: no verb, and so no table of options. */
static int say_version(struct sp_cli *cli, int argc, char **argv)
{
	bool verbose = false, json = false;

	for (int i = 2; i < argc; i++) {
		const char *value = output_word(argv, &i);
		if (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "--verbose") == 0)
			verbose = true;
		else if (value && (strcmp(value, "json") == 0 || strcmp(value, "table") == 0))
			json = value[0] == 'j';
		else
			return sp_cli_usage(cli, "%s takes -v, and -o json or -o table", argv[1]);
	}
	if (json)
		return sp_cli_put_json(cli,
		    verbose ? sp_cli_bom(cli->tool->name)
			    : json_pack("{ssss}", "name", cli->tool->name, "version", SP_VERSION));
	(void)printf("%s %s\n", cli->tool->name, SP_VERSION);
	if (verbose)
		sp_cli_versions(stdout);
	return SP_EXIT_DONE;
}

static int run_tool(struct sp_cli *cli, int argc, char **argv)
{
	const char *second = argc > 2 ? argv[2] : NULL;

	if (argc < 2)
		return sp_cli_usage(cli, "which verb?");
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		sp_cli_help_tool(cli->tool, stdout);
		return SP_EXIT_DONE;
	}
	if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
		return say_version(cli, argc, argv);
	}
	cli->verb = sp_cli_find_verb(cli->tool, argv[1], second);
	if (!cli->verb)
		return unknown_verb(cli, argv[1], second);
	return run_verb(cli, argc, argv, strchr(cli->verb->name, ' ') ? 3 : 2);
}

/* A standard descriptor that is closed would be the next file opened, and be written to: put there
 * what fails instead. */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int sp_cli_main(const struct sp_tool *tool, int argc, char **argv)
{
	struct sp_cli cli = {.tool = tool};
	struct sp_err err = {0};
	int exit_code;

	occupy_standard_descriptors();
	cli.arguments = calloc((size_t)argc + 1, sizeof(*cli.arguments));
	if (!cli.arguments || sodium_init() < 0) {
		(void)sp_fail(&err, SP_E_UNAVAILABLE, "out of memory or random numbers");
		free(cli.arguments);
		return sp_cli_fail(&cli, &err);
	}
	exit_code = run_tool(&cli, argc, argv);
	sp_cli_progress_end(&cli);
	exit_code = finish_output(&cli, exit_code);
	free(cli.arguments);
	free(cli.config);
	return exit_code;
}
