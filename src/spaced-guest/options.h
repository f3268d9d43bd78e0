/* The agent's command line: one table, as those of lib/cli, without what a guest does not have. */
#ifndef SP_SPACED_GUEST_OPTIONS_H
#define SP_SPACED_GUEST_OPTIONS_H

#include <stdio.h>
#include "guest/agent.h"

enum guest_wanted { GUEST_SERVE, GUEST_HELP, GUEST_VERSION, GUEST_LIBRARIES };

/* Takes the words from argv[1] on into `config`, which has the defaults; its texts point into argv.
 * 0, or SP_E_USAGE with words: the option, what is wrong with it, and the nearest one. */
int guest_options(int argc, char **argv, struct sp_agent_config *config,
    enum guest_wanted *ret_wanted, struct sp_err *err);

/* The help, laid out as the tools': the completions are made of it. */
void guest_help(FILE *out);

#endif
