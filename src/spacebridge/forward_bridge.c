/*
 * While a stream is open (04-bridge): the end of the bridge's process cuts, its pins are looked at
 * every second, and who holds the other end, which costs more, of a share of the streams.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "spacebridge/forward_stream.h"

static struct bridge *find(struct forward *forward, const struct sp_lease_terms *terms)
{
	struct bridge *bridge;

	LIST_FOREACH(bridge, &forward->bridges, entry)
	if (bridge->epoch == terms->epoch && strcmp(bridge->sandbox, terms->identity.sandbox) == 0)
		return bridge;
	return NULL;
}

static void cut_all(struct bridge *bridge, enum sp_reason reason, const char *words)
{
	struct stream *stream;

	TAILQ_FOREACH(stream, &bridge->streams, beside)
	sp_lease_cut(stream->lease, reason, words);
}

static void on_exited(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)events;
	ev_io_stop(loop, watcher);
	cut_all(watcher->data, SP_REASON_BRIDGE_PROCESS, "the bridge has exited");
}

/* The first stream's pins become everybody's. */
static struct bridge *make(struct stream *stream)
{
	const struct sp_lease_terms *terms = sp_lease_terms(stream->lease);
	size_t size = strlen(terms->identity.sandbox) + 1;
	struct bridge *bridge = calloc(1, sizeof(*bridge) + size);
	int pidfd = sp_attest_pidfd(stream->attestation);

	if (!bridge)
		return NULL;
	memcpy(bridge->sandbox, terms->identity.sandbox, size);
	bridge->forward = stream->forward;
	bridge->epoch = terms->epoch;
	TAILQ_INIT(&bridge->streams);
	ev_io_init(&bridge->exited, on_exited, pidfd, EV_READ);
	bridge->exited.data = bridge;
	if (pidfd >= 0)
		ev_io_start(bridge->forward->loop, &bridge->exited);
	LIST_INSERT_HEAD(&bridge->forward->bridges, bridge, entry);
	return bridge;
}

int stream_join(struct stream *stream)
{
	struct bridge *bridge = NULL;

	if (!stream->attestation)
		return 0;
	bridge = find(stream->forward, sp_lease_terms(stream->lease));
	/* An epoch has one bridge: what is not the same process is a process that has ended. */
	if (bridge &&
	    !sp_attest_share(stream->attestation, TAILQ_FIRST(&bridge->streams)->attestation))
		return -ESRCH;
	if (!bridge)
		bridge = make(stream);
	if (!bridge)
		return -ENOMEM;
	stream->bridge = bridge;
	TAILQ_INSERT_TAIL(&bridge->streams, stream, beside);
	return 0;
}

void stream_leave(struct stream *stream)
{
	struct bridge *bridge = stream->bridge;

	if (!bridge)
		return;
	stream->bridge = NULL;
	TAILQ_REMOVE(&bridge->streams, stream, beside);
	if (!TAILQ_EMPTY(&bridge->streams))
		return;
	ev_io_stop(bridge->forward->loop, &bridge->exited);
	LIST_REMOVE(bridge, entry);
	free(bridge);
}

static void check_pins(struct bridge *bridge)
{
	struct sp_report report = {.failed_only = true};
	char words[SP_ERR_MAX] = "";
	enum sp_reason reason =
	    sp_attest_alive(TAILQ_FIRST(&bridge->streams)->attestation, &report);

	if (reason) {
		sp_report_words(&report, words, sizeof(words));
		cut_all(bridge, reason, words);
	}
	sp_report_done(&report);
}

static void check_held(struct stream *stream)
{
	struct sp_report report = {.failed_only = true};
	char words[SP_ERR_MAX] = "";
	enum sp_reason reason =
	    stream->attestation ? sp_attest_held(stream->attestation, &report)
				: forward_gateway_check(stream->forward, stream->behind, &report);

	if (reason) {
		sp_report_words(&report, words, sizeof(words));
		sp_lease_cut(stream->lease, reason, words);
	}
	sp_report_done(&report);
}

void forward_bridges_check(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct forward *forward = watcher->data;
	unsigned turn = ++forward->stream_turns % STREAM_TURNS;
	struct bridge *bridge;
	struct stream *stream;

	(void)events;
	if (TAILQ_EMPTY(&forward->streams))
		ev_timer_stop(loop, watcher);
	LIST_FOREACH(bridge, &forward->bridges, entry)
	check_pins(bridge);
	TAILQ_FOREACH(stream, &forward->streams, entry)
	{
		if (stream->turn == turn)
			check_held(stream);
		sp_relay_check(stream->relay);
	}
}
