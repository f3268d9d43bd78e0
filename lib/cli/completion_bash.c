/* One function for bash: the verb, then the value of the option before the cursor, then options or
 * arguments. */
#include "cli/completion.h"

#include <string.h>

static void heads(const struct sp_completed *tool, FILE *out)
{
	const struct sp_verb *verb;

	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		if (sp_complete_is_new_head(tool, n))
			(void)fprintf(out, "%.*s ", sp_complete_head(verb), verb->name);
}

/* The second words of all verbs that begin as this one. */
static void seconds(const struct sp_completed *tool, const struct sp_verb *first, FILE *out)
{
	const struct sp_verb *verb;
	size_t length = (size_t)sp_complete_head(first);

	(void)fprintf(out, "\t%.*s)\n\t\tif [ \"$COMP_CWORD\" -eq 2 ]; then\n\t\t\t_%s_words \"",
	    (int)length, first->name, tool->name);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		if (sp_complete_second(verb) && strncmp(verb->name, first->name, length + 1) == 0)
			(void)fprintf(out, "%s ", sp_complete_second(verb));
	(void)fputs("\"\n\t\t\treturn\n\t\tfi\n\t\tverb=\"$verb ${COMP_WORDS[2]}\"\n\t\t;;\n", out);
}

static void value(
    const struct sp_completed *tool, const char *verb, const struct sp_option *option, FILE *out)
{
	(void)fprintf(out, "\t%s --%s\"", verb, option->name);
	if (option->letter)
		(void)fprintf(out, " | %s -%c\"", verb, option->letter);
	(void)fputs(")\n\t\t", out);
	switch (option->kind) {
	case SP_OPTION_SANDBOX:
		(void)fprintf(out, "_%s_words \"$(_%s_sandboxes)\"\n\t\t", tool->name, tool->name);
		break;
	case SP_OPTION_CHOICE:
		(void)fprintf(out, "_%s_words \"", tool->name);
		sp_complete_choices(option->choices, out);
		(void)fputs("\"\n\t\t", out);
		break;
	case SP_OPTION_DIRECTORY:
		(void)fprintf(out, "_%s_files -d\n\t\t", tool->name);
		break;
	case SP_OPTION_FILE:
		(void)fprintf(out, "_%s_files -f\n\t\t", tool->name);
		break;
	case SP_OPTION_FLAG:
	case SP_OPTION_TEXT:
	case SP_OPTION_NUMBER:
	case SP_OPTION_TIME:
		break;
	}
	(void)fputs("return\n\t\t;;\n", out);
}

/* A verb's own options come first: a letter of theirs hides a common one. */
static void values(const struct sp_completed *tool, FILE *out)
{
	const struct sp_verb *verb;

	(void)fputs("\tcase \"$verb $prev\" in\n", out);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		for (const struct sp_option *o = verb->options; o && o->name; o++)
			if (o->kind != SP_OPTION_FLAG) {
				char quoted[64];
				(void)snprintf(quoted, sizeof(quoted), "\"%s", verb->name);
				value(tool, quoted, o, out);
			}
	for (const struct sp_option *o = tool->common_options; o->name; o++)
		if (o->kind != SP_OPTION_FLAG)
			value(tool, "*\"", o, out);
	(void)fputs("\tesac\n", out);
}

static void option_names(const struct sp_option *options, FILE *out)
{
	for (; options && options->name; options++)
		(void)fprintf(out, "--%s ", options->name);
}

static void arguments(const struct sp_completed *tool, const struct sp_verb *verb, FILE *out)
{
	switch (sp_complete_arguments(verb)) {
	case SP_COMPLETE_SANDBOX:
		(void)fprintf(out, "_%s_words \"$(_%s_sandboxes)\"", tool->name, tool->name);
		break;
	case SP_COMPLETE_LEASE:
		(void)fprintf(out, "_%s_words \"$(_%s_leases)\"", tool->name, tool->name);
		break;
	case SP_COMPLETE_SECTION:
		(void)fprintf(out, "_%s_words \"", tool->name);
		sp_complete_sections(out);
		(void)fputs("\"", out);
		break;
	case SP_COMPLETE_VERBS:
		(void)fprintf(out, "_%s_words \"", tool->name);
		heads(tool, out);
		(void)fputs("\"", out);
		break;
	case SP_COMPLETE_SHELLS:
		(void)fprintf(out, "_%s_words \"bash zsh fish\"", tool->name);
		break;
	case SP_COMPLETE_FILES:
		(void)fprintf(out, "_%s_files -f", tool->name);
		break;
	case SP_COMPLETE_NOTHING:
		(void)fprintf(out, "_%s_words \"$options\"", tool->name);
		break;
	}
}

static void verbs(const struct sp_completed *tool, FILE *out)
{
	const struct sp_verb *verb;

	(void)fputs("\tcase $verb in\n", out);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++) {
		(void)fprintf(out, "\t\"%s\")\n\t\toptions=\"", verb->name);
		option_names(verb->options, out);
		option_names(tool->common_options, out);
		(void)fputs("\"\n\t\tcase $cur in\n\t\t-*) ", out);
		(void)fprintf(out, "_%s_words \"$options\" ;;\n\t\t*) ", tool->name);
		arguments(tool, verb, out);
		(void)fputs(" ;;\n\t\tesac\n\t\t;;\n", out);
	}
	(void)fputs("\tesac\n", out);
}

/* The words for a verb's place, and what a verb of two words is called. */
static void verb_words(const struct sp_completed *tool, FILE *out)
{
	const struct sp_verb *verb;

	(void)fprintf(out, "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\t_%s_words \"", tool->name);
	heads(tool, out);
	(void)fputs("--help --version\"\n\t\treturn\n\tfi\n\tcase $verb in\n", out);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		if (sp_complete_second(verb) && sp_complete_is_new_head(tool, n))
			seconds(tool, verb, out);
	(void)fputs("\t*) ;;\n\tesac\n", out);
}

void sp_complete_bash(const struct sp_completed *tool, FILE *out)
{
	const char *name = tool->name;

	(void)fprintf(out,
	    "# bash completion for %s; generated from its table by `%s`\n"
	    "# shellcheck shell=bash\n"
	    "_%s_words() {\n\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n}\n"
	    "_%s_files() {\n\tcompopt -o filenames 2>/dev/null\n"
	    "\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n}\n"
	    "_%s_sandboxes() {\n\t" SP_COMPLETE_SANDBOXES "\n}\n"
	    "_%s_leases() {\n\t" SP_COMPLETE_LEASES "\n}\n"
	    "_%s() {\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
	    "verb=%s options\n"
	    "\tCOMPREPLY=()\n"
	    "\t[ \"$prev\" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	    "\t[ \"$cur\" != = ] || cur=\n",
	    name, tool->maker, name, name, name, name, name,
	    sp_complete_by_verb(tool) ? "${COMP_WORDS[1]}" : "''");
	if (sp_complete_by_verb(tool))
		verb_words(tool, out);
	values(tool, out);
	verbs(tool, out);
	(void)fprintf(out, "}\ncomplete -F _%s %s\n", name, name);
}
