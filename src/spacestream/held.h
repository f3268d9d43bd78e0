/* What lease and relay share: a lease of this process, and bytes relayed under it until one of its
 * ends ends, or it is cut. */
#ifndef SP_SPACESTREAM_HELD_H
#define SP_SPACESTREAM_HELD_H

#include <ev.h>
#include "cli/cli.h"
#include "lease/lease.h"
#include "lease/live.h"
#include "relay/relay.h"

struct held;

struct held_handlers {
	/* Bytes stopped because the lease was cut or cancelled; NULL: the loop ends. */
	void (*cut)(struct held *held);
	/* The relay is over by itself (sp_relay_handlers); NULL: the loop ends. */
	void (*ended)(struct held *held, int code);
	/* A way has ended; NULL: a socket's direction is shut. */
	void (*half)(struct held *held, enum sp_lease_way way);
	/* SIGTERM, SIGINT or SIGHUP; NULL: the loop ends. */
	void (*stop)(struct held *held, int number);
};

struct held {
	struct sp_cli *cli;
	const struct sp_config *config;
	const struct held_handlers *handlers;
	void *context;
	struct ev_loop *loop;
	struct sp_store *store;
	struct sp_holder *holder;
	struct sp_lease_set *set;
	struct sp_lease_live *live;
	struct sp_lease *lease; /* NULL: it has ended */
	struct sp_relay *relay;
	ev_signal signals[3];
	ev_timer check;
	int code;     /* how the relay ended */
	int signal;   /* that told us to stop, or 0 */
	bool was_cut; /* told already */
};

/* Opens the lease that the command line asks for, and answers for it on the node. 0 or the exit
 * code, told: 10 or 11 when another route than --expect is installed, or none. `op`: for lists. */
int held_open(struct held *held, struct sp_cli *cli, const char *op);

/* Relays from here on, with the ends non-blocking. A negative code: out of memory. */
int held_relay(
    struct held *held, const struct sp_relay_end *a, const struct sp_relay_end *b, int limit_ms);

/* Runs the loop. 0, or SP_EXIT_CUT. */
int held_run(struct held *held);

void held_close(struct held *held);

#endif
