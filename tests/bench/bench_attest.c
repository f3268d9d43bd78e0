/*
 * What kernel evidence costs: verifying a connection (the connection included, the peer's own
 * answer not), recording a process, both again beside 20,000 other Unix sockets, a peer with 300
 * descriptors; and what an operator would do by hand instead.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attest/attest.h"
#include "base/io.h"
#include "net/unix.h"
#include "bench.h"

#define ROUNDS  100
#define GROUPS  20
#define OTHERS  20000
#define A_CHILD 2000 /* other sockets of one child */

static char directory[] = "/tmp/bench-attest.XXXXXX", path[64];
static pid_t server, holders[OTHERS / A_CHILD];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A child without what its parent keeps ready for its own use: connections end when the parent
 * closes them. */
static pid_t fork_apart(int kept)
{
	pid_t pid = fork();

	if (pid == 0 && (dup2(kept, 3) < 0 || close_range(4, ~0u, 0) < 0))
		die("fork");
	return pid;
}

/* `more` descriptors are open before the listener's. */
static void serve(int ready, int more)
{
	struct sp_err err = {0};
	int listener, fd;
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < more; i++)
		if (dup(0) < 0)
			die("dup");
	if (sp_unix_listen(path, 0600, &listener, &err) || write(ready, "x", 1) != 1)
		die(err.message);
	for (;;) {
		(void)sp_poll_one(listener, POLLIN, -1);
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		if (write(fd, "x", 1) == 1)
			while (read(fd, &byte, 1) > 0)
				;
		(void)close(fd);
	}
}

static void start_server(int more)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		die("pipe");
	server = fork_apart(ready[1]);
	if (server == 0)
		serve(3, more);
	if (read(ready[0], &byte, 1) != 1)
		die("server");
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void stop_server(void)
{
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
}

static void hold_others(void)
{
	for (unsigned i = 0; i < OTHERS / A_CHILD; i++) {
		int ready[2], pair[2];
		char byte;
		if (pipe(ready) < 0)
			die("pipe");
		holders[i] = fork_apart(ready[1]);
		if (holders[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (int k = 0; k < A_CHILD / 2; k++)
				if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
					die("socketpair");
			_exit(write(3, "x", 1) == 1 ? pause() : 1);
		}
		if (read(ready[0], &byte, 1) != 1)
			die("others");
		(void)close(ready[0]);
		(void)close(ready[1]);
	}
}

static void let_others_go(void)
{
	for (unsigned i = 0; i < OTHERS / A_CHILD; i++) {
		(void)kill(holders[i], SIGKILL);
		(void)waitpid(holders[i], NULL, 0);
	}
}

static json_t *enroll(void)
{
	struct sp_enroll what = {.role = SP_ROLE_VMM, .pid = server, .path = path, .cid = 42};
	struct sp_err err = {0};
	json_t *evidence = NULL;

	if (sp_evidence_enroll(&what, &evidence, &err))
		die(err.message);
	return evidence;
}

static int64_t verify_once(const json_t *evidence)
{
	struct sp_attestation *made = NULL;
	int64_t start = bench_now_ns(), spent;
	char byte;

	if (sp_attest_open(SP_ROLE_VMM, evidence, sp_level_probe(), NULL, &made) || !made)
		die("verify: open");
	spent = bench_now_ns() - start;
	if (sp_read_exact(sp_attest_fd(made), &byte, 1, 5000))
		die("verify: no answer");
	start = bench_now_ns();
	if (sp_attest_accepted(made, NULL) || sp_attest_alive(made, NULL))
		die("verify: accepted");
	spent += bench_now_ns() - start;
	sp_attest_close(made);
	return spent;
}

static int64_t record_once(const json_t *unused)
{
	int64_t start = bench_now_ns(), spent;
	json_t *evidence = enroll();

	(void)unused;
	spent = bench_now_ns() - start;
	json_decref(evidence);
	return spent;
}

/* The least of some medians, in microseconds: what the work costs, other work on the machine apart.
 */
static double measure(int64_t (*once)(const json_t *evidence))
{
	json_t *evidence = enroll();
	int64_t times[ROUNDS], least = INT64_MAX, median;

	for (int group = 0; group < GROUPS; group++) {
		for (int i = 0; i < ROUNDS; i++)
			times[i] = once(evidence);
		median = bench_percentile(times, ROUNDS, 50);
		least = median < least ? median : least;
	}
	json_decref(evidence);
	return (double)least / 1000;
}

/* Who listens there, what does it have open, what does it run? */
static double by_hand(void)
{
	enum { TIMES = 9 };
	int64_t times[TIMES];
	char command[256];

	(void)snprintf(command, sizeof(command),
	    "{ ss -xlp | grep %s; lsof -p %d; readlink /proc/%d/exe; } >/dev/null 2>&1", path,
	    (int)server, (int)server);
	for (int i = 0; i < TIMES; i++) {
		int64_t start = bench_now_ns();
		if (system(command) != 0)
			return 0;
		times[i] = bench_now_ns() - start;
	}
	return (double)bench_percentile(times, TIMES, 50) / 1000;
}

int main(void)
{
	struct rlimit files;
	double alone, alone_record, crowded, many, hand;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (!mkdtemp(directory))
		die(directory);
	(void)snprintf(path, sizeof(path), "%s/s", directory);
	sp_attest_private();
	start_server(0);
	alone = measure(verify_once);
	alone_record = measure(record_once);
	hand = by_hand();
	bench_put("attest: verify with connect", alone, "us", NULL, 0, "<=", 200);
	bench_put("attest: record without hash", alone_record, "us", NULL, 0, "<=", 100);
	if (hand > 0)
		bench_put("attest: verify", alone, "us", "ss -xlp, lsof, readlink", hand, "<=", 1);
	hold_others();
	crowded = measure(verify_once);
	bench_put("attest: verify, 20,000 other sockets", crowded, "us", "alone", alone, "<=", 1.3);
	crowded = measure(record_once);
	bench_put("attest: record, 20,000 other sockets", crowded, "us", "alone", alone_record,
	    "<=", 1.3);
	let_others_go();
	stop_server();
	start_server(300);
	many = measure(verify_once);
	bench_put(
	    "attest: verify, peer with 300 descriptors", many, "us", "with few", alone, "<=", 1.3);
	stop_server();
	(void)unlink(path);
	(void)rmdir(directory);
	return 0;
}
