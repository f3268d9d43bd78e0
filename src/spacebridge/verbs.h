/* The verbs of spacebridge, each in its own file. */
#ifndef SP_SPACEBRIDGE_VERBS_H
#define SP_SPACEBRIDGE_VERBS_H

#include "cli/cli.h"

sp_verb_fn verb_attest, verb_connect, verb_forward, verb_gateway, verb_guest, verb_host, verb_send,
    verb_sockets;

/* The one sandbox that a role is for, by --sandbox or as the argument. NULL: told. */
const char *role_sandbox(struct sp_cli *cli, const char *role);

#endif
