/* From the args of a command to what execve takes. The agent's own environment stays with it: it
 * may hold sockets and settings that are not the command's. */
#include "guest/exec_args.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "guest/exec.h"
#include "guest/path.h"
#include "guest/value.h"
#include "record/json.h"

#define DEFAULT_TERM "xterm-256color"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void free_vector(char ***vector)
{
	for (size_t i = 0; *vector && (*vector)[i]; i++)
		free((*vector)[i]);
	free(*vector);
	*vector = NULL;
}

void sp_exec_args_done(struct sp_exec_args *args)
{
	free_vector(&args->argv);
	free_vector(&args->environment);
	free(args->input);
	args->input = NULL;
	sp_fd_close(&args->directory);
}

static int take_argv(const json_t *list, char ***ret, struct sp_err *err)
{
	char **argv = calloc(json_array_size(list) + 1, sizeof(*argv));

	*ret = argv;
	if (!argv)
		return sp_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		if (!text)
			return sp_fail(err, SP_E_BAD_RECORD, "argv: not a string at %zu", i);
		argv[i] = strdup(text);
		if (!argv[i])
			return sp_fail(err, -ENOMEM, "out of memory");
	}
	if (!argv[0] || argv[0][0] == '\0')
		return sp_fail(err, SP_E_BAD_RECORD, "argv: names no program");
	return 0;
}

/* One "NAME=value", replacing what the vector (with room for one more) has under that name. */
static int set_variable(char **environment, const char *name, const char *value)
{
	size_t length = strlen(name), i = 0;
	char *entry;

	if (asprintf(&entry, "%s=%s", name, value) < 0)
		return -ENOMEM;
	while (environment[i] &&
	       (strncmp(environment[i], name, length) != 0 || environment[i][length] != '='))
		i++;
	free(environment[i]);
	environment[i] = entry;
	return 0;
}

static int take_environment(const json_t *given, bool terminal, char ***ret, struct sp_err *err)
{
	char **environment = calloc(json_object_size(given) + 5, sizeof(*environment));
	const char *name, *home = getenv("HOME");
	json_t *value;

	*ret = environment;
	if (!environment || set_variable(environment, "PATH", DEFAULT_PATH) ||
	    set_variable(environment, "HOME", home ? home : "/") ||
	    set_variable(environment, "LANG", "C.UTF-8") ||
	    (terminal && set_variable(environment, "TERM", DEFAULT_TERM)))
		return sp_fail(err, -ENOMEM, "out of memory");
	json_object_foreach((json_t *)(uintptr_t)given, name, value)
	{
		if (name[0] == '\0' || strchr(name, '=') || !json_is_string(value))
			return sp_fail(
			    err, SP_E_BAD_RECORD, "env: not names without `=` and strings");
		if (set_variable(environment, name, json_string_value(value)))
			return sp_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static const char *get_variable(char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return "";
}

/* As execvp does it, with the command's own PATH: the first that may be executed; EACCES is
 * remembered. Entries that are not absolute are passed over. */
static int look_up(const char *name, const char *path, char program[PATH_MAX])
{
	int bad = -ENOENT;

	if (strchr(name, '/'))
		return (size_t)snprintf(program, PATH_MAX, "%s", name) < PATH_MAX ? 0
										  : -ENAMETOOLONG;
	while (*path) {
		size_t length = strcspn(path, ":");
		int n = snprintf(program, PATH_MAX, "%.*s/%s", (int)length, path, name);
		if (path[0] == '/' && n < PATH_MAX) {
			if (access(program, X_OK) == 0)
				return 0;
			if (errno == EACCES)
				bad = -EACCES;
		}
		path += length;
		path += *path == ':';
	}
	return bad;
}

static int take_directory(
    int root, const json_t *text, const json_t *data, int *ret, struct sp_err *err)
{
	char path[PATH_MAX] = "/";
	int bad = 0;

	if (text || data)
		bad = sp_value_path(text, data, "cwd", path, err);
	if (bad)
		return bad;
	bad = sp_root_resolve(root, path, O_PATH | O_DIRECTORY, 0, ret);
	return bad ? sp_fail(err, bad, "cwd: %s", sp_code_text(bad)) : 0;
}

enum field { ARGV, CWD, CWD_DATA, ENV, TEXT, DATA, TIMEOUT, LIMIT, ROWS, COLS, FIELDS };

static const struct {
	const char *name;
	enum sp_json_kind kind;
	unsigned forms, optional_in;
} FIELD_TABLE[FIELDS] = {
    [ARGV] = {"argv", SP_JSON_ARRAY, SP_EXEC_RUN | SP_EXEC_SESSION | SP_EXEC_TERMINAL,
	SP_EXEC_TERMINAL},
    [CWD] = {"cwd", SP_JSON_STRING, ~0u, ~0u},
    [CWD_DATA] = {"cwd_data", SP_JSON_STRING, ~0u, ~0u},
    [ENV] = {"env", SP_JSON_OBJECT, ~0u, ~0u},
    [TEXT] = {"text", SP_JSON_STRING, SP_EXEC_RUN, SP_EXEC_RUN},
    [DATA] = {"data", SP_JSON_STRING, SP_EXEC_RUN, SP_EXEC_RUN},
    [TIMEOUT] = {"timeout_ms", SP_JSON_INTEGER, SP_EXEC_RUN, SP_EXEC_RUN},
    [LIMIT] = {"limit", SP_JSON_INTEGER, SP_EXEC_RUN, SP_EXEC_RUN},
    [ROWS] = {"rows", SP_JSON_INTEGER, SP_EXEC_TERMINAL, 0},
    [COLS] = {"cols", SP_JSON_INTEGER, SP_EXEC_TERMINAL, 0},
};

static int take_fields(
    const json_t *args, enum sp_exec_form form, const json_t *values[FIELDS], struct sp_err *err)
{
	struct sp_json_field fields[FIELDS];
	size_t count = 0;

	for (size_t i = 0; i < FIELDS; i++) {
		values[i] = NULL;
		if (!(FIELD_TABLE[i].forms & form))
			continue;
		fields[count++] = (struct sp_json_field){FIELD_TABLE[i].name, FIELD_TABLE[i].kind,
		    (FIELD_TABLE[i].optional_in & form) != 0, &values[i]};
	}
	return sp_json_take(args, "args", fields, count, err);
}

static int take_values(const json_t *const *values, struct sp_exec_args *ret, struct sp_err *err)
{
	int bad = sp_value_number(
	    values[TIMEOUT], "timeout_ms", 1, SP_EXEC_TIMEOUT_MAX_MS, &ret->timeout_ms, err);

	if (!bad)
		bad =
		    sp_value_number(values[LIMIT], "limit", 0, SP_EXEC_LIMIT_MAX, &ret->limit, err);
	if (!bad)
		bad = sp_value_number(values[ROWS], "rows", 1, UINT16_MAX, &ret->rows, err);
	if (!bad)
		bad = sp_value_number(values[COLS], "cols", 1, UINT16_MAX, &ret->cols, err);
	if (!bad && (values[TEXT] || values[DATA]))
		bad = sp_value_bytes(values[TEXT], values[DATA], "standard input", &ret->input,
		    &ret->input_size, err);
	return bad;
}

int sp_exec_args_take(int root, const json_t *args, enum sp_exec_form form,
    struct sp_exec_args *ret, struct sp_err *err)
{
	const json_t *values[FIELDS];
	sp_auto_json json_t *shell = json_pack("[s]", SP_TERMINAL_SHELL);
	int bad = take_fields(args, form, values, err);

	*ret = (struct sp_exec_args){
	    .directory = -1, .timeout_ms = SP_EXEC_TIMEOUT_MS, .limit = SP_EXEC_OUTPUT_MAX};
	if (bad || (bad = take_argv(values[ARGV] ? values[ARGV] : shell, &ret->argv, err)) ||
	    (bad = take_environment(
		 values[ENV], form == SP_EXEC_TERMINAL, &ret->environment, err)) ||
	    (bad = take_values(values, ret, err)) ||
	    (bad = take_directory(root, values[CWD], values[CWD_DATA], &ret->directory, err)))
		return bad;
	bad = look_up(ret->argv[0], get_variable(ret->environment, "PATH"), ret->program);
	if (bad)
		return sp_fail(err, bad, "%.128s: %s", ret->argv[0], sp_code_text(bad));
	return 0;
}
