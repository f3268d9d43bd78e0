/* Models of three other rules, after the facts in README.md: none of them tells the receiver which
 * execution is meant. */
#include "lab.h"

#include <stdlib.h>
#include <string.h>

static const struct sandbox *of(const struct world *world, const struct event *event)
{
	return &world->sandboxes[event->sandbox];
}

/* The registry is asked each time: no cache, no state. */
static void *nothing(void)
{
	return calloc(1, 1);
}

static void learn_nothing(void *state, const struct world *world, const struct event *event)
{
	(void)state;
	(void)world;
	(void)event;
}

static int send_published(void *state, const struct world *world, const struct event *event)
{
	(void)state;
	return of(world, event)->published;
}

/* What answers at the worker of `execution` for this sandbox: whatever is in its map; 0: nothing.
 */
static int in_map(const struct sandbox *sandbox, int execution)
{
	int there = execution ? sandbox->installed[sandbox->executions[execution].worker] : 0;

	return there && sandbox->executions[there].runs ? there : 0;
}

/* --- gateway-generation: the gateway compares durably, then relays on the session of that
 * generation; when the session is superseded what is under way is played to its successor --- */

static struct delivery arrive_session(
    void *state, const struct world *world, const struct event *event, int resolved)
{
	const struct sandbox *sandbox = of(world, event);
	int session = resolved ? sandbox->published : 0;

	(void)state;
	return (struct delivery){
	    resolved, session && sandbox->executions[session].runs ? session : 0};
}

static bool move_session(
    void *state, const struct world *world, const struct event *event, int execution)
{
	const struct sandbox *sandbox = of(world, event);

	(void)state;
	return sandbox->published == execution && sandbox->executions[execution].runs;
}

const struct policy POLICY_GATEWAY_GENERATION = {"gateway-generation", nothing, free, learn_nothing,
    send_published, arrive_session, move_session};

/* --- sandbox-and-port: the worker looks the sandbox up in its live map; connections of a life that
 * ended there are reset --- */

static struct delivery arrive_map(
    void *state, const struct world *world, const struct event *event, int resolved)
{
	(void)state;
	return (struct delivery){resolved, in_map(of(world, event), resolved)};
}

static bool move_pool(
    void *state, const struct world *world, const struct event *event, int execution)
{
	(void)state;
	return in_map(of(world, event), execution) == execution;
}

const struct policy POLICY_SANDBOX_AND_PORT = {
    "sandbox-and-port", nothing, free, learn_nothing, send_published, arrive_map, move_pool};

/* --- credentials-with-repair: as the last, but resolved from a cache whose entries each hit
 * renews, and resolved once more when the worker does not know the sandbox; streams live as long as
 * their VM --- */

#define RENEWED_MS 600000

struct cached {
	int execution;
	int64_t expires;
};

struct caches {
	struct cached entries[ENTRIES][SANDBOXES];
};

static void *caches_begin(void)
{
	return calloc(1, sizeof(struct caches));
}

static int send_cached(void *state, const struct world *world, const struct event *event)
{
	struct cached *cached = &((struct caches *)state)->entries[event->entry][event->sandbox];

	if (!cached->execution || cached->expires <= world->now)
		cached->execution = of(world, event)->published;
	cached->expires = world->now + RENEWED_MS;
	return cached->execution;
}

static struct delivery arrive_repaired(
    void *state, const struct world *world, const struct event *event, int resolved)
{
	struct cached *cached = &((struct caches *)state)->entries[event->entry][event->sandbox];
	int reached = in_map(of(world, event), resolved);

	if (reached)
		return (struct delivery){resolved, reached};
	*cached = (struct cached){of(world, event)->published, world->now + RENEWED_MS};
	return (struct delivery){cached->execution, in_map(of(world, event), cached->execution)};
}

static bool move_alive(
    void *state, const struct world *world, const struct event *event, int execution)
{
	(void)state;
	return of(world, event)->executions[execution].runs;
}

const struct policy POLICY_CREDENTIALS_WITH_REPAIR = {"credentials-with-repair", caches_begin, free,
    learn_nothing, send_cached, arrive_repaired, move_alive};
