/*
 * One hop under a lease: bulk and round trips through `spacestream relay`, beside a bare loop of
 * splice(2), socat and HAProxy (where they are installed) in the same run, the relay on one core
 * and both ends on another; what the look at the epoch costs of that; memory of idle streams. And
 * one move by itself, copied and spliced, by its size: where the relay changes from one to the
 * other.
 */
#include "bench_hop.h"

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "lease/lease.h"
#include "net/unix.h"
#include "relay/relay.h"

#define ROUNDS     3
#define BULK_NS    400000000
#define TRIPS_NS   300000000
#define MESSAGE    64
#define IDLE_COUNT 1000
#define LOOKS      1000000

static int listen_at(const char *name)
{
	int fd;

	if (sp_unix_listen(place(name), 0600, &fd, NULL))
		give_up(name);
	return fd;
}

static int accept_one(int listener)
{
	int fd;

	if (sp_poll_one(listener, POLLIN, 10000) < 0 || (fd = accept(listener, NULL, NULL)) < 0)
		give_up("nobody connects");
	return fd;
}

/* A program that connects to both of our listeners. */
static void join(struct hop *hop, char *const *argv)
{
	sp_auto_fd int front = listen_at("front.sock"), back = listen_at("back.sock");

	hop->pid = run(argv);
	hop->front = accept_one(front);
	hop->back = accept_one(back);
}

/* What splice reaches that does nothing else, one way. */
static void splice_all(int from, int to)
{
	int between[2];
	ssize_t n;

	if (pipe2(between, O_CLOEXEC) < 0)
		_exit(1);
	while ((n = splice(from, NULL, between[1], NULL, 65536, SPLICE_F_MOVE)) > 0)
		for (ssize_t m; n > 0; n -= m)
			if ((m = splice(between[0], NULL, to, NULL, (size_t)n, SPLICE_F_MOVE)) <= 0)
				_exit(1);
	_exit(0);
}

static void join_splice(struct hop *hop)
{
	int front[2], back[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, front) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, back) < 0)
		give_up("socketpair");
	hop->front = front[0];
	hop->back = back[0];
	hop->pid = fork();
	if (hop->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_DFL);
		pin(1);
		(void)close(front[0]);
		(void)close(back[0]);
		splice_all(front[1], back[1]);
	}
	(void)close(front[1]);
	(void)close(back[1]);
}

static void join_haproxy(struct hop *hop)
{
	sp_auto_fd int back = -1;
	char text[1024];
	char *argv[] = {"haproxy", "-db", "-f", (char *)(uintptr_t)place("haproxy.cfg"), NULL};

	back = listen_at("back.sock");
	(void)snprintf(text, sizeof(text),
	    "global\n  nbthread 1\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client "
	    "60s\n  timeout server 60s\nlisten hop\n  bind unix@%s/ha.sock\n  server one "
	    "unix@%s/back.sock\n",
	    directory, directory);
	write_file("haproxy.cfg", text);
	hop->pid = run(argv);
	for (int tries = 0; sp_unix_connect(place("ha.sock"), 1000, &hop->front, NULL) < 0; tries++)
		if (tries == 500 || poll(NULL, 0, 10) < 0)
			give_up("haproxy does not listen");
	hop->back = accept_one(back);
}

static void part(struct hop *hop)
{
	(void)close(hop->front);
	(void)close(hop->back);
	hop_end(hop->pid);
}

static double bulk(const struct hop *hop, double *ret_capacity)
{
	static char bytes[256 * 1024];
	int64_t start = bench_now_ns(), now = start;
	double used = cpu_seconds(hop->pid);
	uint64_t seen = 0;

	unblock(hop->front, true);
	unblock(hop->back, true);
	while (now - start < BULK_NS) {
		struct pollfd ends[] = {{hop->front, POLLOUT, 0}, {hop->back, POLLIN, 0}};
		ssize_t n;
		(void)poll(ends, 2, 1000);
		if (ends[0].revents & POLLOUT)
			(void)sp_write_some(hop->front, bytes, sizeof(bytes));
		while ((n = sp_read_some(hop->back, bytes, sizeof(bytes))) > 0)
			seen += (uint64_t)n;
		now = bench_now_ns();
	}
	*ret_capacity = (double)seen / (cpu_seconds(hop->pid) - used);
	/* What is under way. */
	while (sp_poll_one(hop->back, POLLIN, 100) > 0 &&
	       sp_read_some(hop->back, bytes, sizeof(bytes)) > 0)
		;
	return (double)seen * 1e9 / (double)(now - start);
}

static void pass(int from, int to)
{
	char bytes[MESSAGE] = {0};

	if (sp_write_all(from, bytes, sizeof(bytes), 1000) ||
	    sp_read_exact(to, bytes, sizeof(bytes), 1000))
		give_up("a message was lost");
}

static double trips(const struct hop *hop, double *ret_capacity)
{
	int64_t start = bench_now_ns(), now = start;
	double used = cpu_seconds(hop->pid);
	uint64_t count = 0;

	unblock(hop->front, false);
	unblock(hop->back, false);
	for (; now - start < TRIPS_NS; now = bench_now_ns(), count++) {
		pass(hop->front, hop->back);
		pass(hop->back, hop->front);
	}
	*ret_capacity = (double)count / (cpu_seconds(hop->pid) - used);
	return (double)count * 1e9 / (double)(now - start);
}

static void measure(struct hop *hop)
{
	double capacity;

	keep_best(&hop->bulk, bulk(hop, &capacity));
	keep_best(&hop->bulk_capacity, capacity);
	keep_best(&hop->trips, trips(hop, &capacity));
	keep_best(&hop->trips_capacity, capacity);
}

static void compare_bulk(
    const struct hop *ours, const struct hop *peer, double least, double least_capacity)
{
	bench_put(
	    "relay bulk", ours->bulk / 1e6, "MB/s", peer->name, peer->bulk / 1e6, ">=", least);
	bench_put("relay bulk a CPU second", ours->bulk_capacity / 1e6, "MB", peer->name,
	    peer->bulk_capacity / 1e6, ">=", least_capacity);
}

static void compare(const struct hop *ours, const struct hop *peer, double least)
{
	compare_bulk(ours, peer, least, least);
	bench_put(
	    "relay 64-byte round trips", ours->trips, "1/s", peer->name, peer->trips, ">=", 1);
	bench_put("relay 64-byte round trips a CPU second", ours->trips_capacity, "", peer->name,
	    peer->trips_capacity, ">=", 1);
}

/* --- one move by itself --- */

enum { MOVES = 400 };

struct pairs {
	int front[2], back[2], pipe[2];
};

static void must_move(ssize_t n, size_t size)
{
	if (n != (ssize_t)size)
		give_up("a move in part");
}

static void move_copied(const struct pairs *at, char *bytes, size_t size)
{
	must_move(read(at->front[1], bytes, size), size);
	must_move(write(at->back[0], bytes, size), size);
}

static void move_spliced(const struct pairs *at, char *bytes, size_t size)
{
	(void)bytes;
	must_move(splice(at->front[1], NULL, at->pipe[1], NULL, size, SPLICE_F_MOVE), size);
	must_move(splice(at->pipe[0], NULL, at->back[0], NULL, size, SPLICE_F_MOVE), size);
}

/* Nanoseconds a move: the median, the ends' own work apart. */
static double one_move(const struct pairs *at, size_t size,
    void (*move)(const struct pairs *at, char *bytes, size_t size))
{
	static char bytes[65536];
	int64_t took[MOVES];

	for (int i = 0; i < MOVES; i++) {
		must_move(write(at->front[0], bytes, size), size);
		int64_t start = bench_now_ns();
		move(at, bytes, size);
		took[i] = bench_now_ns() - start;
		for (size_t seen = 0; seen < size;) {
			ssize_t n = read(at->back[1], bytes, sizeof(bytes));
			if (n <= 0)
				give_up("a move was lost");
			seen += (size_t)n;
		}
	}
	return (double)bench_percentile(took, MOVES, 50);
}

static void measure_sizes(void)
{
	struct bench_curve copied = {.plot = "bytes a move", .name = "copied", .unit = "ns"};
	struct bench_curve spliced = {.plot = "bytes a move", .name = "spliced", .unit = "ns"};
	struct pairs at;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, at.front) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, at.back) < 0 ||
	    pipe2(at.pipe, O_CLOEXEC) < 0)
		give_up("pairs");
	for (size_t size = 64; size <= SP_RELAY_CHUNK; size *= size < 16384 ? 4 : 3) {
		(void)one_move(&at, size, move_copied);
		bench_curve_add(&copied, (double)size, one_move(&at, size, move_copied));
		bench_curve_add(&spliced, (double)size, one_move(&at, size, move_spliced));
	}
	bench_put(
	    "a move of 64 bytes, copied", copied.first, "ns", "spliced", spliced.first, "<=", 1);
	bench_put("a move of 48 KiB, spliced", spliced.last, "ns", "copied", copied.last, "<=", 1);
}

/* --- in this process: what a look costs, and what an idle stream takes --- */

static struct sp_store *make_store(void)
{
	struct sp_store *store;
	struct sp_outcome outcome;
	struct sp_change change = {.kind = SP_CHANGE_INSTALL,
	    .sandbox = "s-42",
	    .route = {.execution = 7,
		.attempt = 1,
		.substrate = SP_SUBSTRATE_HOST,
		.worker = "w",
		.activation = "a"},
	    .owner = "op-1",
	    .now = 1000};

	(void)mkdir(place("state"), 0700);
	if (sp_store_open(place("state/records"), SP_STORE_CREATE, &store, NULL) ||
	    sp_store_change(store, &change, 1000, &outcome, NULL))
		give_up("store");
	return store;
}

static void on_event(struct sp_lease *lease, void *context)
{
	(void)lease;
	(void)context;
}

static void on_ended(struct sp_lease *lease, const struct sp_lease_end *end, void *context)
{
	(void)lease;
	(void)end;
	(void)context;
}

static void on_relay_ended(struct sp_relay *relay, int code, void *context)
{
	(void)relay;
	(void)code;
	(void)context;
}

static struct sp_lease *open_lease(struct sp_lease_set *set)
{
	static const struct sp_lease_handlers handlers = {on_event, on_ended, on_event};
	struct sp_lease_asked asked = {
	    .terms = {.kind = SP_LEASE_CONTROL, .epoch = 1, .version = 1},
	    .caller = "uid:1000",
	    .op = "tree.get"};
	struct sp_lease *lease;
	enum sp_reason reason;

	strcpy(asked.terms.identity.sandbox, "s-42");
	asked.terms.identity.route = (struct sp_route){.execution = 7,
	    .attempt = 1,
	    .substrate = SP_SUBSTRATE_HOST,
	    .worker = "w",
	    .activation = "a"};
	if (sp_lease_open(set, &asked, &handlers, NULL, &lease, &reason, NULL))
		give_up("lease");
	return lease;
}

static double look_ns(struct sp_lease *lease)
{
	int64_t start = bench_now_ns();

	for (int i = 0; i < LOOKS; i++)
		if (sp_lease_enter(lease) == 0)
			sp_lease_leave(lease, SP_LEASE_IN, 1);
	return (double)(bench_now_ns() - start) / LOOKS;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		give_up("statm");
	(void)fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static double idle_kib(struct sp_lease_set *set, struct ev_loop *loop)
{
	static const struct sp_relay_handlers handlers = {.ended = on_relay_ended};
	long before = resident_kib();

	for (int i = 0; i < IDLE_COUNT; i++) {
		int a[2], b[2];
		struct sp_relay *relay;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a) < 0 ||
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b) < 0)
			give_up("socketpair");
		struct sp_relay_options options = {.loop = loop,
		    .lease = open_lease(set),
		    .a = {a[1], a[1]},
		    .b = {b[1], b[1]},
		    .limit_ms = 1000};
		if (sp_relay_new(&options, &handlers, NULL, &relay) < 0)
			give_up("relay");
		sp_relay_start(relay);
		/* It has carried something, and is idle again. */
		if (sp_write_all(a[0], "x", 1, 1000))
			give_up("write");
		(void)ev_run(loop, EVRUN_NOWAIT);
	}
	return (double)(resident_kib() - before) / IDLE_COUNT;
}

static void measure_here(const struct hop *ours, struct sp_store *store)
{
	struct ev_loop *loop = ev_default_loop(0);
	struct sp_lease_options options = {
	    .loop = loop, .store = store, .cut_timeout_ms = 2000, .role = "bench"};
	struct sp_lease_set *set;
	double ns;

	if (sp_holder_open(store, &options.holder, NULL) || sp_lease_set_new(&options, &set))
		give_up("lease set");
	ns = look_ns(open_lease(set));
	bench_put("epoch look", ns, "ns", NULL, 0, "<=", 1000);
	bench_put("epoch look, share of bulk", ns * 100 / (SP_RELAY_CHUNK * 1e9 / ours->bulk), "%",
	    NULL, 0, "<=", 1);
	bench_put("idle stream", idle_kib(set, loop), "KiB", NULL, 0, "<=", 16);
}

int main(void)
{
	char *relay[] = {"build/bin/spacestream", "relay", "--sandbox", "s-42", NULL, NULL, NULL};
	char *socat[] = {"socat", NULL, NULL, NULL};
	enum { OURS, SPLICE, SOCAT, HAPROXY };
	struct hop hops[] = {{.name = "spacestream"}, {.name = "bare splice"}, {.name = "socat"},
	    {.name = "haproxy"}};
	char text[512];
	struct sp_store *store;
	bool has_socat = bench_has("socat"), has_haproxy = bench_has("haproxy");

	(void)signal(SIGPIPE, SIG_IGN);
	strcpy(directory, "/tmp/space-bench-XXXXXX");
	if (!mkdtemp(directory))
		give_up("mkdtemp");
	store = make_store();
	(void)snprintf(text, sizeof(text), "[space]\nstate_dir = %s/state\nrun_dir = %s/run\n",
	    directory, directory);
	write_file("space.ini", text);
	(void)setenv("SPACE_CONFIG", place("space.ini"), 1);
	if (asprintf(&relay[4], "unix:%s/front.sock", directory) < 0 ||
	    asprintf(&relay[5], "unix:%s/back.sock", directory) < 0 ||
	    asprintf(&socat[1], "UNIX-CONNECT:%s/front.sock", directory) < 0 ||
	    asprintf(&socat[2], "UNIX-CONNECT:%s/back.sock", directory) < 0)
		give_up("memory");
	pin(0);
	for (int i = 0; i < ROUNDS; i++) {
		double capacity;
		join(&hops[OURS], relay);
		measure(&hops[OURS]);
		part(&hops[OURS]);
		join_splice(&hops[SPLICE]);
		keep_best(&hops[SPLICE].bulk, bulk(&hops[SPLICE], &capacity));
		keep_best(&hops[SPLICE].bulk_capacity, capacity);
		part(&hops[SPLICE]);
		if (has_socat) {
			join(&hops[SOCAT], socat);
			measure(&hops[SOCAT]);
			part(&hops[SOCAT]);
		}
		if (has_haproxy) {
			join_haproxy(&hops[HAPROXY]);
			measure(&hops[HAPROXY]);
			part(&hops[HAPROXY]);
		}
	}
	/* The bare loop waits in its calls, and looks at nothing. */
	compare_bulk(&hops[OURS], &hops[SPLICE], 0.9, 0.8);
	if (has_socat)
		compare(&hops[OURS], &hops[SOCAT], 1.8);
	if (has_haproxy)
		compare(&hops[OURS], &hops[HAPROXY], 1.3);
	measure_sizes();
	measure_here(&hops[0], store);
	(void)snprintf(text, sizeof(text), "rm -rf %s", directory);
	return system(text) == 0 ? 0 : 1;
}
