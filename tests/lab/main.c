/*
 * lab trace|run [--seed N] [--events N] [--trace FILE] [-o json|table]
 *
 * trace: prints a trace of about N events. run: replays one (FILE, - for standard input, else one
 * of the seed) under each rule of admission and prints what came of the requests and of the moves
 * on streams.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/table.h"
#include "record/lines.h"

static const struct policy *const POLICIES[] = {&POLICY_EXECUTION_BOUND, &POLICY_GATEWAY_GENERATION,
    &POLICY_SANDBOX_AND_PORT, &POLICY_CREDENTIALS_WITH_REPAIR};

enum what { REQUESTS, STREAMS, WHATS };
static const char *const WHAT_NAMES[WHATS] = {"requests", "stream-moves"};

struct tally {
	int64_t right, none;
	int64_t wrong[CAUSES]; /* at an execution that was not the current one, or not the one it
				  was resolved to */
};

/* Requests and streams under way: what they were resolved to, and for streams where they are. */
struct pending {
	int resolved, reached;
	bool ended;
};

static _Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "lab: %s: %s\n", what, why);
	exit(2);
}

/* The replacement that made the two differ. */
static enum cause cause_of(const struct sandbox *sandbox, struct delivery delivery)
{
	bool superseded = delivery.reached < sandbox->current;

	return sandbox->executions[(superseded ? delivery.reached : delivery.resolved) + 1].cause;
}

static void count(struct tally *tally, const struct sandbox *sandbox, struct delivery delivery)
{
	if (!delivery.reached)
		tally->none++;
	else if (delivery.reached == sandbox->current && delivery.reached == delivery.resolved)
		tally->right++;
	else
		tally->wrong[cause_of(sandbox, delivery)]++;
}

static void on_move(const struct policy *policy, void *state, const struct world *world,
    const struct event *event, struct pending *stream, struct tally *tally)
{
	/* What never opened is no stream; what was cut stays so. */
	if (!stream->reached)
		return;
	stream->ended = stream->ended || !policy->move(state, world, event, stream->reached);
	count(tally, &world->sandboxes[event->sandbox],
	    (struct delivery){stream->reached, stream->ended ? 0 : stream->reached});
}

static void replay_one(const struct policy *policy, void *state, const struct world *world,
    const struct event *event, struct pending *pending, struct tally tallies[WHATS])
{
	struct delivery delivery;

	switch (event->kind) {
	case EVENT_SEND:
		pending->resolved = policy->send(state, world, event);
		return;
	case EVENT_ARRIVE:
		delivery = policy->arrive(state, world, event, pending->resolved);
		count(&tallies[REQUESTS], &world->sandboxes[event->sandbox], delivery);
		return;
	case EVENT_OPEN:
		delivery = policy->arrive(state, world, event, policy->send(state, world, event));
		*pending = (struct pending){delivery.resolved, delivery.reached, false};
		return;
	case EVENT_MOVE:
		on_move(policy, state, world, event, pending, &tallies[STREAMS]);
		return;
	default:
		policy->learn(state, world, event);
		return;
	}
}

static void replay(const struct policy *policy, const struct event *events, size_t total,
    struct tally tallies[WHATS])
{
	struct world *world = calloc(1, sizeof(*world));
	struct pending *pending = calloc(PENDING, sizeof(*pending));
	void *state = policy->begin();

	if (!world || !pending || !state)
		die(policy->name, strerror(ENOMEM));
	for (size_t i = 0; i < total; i++) {
		world_apply(world, &events[i]);
		replay_one(policy, state, world, &events[i], &pending[events[i].id], tallies);
	}
	policy->end(state);
	free(pending);
	free(world);
}

static void print_json(const struct policy *policy, enum what what, const struct tally *tally)
{
	(void)printf("{\"rule\":\"%s\",\"of\":\"%s\",\"right\":%" PRId64 ",\"none\":%" PRId64
		     ",\"wrong\":{\"start\":%" PRId64 ",\"in_place\":%" PRId64 ",\"moved\":%" PRId64
		     ",\"unreached\":%" PRId64 "}}\n",
	    policy->name, WHAT_NAMES[what], tally->right, tally->none, tally->wrong[CAUSE_START],
	    tally->wrong[CAUSE_IN_PLACE], tally->wrong[CAUSE_MOVED], tally->wrong[CAUSE_UNREACHED]);
}

static void add_row(struct sp_table *table, const struct policy *policy, const struct tally *tally)
{
	const int64_t numbers[] = {tally->right, tally->none, tally->wrong[CAUSE_IN_PLACE],
	    tally->wrong[CAUSE_MOVED], tally->wrong[CAUSE_UNREACHED]};
	char texts[SP_COUNT(numbers)][24];
	const char *cells[SP_COUNT(numbers) + 1] = {policy->name};

	for (size_t i = 0; i < SP_COUNT(numbers); i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "%" PRId64, numbers[i]);
		cells[i + 1] = texts[i];
	}
	if (sp_table_add(table, SP_TONE_PLAIN, cells))
		die("table", strerror(ENOMEM));
}

static void print_table(enum what what, struct tally tallies[][WHATS])
{
	const char *const headings[] = {what == REQUESTS ? "REQUESTS" : "STREAM MOVES", "RIGHT",
	    "NONE", "IN PLACE", "MOVED", "UNREACHED", NULL};
	struct sp_table *table = sp_table_new(headings);

	if (!table)
		die("table", strerror(ENOMEM));
	for (size_t i = 0; i < SP_COUNT(POLICIES); i++)
		add_row(table, POLICIES[i], &tallies[i][what]);
	(void)sp_table_print(table, stdout, false, 0);
	sp_table_free(table);
}

static struct event *read_trace(const char *path, size_t *ret_count)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	struct sp_line_reader reader;
	struct event *events = NULL;
	size_t count = 0, room = 0, size;
	char *line;
	int got;

	if (fd < 0 || sp_line_reader_init(&reader, fd, SP_LINE_MAX))
		die(path, strerror(errno));
	while ((got = sp_line_next(&reader, &line, &size)) == 1) {
		if (count == room) {
			room = room ? room * 2 : 1024;
			events = reallocarray(events, room, sizeof(*events));
			if (!events)
				die(path, strerror(ENOMEM));
		}
		trace_parse(line, size, (unsigned)reader.number, &events[count]);
		if (count > 0 && events[count].at < events[count - 1].at)
			die(path, "the events are not in the order of time");
		count++;
	}
	if (got < 0)
		die(path, "a line is too long, or cannot be read");
	sp_line_reader_done(&reader);
	*ret_count = count;
	return events;
}

struct options {
	bool run, json;
	int64_t seed, events;
	const char *trace;
};

static struct options parse(int count, char **arguments)
{
	struct options options = {.seed = 1, .events = 200000};

	if (count < 2 || (strcmp(arguments[1], "run") && strcmp(arguments[1], "trace")))
		die("usage",
		    "lab trace|run [--seed N] [--events N] [--trace FILE] [-o json|table]");
	options.run = strcmp(arguments[1], "run") == 0;
	for (int i = 2; i < count; i += 2) {
		const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";
		if (strcmp(name, "--seed") == 0 &&
		    sp_number_parse(value, 1, INT32_MAX, &options.seed))
			continue;
		if (strcmp(name, "--events") == 0 &&
		    sp_number_parse(value, 1, PENDING, &options.events))
			continue;
		if (strcmp(name, "-o") == 0 &&
		    (strcmp(value, "json") == 0 || strcmp(value, "table") == 0))
			options.json = strcmp(value, "json") == 0;
		else if (strcmp(name, "--trace") == 0 && *value)
			options.trace = value;
		else
			die(name, "no such option, or not with this value");
	}
	return options;
}

int main(int argument_count, char **arguments)
{
	struct options options = parse(argument_count, arguments);
	struct tally tallies[SP_COUNT(POLICIES)][WHATS] = {0};
	size_t total = 0;
	sp_auto_free struct event *events =
	    options.trace ? read_trace(options.trace, &total)
			  : trace_generate((uint64_t)options.seed, (size_t)options.events, &total);

	if (!events)
		die("trace", "no events");
	for (size_t i = 0; i < total && !options.run; i++)
		trace_print(&events[i]);
	for (size_t i = 0; i < SP_COUNT(POLICIES) && options.run; i++)
		replay(POLICIES[i], events, total, tallies[i]);
	for (unsigned what = 0; what < WHATS && options.run; what++) {
		for (size_t i = 0; i < SP_COUNT(POLICIES) && options.json; i++)
			print_json(POLICIES[i], (enum what)what, &tallies[i][what]);
		if (!options.json)
			print_table((enum what)what, tallies);
	}
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
