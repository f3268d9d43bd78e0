/*
 * Clients: filters of the tools that carry operations, answers in order. Each has a queue of what
 * it is to be asked next, so that one that is held up by a sandbox holds up no other for long.
 */
#include "soak.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "record/lines.h"

#define PIPELINE CALLERS /* the client after those of `call` */
#define CLIENTS  (CALLERS + 1)
#define WINDOW   64
#define QUEUE    512
#define LINE     1024
#define REST_US  20000 /* after a failure: one that costs nothing would soon use up a trace */

struct flight {
	struct op op;
	int64_t begin;
};

struct client {
	unsigned number;
	pid_t pid;
	int in;
	struct sp_line_reader answers;
	ev_io readable;
	struct op queue[QUEUE];
	unsigned first, queued;
	struct flight flights[WINDOW];
	unsigned flown, flying;
	bool careful;    /* one at a time */
	int64_t resting; /* until then */
	atomic_bool to_kill;
};

static struct {
	struct client clients[CLIENTS];
	uint64_t issued, failed;
	char token[1024], signer[1024];
} self;

static const char *principal_name(const struct op *op)
{
	return op->principal ? "token" : "uid";
}

static void note_op(const struct flight *flight, const char *outcome)
{
	note("op %" PRIu64 " %s %c %u %" PRId64 " %" PRId64 " %s %s", flight->op.number,
	    principal_name(&flight->op), OP_LETTERS[flight->op.kind], flight->op.sandbox,
	    flight->begin, now_us(), flight->op.must, outcome);
	soak.answered++;
}

static struct flight *oldest(struct client *client)
{
	return &client->flights[client->flown % WINDOW];
}

static void land(struct client *client, const char *outcome)
{
	note_op(oldest(client), outcome);
	client->flown++;
	client->flying--;
}

static void start(struct client *client);

/* What was in flight is answered by nobody. */
static void restart(struct client *client)
{
	ev_io_stop(soak.loop, &client->readable);
	(void)kill(-client->pid, SIGKILL);
	(void)waitpid(client->pid, NULL, 0);
	while (client->flying > 0)
		land(client, "lost");
	(void)close(client->in);
	(void)close(client->answers.fd);
	sp_line_reader_done(&client->answers);
	start(client);
}

static void take_answer(struct client *client, const char *line)
{
	char id[32], outcome[128];

	if (client->flying == 0) {
		note("trouble %" PRId64 " answer-to-nothing %u", now_us(), client->number);
		return;
	}
	(void)snprintf(id, sizeof(id), "n%" PRIu64, oldest(client)->op.number);
	op_outcome(oldest(client)->op.kind, line, id, outcome, sizeof(outcome));
	if (strcmp(outcome, "odd") == 0 || strncmp(outcome, "error internal", 14) == 0)
		(void)fprintf(stderr, "soak: odd: %s\n", line);
	client->careful = strncmp(outcome, "error ", 6) == 0;
	if (client->careful)
		client->resting = now_us() + REST_US;
	land(client, outcome);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct client *client = watcher->data;
	char *line;
	size_t size;
	int got;

	(void)loop;
	(void)events;
	while ((got = sp_line_next(&client->answers, &line, &size)) == 1)
		take_answer(client, line);
	if (got != -EAGAIN && !atomic_load(&client->to_kill)) {
		note("died %" PRId64 " client-%u 0", now_us(), client->number);
		restart(client);
	}
}

static void start(struct client *client)
{
	char name[32];
	int out;

	(void)snprintf(name, sizeof(name), "client-%u", client->number);
	if (client->number == PIPELINE)
		client->pid = filter_start(name,
		    ARGV("node-api", "--agent", self.signer, "--window", "16"), &client->in, &out);
	else
		client->pid = filter_start(name,
		    ARGV("spacerouted", "call", "--agent", self.signer, "--window", "64",
			client->number >= 3 ? "--token-file" : NULL, self.token),
		    &client->in, &out);
	if (sp_line_reader_init(&client->answers, out, SP_LINE_MAX) < 0)
		die(name, "out of memory");
	ev_io_init(&client->readable, on_readable, out, EV_READ);
	client->readable.data = client;
	ev_io_start(soak.loop, &client->readable);
}

void clients_start(void)
{
	(void)snprintf(self.token, sizeof(self.token), "%s", path("second.token"));
	(void)snprintf(self.signer, sizeof(self.signer), "%s", path("control/run/signer.sock"));
	for (unsigned i = 0; i < CLIENTS; i++) {
		self.clients[i].number = i;
		start(&self.clients[i]);
	}
}

/* Lines are short and few are out: they fit into the pipe, else the filter is stuck. */
static void ask(struct client *client)
{
	struct flight *flight = &client->flights[(client->flown + client->flying) % WINDOW];
	char line[LINE];
	size_t size;

	flight->op = client->queue[client->first];
	flight->begin = now_us();
	client->first = (client->first + 1) % QUEUE;
	client->queued--;
	client->flying++;
	size = op_asked(&flight->op, line, sizeof(line));
	if (sp_write_all(client->in, line, size, 60000) < 0 && !atomic_load(&client->to_kill))
		note("trouble %" PRId64 " client-write %u", now_us(), client->number);
}

static unsigned window_of(const struct client *client)
{
	if (client->careful)
		return 1;
	return client->number == PIPELINE ? 16 : WINDOW;
}

static void fly(struct client *client)
{
	if (atomic_load(&client->to_kill)) {
		note("killed %" PRId64 " client-%u", now_us(), client->number);
		restart(client);
		atomic_store(&client->to_kill, false);
	}
	while (
	    client->queued > 0 && client->resting < now_us() && client->flying < window_of(client))
		ask(client);
}

static struct client *client_of(const struct op *op)
{
	return &self.clients[op->way == WAY_PIPELINE ? PIPELINE : op->caller];
}

/* True: the n-th found its queue. */
static bool enqueue(uint64_t number)
{
	struct client *client;
	struct op op;

	op_make(number, &op);
	client = client_of(&op);
	if (op.way == WAY_LATE ? late_full() : client->queued == QUEUE)
		return false;
	if (op.way == WAY_LATE)
		late_issue(&op);
	else
		client->queue[(client->first + client->queued++) % QUEUE] = op;
	return true;
}

/* Of each client's turn a little: none is to have its whole queue before others have any. */
void clients_issue(void)
{
	for (unsigned n = 0; n < 256 && self.issued < soak.trace.ops && !events_behind(); n++) {
		if (!enqueue(self.issued))
			break;
		self.issued++;
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		fly(&self.clients[i]);
}

uint64_t clients_issued(void)
{
	return self.issued;
}

bool clients_done(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		if (self.clients[i].queued > 0 || self.clients[i].flying > 0)
			return false;
	return self.issued == soak.trace.ops;
}

/* Each ends by itself when its input does, and well. */
void clients_stop(void)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = &self.clients[i];
		ev_io_stop(soak.loop, &client->readable);
		(void)close(client->in);
		(void)waitpid(client->pid, NULL, 0);
		(void)close(client->answers.fd);
		sp_line_reader_done(&client->answers);
	}
}

void caller_kill(unsigned caller)
{
	atomic_store(&self.clients[caller].to_kill, true);
}
