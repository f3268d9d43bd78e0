/* Traces from a seed: sandboxes that are resumed in place, moved, and moved away from workers that
 * cannot be reached; requests of which some are late, streams that outlast the execution they were
 * opened on. */
#include "lab.h"

#include <stdlib.h>

#define HOUSES  64      /* sandboxes in use */
#define HOUR    3600000 /* all happens within it */
#define SETTLED 1000    /* everything has started */

struct maker {
	uint64_t seed;
	struct event *events;
	size_t count, room;
	int ids;
	int executions[HOUSES], workers[HOUSES];
};

/* xorshift64*: the same everywhere. */
static uint64_t any(struct maker *maker, uint64_t below)
{
	maker->seed ^= maker->seed >> 12;
	maker->seed ^= maker->seed << 25;
	maker->seed ^= maker->seed >> 27;
	return (maker->seed * 0x2545f4914f6cdd1dULL >> 33) % below;
}

static void add(struct maker *maker, struct event event)
{
	if (maker->count < maker->room)
		maker->events[maker->count++] = event;
}

static void lifecycle(
    struct maker *maker, int64_t at, enum event_kind kind, int sandbox, int execution)
{
	add(maker,
	    (struct event){.at = at, .kind = kind, .sandbox = sandbox, .execution = execution});
}

static void install(struct maker *maker, int64_t at, int sandbox, int worker, enum cause cause)
{
	int execution = ++maker->executions[sandbox];

	maker->workers[sandbox] = worker;
	add(maker, (struct event){.at = at,
		       .kind = EVENT_INSTALL,
		       .sandbox = sandbox,
		       .execution = execution,
		       .worker = worker,
		       .cause = cause});
	lifecycle(maker, at + 200 + (int64_t)any(maker, 800), EVENT_PUBLISH, sandbox, execution);
}

/* In the order of bin/sandbox: fence, snapshot, install, publish, retire. What cannot be reached is
 * not fenced, and retired only when it is back. */
static void replace(struct maker *maker, int64_t at, int sandbox)
{
	enum cause cause = (enum cause)(CAUSE_IN_PLACE + any(maker, 3));
	int old = maker->executions[sandbox], from = maker->workers[sandbox];
	int to =
	    cause == CAUSE_IN_PLACE ? from : (from + 1 + (int)any(maker, WORKERS - 1)) % WORKERS;
	int64_t over = cause == CAUSE_UNREACHED ? at + 60000 + (int64_t)any(maker, 240000)
						: at + 3000 + (int64_t)any(maker, 20000);

	if (cause != CAUSE_UNREACHED)
		lifecycle(maker, at, EVENT_FENCE, sandbox, old);
	if (cause == CAUSE_IN_PLACE)
		lifecycle(maker, at + 900, EVENT_STOP, sandbox, old);
	install(maker, at + 1000, sandbox, to, cause);
	lifecycle(maker, over, EVENT_RETIRE, sandbox, old);
}

static void live(struct maker *maker, int sandbox)
{
	install(
	    maker, (int64_t)any(maker, SETTLED), sandbox, (int)any(maker, WORKERS), CAUSE_START);
	for (int64_t at = SETTLED * 2; maker->executions[sandbox] < EXECUTIONS - 1;) {
		at += 30000 + (int64_t)any(maker, 600000);
		if (at > HOUR)
			return;
		replace(maker, at, sandbox);
	}
}

/* Most take some milliseconds, one in twenty half a minute at most, a few longer than a capability
 * lives. */
static int64_t under_way(struct maker *maker)
{
	uint64_t kind = any(maker, 200);

	if (kind == 0)
		return 1000 + (int64_t)any(maker, 200000);
	return kind <= 10 ? 1000 + (int64_t)any(maker, 30000) : 1 + (int64_t)any(maker, 20);
}

static void request(struct maker *maker)
{
	struct event event = {.at = SETTLED * 2 + (int64_t)any(maker, HOUR),
	    .kind = EVENT_SEND,
	    .sandbox = (int)any(maker, HOUSES),
	    .entry = (int)any(maker, ENTRIES),
	    .id = maker->ids++};

	add(maker, event);
	event.at += under_way(maker);
	event.kind = EVENT_ARRIVE;
	add(maker, event);
}

static void stream(struct maker *maker)
{
	struct event event = {.at = SETTLED * 2 + (int64_t)any(maker, HOUR),
	    .kind = EVENT_OPEN,
	    .sandbox = (int)any(maker, HOUSES),
	    .entry = (int)any(maker, ENTRIES),
	    .id = maker->ids++};
	unsigned moves = 1 + (unsigned)any(maker, 40);

	add(maker, event);
	event.kind = EVENT_MOVE;
	while (moves-- > 0) {
		event.at += 100 + (int64_t)any(maker, 30000);
		add(maker, event);
	}
}

/* An entry is told of new routes, but for some minutes now and then. */
static void watch(struct maker *maker, int entry)
{
	struct event event = {.kind = EVENT_ENTRY, .entry = entry, .watch = true};

	for (; event.at < HOUR; event.watch = !event.watch) {
		add(maker, event);
		event.at += event.watch ? 60000 + (int64_t)any(maker, 1200000)
					: 1000 + (int64_t)any(maker, 300000);
	}
}

/* Of one instant, in the order in which they were made: qsort keeps none. */
static int by_time(const void *a, const void *b)
{
	const struct event *one = a, *two = b;

	if (one->at != two->at)
		return one->at < two->at ? -1 : 1;
	if (one->kind != two->kind)
		return one->kind < two->kind ? -1 : 1;
	if (one->sandbox != two->sandbox)
		return one->sandbox < two->sandbox ? -1 : 1;
	return one->id < two->id ? -1 : one->id > two->id;
}

struct event *trace_generate(uint64_t seed, size_t count, size_t *ret_count)
{
	struct maker maker = {.seed = seed * 0x9e3779b97f4a7c15ULL + 1, .room = count};

	maker.events = calloc(count, sizeof(*maker.events));
	if (!maker.events)
		return NULL;
	for (int entry = 0; entry < ENTRIES; entry++)
		watch(&maker, entry);
	for (int sandbox = 0; sandbox < HOUSES; sandbox++)
		live(&maker, sandbox);
	while (maker.count < maker.room && maker.ids < PENDING)
		if (any(&maker, 20))
			request(&maker);
		else
			stream(&maker);
	qsort(maker.events, maker.count, sizeof(*maker.events), by_time);
	*ret_count = maker.count;
	return maker.events;
}
