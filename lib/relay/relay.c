/* A relay's two ways on the loop: who may be read, who may be written, what an end means. */
#include "relay/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "relay/inner.h"

#define MOVES_A_TURN 8 /* so that one busy relay does not starve the others */

static void set_watchers(struct sp_way *way)
{
	struct ev_loop *loop = way->relay->options.loop;
	bool moves = way->relay->started && !way->relay->stopped && !way->relay->paused;
	bool holds = sp_way_holds(way);

	if (moves && !way->done && !holds && !way->ended)
		ev_io_start(loop, &way->readable);
	else
		ev_io_stop(loop, &way->readable);
	if (moves && !way->done && holds)
		ev_io_start(loop, &way->writable);
	else
		ev_io_stop(loop, &way->writable);
}

static void set_all_watchers(struct sp_relay *relay)
{
	set_watchers(&relay->ways[SP_LEASE_IN]);
	set_watchers(&relay->ways[SP_LEASE_OUT]);
}

static void end_all(struct sp_relay *relay, int code)
{
	sp_relay_stop(relay);
	relay->handlers->ended(relay, relay->code ? relay->code : code, relay->context);
}

/* From the first end on there is a limit. */
static void start_limit(struct sp_relay *relay)
{
	if (relay->options.limit_ms == 0 || ev_is_active(&relay->limit))
		return;
	relay->limit.repeat = relay->options.limit_ms / 1000.;
	ev_timer_again(relay->options.loop, &relay->limit);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	end_all(watcher->data, SP_E_TIMEOUT);
}

static void pass_end_on(struct sp_way *way)
{
	struct sp_relay *relay = way->relay;

	if (relay->handlers->half)
		relay->handlers->half(relay, way->name, relay->context);
	else
		(void)shutdown(way->to, SHUT_WR);
}

/* All of an ended way is through. False: the relay is over, and gone. */
static bool finish_way(struct sp_way *way)
{
	struct sp_relay *relay = way->relay;

	way->done = true;
	if (relay->ways[!way->name].done) {
		end_all(relay, 0);
		return false;
	}
	if (relay->options.half_close)
		pass_end_on(way);
	return true;
}

/* `from` has ended. Without half_close nothing more is read of the other end either, but what was
 * read before is delivered: who ends his direction right behind a request gets its answer. */
static bool end_way(struct sp_way *way)
{
	struct sp_relay *relay = way->relay;
	struct sp_way *other = &relay->ways[!way->name];

	way->ended = true;
	if (!relay->options.half_close) {
		other->ended = true;
		other->done = !sp_way_holds(other);
	}
	start_limit(relay);
	return sp_way_holds(way) || finish_way(way);
}

/*
 * `to` takes no more. What it still says, or said before it went, is delivered first: its own end
 * ends the relay.
 */
static bool break_way(struct sp_way *way)
{
	struct sp_relay *relay = way->relay;

	sp_way_drop(way);
	way->ended = way->done = true;
	if (relay->ways[!way->name].done) {
		end_all(relay, 0);
		return false;
	}
	start_limit(relay);
	return true;
}

/* The same for a relay with frames. */
static bool take_framed_code(struct sp_way *way, int code)
{
	struct sp_relay *relay = way->relay;

	code = sp_way_framed_code(way, code);
	if (code != 1) {
		end_all(relay, code);
		return false;
	}
	if (way->half && !way->passed && !sp_way_holds(way)) {
		way->passed = true;
		pass_end_on(way);
	}
	if (way->ended || way->passed)
		start_limit(relay);
	return true;
}

/* What a move's code means. False: the relay is over, and gone. */
static bool take_code(struct sp_way *way, int code)
{
	struct sp_relay *relay = way->relay;

	if (relay->options.reader)
		return take_framed_code(way, code);
	if (code == SP_E_CLOSED)
		return end_way(way);
	if (code == -EPIPE)
		return break_way(way);
	if (code < 0 && code != -EAGAIN) {
		end_all(relay, code);
		return false;
	}
	return !way->ended || way->done || sp_way_holds(way) || finish_way(way);
}

/* One move in its bracket. 0: there may be more at once; SP_E_CONFLICT: the lease is cut. */
static int move(struct sp_way *way)
{
	struct sp_relay *relay = way->relay;
	struct sp_lease *lease = relay->options.lease;
	size_t moved;
	int code = sp_lease_enter(lease);

	if (code < 0) {
		relay->paused = true;
		set_all_watchers(relay);
		return SP_E_CONFLICT;
	}
	code = sp_way_move(way, &moved);
	sp_lease_leave(lease, way->name, moved);
	if (moved > 0 && relay->options.half_close && ev_is_active(&relay->limit))
		ev_timer_again(relay->options.loop, &relay->limit);
	return code;
}

static void on_event(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sp_way *way = watcher->data;

	(void)loop;
	(void)events;
	for (int i = 0; i < MOVES_A_TURN; i++) {
		int code = move(way);
		if (code == SP_E_CONFLICT || !take_code(way, code))
			return;
		if (code != 0 || way->done)
			break;
	}
	if (way->relay->options.alone && (way->pipe[0] >= 0 || sp_way_holds(way)))
		sp_way_share_buffers(way, &way->relay->ways[!way->name]);
	set_all_watchers(way->relay);
}

static void init_way(struct sp_relay *relay, enum sp_lease_way name, int from, int to)
{
	struct sp_way *way = &relay->ways[name];

	way->relay = relay;
	way->name = name;
	way->from = from;
	way->to = to;
	way->pipe[0] = way->pipe[1] = -1;
	ev_io_init(&way->readable, on_event, from, EV_READ);
	ev_io_init(&way->writable, on_event, to, EV_WRITE);
	way->readable.data = way->writable.data = way;
	sp_relay_bound(to);
}

int sp_relay_new(const struct sp_relay_options *options, const struct sp_relay_handlers *handlers,
    void *context, struct sp_relay **ret)
{
	struct sp_relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return -ENOMEM;
	relay->options = *options;
	relay->handlers = handlers;
	relay->context = context;
	init_way(relay, SP_LEASE_IN, options->a.in, options->b.out);
	init_way(relay, SP_LEASE_OUT, options->b.in, options->a.out);
	if (options->reader) {
		relay->options.half_close = relay->ways[SP_LEASE_IN].frames = true;
		relay->ways[SP_LEASE_OUT].reader = options->reader;
		relay->ways[SP_LEASE_OUT].half = options->reader->ended;
	}
	ev_init(&relay->limit, on_limit);
	relay->limit.data = relay;
	*ret = relay;
	return 0;
}

void sp_relay_prime(struct sp_relay *relay, enum sp_lease_way name, char *bytes, size_t size)
{
	struct sp_way *way = &relay->ways[name];

	if (size == 0) {
		free(bytes);
		return;
	}
	way->held = bytes;
	way->start = 0;
	way->end = size;
}

void sp_relay_start(struct sp_relay *relay)
{
	relay->started = true;
	set_all_watchers(relay);
}

void sp_relay_resume(struct sp_relay *relay)
{
	relay->paused = false;
	set_all_watchers(relay);
}

int64_t sp_relay_held(const struct sp_relay *relay, enum sp_lease_way name)
{
	const struct sp_way *way = &relay->ways[name];

	if (relay->stopped || way->done)
		return -1;
	return (int64_t)((way->held ? way->end - way->start : 0) + way->piped);
}

void sp_relay_check(struct sp_relay *relay)
{
	for (int i = 0; i < 2; i++) {
		const struct sp_way *way = &relay->ways[i];
		if (!relay->stopped && sp_way_holds(way) && !way->ended &&
		    sp_poll_one(way->from, 0, 0) > 0)
			start_limit(relay);
	}
}

void sp_relay_stop(struct sp_relay *relay)
{
	if (relay->stopped)
		return;
	relay->stopped = true;
	ev_timer_stop(relay->options.loop, &relay->limit);
	for (int i = 0; i < 2; i++) {
		sp_way_drop(&relay->ways[i]);
		set_watchers(&relay->ways[i]);
	}
}

void sp_relay_free(struct sp_relay *relay)
{
	if (!relay)
		return;
	sp_relay_stop(relay);
	free(relay);
}
