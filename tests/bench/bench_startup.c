/* How much longer than /bin/true a one-shot verb takes, start to end: medians of interleaved runs.
 */
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

#define RUNS 300

extern char **environ;

static int64_t run_once(char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int64_t start = bench_now_ns();
	int status = 0;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(
	    &actions, STDOUT_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0) {
		(void)fprintf(stderr, "bench_startup: %s cannot be run\n", argv[0]);
		exit(1);
	}
	(void)waitpid(pid, &status, 0);
	(void)posix_spawn_file_actions_destroy(&actions);
	return bench_now_ns() - start;
}

int main(void)
{
	static const char *const tools[] = {
	    "spacecap", "spaceid", "spacebridge", "spacestream", "spacerouted"};
	char *nothing[] = {"/bin/true", NULL};
	static int64_t base[RUNS], runs[RUNS];

	for (size_t t = 0; t < sizeof(tools) / sizeof(*tools); t++) {
		char path[256], name[64];
		char *argv[] = {path, "--version", NULL};
		(void)snprintf(path, sizeof(path), "build/bin/%s", tools[t]);
		(void)snprintf(name, sizeof(name), "%s start to end, over /bin/true", tools[t]);
		for (size_t i = 0; i < RUNS; i++) {
			base[i] = run_once(nothing);
			runs[i] = run_once(argv);
		}
		double over =
		    (double)(bench_percentile(runs, RUNS, 50) - bench_percentile(base, RUNS, 50)) /
		    1000.;
		bench_put(name, over, "us", NULL, 0, "<=", 1000);
	}
	return 0;
}
