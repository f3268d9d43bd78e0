/* What the files of a path share. */
#ifndef SP_CALL_INNER_H
#define SP_CALL_INNER_H

#include <sys/queue.h>
#include "call/call.h"
#include "call/endpoint.h"
#include "net/caller.h"

struct sp_path {
	struct ev_loop *loop;
	struct sp_caller *cache, *signer; /* signer NULL: minter */
	struct sp_minter *minter;
	struct sp_audit *audit;
	struct sp_endpoint_set *endpoints;
	bool no_streams;
	LIST_HEAD(waits, wait) waits;
};

/* A question that is out. It outlives the call that nobody waits for. */
struct wait {
	LIST_ENTRY(wait) link;
	struct sp_call *call;      /* NULL: cancelled, or of sp_path_where */
	sp_path_where_fn *replied; /* of sp_path_where */
	void *context;
};

/* A wait for this call, in the path's list. NULL: out of memory. */
struct wait *wait_new(struct sp_path *path, struct sp_call *call);
void wait_free(struct wait *wait);

/* Handlers of the path's endpoints (call.c). */
extern const struct sp_endpoint_handlers call_endpoint_handlers;

#endif
