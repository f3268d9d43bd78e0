/* usage, verbs and options, line by line: what goes on in a next line is set in below itself. */
#include "script-completions/help.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "base/util.h"

struct reader {
	struct sp_script *script;
	char *end;                       /* of the text that a next line may go on with */
	bool verbs, options;             /* the section */
	bool scope[SP_SCRIPT_VERBS_MAX]; /* whose options these are */
	const char *arguments;
};

/* What the placeholders of values stand for; others are anybody's guess. */
static enum sp_option_kind kind_of(const char *argument, const char **ret_choices)
{
	static const struct {
		const char *placeholder;
		enum sp_option_kind kind;
		const char *choices;
	} rows[] = {{"FILE", SP_OPTION_FILE, NULL}, {"SOCK", SP_OPTION_FILE, NULL},
	    {"SOCKET", SP_OPTION_FILE, NULL}, {"PATH", SP_OPTION_FILE, NULL},
	    {"KEYS", SP_OPTION_FILE, NULL}, {"DIR", SP_OPTION_DIRECTORY, NULL},
	    {"SANDBOX", SP_OPTION_SANDBOX, NULL}, {"N", SP_OPTION_NUMBER, NULL},
	    {"PID", SP_OPTION_NUMBER, NULL}, {"SECONDS", SP_OPTION_NUMBER, NULL},
	    {"FORMAT", SP_OPTION_CHOICE, "json|table"},
	    {"WHEN", SP_OPTION_CHOICE, "auto|always|never"}};

	*ret_choices = strchr(argument, '|') ? argument : NULL;
	if (*ret_choices)
		return SP_OPTION_CHOICE;
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		if (strcmp(rows[i].placeholder, argument) == 0) {
			*ret_choices = rows[i].choices;
			return rows[i].kind;
		}
	return SP_OPTION_TEXT;
}

/* Cuts a word off the front: what is behind it and its blanks. */
static char *after(char *word, const char *end_of_word)
{
	char *end = word + strcspn(word, end_of_word);

	if (*end)
		*end++ = '\0';
	return end + strspn(end, " ");
}

/* "usage: NAME [options] ARGUMENT", "usage: NAME VERB [options] ARGUMENT". */
static int read_usage(struct reader *reader, char *line)
{
	char *arguments = strstr(line, "[options]");

	if (strncmp(line, "usage: ", 7) != 0 || !arguments)
		return -EINVAL;
	arguments += strlen("[options]");
	reader->arguments = *arguments == ' ' ? arguments + 1 : NULL;
	if (strncmp(line + 7 + strcspn(line + 7, " "), " VERB ", 6) == 0)
		return 0;
	reader->script->verbs[0] = (struct sp_verb){.name = "", .summary = ""};
	reader->script->verbs[0].arguments = reader->arguments;
	reader->script->count = 1;
	return 0;
}

/* "  NAME   summary" */
static int read_verb(struct reader *reader, char *line)
{
	struct sp_verb *verb = &reader->script->verbs[reader->script->count];
	char *name = line + 2, *summary = after(name, " ");

	if (reader->script->count == SP_SCRIPT_VERBS_MAX)
		return -EINVAL;
	reader->script->count++;
	verb->name = name;
	verb->summary = summary;
	verb->arguments = strcmp(name, "help") == 0 ? "VERB" : reader->arguments;
	reader->end = summary + strlen(summary);
	return 0;
}

static int add_option(struct reader *reader, const struct sp_option *option)
{
	for (size_t v = 0; v < reader->script->count; v++) {
		struct sp_option *options = reader->script->options[v];
		size_t n = 0;
		if (!reader->scope[v])
			continue;
		while (options[n].name)
			n++;
		if (n == SP_CLI_OPTIONS_MAX)
			return -EINVAL;
		options[n] = *option;
	}
	return 0;
}

/* "  -c, --name ARGUMENT   what it is" */
static int read_option(struct reader *reader, char *line)
{
	struct sp_option option = {.kind = SP_OPTION_FLAG};
	char *name = strstr(line, "--"), *rest, *argument;

	if (!name)
		return -EINVAL;
	if (line[2] == '-' && line[4] == ',')
		option.letter = line[3];
	name += 2;
	argument = name + strcspn(name, " ");
	rest = after(name, " ");
	if (rest == argument + 1) {
		option.argument = rest;
		rest = after(rest, " ");
		option.kind = kind_of(option.argument, &option.choices);
	}
	option.name = name;
	option.help = rest;
	reader->end = rest + strlen(rest);
	return add_option(reader, &option);
}

/* "options:" is all verbs'; "options of VERB, VERB:". */
static void open_options(struct reader *reader, const char *line)
{
	const char *of = strncmp(line, "options of ", 11) == 0 ? line + 10 : NULL;

	for (size_t v = 0; v < reader->script->count; v++) {
		const char *name = reader->script->verbs[v].name, *at = of;
		size_t length = strlen(name);
		reader->scope[v] = !of && strcmp(name, "help") != 0;
		while (at && (at = strstr(at, name))) {
			reader->scope[v] |= at[-1] == ' ' && !isalpha((unsigned char)at[length]);
			at += length;
		}
	}
	reader->options = true;
}

/* What a line before it began goes on; both are in one text, so there is room. */
static void go_on(struct reader *reader, char *line)
{
	char *more = line + strspn(line, " ");
	size_t length = strlen(more);

	if (!reader->end || more - reader->end < 2)
		return;
	*reader->end++ = ' ';
	memmove(reader->end, more, length + 1);
	reader->end += length;
}

static int read_line(struct reader *reader, char *line)
{
	size_t length = strlen(line), indent = strspn(line, " ");

	if (length == 0) {
		reader->verbs = reader->options = false;
		reader->end = NULL;
	} else if (strcmp(line, "verbs:") == 0) {
		reader->verbs = true;
	} else if (strstr(line, "options") && line[length - 1] == ':') {
		open_options(reader, line);
	} else if (reader->verbs && indent == 2) {
		return read_verb(reader, line);
	} else if (reader->options && (indent == 2 || strncmp(line, "      --", 8) == 0)) {
		return read_option(reader, line);
	} else if (reader->verbs || reader->options) {
		go_on(reader, line);
	}
	return 0;
}

int sp_script_read(char *text, struct sp_script *ret)
{
	struct reader reader = {.script = ret};
	char *line = strsep(&text, "\n");
	int bad;

	*ret = (struct sp_script){.count = 0};
	bad = read_usage(&reader, line);
	while (!bad && (line = strsep(&text, "\n")) && strcmp(line, "examples:") != 0)
		bad = read_line(&reader, line);
	for (size_t v = 0; v < ret->count; v++)
		ret->verbs[v].options = ret->options[v];
	return bad ? bad : ret->count == 0 ? -EINVAL : 0;
}
