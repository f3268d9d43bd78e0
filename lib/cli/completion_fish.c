/* Rules for fish, each with the words that must stand before it. */
#include "cli/completion.h"

#include <string.h>

/* A single-quoted word's inside. */
static void text(const char *words, FILE *out)
{
	for (; *words; words++) {
		if (*words == '\'' || *words == '\\')
			(void)fputc('\\', out);
		(void)fputc(*words, out);
	}
}

static bool has_letter(const struct sp_option *options, char letter)
{
	for (; options && options->name; options++)
		if (options->letter == letter)
			return true;
	return false;
}

/* The beginning of a rule: where it holds. */
static void rule(const struct sp_completed *tool, const struct sp_verb *verb, FILE *out)
{
	(void)fprintf(out, "complete -c %s", tool->name);
	if (sp_complete_by_verb(tool))
		(void)fprintf(out, " -n '__fish_%s_after %s'", tool->name, verb->name);
}

static void options(const struct sp_completed *tool, const struct sp_verb *verb,
    const struct sp_option *option, const struct sp_option *before, FILE *out)
{
	for (; option && option->name; option++) {
		rule(tool, verb, out);
		(void)fprintf(out, " -l %s", option->name);
		if (option->letter && !has_letter(before, option->letter))
			(void)fprintf(out, " -s %c", option->letter);
		switch (option->kind) {
		case SP_OPTION_FLAG:
			break;
		case SP_OPTION_SANDBOX:
			(void)fprintf(out, " -x -a '(__fish_%s_sandboxes)'", tool->name);
			break;
		case SP_OPTION_CHOICE:
			(void)fputs(" -x -a '", out);
			sp_complete_choices(option->choices, out);
			(void)fputc('\'', out);
			break;
		case SP_OPTION_DIRECTORY:
			(void)fputs(" -x -a '(__fish_complete_directories)'", out);
			break;
		case SP_OPTION_FILE:
			(void)fputs(" -r -F", out);
			break;
		case SP_OPTION_TEXT:
		case SP_OPTION_NUMBER:
		case SP_OPTION_TIME:
			(void)fputs(" -x", out);
			break;
		}
		(void)fputs(" -d '", out);
		text(option->help, out);
		(void)fputs("'\n", out);
	}
}

static void arguments(const struct sp_completed *tool, const struct sp_verb *verb, FILE *out)
{
	enum sp_complete how = sp_complete_arguments(verb);
	const struct sp_verb *other;

	if (how == SP_COMPLETE_NOTHING)
		return;
	rule(tool, verb, out);
	if (how == SP_COMPLETE_FILES) {
		(void)fputs(" -F\n", out);
		return;
	}
	(void)fputs(" -a '", out);
	if (how == SP_COMPLETE_SANDBOX)
		(void)fprintf(out, "(__fish_%s_sandboxes)", tool->name);
	else if (how == SP_COMPLETE_LEASE)
		(void)fprintf(out, "(__fish_%s_leases)", tool->name);
	else if (how == SP_COMPLETE_SECTION)
		sp_complete_sections(out);
	else if (how == SP_COMPLETE_SHELLS)
		(void)fputs("bash zsh fish", out);
	else
		for (size_t n = 0; (other = sp_complete_verb(tool, n)); n++)
			if (sp_complete_is_new_head(tool, n))
				(void)fprintf(out, "%.*s ", sp_complete_head(other), other->name);
	(void)fputs("'\n", out);
}

static void verb_words(const struct sp_completed *tool, size_t n, FILE *out)
{
	const struct sp_verb *verb = sp_complete_verb(tool, n);
	const char *second = sp_complete_second(verb);
	int head = sp_complete_head(verb);

	if (sp_complete_is_new_head(tool, n)) {
		(void)fprintf(out, "complete -c %s -n __fish_%s_at -a %.*s -d '", tool->name,
		    tool->name, head, verb->name);
		text(second ? "..." : verb->summary, out);
		(void)fputs("'\n", out);
	}
	if (second) {
		(void)fprintf(out, "complete -c %s -n '__fish_%s_at %.*s' -a %s -d '", tool->name,
		    tool->name, head, verb->name, second);
		text(verb->summary, out);
		(void)fputs("'\n", out);
	}
}

void sp_complete_fish(const struct sp_completed *tool, FILE *out)
{
	const char *name = tool->name;
	const struct sp_verb *verb;

	(void)fprintf(out,
	    "# fish completion for %s; generated from its table by `%s`\n"
	    /* Do the words after the tool's name begin with these; are they these alone? */
	    "function __fish_%s_after\n\tset -l words (commandline -opc)[2..-1]\n"
	    "\tset -l count (count $argv)\n\ttest \"$words[1..$count]\" = \"$argv\"\nend\n"
	    "function __fish_%s_at\n\tset -l words (commandline -opc)[2..-1]\n"
	    "\ttest \"$words\" = \"$argv\"\nend\n"
	    "function __fish_%s_sandboxes\n"
	    "\tbegin\n\t\tspaceid list -o json\n\t\tspacerouted list -o json\n\tend 2>/dev/null |\n"
	    "\t\tsed -n 's/.*\"sandbox\":\"\\\\([^\"]*\\\\)\".*/\\\\1/p' | sort -u\nend\n"
	    "function __fish_%s_leases\n\tspacestream list -o json 2>/dev/null |\n"
	    "\t\tsed -n 's/.*\"lease\":\"\\\\([^\"]*\\\\)\".*/\\\\1/p'\nend\n"
	    "complete -c %s -f\n",
	    name, tool->maker, name, name, name, name, name);
	for (size_t n = 0; (verb = sp_complete_verb(tool, n)); n++) {
		if (sp_complete_by_verb(tool))
			verb_words(tool, n, out);
		options(tool, verb, verb->options, NULL, out);
		options(tool, verb, tool->common_options, verb->options, out);
		arguments(tool, verb, out);
	}
}
