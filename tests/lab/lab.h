/*
 * The lab: one trace of events, replayed under several rules of admission, and how many requests
 * each rule lets reach an execution that they were not meant for. The rules of this toolkit are its
 * real ones (lib/); the others are models of what was read about their kind.
 */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/route.h"

#define WORKERS    4
#define ENTRIES    4 /* instances of the entry, each with a cache of its own */
#define SANDBOXES  512
#define EXECUTIONS 256     /* of one sandbox */
#define PENDING    1048576 /* requests and streams of one trace */

enum event_kind {
	EVENT_ENTRY,   /* an entry's watch: whether it is told of new routes */
	EVENT_FENCE,   /* the worker of the current execution is told to serve it no more */
	EVENT_INSTALL, /* the next execution runs, on `worker`; it is the current one from now on */
	EVENT_PUBLISH, /* its route is in the registry */
	EVENT_RETIRE,  /* the worker is told that an execution is over */
	EVENT_STOP,    /* an execution's VM ends */
	EVENT_SEND,    /* a request leaves the caller and is resolved by an entry */
	EVENT_ARRIVE,  /* it is at the place it was sent to */
	EVENT_OPEN,    /* a stream, resolved by an entry */
	EVENT_MOVE,    /* bytes on it */
};

/* How an execution came to be: what a delivery is counted under that it made wrong. */
enum cause { CAUSE_START, CAUSE_IN_PLACE, CAUSE_MOVED, CAUSE_UNREACHED, CAUSES };

struct event {
	int64_t at; /* milliseconds */
	enum event_kind kind;
	int sandbox, execution, worker, entry;
	int id; /* of a request or a stream */
	enum cause cause;
	bool watch;
};

/* --- the world: what is the case, whatever anybody believes (world.c) --- */

struct execution {
	int worker;
	bool runs;
	enum cause cause; /* of its coming to be */
};

struct sandbox {
	int current;   /* the execution that was installed last; 0: none */
	int published; /* what the registry says */
	struct execution executions[EXECUTIONS];
	int installed[WORKERS]; /* what each worker holds to be its execution of this sandbox; 0:
				   none */
};

struct world {
	int64_t now;
	struct sandbox sandboxes[SANDBOXES];
	bool watches[ENTRIES];
};

void world_apply(struct world *world, const struct event *event);

/* --- a rule of admission --- */

/* Where an attempt came to: an execution, or a refusal. */
struct delivery {
	int resolved; /* the execution that its route was resolved to, last */
	int reached;  /* 0: refused, or nothing was there any more */
};

struct policy {
	const char *name;
	void *(*begin)(void); /* NULL: out of memory */
	void (*end)(void *state);
	/* After the world has changed by it. */
	void (*learn)(void *state, const struct world *world, const struct event *event);
	/* Resolves; the execution, 0: none. */
	int (*send)(void *state, const struct world *world, const struct event *event);
	/* What was resolved arrives. */
	struct delivery (*arrive)(
	    void *state, const struct world *world, const struct event *event, int resolved);
	/* Whether a stream that was opened on `execution` may still move bytes to it. */
	bool (*move)(
	    void *state, const struct world *world, const struct event *event, int execution);
};

extern const struct policy POLICY_EXECUTION_BOUND, POLICY_GATEWAY_GENERATION,
    POLICY_SANDBOX_AND_PORT, POLICY_CREDENTIALS_WITH_REPAIR;

/* --- traces (trace.c, generate.c) --- */

/* One line; exits with 3 and a message that names the line when it is none. */
void trace_parse(const char *text, size_t size, unsigned line, struct event *ret);
void trace_print(const struct event *event);

/* About `count` events, the same for the same seed; sorted. For free(). */
struct event *trace_generate(uint64_t seed, size_t count, size_t *ret_count);

#endif
