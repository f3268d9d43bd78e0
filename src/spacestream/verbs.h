/* The verbs of spacestream, each in its own file. */
#ifndef SP_SPACESTREAM_VERBS_H
#define SP_SPACESTREAM_VERBS_H

#include "cli/cli.h"

sp_verb_fn spacestream_attach, spacestream_lease, spacestream_relay, spacestream_list,
    spacestream_cancel, spacestream_serve;

#define SP_LIST_TIMEOUT_MS 2000 /* one process to say what leases it holds */

#endif
