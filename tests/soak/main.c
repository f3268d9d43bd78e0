/*
 * soak trace [--seed N] [--ops N] [--sandboxes N] [--every N] [--streams N]
 * soak drive TRACE DIRECTORY [--faketime LIBRARY] [--lack LIBRARY]
 *
 * trace: prints a trace of that many operations, with an event for every so many. drive: lives
 * through one, in a world that tests/soak/run has made in DIRECTORY, and writes DIRECTORY/history.
 */
#include "soak.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"

#define TICK  0.01 /* seconds */
#define STUCK 300  /* seconds without an answer: said, and the end */
#define DRAIN 120  /* seconds for what streams have out to come back */

struct soak soak = {.control = PTHREAD_MUTEX_INITIALIZER};

static struct {
	ev_timer tick;
	ev_idle issue;
	uint64_t seen;
	int64_t seen_us, drain_us;
	bool draining;
} self;

static bool watch_progress(void)
{
	int64_t now = now_us();

	if (soak.answered != self.seen || self.draining) {
		self.seen = soak.answered;
		self.seen_us = now;
	}
	return now - self.seen_us < (int64_t)STUCK * 1000000;
}

/* Ends the loop once all has been asked, answered and done. */
static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	clients_issue();
	events_advance(soak.answered);
	late_advance();
	if (!watch_progress()) {
		note("trouble %" PRId64 " no-answer-for-%d-seconds 0", now_us(), STUCK);
		ev_break(loop, EVBREAK_ALL);
	}
	if (!clients_done() || !late_done() || !events_done())
		return;
	if (!self.draining) {
		self.draining = true;
		self.drain_us = now_us();
		streams_drain();
	} else if (streams_done()) {
		ev_break(loop, EVBREAK_ALL);
	} else if (now_us() - self.drain_us > (int64_t)DRAIN * 1000000) {
		note("trouble %" PRId64 " streams-do-not-drain 0", now_us());
		ev_break(loop, EVBREAK_ALL);
	}
}

static void make_sandboxes(void)
{
	soak.sandboxes = calloc(soak.trace.sandboxes, sizeof(*soak.sandboxes));
	if (!soak.sandboxes)
		die("sandboxes", "out of memory");
	for (unsigned i = 0; i < soak.trace.sandboxes; i++)
		sandbox_init(&soak.sandboxes[i], i);
	for (unsigned i = 0; i < WORKERS; i++)
		(void)pthread_mutex_init(&soak.workers[i].lock, NULL);
}

static int drive(const char *trace, const char *directory)
{
	int64_t begin;

	if (!trace_read(trace, &soak.trace))
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	sp_descriptors_raise(NULL);
	soak.directory = directory;
	/* Not the default loop: that one asks for the status of every child. */
	soak.loop = ev_loop_new(EVFLAG_AUTO);
	history_open(path("history"));
	make_sandboxes();
	world_start();
	events_start();
	begin = now_us();
	clients_start();
	late_start();
	port_start();
	streams_start();
	ev_timer_init(&self.tick, on_tick, 0, TICK);
	self.seen_us = begin;
	ev_timer_start(soak.loop, &self.tick);
	(void)ev_run(soak.loop, 0);
	streams_stop();
	clients_stop();
	late_stop();
	note("load %" PRId64 " %" PRId64 " %" PRIu64, begin, now_us(), soak.answered);
	world_end();
	note("end %" PRId64 " %" PRIu64, now_us(), clients_issued());
	history_close();
	return 0;
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (!*text || *end)
		die(text, "not a number");
	return value;
}

static int usage(void)
{
	(void)fprintf(stderr, "usage: soak trace [--seed N] [--ops N] [--sandboxes N] [--every N] "
			      "[--streams N]\n       soak drive TRACE DIRECTORY [--faketime "
			      "LIBRARY] [--lack LIBRARY]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seed", required_argument, NULL, 's'},
	    {"ops", required_argument, NULL, 'o'}, {"sandboxes", required_argument, NULL, 'n'},
	    {"every", required_argument, NULL, 'e'}, {"streams", required_argument, NULL, 't'},
	    {"faketime", required_argument, NULL, 'f'}, {"lack", required_argument, NULL, 'l'},
	    {0}};
	uint64_t every = 250;
	int option;

	soak.trace = (struct trace){.seed = 1, .ops = 30000, .sandboxes = 100, .streams = 8};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			soak.trace.seed = number(optarg);
		else if (option == 'o')
			soak.trace.ops = number(optarg);
		else if (option == 'n')
			soak.trace.sandboxes = (unsigned)number(optarg);
		else if (option == 'e')
			every = number(optarg);
		else if (option == 't')
			soak.trace.streams = (unsigned)number(optarg);
		else if (option == 'f')
			soak.faketime = optarg;
		else if (option == 'l')
			soak.lack = optarg;
		else
			return usage();
	}
	if (argc - optind == 3 && strcmp(argv[optind], "drive") == 0)
		return drive(argv[optind + 1], argv[optind + 2]);
	if (argc - optind != 1 || strcmp(argv[optind], "trace") != 0 || every == 0 ||
	    soak.trace.sandboxes < SANDBOXES_MIN || soak.trace.sandboxes > SANDBOXES_MAX ||
	    soak.trace.streams > 64 || !trace_generate(&soak.trace, every))
		return usage();
	trace_print(&soak.trace, stdout);
	return ferror(stdout) ? 1 : 0;
}
