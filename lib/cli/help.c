/* Help and hints, printed from the tables. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "cli/internal.h"
#include "cli/table.h"
#include "cli/words.h"
#include "record/reason.h"

#define NEAR          2  /* letters off for a hint */
#define VERB_COLUMN   16 /* the widths of what stands left in help */
#define OPTION_COLUMN 30

const struct sp_verb *sp_cli_find_verb(
    const struct sp_tool *tool, const char *first, const char *second)
{
	const struct sp_verb *tables[] = {tool->verbs, SP_COMMON_VERBS};
	size_t length = strlen(first);

	for (size_t t = 0; t < 2; t++)
		for (const struct sp_verb *verb = tables[t]; verb->name; verb++) {
			const char *space = strchr(verb->name, ' ');
			if (!space && strcmp(verb->name, first) == 0)
				return verb;
			if (space && second && (size_t)(space - verb->name) == length &&
			    strncmp(verb->name, first, length) == 0 &&
			    strcmp(space + 1, second) == 0)
				return verb;
		}
	return NULL;
}

/* Letters off; what a word begins with is one off, so that it beats another word but not itself. */
static unsigned distance(const char *word, const char *name)
{
	size_t length = strlen(word);

	if (length > 1 && strlen(name) > length && strncmp(word, name, length) == 0)
		return 1;
	return sp_word_distance(word, name);
}

/* The distance of what was written from a verb of one word or two. One word too few points at the
 * first verb that begins so. */
static unsigned verb_distance(const char *name, const char *first, const char *second)
{
	const char *space = strchr(name, ' ');
	char head[64];

	if (!space)
		return distance(first, name);
	(void)snprintf(head, sizeof(head), "%.*s", (int)(space - name), name);
	if (!second || second[0] == '-')
		return distance(first, head);
	return distance(first, head) + distance(second, space + 1);
}

const char *sp_cli_nearest_verb(const struct sp_tool *tool, const char *first, const char *second)
{
	const struct sp_verb *tables[] = {tool->verbs, SP_COMMON_VERBS};
	const char *best = NULL;
	unsigned least = NEAR + 1;

	for (size_t t = 0; t < 2; t++)
		for (const struct sp_verb *verb = tables[t]; verb->name; verb++) {
			unsigned off = verb_distance(verb->name, first, second);
			if (off < least) {
				least = off;
				best = verb->name;
			}
		}
	return best;
}

const char *sp_cli_nearest_option(const struct sp_verb *verb, const char *word)
{
	const struct sp_option *tables[] = {verb->options, SP_COMMON_OPTIONS};
	const char *best = NULL;
	unsigned least = NEAR + 1;
	char name[64];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; tables[t] && tables[t][i].name; i++) {
			unsigned off = distance(name, tables[t][i].name);
			if (off < least) {
				least = off;
				best = tables[t][i].name;
			}
		}
	return best;
}

/* Help for whoever reads it in a pager, too. */
static unsigned help_width(FILE *out)
{
	unsigned width = sp_table_width(fileno(out));

	return width == 0 ? 80 : width < 40 ? 40 : width > 100 ? 100 : width;
}

/* The common verbs' examples are every tool's: `TOOL` stands for its name. */
static void print_example(const struct sp_tool *tool, const char *line, FILE *out)
{
	const char *end = line + strcspn(line, "\n");
	char command[512];
	size_t used = 0;

	while (line < end && used < sizeof(command) - 1) {
		size_t room = sizeof(command) - used;
		if (strncmp(line, "TOOL", 4) == 0) {
			used += (size_t)snprintf(command + used, room, "%s", tool->name);
			line += 4;
		} else {
			command[used++] = *line++;
		}
	}
	command[used < sizeof(command) ? used : sizeof(command) - 1] = '\0';
	sp_words_command(out, command, 2, help_width(out));
}

/* What is named, in a column, and what it is. */
static void print_row(const char *left, unsigned column, const char *right, FILE *out)
{
	(void)fprintf(out, "  %-*s ", (int)column, left);
	sp_words_flow(out, right, column + 3, help_width(out));
}

#define FIRST_EXAMPLES 4

/* The first example of the first verbs that have one: where to start. */
static void print_first_examples(const struct sp_tool *tool, FILE *out)
{
	const struct sp_verb *tables[] = {tool->verbs, SP_COMMON_VERBS};
	unsigned printed = 0;

	(void)fputs("\nexamples:\n", out);
	for (size_t t = 0; t < 2; t++)
		for (const struct sp_verb *verb = tables[t]; verb->name && printed < FIRST_EXAMPLES;
		     verb++)
			if (verb->examples) {
				print_example(tool, verb->examples, out);
				printed++;
			}
}

void sp_cli_help_tool(const struct sp_tool *tool, FILE *out)
{
	const struct sp_verb *tables[] = {tool->verbs, SP_COMMON_VERBS};

	(void)fprintf(out, "usage: %s VERB [options] [arguments]\n\n%s\n\nverbs:\n", tool->name,
	    tool->summary);
	for (size_t t = 0; t < 2; t++)
		for (const struct sp_verb *verb = tables[t]; verb->name; verb++)
			print_row(verb->name, VERB_COLUMN, verb->summary, out);
	print_first_examples(tool, out);
	(void)fputc('\n', out);
	sp_words_print(out, "exit codes",
	    "0 done, 1 failed, 2 usage or configuration, 3 bad record, key or archive, "
	    "10 refresh-route, 11 deny, 12 stream cut, 14 conflict",
	    help_width(out));
	(void)fprintf(
	    out, "\n`%s help VERB` says more; man %s has it all.\n", tool->name, tool->name);
}

static bool has_letter(const struct sp_option *options, char letter)
{
	for (; options && options->name; options++)
		if (options->letter == letter)
			return true;
	return false;
}

/* `before`: options whose letters are taken. */
static void print_options(
    const struct sp_option *options, const struct sp_option *before, FILE *out)
{
	for (; options && options->name; options++) {
		char left[64], right[256],
		    letter = has_letter(before, options->letter) ? 0 : options->letter;
		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s", letter ? '-' : ' ',
		    letter ? letter : ' ', letter ? "," : " ", options->name,
		    options->argument ? " " : "", options->argument ? options->argument : "");
		(void)snprintf(right, sizeof(right), "%s%s", options->help,
		    options->required ? " (required)" : "");
		print_row(left, OPTION_COLUMN, right, out);
	}
}

void sp_cli_help_verb(const struct sp_tool *tool, const struct sp_verb *verb, FILE *out)
{
	(void)fprintf(out, "usage: %s %s [options]%s%s\n\n", tool->name, verb->name,
	    verb->arguments ? " " : "", verb->arguments ? verb->arguments : "");
	sp_words_flow(out, verb->summary, 0, help_width(out));
	if (verb->options && verb->options->name) {
		(void)fputs("\noptions:\n", out);
		print_options(verb->options, NULL, out);
	}
	(void)fputs("\ncommon options:\n", out);
	print_options(SP_COMMON_OPTIONS, verb->options, out);
	if (verb->examples)
		(void)fputs("\nexamples:\n", out);
	for (const char *line = verb->examples; line && *line;) {
		print_example(tool, line, out);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
}
