/*
 * The agent in the guest (04-bridge, guest): JSON Lines on many connections, many requests at once
 * on each, answers matched by `id`. It answers `ok` and `error op` and nothing else; a line that is
 * no request with an id cannot be answered, and ends its connection.
 */
#ifndef SP_GUEST_AGENT_H
#define SP_GUEST_AGENT_H

#include <stdint.h>
#include "base/err.h"
#include "guest/tree.h"

struct sp_agent_config {
	const char *listen; /* "unix:PATH" or "vsock:PORT" */
	const char *root;   /* directory that paths are resolved in */
	uint32_t cid;      /* the guest's own CID where a stand-in plays the VMM; 0: the kernel's */
	const char *key;   /* where the key of the last rekey is kept; NULL: SP_AGENT_KEY on
			      AF_VSOCK, else nowhere */
	const char *audit; /* where audit lines go; NULL: stderr */
	unsigned
	    tasks_max; /* commands, removals and trees at once, of all connections; and sessions */
	struct sp_tree_limits tree; /* what one tree.put may unpack */
	uint16_t port;     /* its VSOCK port as callers know it: what port.connect refuses */
	double half_close; /* seconds that a half-closed port.connect may be idle; 0: for ever */
};

/* Where an agent on AF_VSOCK keeps its key by default: gone with the boot that it is of. */
#define SP_AGENT_KEY "/run/spaced-guest.key"

/* Serves until SIGTERM or SIGINT. 0 or a negative code. */
int sp_agent_run(const struct sp_agent_config *config, struct sp_err *err);

#endif
