/* Servers under measurement, each on a core of its own, and one client that times their answers. */
#ifndef SP_TESTS_BENCH_SOCKET_H
#define SP_TESTS_BENCH_SOCKET_H

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "bench.h"
#include "net/unix.h"

static inline void bench_must(int code)
{
	if (code >= 0)
		return;
	(void)fprintf(stderr, "bench: %s\n", sp_code_text(code));
	exit(1);
}

/* The client's core and the servers'; a machine of one has them share it. */
enum { BENCH_CLIENT_CPU, BENCH_SERVER_CPU };

static inline void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Quiet, and ended with this process. */
static inline pid_t bench_start(const char *const *arguments)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(BENCH_SERVER_CPU);
	if (!freopen("/dev/null", "w", stdout))
		_exit(126);
	(void)execvp(arguments[0], (char *const *)(uintptr_t)arguments);
	_exit(127);
}

static inline void bench_stop(pid_t pid)
{
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
}

static inline int bench_reach(const char *path)
{
	int fd = -1;

	for (int i = 0; i < 5000 && sp_unix_connect(path, 1000, &fd, NULL) < 0; i++)
		(void)usleep(1000);
	bench_must(fd);
	return fd;
}

/* What a process has used of its core, in seconds. */
static inline double bench_cpu(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	bench_must(clock_getcpuclockid(pid, &clock) == 0 ? 0 : -1);
	(void)clock_gettime(clock, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* One connection, and how long the answer to each question is. */
struct bench_peer {
	int fd;
	pid_t server;
	const char *question;
	size_t question_size, answer_size;
};

static inline void bench_read(int fd, size_t size)
{
	static char room[65536];

	while (size > 0) {
		ssize_t n;
		(void)sp_poll_one(fd, 1 /* POLLIN */, -1);
		n = sp_read_some(fd, room, size < sizeof(room) ? size : sizeof(room));
		bench_must(n > 0 ? 0 : -1);
		size -= (size_t)n;
	}
}

/* Asks once; *ret has the answer, up to where nothing more comes at once. */
static inline size_t bench_ask(int fd, const char *question, size_t size, char *ret, size_t room)
{
	ssize_t n;

	bench_must(sp_write_all(fd, question, size, 10000));
	(void)sp_poll_one(fd, 1 /* POLLIN */, 10000);
	n = sp_read_some(fd, ret, room - 1);
	bench_must(n > 0 ? 0 : -1);
	ret[n] = '\0';
	return (size_t)n;
}

#define BENCH_DEEP_MAX 16

/* Questions a second, `deep` of them in flight. */
static inline double bench_rate(const struct bench_peer *peer, int rounds, int deep)
{
	static char batch[BENCH_DEEP_MAX * 1024];
	int64_t start;

	for (int i = 0; i < deep; i++)
		memcpy(
		    batch + (size_t)i * peer->question_size, peer->question, peer->question_size);
	start = bench_now_ns();
	for (int i = 0; i < rounds; i += deep) {
		bench_must(
		    sp_write_all(peer->fd, batch, peer->question_size * (size_t)deep, 10000));
		bench_read(peer->fd, peer->answer_size * (size_t)deep);
	}
	return (double)rounds * 1e9 / (double)(bench_now_ns() - start);
}

/* Both in turns, slice by slice: whatever else the machine does meets both. Medians; and what an
 * answer costs the server's core, on which a busy machine has less of a say. */
#define BENCH_SLICES 21
static inline void bench_race(const char *name, const struct bench_peer *ours,
    const char *their_name, const struct bench_peer *theirs, int rounds, int deep)
{
	int64_t our_rate[BENCH_SLICES], their_rate[BENCH_SLICES];
	double our_cpu = -bench_cpu(ours->server), their_cpu = -bench_cpu(theirs->server);
	double answers = (double)rounds * BENCH_SLICES / 1e6;
	char cost[96];

	for (int i = 0; i < BENCH_SLICES; i++) {
		our_rate[i] = (int64_t)bench_rate(ours, rounds, deep);
		their_rate[i] = (int64_t)bench_rate(theirs, rounds, deep);
	}
	our_cpu += bench_cpu(ours->server);
	their_cpu += bench_cpu(theirs->server);
	(void)snprintf(cost, sizeof(cost), "%s: CPU", name);
	bench_put(name, (double)bench_percentile(our_rate, BENCH_SLICES, 50), "/s", their_name,
	    (double)bench_percentile(their_rate, BENCH_SLICES, 50), ">=", 1.0);
	bench_put(cost, our_cpu / answers, "us", their_name, their_cpu / answers, "<=", 1.0);
}

#endif
