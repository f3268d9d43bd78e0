/* Completions for three shells from the one table. */
#include "cli/completion.h"

#include <errno.h>
#include <string.h>
#include "base/util.h"
#include "cli/config_keys.h"

enum sp_complete sp_complete_arguments(const struct sp_verb *verb)
{
	static const struct {
		const char *placeholder;
		enum sp_complete how;
	} rows[] = {{"SANDBOX", SP_COMPLETE_SANDBOX}, {"LEASE", SP_COMPLETE_LEASE},
	    {"SECTION", SP_COMPLETE_SECTION}, {"VERB", SP_COMPLETE_VERBS},
	    {"SHELL", SP_COMPLETE_SHELLS}, {"TOKEN", SP_COMPLETE_NOTHING}};

	if (!verb->arguments)
		return SP_COMPLETE_NOTHING;
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		if (strstr(verb->arguments, rows[i].placeholder))
			return rows[i].how;
	return SP_COMPLETE_FILES;
}

const struct sp_verb *sp_complete_verb(const struct sp_completed *tool, size_t n)
{
	const struct sp_verb *tables[] = {tool->verbs, tool->common_verbs};

	for (size_t t = 0; t < SP_COUNT(tables); t++)
		for (const struct sp_verb *verb = tables[t]; verb->name; verb++)
			if (n-- == 0)
				return verb;
	return NULL;
}

int sp_complete_head(const struct sp_verb *verb)
{
	return (int)strcspn(verb->name, " ");
}

const char *sp_complete_second(const struct sp_verb *verb)
{
	const char *space = strchr(verb->name, ' ');

	return space ? space + 1 : NULL;
}

bool sp_complete_is_new_head(const struct sp_completed *tool, size_t n)
{
	const struct sp_verb *verb = sp_complete_verb(tool, n);

	for (size_t i = 0; i < n; i++) {
		const struct sp_verb *before = sp_complete_verb(tool, i);
		if (sp_complete_head(before) == sp_complete_head(verb) &&
		    strncmp(before->name, verb->name, (size_t)sp_complete_head(verb)) == 0)
			return false;
	}
	return true;
}

void sp_complete_sections(FILE *out)
{
	const struct sp_config_key *key;
	const char *last = "";

	for (unsigned i = 0; (key = sp_config_key_at(i)); i++) {
		if (strcmp(key->section, last) != 0)
			(void)fprintf(out, "%s%s", *last ? " " : "", key->section);
		last = key->section;
	}
}

void sp_complete_choices(const char *choices, FILE *out)
{
	for (; *choices; choices++)
		(void)fputc(*choices == '|' ? ' ' : *choices, out);
}

bool sp_complete_by_verb(const struct sp_completed *tool)
{
	return tool->verbs[0].name[0] != '\0';
}

int sp_completed_print(const struct sp_completed *tool, const char *shell, FILE *out)
{
	static const struct {
		const char *shell;
		void (*print)(const struct sp_completed *tool, FILE *out);
	} shells[] = {
	    {"bash", sp_complete_bash}, {"zsh", sp_complete_zsh}, {"fish", sp_complete_fish}};

	for (size_t i = 0; i < SP_COUNT(shells); i++)
		if (strcmp(shells[i].shell, shell) == 0) {
			shells[i].print(tool, out);
			return 0;
		}
	return -EINVAL;
}

int sp_cli_completions(const struct sp_tool *tool, const char *shell, FILE *out)
{
	char maker[64];
	struct sp_completed completed = {.name = tool->name,
	    .maker = maker,
	    .verbs = tool->verbs,
	    .common_verbs = SP_COMMON_VERBS,
	    .common_options = SP_COMMON_OPTIONS};

	(void)snprintf(maker, sizeof(maker), "%s completions %.8s", tool->name, shell);
	return sp_completed_print(&completed, shell, out);
}
