/* Command lines: what is parsed, what is refused in which words, and the help of it all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/io.h"
#include "base/util.h"
#include "cli/cli.h"
#include "record/reason.h"

static const struct sp_option SHOW_OPTIONS[] = {
    {"all", 'a', SP_OPTION_FLAG, NULL, "everything", NULL, false},
    {"brief", 'b', SP_OPTION_FLAG, NULL, "little", NULL, false},
    {"count", 'n', SP_OPTION_NUMBER, "N", "how many", NULL, false},
    {"text", 't', SP_OPTION_TEXT, "TEXT", "some text", NULL, false},
    {"at", 0, SP_OPTION_TIME, "TIME", "when", NULL, false},
    {"mode", 'm', SP_OPTION_CHOICE, "MODE", "how", "fast|slow", false},
    {"sandbox", 0, SP_OPTION_SANDBOX, "ID", "which", NULL, false},
    {0},
};
static const struct sp_option NEEDY_OPTIONS[] = {
    {"out", 'o', SP_OPTION_FILE, "FILE", "where to", NULL, true},
    {0},
};

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

/* Prints all that was parsed. */
static int run_show(struct sp_cli *cli)
{
	int64_t count = 0;

	if (sp_cli_number(cli, "count", 7, 1, 100, &count) < 0)
		return SP_EXIT_USAGE;
	(void)printf("%s%s%lld,%s,%s,%s,%s", sp_cli_flag(cli, "all") ? "a" : "",
	    sp_cli_flag(cli, "brief") ? "b" : "", (long long)count,
	    or_dash(sp_cli_text(cli, "text")), or_dash(sp_cli_text(cli, "at")),
	    or_dash(sp_cli_text(cli, "mode")), or_dash(sp_cli_text(cli, "sandbox")));
	for (size_t i = 0; i < sp_cli_count(cli); i++)
		(void)printf("[%s]", sp_cli_argument(cli, i));
	assert_null(sp_cli_argument(cli, sp_cli_count(cli)));
	assert_null(sp_cli_rest(cli)[sp_cli_count(cli)]);
	(void)printf("%s%s%s%s\n", sp_cli_json(cli) ? " json" : " table",
	    sp_cli_color(cli) ? " color" : "", sp_cli_verbose(cli) ? " verbose" : "",
	    sp_cli_quiet(cli) ? " quiet" : "");
	sp_cli_note(cli, "noted %d", 1);
	return SP_EXIT_DONE;
}

static int run_secret(struct sp_cli *cli)
{
	char *secret = NULL;
	struct sp_err err = {0};

	if (sp_cli_secret(cli, sp_cli_argument(cli, 0), 8, &secret, &err) < 0)
		return sp_cli_fail(cli, &err);
	(void)printf("<%s>\n", secret);
	free(secret);
	return SP_EXIT_DONE;
}

static int run_configured(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);

	if (!config)
		return SP_EXIT_USAGE;
	assert_ptr_equal(config, sp_cli_config(cli));
	(void)printf("%s\n", config->realm);
	return SP_EXIT_DONE;
}

static int run_fail(struct sp_cli *cli)
{
	static const int codes[] = {SP_E_USAGE, SP_E_BAD_RECORD, SP_E_CONFLICT, SP_E_DENIED, -EIO};
	struct sp_err err = {0};
	int64_t which = 0;

	(void)sp_cli_number(cli, "count", 0, 0, 5, &which);
	if (which == 5)
		/* An error nobody filled in is still one. */
		return sp_cli_fail(cli, &err);
	(void)sp_fail(&err, codes[which], "it broke\n\033[31m");
	return sp_cli_fail(cli, &err);
}

static int run_write(struct sp_cli *cli)
{
	if (sp_cli_text(cli, "text"))
		(void)close(open(sp_cli_text(cli, "text"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	for (int i = 0; i < 3; i++)
		if (sp_cli_put_json(cli, json_pack("{si}", "n", i)))
			return SP_EXIT_FAILED;
	return SP_EXIT_DONE;
}

static int run_wrote(struct sp_cli *cli)
{
	(void)cli;
	(void)puts("x");
	return SP_EXIT_DONE;
}

static const struct sp_verb VERBS[] = {
    {"show", "[WORD ...]", 0, 3, "show it", SHOW_OPTIONS, "demo show -a x\ndemo show -- -x\n",
	run_show},
    {"need", "ARG", 1, 1, "be needy", NEEDY_OPTIONS, "demo need -o f x\n", run_wrote},
    {"bundle build", NULL, 0, 0, "build one", NULL, NULL, run_wrote},
    {"bundle install", "FILE", 1, 1, "install one", NULL, NULL, run_wrote},
    {"secret", "SECRET", 1, 1, "take a secret", NULL, NULL, run_secret},
    {"configured", NULL, 0, 0, "read the configuration", NULL, NULL, run_configured},
    {"fail", NULL, 0, 0, "fail", SHOW_OPTIONS, NULL, run_fail},
    {"write", NULL, 0, 0, "write lines", SHOW_OPTIONS, NULL, run_write},
    {"wrote", NULL, 0, 0, "write a word", NULL, NULL, run_wrote},
    {0},
};
static const struct sp_tool TOOL = {"demo", "a tool for tests", VERBS};

static char out[8192], err[8192];

static void read_back(int fd, char *text, size_t room)
{
	ssize_t n = pread(fd, text, room - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
}

/* In a child with standard descriptors of its own; `prepare` may change them further. */
static int run_with(
    const char *command, const char *input, size_t input_size, void (*prepare)(void), char **more)
{
	char words[512], *argv[24] = {(char *)(uintptr_t) "demo"};
	int in_fd = memfd_create("in", 0), out_fd = memfd_create("out", 0);
	int err_fd = memfd_create("err", 0), argc = 1, status = -1;
	pid_t child;

	(void)snprintf(words, sizeof(words), "%s", command);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	for (; more && *more; more++)
		argv[argc++] = *more;
	assert_int_equal(sp_write_all(in_fd, input, input_size, -1), 0);
	(void)lseek(in_fd, 0, SEEK_SET);
	(void)fflush(stdout);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)dup2(in_fd, 0);
		(void)dup2(out_fd, 1);
		(void)dup2(err_fd, 2);
		if (prepare)
			prepare();
		_exit(sp_cli_main(&TOOL, argc, argv));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	read_back(out_fd, out, sizeof(out));
	read_back(err_fd, err, sizeof(err));
	(void)close(in_fd);
	(void)close(out_fd);
	(void)close(err_fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int run(const char *command)
{
	return run_with(command, "", 0, NULL, NULL);
}

static void what_is_parsed(void **state)
{
	static const struct {
		const char *command, *out;
	} cases[] = {
	    {"show", "7,-,-,-,- json\n"},
	    {"show -a", "a7,-,-,-,- json\n"},
	    {"show -ab", "ab7,-,-,-,- json\n"},
	    {"show -abn5", "ab5,-,-,-,- json\n"},
	    {"show -abn 5 x", "ab5,-,-,-,-[x] json\n"},
	    {"show -n 5 -n 6", "6,-,-,-,- json\n"},
	    {"show -n5", "5,-,-,-,- json\n"},
	    {"show --count=5", "5,-,-,-,- json\n"},
	    {"show --count 5", "5,-,-,-,- json\n"},
	    {"show --text=", "7,,-,-,- json\n"},
	    {"show --text=a=b", "7,a=b,-,-,- json\n"},
	    {"show --text -a", "7,-a,-,-,- json\n"},
	    {"show --text -- -a", "a7,--,-,-,- json\n"},
	    {"show -t-a", "7,-a,-,-,- json\n"},
	    {"show x -a y", "a7,-,-,-,-[x][y] json\n"},
	    {"show -- -a --all", "7,-,-,-,-[-a][--all] json\n"},
	    {"show -- --", "7,-,-,-,-[--] json\n"},
	    {"show -", "7,-,-,-,-[-] json\n"},
	    {"show --at 2026-11-29T15:36:07Z", "7,-,2026-11-29T15:36:07Z,-,- json\n"},
	    {"show --mode fast", "7,-,-,fast,- json\n"},
	    {"show -mslow --sandbox s-42", "7,-,-,slow,s-42 json\n"},
	    {"show -o table", "7,-,-,-,- table\n"},
	    {"show --output=json", "7,-,-,-,- json\n"},
	    {"show --color always", "7,-,-,-,- json color\n"},
	    {"show --color never", "7,-,-,-,- json\n"},
	    {"show --color auto", "7,-,-,-,- json\n"},
	    {"show -q", "7,-,-,-,- json quiet\n"},
	    {"need x -o f", "x\n"},
	    {"need -of x", "x\n"},
	    {"bundle build", "x\n"},
	    {"bundle install f", "x\n"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		int exit = run(cases[i].command);
		if (exit != 0 || strcmp(out, cases[i].out) != 0 || err[0])
			fail_msg("%s: %d %s%s", cases[i].command, exit, out, err);
	}
}

#define TRY      "try: demo --help\n"
#define TRY_SHOW "try: demo help show\n"

static void what_is_refused(void **state)
{
	static const struct {
		const char *command, *err;
	} cases[] = {
	    {"", "demo: which verb?\n" TRY},
	    {"shwo", "demo: unknown verb `shwo`; did you mean `show`?\n" TRY},
	    {"sho", "demo: unknown verb `sho`; did you mean `show`?\n" TRY},
	    {"conf", "demo: unknown verb `conf`; did you mean `configured`?\n" TRY},
	    {"completion", "demo: unknown verb `completion`; did you mean `completions`?\n" TRY},
	    {"nonsense", "demo: unknown verb `nonsense`\n" TRY},
	    {"bundle", "demo: unknown verb `bundle`; did you mean `bundle build`?\n" TRY},
	    {"bundle instal", "demo: unknown verb `bundle`; did you mean `bundle install`?\n" TRY},
	    {"bundel install f",
		"demo: unknown verb `bundel`; did you mean `bundle install`?\n" TRY},
	    {"-c f show", "demo: unknown option -c; a verb comes first\n" TRY},
	    {"--", "demo: unknown option --; a verb comes first\n" TRY},
	    {"show --al", "demo: show: unknown option --al; did you mean --all?\n" TRY_SHOW},
	    {"show --cuont=5",
		"demo: show: unknown option --cuont; did you mean --count?\n" TRY_SHOW},
	    {"show --outptu json",
		"demo: show: unknown option --outptu; did you mean --output?\n" TRY_SHOW},
	    {"show --sand",
		"demo: show: unknown option --sand; did you mean --sandbox?\n" TRY_SHOW},
	    {"show --wholly-unknown", "demo: show: unknown option --wholly-unknown\n" TRY_SHOW},
	    {"show -z", "demo: show: unknown option -z\n" TRY_SHOW},
	    {"show -az", "demo: show: unknown option -z\n" TRY_SHOW},
	    {"show -\033", "demo: show: unknown option -?\n" TRY_SHOW},
	    {"show --\033[31m", "demo: show: unknown option --?[31m\n" TRY_SHOW},
	    {"show -n", "demo: show: -n wants a value (N)\n" TRY_SHOW},
	    {"show -an", "demo: show: -n wants a value (N)\n" TRY_SHOW},
	    {"show --count", "demo: show: --count wants a value (N)\n" TRY_SHOW},
	    {"show --all=yes", "demo: show: --all takes no value\n" TRY_SHOW},
	    {"show -n x", "demo: show: --count: `x` is no whole number\n" TRY_SHOW},
	    {"show -n -1", "demo: show: --count: `-1` is no whole number\n" TRY_SHOW},
	    {"show --count=", "demo: show: --count: `` is no whole number\n" TRY_SHOW},
	    {"show -n 9223372036854775808",
		"demo: show: --count: `9223372036854775808` is no whole number\n" TRY_SHOW},
	    {"show -n 0",
		"demo: show: --count: `0` is not a whole number from 1 to 100\n" TRY_SHOW},
	    {"show -n 101",
		"demo: show: --count: `101` is not a whole number from 1 to 100\n" TRY_SHOW},
	    {"show --at now",
		"demo: show: --at: `now` is no time like 2026-11-29T15:36:07Z\n" TRY_SHOW},
	    {"show --mode fas", "demo: show: --mode: `fas` is none of fast|slow\n" TRY_SHOW},
	    {"show --mode fast|slow",
		"demo: show: --mode: `fast|slow` is none of fast|slow\n" TRY_SHOW},
	    {"show --mode=", "demo: show: --mode: `` is none of fast|slow\n" TRY_SHOW},
	    {"show -o nonsense",
		"demo: show: --output: `nonsense` is none of json|table\n" TRY_SHOW},
	    {"show --color red",
		"demo: show: --color: `red` is none of auto|always|never\n" TRY_SHOW},
	    {"show a b c d", "demo: show: `d`: one argument too many\n" TRY_SHOW},
	    {"need -o f", "demo: need: missing argument: ARG\ntry: demo help need\n"},
	    {"need x", "demo: need: --out FILE is required\ntry: demo help need\n"},
	    {"bundle build x",
		"demo: bundle build: `x`: one argument too many\ntry: demo help bundle build\n"},
	    {"help shwo",
		"demo: help: no verb `shwo`; did you mean `show`?\ntry: demo help help\n"},
	    {"help bundle instal", "demo: help: no verb `bundle`; did you mean `bundle install`?\n"
				   "try: demo help help\n"},
	    {"completions ksh",
		"demo: completions: `ksh`: none of bash, zsh, fish\ntry: demo help completions\n"},
	    {"completions",
		"demo: completions: missing argument: SHELL\ntry: demo help completions\n"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		int exit = run(cases[i].command);
		if (exit != 2 || strcmp(err, cases[i].err) != 0 || out[0])
			fail_msg(
			    "%s: %d\n%snot\n%s%s", cases[i].command, exit, err, cases[i].err, out);
	}
}

static void help_of_the_tool(void **state)
{
	static const char *const commands[] = {"--help", "-h", "help"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(commands); i++) {
		assert_int_equal(run(commands[i]), 0);
		assert_string_equal(err, "");
		assert_memory_equal(
		    out, "usage: demo VERB [options] [arguments]\n\na tool for tests\n", 56);
		assert_non_null(strstr(out, "  bundle install   install one\n"));
		assert_non_null(strstr(
		    out, "\nexamples:\n  demo show -a x\n  demo need -o f x\n  demo help\n"));
	}
	assert_int_equal(run("-V"), 0);
	assert_string_equal(out, "demo " SP_VERSION "\n");
	assert_int_equal(run("--version"), 0);
	assert_string_equal(out, "demo " SP_VERSION "\n");
}

static void help_of_a_verb(void **state)
{
	static const char want[] =
	    "usage: demo need [options] ARG\n"
	    "\n"
	    "be needy\n"
	    "\n"
	    "options:\n"
	    "  -o, --out FILE                 where to (required)\n"
	    "\n"
	    "common options:\n"
	    "  -c, --config FILE              configuration (default: $SPACE_CONFIG, then\n"
	    "                                 /etc/space/space.ini)\n"
	    /* Its letter is the verb's own. */
	    "      --output FORMAT            json or table (default: table on a terminal)\n"
	    "      --color WHEN               auto, always or never (NO_COLOR is heeded)\n"
	    "  -v, --verbose                  say more on standard error\n"
	    "  -q, --quiet                    say errors only\n"
	    "  -h, --help                     this text\n"
	    "\n"
	    "examples:\n"
	    "  demo need -o f x\n";
	static const char *const commands[] = {
	    "need --help", "need -h", "help need", "need x --help"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(commands); i++) {
		assert_int_equal(run(commands[i]), 0);
		assert_string_equal(out, want);
		assert_string_equal(err, "");
	}
	assert_int_equal(run("help bundle install"), 0);
	assert_memory_equal(out, "usage: demo bundle install [options] FILE\n", 42);
	assert_int_equal(run("bundle install -h"), 0);
	assert_memory_equal(out, "usage: demo bundle install [options] FILE\n", 42);
	assert_int_equal(run("help config"), 0);
	assert_non_null(
	    strstr(out, "\nexamples:\n  demo config\n  demo config keys\n  demo config -c ."));
}

static void failures_have_their_words_and_codes(void **state)
{
	static const int exits[] = {2, 3, 14, 11, 1};
	char command[32];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(exits); i++) {
		(void)snprintf(command, sizeof(command), "fail -n %zu", i);
		assert_int_equal(run(command), exits[i]);
		assert_string_equal(err, "demo: fail: it broke??[31m\n");
	}
	assert_int_equal(run("fail -n 5"), 1);
	assert_string_equal(err, "demo: fail: done\n");
}

static void notes_are_for_the_verbose(void **state)
{
	(void)state;
	assert_int_equal(run("show -v"), 0);
	assert_string_equal(err, "demo: show: noted 1\n");
	assert_int_equal(run("show -q"), 0);
	assert_string_equal(err, "");
}

static void secrets(void **state)
{
	static const struct {
		const char *input;
		size_t size;
		int exit;
		const char *out, *err;
	} cases[] = {
	    {"secret", 6, 0, "<secret>\n", ""},
	    {"secret\n", 7, 0, "<secret>\n", ""},
	    {"secret\n\n", 8, 0, "<secret\n>\n", ""},
	    {"", 0, 0, "<>\n", ""},
	    {"\n", 1, 0, "<>\n", ""},
	    {"12345678", 8, 0, "<12345678>\n", ""},
	    {"12345678\n", 9, 0, "<12345678>\n", ""},
	    {"123456789", 9, 3, "", "demo: secret: standard input: more than 8 bytes\n"},
	    {"123456789\n", 10, 3, "", "demo: secret: standard input: more than 8 bytes\n"},
	    {"12345678\n\n", 10, 3, "", "demo: secret: standard input: more than 8 bytes\n"},
	    {"12345678901234567890", 20, 3, "",
		"demo: secret: standard input: more than 8 bytes\n"},
	    {"abc\0def", 7, 3, "", "demo: secret: standard input: a NUL byte\n"},
	    {"abc\0\n", 5, 3, "", "demo: secret: standard input: a NUL byte\n"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		assert_int_equal(
		    run_with("secret -", cases[i].input, cases[i].size, NULL, NULL), cases[i].exit);
		assert_string_equal(out, cases[i].out);
		assert_string_equal(err, cases[i].err);
	}
	assert_int_equal(run("secret plain"), 0);
	assert_string_equal(out, "<plain>\n");
	assert_int_equal(run("secret -- -"), 0);
	assert_string_equal(out, "<>\n");
}

static char file[] = "/tmp/test-cli-XXXXXX";

static void put_config(const char *text)
{
	assert_int_equal(sp_file_replace(AT_FDCWD, file, 0600, text, strlen(text), NULL), 0);
}

static void a_flag_beats_the_environment(void **state)
{
	char *given[] = {(char *)(uintptr_t) "-c", file, NULL};
	int fd = mkstemp(file);

	(void)state;
	(void)close(fd);
	put_config("[space]\nrealm = ours\n");
	assert_int_equal(setenv("SPACE_CONFIG", "/nonexistent", 1), 0);
	assert_int_equal(run("configured"), 2);
	assert_string_equal(err, "demo: configured: /nonexistent: No such file or directory\n");
	assert_int_equal(run_with("configured", "", 0, NULL, given), 0);
	assert_string_equal(out, "ours\n");
	assert_int_equal(setenv("SPACE_CONFIG", file, 1), 0);
	assert_int_equal(run("configured"), 0);
	assert_string_equal(out, "ours\n");
	/* Empty is as if it were not there. */
	if (access("/etc/space/space.ini", F_OK) < 0) {
		assert_int_equal(setenv("SPACE_CONFIG", "", 1), 0);
		assert_int_equal(run("configured"), 0);
		assert_string_equal(out, "space\n");
		assert_int_equal(unsetenv("SPACE_CONFIG"), 0);
		assert_int_equal(run("configured"), 0);
		assert_string_equal(out, "space\n");
	}
	assert_int_equal(setenv("SPACE_CONFIG", file, 1), 0);
	put_config("[space]\nrealm = o urs\n");
	assert_int_equal(run("configured"), 2);
	assert_non_null(strstr(err, ":2: [space] realm: not a name"));
	/* What needs no configuration does not read it. */
	assert_int_equal(run("show"), 0);
	(void)unlink(file);
	(void)unsetenv("SPACE_CONFIG");
}

static void no_color(void)
{
	(void)setenv("NO_COLOR", "1", 1);
}

static void colour_is_asked_for_or_not_there(void **state)
{
	(void)state;
	assert_int_equal(run_with("show --color always", "", 0, no_color, NULL), 0);
	assert_string_equal(out, "7,-,-,-,- json color\n");
	assert_int_equal(run_with("show", "", 0, no_color, NULL), 0);
	assert_string_equal(out, "7,-,-,-,- json\n");
}

static void full_output(void)
{
	(void)dup2(open("/dev/full", O_WRONLY), 1);
}

static void closed_output(void)
{
	(void)close(1);
}

static void all_closed(void)
{
	(void)close(0);
	(void)close(1);
	(void)close(2);
}

static void broken_output(void)
{
	int fds[2];

	(void)signal(SIGPIPE, SIG_IGN);
	if (pipe(fds) == 0)
		(void)dup2(fds[1], 1);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void killing_output(void)
{
	broken_output();
	(void)signal(SIGPIPE, SIG_DFL);
}

/* Every way that what is printed can be lost, and every face that prints. */
static void lost_output_is_a_failure(void **state)
{
	static const char *const commands[] = {"wrote", "write", "show", "--help", "help show",
	    "show --help", "-V", "config", "config -o table", "completions bash"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(commands); i++) {
		assert_int_equal(run_with(commands[i], "", 0, full_output, NULL), 1);
		assert_non_null(strstr(err, "standard output: No space left on device\n"));
		assert_int_equal(run_with(commands[i], "", 0, closed_output, NULL), 1);
		assert_non_null(strstr(err, "standard output: Bad file descriptor\n"));
		assert_int_equal(run_with(commands[i], "", 0, broken_output, NULL), 1);
		assert_string_equal(err, "");
		assert_int_equal(run_with(commands[i], "", 0, killing_output, NULL), -SIGPIPE);
	}
	assert_int_equal(run_with("secret -", "", 0, closed_output, NULL), 1);
}

/* A file that is opened with the standard descriptors closed must not receive what is printed. */
static void a_file_never_becomes_standard_output(void **state)
{
	char path[] = "/tmp/test-cli-XXXXXX";
	char *given[] = {(char *)(uintptr_t) "-t", path, NULL};
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(run_with("write", "", 0, all_closed, given), 1);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	assert_int_equal(unlink(path), 0);
	(void)close(fd);
}

static void closed_input(void)
{
	(void)close(0);
}

static void a_closed_input_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(run_with("secret -", "", 0, closed_input, NULL), 1);
	assert_string_equal(err, "demo: secret: standard input: Bad file descriptor\n");
}

static void completions_are_for_three_shells(void **state)
{
	(void)state;
	assert_int_equal(run("completions bash"), 0);
	assert_non_null(strstr(out, "complete -F _demo demo\n"));
	assert_int_equal(run("completions zsh"), 0);
	assert_memory_equal(out, "#compdef demo\n", 14);
	assert_int_equal(run("completions fish"), 0);
	assert_non_null(strstr(out, "complete -c demo "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_parsed),
	    cmocka_unit_test(what_is_refused),
	    cmocka_unit_test(help_of_the_tool),
	    cmocka_unit_test(help_of_a_verb),
	    cmocka_unit_test(failures_have_their_words_and_codes),
	    cmocka_unit_test(notes_are_for_the_verbose),
	    cmocka_unit_test(secrets),
	    cmocka_unit_test(a_flag_beats_the_environment),
	    cmocka_unit_test(colour_is_asked_for_or_not_there),
	    cmocka_unit_test(lost_output_is_a_failure),
	    cmocka_unit_test(a_file_never_becomes_standard_output),
	    cmocka_unit_test(a_closed_input_is_a_failure),
	    cmocka_unit_test(completions_are_for_three_shells),
	};

	(void)unsetenv("NO_COLOR");
	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
