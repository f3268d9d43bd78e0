/* Traces: made from a seed, printed, read. */
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct event_row EVENT_ROWS[EVENT_KINDS] = {
    [RESUME] = {"resume", ON_SANDBOX, 42},
    [MIGRATE] = {"migrate", ON_SANDBOX, 42},
    [LOSE] = {"lose", ON_SANDBOX, 18},
    [TELL] = {"tell", ON_SANDBOX, 0},
    [ATTEMPT] = {"attempt", ON_SANDBOX, 24},
    [PAUSE] = {"pause", ON_SANDBOX, 12},
    [RETIRE] = {"retire", ON_SANDBOX, 12},
    [FENCE] = {"fence", ON_SANDBOX, 9},
    [FENCE_CUT] = {"fence-cut", ON_SANDBOX, 9},
    [HANDOFF] = {"handoff", ON_SANDBOX, 12},
    [LATE] = {"late", ON_SANDBOX, 24},
    [KILL_HOST] = {"kill-host", ON_SANDBOX, 15},
    [KILL_VMM] = {"kill-vmm", ON_SANDBOX, 15},
    [KILL_GUEST] = {"kill-guest", ON_SANDBOX, 9},
    [STALL_HOST] = {"stall-host", ON_SANDBOX, 9},
    [STALL_VMM] = {"stall-vmm", ON_SANDBOX, 9},
    [RESET_VMM] = {"reset-vmm", ON_SANDBOX, 15},
    [KILL_MANAGER] = {"kill-manager", ON_WORKER, 2},
    [STOP_MANAGER] = {"stop-manager", ON_WORKER, 1},
    [STALL_MANAGER] = {"stall-manager", ON_WORKER, 1},
    [SKEW] = {"skew", ON_WORKER, 1},
    [BROKEN] = {"broken", ON_WORKER, 1},
    [KILL_GATEWAY] = {"kill-gateway", ON_GATEWAY, 1},
    [STALL_GATEWAY] = {"stall-gateway", ON_GATEWAY, 1},
    [KILL_CACHE] = {"kill-cache", ON_CONTROL, 2},
    [STALL_CACHE] = {"stall-cache", ON_CONTROL, 1},
    [KILL_SIGNER] = {"kill-signer", ON_CONTROL, 1},
    [STALL_SIGNER] = {"stall-signer", ON_CONTROL, 1},
    [ROTATE] = {"rotate", ON_CONTROL, 1},
    [KILL_CALLER] = {"kill-caller", ON_CALLER, 2},
};

/* What must come after it, so many operations later at the least and so many more at the most. */
static const struct {
	enum event_kind kind, then;
	unsigned least, more;
} SEQUELS[] = {
    {LOSE, TELL, 1000, 8000},
    {PAUSE, MIGRATE, 500, 4000},
    {RETIRE, RESUME, 500, 4000},
    {BROKEN, SKEW, 1500, 1500},
};

/* splitmix64. */
uint64_t soak_mix(uint64_t seed, uint64_t n)
{
	uint64_t x = seed * 0xd1342543de82ef95ULL + (n + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Each kind once, in some order, then by weight. */
static enum event_kind choose(const struct trace *trace, size_t nth, uint64_t number)
{
	enum event_kind kinds[EVENT_KINDS];
	unsigned total = 0;

	for (unsigned i = 0; i < EVENT_KINDS; i++) {
		unsigned j = (unsigned)(soak_mix(~trace->seed, i) % (i + 1));
		kinds[i] = kinds[j];
		kinds[j] = (enum event_kind)i;
	}
	if (nth < EVENT_KINDS)
		return kinds[nth];

	for (int kind = 0; kind < EVENT_KINDS; kind++)
		total += EVENT_ROWS[kind].weight;
	number %= total;
	for (int kind = 0;; number -= EVENT_ROWS[kind++].weight)
		if (number < EVENT_ROWS[kind].weight)
			return (enum event_kind)kind;
}

static unsigned whom(const struct trace *trace, enum event_kind kind, uint64_t number)
{
	static const unsigned among[] = {[ON_WORKER] = WORKERS,
	    [ON_GATEWAY] = GATEWAYS * WORKERS,
	    [ON_CONTROL] = 1,
	    [ON_CALLER] = CALLERS};

	return (unsigned)(number % (EVENT_ROWS[kind].target == ON_SANDBOX
					   ? trace->sandboxes
					   : among[EVENT_ROWS[kind].target]));
}

static int by_time(const void *a, const void *b)
{
	const struct event *one = a, *two = b;

	if (one->at != two->at)
		return one->at < two->at ? -1 : 1;
	return one->salt < two->salt ? -1 : one->salt > two->salt;
}

bool trace_generate(struct trace *trace, uint64_t every)
{
	size_t room = 2 * (size_t)(trace->ops / every) + 2;
	uint64_t n = 0;

	trace->count = 0;
	trace->events = calloc(room, sizeof(*trace->events));
	if (!trace->events)
		return false;
	for (uint64_t at = every; at < trace->ops; at += every, n += 4) {
		enum event_kind kind = choose(trace, (size_t)(n / 4), soak_mix(trace->seed, n));
		struct event event = {.at = at,
		    .kind = kind,
		    .target = whom(trace, kind, soak_mix(trace->seed, n + 1)),
		    .salt = soak_mix(trace->seed, n + 2)};
		trace->events[trace->count++] = event;
		for (size_t i = 0; i < sizeof(SEQUELS) / sizeof(*SEQUELS); i++) {
			if (SEQUELS[i].kind != kind)
				continue;
			event.kind = SEQUELS[i].then;
			event.at += SEQUELS[i].least + event.salt % SEQUELS[i].more;
			event.salt = soak_mix(trace->seed, n + 3);
			trace->events[trace->count++] = event;
		}
	}
	qsort(trace->events, trace->count, sizeof(*trace->events), by_time);
	return true;
}

void trace_print(const struct trace *trace, FILE *out)
{
	(void)fprintf(out, "soak 1 seed %" PRIu64 " sandboxes %u ops %" PRIu64 " streams %u\n",
	    trace->seed, trace->sandboxes, trace->ops, trace->streams);
	for (size_t i = 0; i < trace->count; i++)
		(void)fprintf(out, "%" PRIu64 " %s %u %" PRIu64 "\n", trace->events[i].at,
		    EVENT_ROWS[trace->events[i].kind].name, trace->events[i].target,
		    trace->events[i].salt);
}

static bool read_event(const struct trace *trace, const char *line, struct event *ret)
{
	char name[32];

	if (sscanf(line, "%" SCNu64 " %31s %u %" SCNu64, &ret->at, name, &ret->target,
		&ret->salt) != 4)
		return false;
	for (int kind = 0; kind < EVENT_KINDS; kind++)
		if (strcmp(name, EVENT_ROWS[kind].name) == 0) {
			ret->kind = (enum event_kind)kind;
			return ret->target == whom(trace, ret->kind, ret->target);
		}
	return false;
}

static bool read_head(const char *line, struct trace *ret)
{
	return sscanf(line, "soak 1 seed %" SCNu64 " sandboxes %u ops %" SCNu64 " streams %u",
		   &ret->seed, &ret->sandboxes, &ret->ops, &ret->streams) == 4 &&
	       ret->sandboxes >= SANDBOXES_MIN && ret->sandboxes <= SANDBOXES_MAX &&
	       ret->streams <= 64;
}

static bool read_line(struct trace *trace, size_t number, const char *line)
{
	struct event *more;

	if (number == 1)
		return read_head(line, trace);
	more = reallocarray(trace->events, trace->count + 1, sizeof(*more));
	if (!more)
		return false;
	trace->events = more;
	return read_event(trace, line, &trace->events[trace->count++]);
}

bool trace_read(const char *path, struct trace *ret)
{
	FILE *file = fopen(path, "re");
	char line[256];
	size_t number = 0;
	bool good = file != NULL;

	*ret = (struct trace){.seed = 0};
	if (!file)
		perror(path);
	while (good && fgets(line, sizeof(line), file)) {
		good = read_line(ret, ++number, line);
		if (!good)
			(void)fprintf(
			    stderr, "soak: %s: line %zu is none of a trace\n", path, number);
	}
	if (file)
		(void)fclose(file);
	return good && number > 0;
}
