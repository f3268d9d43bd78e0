/* file.read of 1 KiB through the standing path: send, manager, bridge, VMM's host side, guest. */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

#define WARM   500
#define ALONE  3000
#define FLIGHT 20000
#define ROUNDS 3

extern char **environ;

static char directory[] = "/tmp/bench-path-XXXXXX";
static char record[65536];

static void script(const char *verb, char *room, size_t size)
{
	char command[128];
	FILE *out;

	(void)snprintf(command, sizeof(command), "tests/bench/path.sh %s %s", verb, directory);
	out = popen(command, "re");
	if (!out || (room && !fgets(room, (int)size, out)) || pclose(out) != 0) {
		(void)fprintf(stderr, "bench_path: %s failed\n", command);
		exit(1);
	}
}

struct filter {
	pid_t pid;
	FILE *in, *out;
};

static struct filter start(const char *window)
{
	char *argv[] = {
	    "build/bin/spacebridge", "send", "--window", (char *)(uintptr_t)window, NULL};
	posix_spawn_file_actions_t actions;
	struct filter filter;
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		exit(1);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	if (posix_spawn(&filter.pid, argv[0], &actions, NULL, argv, environ) != 0)
		exit(1);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(in[0]);
	(void)close(out[1]);
	filter.in = fdopen(in[1], "w");
	filter.out = fdopen(out[0], "r");
	return filter;
}

static void finish(struct filter *filter)
{
	(void)fclose(filter->in);
	(void)fclose(filter->out);
	(void)waitpid(filter->pid, NULL, 0);
}

static void take_answer(struct filter *filter)
{
	static char line[65536];

	if (!fgets(line, sizeof(line), filter->out) || !strstr(line, "\"status\":\"ok\"")) {
		(void)fprintf(stderr, "bench_path: not an answer: %s\n", line);
		script("down", NULL, 0);
		exit(1);
	}
}

static void measure_alone(void)
{
	static int64_t took[ALONE];
	struct filter filter = start("1");

	for (int i = -WARM; i < ALONE; i++) {
		int64_t begin = bench_now_ns();
		(void)fputs(record, filter.in);
		(void)fflush(filter.in);
		take_answer(&filter);
		if (i >= 0)
			took[i] = bench_now_ns() - begin;
	}
	finish(&filter);
	bench_put("file.read 1 KiB, one at a time, median",
	    (double)bench_percentile(took, ALONE, 50) / 1000., "us", NULL, 0, "<=", 400);
}

/* The writer is a process of its own: neither side waits for the other. */
static double rate_in_flight(void)
{
	struct filter filter = start("32");
	int64_t begin = bench_now_ns();
	pid_t writer = fork();

	if (writer == 0) {
		for (int i = 0; i < FLIGHT; i++)
			(void)fputs(record, filter.in);
		(void)fflush(filter.in);
		_exit(0);
	}
	for (int i = 0; i < FLIGHT; i++)
		take_answer(&filter);
	double seconds = (double)(bench_now_ns() - begin) / 1e9;
	(void)waitpid(writer, NULL, 0);
	finish(&filter);
	return FLIGHT / seconds;
}

int main(void)
{
	double best = 0;

	if (!mkdtemp(directory))
		return 1;
	script("up", record, sizeof(record));
	char config[64];
	(void)snprintf(config, sizeof(config), "%s/space.ini", directory);
	(void)setenv("SPACE_CONFIG", config, 1);
	measure_alone();
	for (int i = 0; i < ROUNDS; i++) {
		double rate = rate_in_flight();
		best = rate > best ? rate : best;
	}
	bench_put("file.read 1 KiB, 32 in flight", best, "/s", NULL, 0, ">=", 5000);
	script("down", NULL, 0);
	return 0;
}
