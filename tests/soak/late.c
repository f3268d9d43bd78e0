/*
 * Requests that are held back between mint and send, and sent once or several times, some of them
 * forged: `route | mint` makes them, two `send` carry them.
 */
#include "soak.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/lines.h"

#define SENDERS  2
#define ASKED    4096 /* waited for, of one filter */
#define HELD_MAX 8192

/* Who is told of an answer. */
struct asker {
	sent_fn *answered;
	void *context;
};

struct filter {
	pid_t pid;
	int in;
	struct sp_line_reader answers;
	ev_io readable, writable;
	struct asker askers[ASKED];
	unsigned first, asked;
	char *bytes; /* to be written */
	size_t used, room;
};

/* One sending of a held request. */
struct held {
	struct held *next;
	struct op op;
	unsigned copy;
	uint64_t due;
	int64_t asked_at, minted_at, begin;
	struct minted minted;
	char *line;
	size_t size;
};

static struct {
	struct filter mint, senders[SENDERS];
	struct held *held;
	unsigned held_count, out;
} self;

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct filter *filter = watcher->data;
	char *line;
	size_t size;
	int got;

	(void)loop;
	(void)events;
	while ((got = sp_line_next(&filter->answers, &line, &size)) == 1) {
		struct asker asker = filter->askers[filter->first];
		if (filter->asked == 0)
			die("late", "an answer to nothing");
		filter->first = (filter->first + 1) % ASKED;
		filter->asked--;
		asker.answered(asker.context, line);
	}
	if (got != -EAGAIN)
		die("late", "a filter has ended");
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct filter *filter = watcher->data;
	ssize_t n = sp_write_some(filter->in, filter->bytes, filter->used);

	(void)events;
	if (n > 0) {
		filter->used -= (size_t)n;
		memmove(filter->bytes, filter->bytes + n, filter->used);
	}
	if (filter->used == 0)
		ev_io_stop(loop, watcher);
}

static void filter_open(struct filter *filter, const char *name, const char *const argv[])
{
	int out;

	filter->pid = filter_start(name, argv, &filter->in, &out);
	if (sp_line_reader_init(&filter->answers, out, SP_LINE_MAX) < 0)
		die(name, "out of memory");
	ev_io_init(&filter->readable, on_readable, out, EV_READ);
	ev_io_init(&filter->writable, on_writable, filter->in, EV_WRITE);
	filter->readable.data = filter->writable.data = filter;
	ev_io_start(soak.loop, &filter->readable);
}

static void filter_ask(
    struct filter *filter, const char *line, size_t size, sent_fn *answered, void *context)
{
	if (filter->asked == ASKED)
		die("late", "too many are waited for");
	filter->askers[(filter->first + filter->asked++) % ASKED] =
	    (struct asker){answered, context};
	if (filter->used + size > filter->room) {
		filter->room = 2 * (filter->used + size);
		filter->bytes = realloc(filter->bytes, filter->room);
		if (!filter->bytes)
			die("late", "out of memory");
	}
	memcpy(filter->bytes + filter->used, line, size);
	filter->used += size;
	ev_io_start(soak.loop, &filter->writable);
}

static void filter_close(struct filter *filter)
{
	ev_io_stop(soak.loop, &filter->readable);
	ev_io_stop(soak.loop, &filter->writable);
	(void)close(filter->in);
	(void)waitpid(filter->pid, NULL, 0);
	(void)close(filter->answers.fd);
	sp_line_reader_done(&filter->answers);
	free(filter->bytes);
}

void late_start(void)
{
	char script[] = "spacerouted route --window 32 | spacecap mint --agent \"$0\" --window 32";

	filter_open(
	    &self.mint, "late-mint", ARGV("bash", "-c", script, path("control/run/signer.sock")));
	for (unsigned i = 0; i < SENDERS; i++)
		filter_open(
		    &self.senders[i], "late-send", ARGV("spacebridge", "send", "--window", "64"));
}

void late_mint(const char *asked, size_t size, minted_fn *minted, void *context)
{
	filter_ask(&self.mint, asked, size, minted, context);
}

void late_send(unsigned sender, const char *line, size_t size, sent_fn *sent, void *context)
{
	filter_ask(&self.senders[sender % SENDERS], line, size, sent, context);
}

/* The claims and the key of a token, as anybody may read them. */
static bool token_parse(const char *token, struct minted *ret)
{
	char text[4096];
	sp_auto_json json_t *claims = NULL, *footer = NULL;
	const char *payload = strncmp(token, "v4.public.", 10) == 0 ? token + 10 : "";
	const char *dot = strchr(payload, '.');
	size_t size;

	if (!dot ||
	    !sp_base64_decode(payload, (size_t)(dot - payload), true, text, sizeof(text), &size) ||
	    size < 64)
		return false;
	claims = json_loadb(text, size - 64, 0, NULL);
	if (!sp_base64_decode(dot + 1, strlen(dot + 1), true, text, sizeof(text), &size))
		return false;
	footer = json_loadb(text, size, 0, NULL);
	int64_t iat = 0, exp = 0;
	const char *kid = json_string_value(json_object_get(footer, "kid")),
		   *from = json_string_value(json_object_get(claims, "iat")),
		   *until = json_string_value(json_object_get(claims, "exp"));
	if (!kid || !from || !until || !sp_time_parse(from, &iat) || !sp_time_parse(until, &exp))
		return false;
	ret->key = key_of(kid);
	ret->iat = iat;
	ret->exp = exp;
	return true;
}

bool minted_parse(const char *line, struct minted *ret)
{
	sp_auto_json json_t *record = json_loads(line, 0, NULL);
	const json_t *route = json_object_get(record, "route");
	const char *cap = json_string_value(json_object_get(record, "cap")),
		   *worker = json_string_value(json_object_get(route, "worker"));

	if (!cap || !worker || !token_parse(cap, ret))
		return false;
	ret->execution = json_integer_value(json_object_get(route, "execution"));
	ret->attempt = (int)json_integer_value(json_object_get(route, "attempt"));
	ret->worker = (unsigned)(worker[strlen(worker) - 1] - 'a');
	return true;
}

static void held_free(struct held *held)
{
	free(held->line);
	free(held);
}

static void on_sent(void *context, const char *line)
{
	struct held *held = context;
	const struct op *op = &held->op;
	char id[32], outcome[128];

	(void)snprintf(id, sizeof(id), "n%" PRIu64, op->number);
	op_outcome(op->kind, line, id, outcome, sizeof(outcome));
	note("sent %" PRIu64 " %c %u %u %" PRId64 " %d %u %u %" PRId64 " %" PRId64 " %" PRId64
	     " %" PRId64 " %" PRId64 " %" PRId64 " %s %s",
	    op->number, OP_LETTERS[op->kind], op->sandbox, held->copy, held->minted.execution,
	    held->minted.attempt, held->minted.worker, held->minted.key, held->minted.iat,
	    held->minted.exp, held->asked_at, held->minted_at, held->begin, now_us(), op->must,
	    outcome);
	if (held->copy == 0)
		soak.answered++;
	self.out--;
	held_free(held);
}

/* The record changed so that it must be refused. */
static void forge(const struct op *op, json_t *record)
{
	const char *cap = json_string_value(json_object_get(record, "cap"));
	char text[4096];

	if (op->forgery == FORGE_SANDBOX) {
		unsigned other = (op->sandbox + 1) % soak.trace.sandboxes;
		(void)json_object_set_new(
		    record, "sandbox", json_string(soak.sandboxes[other].name));
	} else if (op->forgery == FORGE_TOKEN) {
		(void)snprintf(text, sizeof(text), "%s", cap ? cap : "");
		text[40] = text[40] == 'A' ? 'B' : 'A';
		(void)json_object_set_new(record, "cap", json_string(text));
	} else if (op->forgery == FORGE_WORKER) {
		const char *worker =
		    json_string_value(json_object_get(json_object_get(record, "route"), "worker"));
		bool a = worker && strcmp(worker, "worker-a") == 0;
		(void)snprintf(
		    text, sizeof(text), "unix:%s", path("%c/run/manager.sock", a ? 'b' : 'a'));
		(void)json_object_set_new(record, "endpoint", json_string(text));
	} else if (op->forgery == FORGE_OP) {
		(void)snprintf(text, sizeof(text), "echo %015" PRIu64 " >>log", op->number);
		(void)json_object_set_new(record, "op", json_string("exec.run"));
		(void)json_object_set_new(record, "args",
		    json_pack("{s:[s,s,s],s:s}", "argv", "/bin/sh", "-c", text, "cwd", "/"));
	}
}

static char *forged(const struct op *op, const char *line)
{
	sp_auto_json json_t *record = json_loads(line, 0, NULL);
	sp_auto_free char *text = NULL;
	char *whole = NULL;

	forge(op, record);
	text = json_dumps(record, JSON_COMPACT);
	if (!text || asprintf(&whole, "%s\n", text) < 0)
		die("late", "out of memory");
	return whole;
}

static void hold(const struct held *first, unsigned copy, const char *line)
{
	struct held *held = calloc(1, sizeof(*held)), **at = &self.held;

	if (!held)
		die("late", "out of memory");
	*held = *first;
	held->copy = copy;
	/* Copies go at once, or one after the other. */
	held->due = soak.answered + held->op.delay +
		    (held->op.number % 2 ? 0 : copy * (held->op.number % 997));
	held->line = forged(&held->op, line);
	held->size = strlen(held->line);
	while (*at && (*at)->due <= held->due)
		at = &(*at)->next;
	held->next = *at;
	*at = held;
	self.held_count++;
}

static void on_minted(void *context, const char *line)
{
	struct held *first = context;
	const struct op *op = &first->op;
	char id[32], outcome[128];

	first->minted_at = now_us();
	if (minted_parse(line, &first->minted)) {
		for (unsigned copy = 0; copy < op->copies; copy++)
			hold(first, copy, line);
	} else {
		(void)snprintf(id, sizeof(id), "n%" PRIu64, op->number);
		op_outcome(op->kind, line, id, outcome, sizeof(outcome));
		note("op %" PRIu64 " late %c %u %" PRId64 " %" PRId64 " - %s", op->number,
		    OP_LETTERS[op->kind], op->sandbox, first->asked_at, now_us(), outcome);
		soak.answered++;
	}
	self.out--;
	free(first);
}

bool late_full(void)
{
	return self.mint.asked >= 256 || self.held_count >= HELD_MAX;
}

void late_issue(const struct op *op)
{
	struct held *first = calloc(1, sizeof(*first));
	char line[1024];
	size_t size = op_asked(op, line, sizeof(line));

	if (!first)
		die("late", "out of memory");
	first->op = *op;
	first->asked_at = now_us();
	self.out++;
	late_mint(line, size, on_minted, first);
}

void late_advance(void)
{
	bool last = clients_done();

	while (self.held && (last || self.held->due <= soak.answered)) {
		struct held *held = self.held;
		if (self.senders[held->copy % SENDERS].asked >= ASKED / 2)
			return;
		self.held = held->next;
		self.held_count--;
		self.out++;
		held->begin = now_us();
		late_send(held->copy, held->line, held->size, on_sent, held);
	}
}

bool late_done(void)
{
	return self.out == 0 && !self.held;
}

void late_stop(void)
{
	filter_close(&self.mint);
	for (unsigned i = 0; i < SENDERS; i++)
		filter_close(&self.senders[i]);
}
