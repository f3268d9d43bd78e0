/* Filters as the measuring programs run them: over a file, into another, and what that took. */
#ifndef SP_TESTS_BENCH_FILTER_H
#define SP_TESTS_BENCH_FILTER_H

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

extern char **environ;

struct bench_spent {
	double processor, wall; /* seconds */
};

static inline void bench_fail(const char *what)
{
	(void)fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static inline double bench_seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* One run; `status` is the exit code that it must end with. */
static inline struct bench_spent bench_filter(
    char *const *argv, const char *in, const char *out, int status)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	int64_t start = bench_now_ns();
	int ended = 0;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in, O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(
	    &actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0 ||
	    wait4(pid, &ended, 0, &usage) != pid || !WIFEXITED(ended) ||
	    WEXITSTATUS(ended) != status)
		bench_fail("a filter failed");
	(void)posix_spawn_file_actions_destroy(&actions);
	return (struct bench_spent){bench_seconds(&usage.ru_utime) + bench_seconds(&usage.ru_stime),
	    (double)(bench_now_ns() - start) / 1e9};
}

/* The same of a function of ours, in so many processes at once, each with its part of the work. */
static inline struct bench_spent bench_alone(
    void (*work)(void *context, unsigned part, unsigned parts), void *context, unsigned parts)
{
	struct bench_spent spent = {0, 0};
	int64_t start = bench_now_ns();

	for (unsigned i = 0; i < parts; i++) {
		pid_t pid = fork();
		if (pid < 0)
			bench_fail("cannot fork");
		if (pid == 0) {
			work(context, i, parts);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < parts; i++) {
		struct rusage usage;
		int ended;
		if (wait4(-1, &ended, 0, &usage) < 0 || ended != 0)
			bench_fail("a peer failed");
		spent.processor += bench_seconds(&usage.ru_utime) + bench_seconds(&usage.ru_stime);
	}
	spent.wall = (double)(bench_now_ns() - start) / 1e9;
	return spent;
}

#endif
