/*
 * A trace of the soak: what happens to which sandbox, worker or server once so many operations have
 * been answered. It is counted in operations, not in seconds, so that a slow machine lives through
 * the same as a fast one.
 *
 *     soak 1 seed 7 sandboxes 100 ops 30000 streams 8
 *     250 migrate 17 5577006791947779410
 *
 * An event is: when, what, whom, and a number that all its choices are made from. Each makes sense
 * whatever came before it, so that a trace may be cut down to any part of itself.
 */
#ifndef SOAK_TRACE_H
#define SOAK_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SANDBOXES_MIN 8
#define SANDBOXES_MAX 1000
#define WORKERS       2
#define CALLERS       6 /* clients that one event may kill */
#define GATEWAYS      4 /* sandboxes that have one on each worker */

enum event_kind {
	/* a sandbox */
	RESUME, /* the next execution, on the same worker */
	MIGRATE,
	LOSE, /* migrate away from a worker that is not told */
	TELL, /* ... and now it is */
	ATTEMPT,
	PAUSE,
	RETIRE,
	FENCE,
	FENCE_CUT,
	HANDOFF,
	LATE, /* what was asked for an earlier execution comes once more */
	KILL_HOST,
	KILL_VMM,
	KILL_GUEST,
	STALL_HOST,
	STALL_VMM,
	RESET_VMM, /* its connections end, again and again for a while */
	/* a worker */
	KILL_MANAGER,
	STOP_MANAGER,
	STALL_MANAGER,
	SKEW,   /* its clock is wrong by less than is forgiven */
	BROKEN, /* ... by more */
	/* a gateway */
	KILL_GATEWAY,
	STALL_GATEWAY,
	/* the control plane */
	KILL_CACHE,
	STALL_CACHE,
	KILL_SIGNER,
	STALL_SIGNER,
	ROTATE, /* the signer's key */
	/* a client */
	KILL_CALLER,
	EVENT_KINDS
};

enum event_target { ON_SANDBOX, ON_WORKER, ON_GATEWAY, ON_CONTROL, ON_CALLER };

struct event {
	uint64_t at;
	enum event_kind kind;
	unsigned target;
	uint64_t salt;
};

struct trace {
	uint64_t seed, ops;
	unsigned sandboxes, streams;
	struct event *events;
	size_t count;
};

extern const struct event_row {
	const char *name;
	enum event_target target;
	unsigned weight;
} EVENT_ROWS[EVENT_KINDS];

/* Numbers that look random, the same everywhere: the n-th of a seed. */
uint64_t soak_mix(uint64_t seed, uint64_t n);

/* An event for each `every` operations. False: out of memory. */
bool trace_generate(struct trace *trace, uint64_t every);
void trace_print(const struct trace *trace, FILE *out);
/* False: no such file, or said on stderr which line is none. */
bool trace_read(const char *path, struct trace *ret);

#endif
