/* One function for zsh: verbs are described, options and arguments are left to _arguments. */
#include "cli/completion.h"

#include <string.h>

/* Text inside single quotes, with what _arguments and _describe take for themselves escaped. */
static void text(const char *words, FILE *out)
{
	for (; *words; words++) {
		if (strchr("[]:\\", *words))
			(void)fputc('\\', out);
		if (*words == '\'')
			(void)fputs("'\\''", out);
		else
			(void)fputc(*words, out);
	}
}

static void value(const struct sp_completed *tool, const struct sp_option *option, FILE *out)
{
	switch (option->kind) {
	case SP_OPTION_FLAG:
		break;
	case SP_OPTION_SANDBOX:
		(void)fprintf(out, ":sandbox:_%s_sandboxes", tool->name);
		break;
	case SP_OPTION_CHOICE:
		(void)fputs(":choice:(", out);
		sp_complete_choices(option->choices, out);
		(void)fputc(')', out);
		break;
	case SP_OPTION_DIRECTORY:
		(void)fputs(":directory:_files -/", out);
		break;
	case SP_OPTION_FILE:
		(void)fputs(":file:_files", out);
		break;
	case SP_OPTION_TEXT:
	case SP_OPTION_NUMBER:
	case SP_OPTION_TIME:
		(void)fprintf(out, ":%s: ", option->argument);
		break;
	}
}

static bool has_letter(const struct sp_option *options, char letter)
{
	for (; options && options->name; options++)
		if (options->letter == letter)
			return true;
	return false;
}

/* `before`: options whose letters are taken. */
static void options(const struct sp_completed *tool, const struct sp_option *option,
    const struct sp_option *before, FILE *out)
{
	for (; option && option->name; option++) {
		bool flag = option->kind == SP_OPTION_FLAG;
		const char *name = option->name;
		if (option->letter && !has_letter(before, option->letter))
			(void)fprintf(out, "\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, name,
			    option->letter, flag ? "" : "+", name, flag ? "" : "=");
		else
			(void)fprintf(out, "\t\t'--%s%s[", name, flag ? "" : "=");
		text(option->help, out);
		(void)fputc(']', out);
		value(tool, option, out);
		(void)fputs("' \\\n", out);
	}
}

static void arguments(const struct sp_completed *tool, const struct sp_verb *verb, FILE *out)
{
	switch (sp_complete_arguments(verb)) {
	case SP_COMPLETE_SANDBOX:
		(void)fprintf(out, "\t\t'*:sandbox:_%s_sandboxes'\n", tool->name);
		break;
	case SP_COMPLETE_LEASE:
		(void)fprintf(out, "\t\t'*:lease:_%s_leases'\n", tool->name);
		break;
	case SP_COMPLETE_SECTION:
		(void)fputs("\t\t'*:section:(", out);
		sp_complete_sections(out);
		(void)fputs(")'\n", out);
		break;
	case SP_COMPLETE_VERBS:
		(void)fprintf(out, "\t\t'*:verb:_%s_verbs'\n", tool->name);
		break;
	case SP_COMPLETE_SHELLS:
		(void)fputs("\t\t'*:shell:(bash zsh fish)'\n", out);
		break;
	case SP_COMPLETE_FILES:
		(void)fputs("\t\t'*:file:_files'\n", out);
		break;
	case SP_COMPLETE_NOTHING:
		(void)fputs("\t\t'*: :'\n", out);
		break;
	}
}

static void describe(const struct sp_completed *tool, FILE *out)
{
	const struct sp_verb *verb;

	(void)fprintf(out, "_%s_verbs() {\n\tlocal -a verbs=( \\\n", tool->name);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		if (sp_complete_is_new_head(tool, n)) {
			(void)fprintf(out, "\t\t'%.*s:", sp_complete_head(verb), verb->name);
			text(sp_complete_second(verb) ? "..." : verb->summary, out);
			(void)fputs("' \\\n", out);
		}
	(void)fputs("\t)\n\t_describe verb verbs\n}\n", out);
}

/* The second words of all verbs that begin as this one. */
static void seconds(const struct sp_completed *tool, const struct sp_verb *first, FILE *out)
{
	const struct sp_verb *verb;
	size_t length = (size_t)sp_complete_head(first);

	(void)fprintf(out,
	    "\tif [[ $verb == %.*s ]]; then\n\t\tif (( CURRENT == 3 )); then\n"
	    "\t\t\tlocal -a seconds=( \\\n",
	    (int)length, first->name);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		if (sp_complete_second(verb) && strncmp(verb->name, first->name, length + 1) == 0) {
			(void)fprintf(out, "\t\t\t\t'%s:", sp_complete_second(verb));
			text(verb->summary, out);
			(void)fputs("' \\\n", out);
		}
	(void)fputs("\t\t\t)\n\t\t\t_describe verb seconds\n\t\t\treturn\n\t\tfi\n"
		    "\t\tverb=\"$verb $words[3]\"\n\t\tshift words\n\t\t(( CURRENT-- ))\n\tfi\n",
	    out);
}

/* What comes before a verb's own words. */
static void verb_words(const struct sp_completed *tool, FILE *out)
{
	const struct sp_verb *verb;

	(void)fprintf(out,
	    "\tif (( CURRENT == 2 )); then\n\t\t_%s_verbs\n\t\treturn\n\tfi\n"
	    "\tlocal verb=$words[2]\n",
	    tool->name);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		if (sp_complete_second(verb) && sp_complete_is_new_head(tool, n))
			seconds(tool, verb, out);
	(void)fputs("\tshift words\n\t(( CURRENT-- ))\n", out);
}

static void one_verb(const struct sp_completed *tool, const struct sp_verb *verb, FILE *out)
{
	(void)fprintf(out, "\t'%s')\n\t\t_arguments -s \\\n", verb->name);
	options(tool, verb->options, NULL, out);
	options(tool, tool->common_options, verb->options, out);
	arguments(tool, verb, out);
	(void)fputs("\t\t;;\n", out);
}

void sp_complete_zsh(const struct sp_completed *tool, FILE *out)
{
	const char *name = tool->name;
	const struct sp_verb *verb;

	(void)fprintf(out,
	    "#compdef %s\n# zsh completion for %s; generated from its table by `%s`\n"
	    "_%s_sandboxes() {\n\tcompadd -- ${(f)\"$(" SP_COMPLETE_SANDBOXES ")\"}\n}\n"
	    "_%s_leases() {\n\tcompadd -- ${(f)\"$(" SP_COMPLETE_LEASES ")\"}\n}\n",
	    name, name, tool->maker, name, name);
	if (sp_complete_by_verb(tool))
		describe(tool, out);
	(void)fprintf(out, "_%s() {\n", name);
	if (sp_complete_by_verb(tool))
		verb_words(tool, out);
	(void)fprintf(out, "\tcase %s in\n", sp_complete_by_verb(tool) ? "$verb" : "''");
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++)
		one_verb(tool, verb, out);
	(void)fprintf(out, "\tesac\n}\n_%s \"$@\"\n", name);
}
