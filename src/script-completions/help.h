/* A script's help, read as the table that it is. */
#ifndef SP_SCRIPT_COMPLETIONS_HELP_H
#define SP_SCRIPT_COMPLETIONS_HELP_H

#include "cli/completion.h"

#define SP_SCRIPT_VERBS_MAX 16

struct sp_script {
	size_t count; /* of its verbs; of one without verbs: 1, whose name is "" */
	struct sp_verb verbs[SP_SCRIPT_VERBS_MAX + 1];
	struct sp_option options[SP_SCRIPT_VERBS_MAX][SP_CLI_OPTIONS_MAX + 1];
};

/* Reads what `TOOL --help` or `TOOL help VERB` prints, up to its examples. What it finds points
 * into `text`, which it changes. 0, or -EINVAL where it is no such help. */
int sp_script_read(char *text, struct sp_script *ret);

#endif
