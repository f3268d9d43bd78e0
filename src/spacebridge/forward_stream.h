/*
 * A stream of the manager's, and the bridge that it goes through: what forward_stream.c (its life)
 * and forward_bridge.c (looking after what was attested) share.
 */
#ifndef SP_SPACEBRIDGE_FORWARD_STREAM_H
#define SP_SPACEBRIDGE_FORWARD_STREAM_H

#include "relay/relay.h"
#include "spacebridge/forward.h"

#define STREAM_TURNS 25 /* seconds within which every bridge is asked what it still holds */

struct stream {
	TAILQ_ENTRY(stream) entry;
	struct streams *list; /* that it is in: opening, then streams */
	struct forward *forward;
	int client;
	struct sp_attestation *attestation; /* of the bridge; NULL: behind it is a gateway */
	int behind;                         /* the connection to either */
	struct sp_lease_asked asked;        /* its texts are ours */
	char *caller, *id_json;
	char kid[SP_KID_SIZE], jti[SP_JTI_SIZE];
	int64_t received_us, opened_ms;
	int64_t from;  /* as in bridge/answer.h */
	char *rest[2]; /* what came behind the lines, by way; heap */
	size_t rest_size[2];
	struct sp_lease *lease;
	struct sp_relay *relay;
	struct bridge *bridge; /* with a lease; NULL: a gateway */
	TAILQ_ENTRY(stream) beside;
	unsigned turn; /* second in which it is asked what is held */
	char id[];
};

/* One bridge in one epoch: its process is pinned once, for all streams through it. */
struct bridge {
	LIST_ENTRY(bridge) entry;
	struct forward *forward;
	int64_t epoch;
	TAILQ_HEAD(, stream) streams;
	ev_io exited;
	char sandbox[];
};

/* --- forward_bridge.c --- */

/* From here on it is looked after. 0, -ENOMEM, or -ESRCH: the bridge has ended. */
int stream_join(struct stream *stream);
void stream_leave(struct stream *stream);

/* Once a second: (the callback of forward->stream_timer) */
void forward_bridges_check(struct ev_loop *loop, ev_timer *watcher, int events);

#endif
