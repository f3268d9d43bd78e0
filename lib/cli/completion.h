/* What the completions for the three shells share. */
#ifndef SP_CLI_COMPLETION_H
#define SP_CLI_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>
#include "cli/internal.h"

/* sh: the ids of all sandboxes that this machine's store or registry knows, a line each. */
#define SP_COMPLETE_SANDBOXES                                                                      \
	"{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |\n"                      \
	"\t\tsed -n 's/.*\"sandbox\":\"\\([^\"]*\\)\".*/\\1/p' | sort -u"

/* sh: the ids of this node's leases, a line each. */
#define SP_COMPLETE_LEASES                                                                         \
	"spacestream list -o json 2>/dev/null |\n"                                                 \
	"\t\tsed -n 's/.*\"lease\":\"\\([^\"]*\\)\".*/\\1/p'"

/* What is completed: a tool's table, or what was read of a script's help. */
struct sp_completed {
	const char *name;
	/* The command that prints it again, for who reads it. */
	const char *maker;
	/* Each ended by one without a name; one alone, named "": the words are the tool's own. */
	const struct sp_verb *verbs, *common_verbs;
	const struct sp_option *common_options; /* of all verbs; ended likewise */
};

/* Prints the completions for bash, zsh or fish. 0, or -EINVAL for another shell. */
int sp_completed_print(const struct sp_completed *tool, const char *shell, FILE *out);

/* Has it verbs? */
bool sp_complete_by_verb(const struct sp_completed *tool);

/* How an argument that is no option completes, by its placeholder in the table. */
enum sp_complete {
	SP_COMPLETE_NOTHING,
	SP_COMPLETE_FILES,
	SP_COMPLETE_SANDBOX,
	SP_COMPLETE_LEASE,
	SP_COMPLETE_SECTION,
	SP_COMPLETE_VERBS,
	SP_COMPLETE_SHELLS
};
enum sp_complete sp_complete_arguments(const struct sp_verb *verb);

/* The n-th verb of the tool, then of the common ones; NULL past the last. */
const struct sp_verb *sp_complete_verb(const struct sp_completed *tool, size_t n);

/* Length of a verb's first word, and its second word or NULL. */
int sp_complete_head(const struct sp_verb *verb);
const char *sp_complete_second(const struct sp_verb *verb);

/* Is the n-th verb the first with its first word? */
bool sp_complete_is_new_head(const struct sp_completed *tool, size_t n);

/* The sections of the configuration, "a b". */
void sp_complete_sections(FILE *out);

/* "a|b" as "a b". */
void sp_complete_choices(const char *choices, FILE *out);

void sp_complete_bash(const struct sp_completed *tool, FILE *out);
void sp_complete_zsh(const struct sp_completed *tool, FILE *out);
void sp_complete_fish(const struct sp_completed *tool, FILE *out);

#endif
