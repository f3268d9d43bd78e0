/*
 * What kernel evidence costs: verifying a connection (the connection included, the peer's own
 * answer not), the bridge's connection behind it, recording a process, all again beside up to
 * 20,000 other Unix sockets; a peer with 300 descriptors; each check by itself; and what an
 * operator would do by hand instead.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attest/attest.h"
#include "base/io.h"
#include "net/unix.h"
#include "bench.h"

#define ROUNDS   100
#define GROUPS   10
#define CHECKED  2000
#define OTHERS   20000
#define A_CHILD  2000 /* other sockets of one child, at the most */
#define CHILDREN (OTHERS / A_CHILD + 8)

static char directory[] = "/tmp/bench-attest.XXXXXX", path[64], bridge_path[64];
static pid_t server, bridge, holders[CHILDREN];
static unsigned holder_count, held;

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

static void hold(unsigned count)
{
	int ready[2], pair[2];
	char byte;

	if (pipe(ready) < 0 || holder_count == CHILDREN)
		die("pipe");
	holders[holder_count] = fork_apart(ready[1]);
	if (holders[holder_count] == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < count / 2; i++)
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
				die("socketpair");
		_exit(write(3, "x", 1) == 1 ? pause() : 1);
	}
	holder_count++;
	if (read(ready[0], &byte, 1) != 1)
		die("others");
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void hold_others(unsigned count)
{
	while (held < count) {
		unsigned more = count - held < A_CHILD ? count - held : A_CHILD;
		hold(more);
		held += more;
	}
}

static void let_others_go(void)
{
	while (holder_count > 0) {
		(void)kill(holders[--holder_count], SIGKILL);
		(void)waitpid(holders[holder_count], NULL, 0);
	}
}

/* What a bridge says of its connection, here in bytes. */
struct told {
	int fd;
	uint32_t inode;
};

/* For each connection to it one to the VMM, of which it tells; that ends with the first. */
static void be_bridge(bool apart)
{
	int listener, fd, onward;
	struct sp_err err = {0};
	struct stat info;
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (apart)
		sp_attest_apart();
	if (sp_unix_listen(bridge_path, 0600, &listener, &err) || write(3, "x", 1) != 1)
		die(err.message);
	for (;;) {
		(void)sp_poll_one(listener, POLLIN, -1);
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		if (sp_unix_connect(path, 1000, &onward, &err) || fstat(onward, &info) < 0 ||
		    sp_read_exact(onward, &byte, 1, 5000))
			die("bridge");
		struct told told = {onward, (uint32_t)info.st_ino};
		if (write(fd, &told, sizeof(told)) == sizeof(told))
			while (read(fd, &byte, 1) > 0)
				;
		(void)close(onward);
		(void)close(fd);
	}
}

static void start_bridge(bool apart)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		die("pipe");
	bridge = fork_apart(ready[1]);
	if (bridge == 0)
		be_bridge(apart);
	if (read(ready[0], &byte, 1) != 1)
		die("bridge");
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void stop_bridge(void)
{
	(void)kill(bridge, SIGKILL);
	(void)waitpid(bridge, NULL, 0);
	(void)unlink(bridge_path);
}

static json_t *enroll_as(enum sp_role role)
{
	struct sp_enroll what = {.role = role,
	    .pid = role == SP_ROLE_VMM ? server : bridge,
	    .path = role == SP_ROLE_VMM ? path : bridge_path,
	    .cid = role == SP_ROLE_VMM ? 42 : 0};
	struct sp_err err = {0};
	json_t *evidence = NULL;

	if (sp_evidence_enroll(&what, &evidence, &err))
		die(err.message);
	return evidence;
}

static json_t *enroll(void)
{
	return enroll_as(SP_ROLE_VMM);
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

/* What the manager looks at behind the bridge, once that has told of its connection. */
static int64_t onward_once(const json_t *vmm)
{
	static json_t *evidence;
	static pid_t of;
	struct sp_attestation *made = NULL;
	struct sp_onward onward = {.vmm_fd = -1};
	enum sp_onward_end end;
	struct told told;
	int64_t start;

	if (of != bridge) {
		json_decref(evidence);
		evidence = enroll_as(SP_ROLE_BRIDGE);
		of = bridge;
	}
	if (sp_attest_open(SP_ROLE_BRIDGE, evidence, sp_level_probe(), NULL, &made) || !made ||
	    sp_read_exact(sp_attest_fd(made), &told, sizeof(told), 5000) ||
	    sp_attest_accepted(made, NULL))
		die("bridge: verify");
	onward.fd = told.fd;
	onward.inode = told.inode;
	start = bench_now_ns();
	if (sp_attest_onward(made, &onward, vmm, sp_level_probe(), NULL, &end))
		die("bridge: onward");
	start = bench_now_ns() - start;
	sp_attest_close(made);
	return start;
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

/* Each check of a connection to a VMM by itself, as its report has it. */
static void measure_checks(void)
{
	json_t *evidence = enroll();
	struct sp_report report = {0};
	int64_t sum[64] = {0};
	const char *names[64];
	unsigned rows = 0;

	for (int i = 0; i < CHECKED; i++) {
		struct sp_attestation *made = NULL;
		char byte;
		if (sp_attest_open(SP_ROLE_VMM, evidence, sp_level_probe(), &report, &made) ||
		    !made || sp_read_exact(sp_attest_fd(made), &byte, 1, 5000) ||
		    sp_attest_accepted(made, &report) || sp_attest_alive(made, &report))
			die("checks");
		for (rows = 0; rows < report.count; rows++) {
			names[rows] = report.checks[rows].name;
			sum[rows] += report.checks[rows].microseconds;
		}
		sp_report_done(&report);
		sp_attest_close(made);
	}
	for (unsigned row = 0; row < rows; row++) {
		char name[96];
		(void)snprintf(name, sizeof(name), "check %s", names[row]);
		bench_put(name, (double)sum[row] / CHECKED, "us", NULL, 0, "<=", 30);
	}
	json_decref(evidence);
}

#define AMONG(what)                                                                                \
	{                                                                                          \
		.plot = "other sockets", .name = (what), .unit = "us"                              \
	}
static struct bench_curve curves[] = {AMONG("verify with connect"), AMONG("record"),
    AMONG("behind a bridge in a namespace of its own"), AMONG("behind a bridge that shares ours")};

static void measure_among(void)
{
	static const unsigned counts[] = {10, 100, 1000, 10000, OTHERS};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		hold_others(counts[i]);
		bench_curve_add(&curves[0], counts[i], measure(verify_once));
		bench_curve_add(&curves[1], counts[i], measure(record_once));
		for (int shared = 0; shared < 2; shared++) {
			start_bridge(!shared);
			bench_curve_add(&curves[2 + shared], counts[i], measure(onward_once));
			stop_bridge();
		}
	}
	for (int i = 0; i < 3; i++)
		bench_curve_judge(&curves[i], 1.3);
	let_others_go();
}

int main(void)
{
	struct rlimit files;
	double alone, hand;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (!mkdtemp(directory))
		die(directory);
	(void)snprintf(path, sizeof(path), "%s/s", directory);
	(void)snprintf(bridge_path, sizeof(bridge_path), "%s/b", directory);
	sp_attest_private();
	start_server(0);
	alone = measure(verify_once);
	bench_put("attest: verify with connect", alone, "us", NULL, 0, "<=", 200);
	bench_put("attest: record without hash", measure(record_once), "us", NULL, 0, "<=", 100);
	if (bench_has("ss") && bench_has("lsof") && (hand = by_hand()) > 0)
		bench_put("attest: verify", alone, "us", "ss -xlp, lsof, readlink", hand, "<=", 1);
	start_bridge(true);
	bench_put(
	    "attest: connection behind a bridge", measure(onward_once), "us", NULL, 0, "<=", 100);
	stop_bridge();
	measure_checks();
	measure_among();
	stop_server();
	start_server(300);
	bench_put("attest: verify, peer with 300 descriptors", measure(verify_once), "us",
	    "with few", alone, "<=", 1.3);
	stop_server();
	(void)unlink(path);
	(void)rmdir(directory);
	return 0;
}
