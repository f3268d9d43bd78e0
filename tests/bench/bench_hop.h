/* What the measuring programs of relays share: programs of their own core, their scratch directory,
 * and what one of them has used. */
#ifndef SP_TESTS_BENCH_HOP_H
#define SP_TESTS_BENCH_HOP_H

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];

struct hop {
	const char *name;
	pid_t pid;
	int front, back;    /* our ends */
	double bulk, trips; /* bytes and round trips a second, the best of the rounds */
	/* The same a second of its own CPU time: what a core of its own carries. */
	double bulk_capacity, trips_capacity;
};

static inline void give_up(const char *why)
{
	(void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
	exit(1);
}

static inline const char *place(const char *name)
{
	static char path[8][128];
	static unsigned next;
	char *at = path[next++ % 8];

	(void)snprintf(at, sizeof(path[0]), "%s/%s", directory, name);
	return at;
}

static inline void write_file(const char *name, const char *text)
{
	FILE *file = fopen(place(name), "we");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		give_up(name);
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set); /* on a single core both share it */
}

static inline pid_t run(char *const *argv)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(open("/dev/null", O_RDWR), STDOUT_FILENO) < 0)
		_exit(126);
	(void)execvp(argv[0], argv);
	_exit(127);
}

static inline void hop_end(pid_t pid)
{
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
}

static inline void unblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	(void)fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

/* Seconds of CPU that it has used. */
static inline double cpu_seconds(pid_t pid)
{
	struct timespec used = {0};
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) || clock_gettime(id, &used) < 0)
		give_up("clock of the relay");
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static inline void keep_best(double *best, double value)
{
	*best = value > *best ? value : *best;
}

#endif
