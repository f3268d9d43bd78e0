/*
 * The standing path, from end to end: file.read of 1 KiB through the filter `send`, and by a client
 * of the four sockets (manager, bridge, VMM, guest) beside the same request over four sockets with
 * no checks at all. What a new connection takes is bench_streams' to say. The capability is good
 * for two minutes.
 */
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bare.h"
#include "bench.h"

enum { WARM = 500, ALONE = 3000, FLIGHT = 20000, ROUNDS = 3 }; /* through `send` */
enum { SLICES = 40, SLICE = 100, DEEP = 64 };

extern char **environ;

static char directory[] = "/tmp/bench-path-XXXXXX";
static char record[65536];
static pid_t own; /* who may take everything down */

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

static void down(void)
{
	if (getpid() == own)
		script("down", NULL, 0);
}

static void stop(const char *what)
{
	(void)fprintf(stderr, "bench_path: %s\n", what);
	exit(1);
}

static const char *place(const char *name)
{
	static char path[4][96];
	static unsigned next;
	char *at = path[next++ % 4];

	(void)snprintf(at, sizeof(path[0]), "%s/%s", directory, name);
	return at;
}

/* --- through the filter --- */

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

	if (!fgets(line, sizeof(line), filter->out) || !strstr(line, "\"status\":\"ok\""))
		stop(line);
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
	bench_put("file.read 1 KiB by send, one at a time, median",
	    (double)bench_percentile(took, ALONE, 50) / 1000., "us", NULL, 0, "<=", 250);
	bench_put("file.read 1 KiB by send, one at a time, p99",
	    (double)bench_percentile(took, ALONE, 99) / 1000., "us", NULL, 0, "<=", 1000);
}

/* The writer is a process of its own: neither side waits for the other. */
static double rate_in_flight(void)
{
	struct filter filter = start("64");
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

static void measure_send(void)
{
	double best = 0;

	measure_alone();
	for (int i = 0; i < ROUNDS; i++) {
		double rate = rate_in_flight();
		best = rate > best ? rate : best;
	}
	bench_put("file.read 1 KiB by send, 64 in flight", best, "/s", NULL, 0, ">=", 8000);
}

/* --- over the four sockets --- */

/* One connection, with as many requests in flight as there are ids. */
struct road {
	const char *lines[DEEP];
	size_t sizes[DEEP];
	pid_t pids[4]; /* who answers: manager or relay, bridge or relay, VMM, guest */
	int fd;
	struct bench_curve time, cpu; /* of a request, by how many are in flight */
};

static pid_t pid_of(const char *name)
{
	char path[96];
	FILE *file;
	int pid;

	(void)snprintf(path, sizeof(path), "%s/%s.pid", directory, name);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &pid) != 1)
		stop(path);
	(void)fclose(file);
	return pid;
}

static void write_lines(struct road *road, const char *cap)
{
	for (int i = 0; i < DEEP; i++) {
		char *line;
		int size = asprintf(&line,
		    "{\"id\":\"%d\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{"
		    "\"path\":\"/1k\"}%s%s%s}\n",
		    i, cap ? ",\"cap\":\"" : "", cap ? cap : "", cap ? "\"" : "");
		if (size < 0)
			stop("out of memory");
		road->lines[i] = line;
		road->sizes[i] = (size_t)size;
	}
}

/* Takes one answer, and asks the same again, or not. */
static void answered(struct road *road, const char *line, bool again, char *out, size_t *size)
{
	unsigned id = DEEP;

	if (sscanf(line, "{\"id\":\"%u\",\"status\":\"ok\"", &id) != 1 || id >= DEEP)
		stop(line);
	if (!again)
		return;
	memcpy(out + *size, road->lines[id], road->sizes[id]);
	*size += road->sizes[id];
}

/* `count` requests, `deep` of them in flight. */
static void ask(struct road *road, int deep, int count)
{
	static char in[DEEP * 4096], out[DEEP * 2048];
	size_t have = 0, size = 0;
	int asked = 0, done = 0;

	for (; asked < deep; asked++) {
		memcpy(out + size, road->lines[asked], road->sizes[asked]);
		size += road->sizes[asked];
	}
	while (done < count) {
		char *at = in, *end;
		ssize_t n;
		if (size > 0)
			bare_write(road->fd, out, size);
		size = 0;
		n = read(road->fd, in + have, sizeof(in) - 1 - have);
		if (n <= 0)
			stop("no answer");
		have += (size_t)n;
		in[have] = '\0';
		for (; (end = strchr(at, '\n')); at = end + 1, done++)
			answered(road, at, asked < count && ++asked, out, &size);
		have -= (size_t)(at - in);
		memmove(in, at, have);
	}
}

/* Microseconds that the four have used of the processor. */
static double used_us(const struct road *road)
{
	double sum = 0;

	for (int i = 0; i < 4; i++) {
		struct timespec used;
		clockid_t clock;
		if (clock_getcpuclockid(road->pids[i], &clock) || clock_gettime(clock, &used) < 0)
			stop("clock of a process");
		sum += (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
	}
	return sum;
}

/* What others do on the machine meets both, slice by slice. */
static void measure_depth(struct road roads[2], int deep)
{
	static int64_t took[2][SLICES];
	int count = deep > 1 ? SLICE * 5 : SLICE;
	double cpu[2] = {0};

	for (int i = 0; i < SLICES; i++)
		for (int r = 0; r < 2; r++) {
			double before = used_us(&roads[r]);
			int64_t begin = bench_now_ns();
			ask(&roads[r], deep, count);
			took[r][i] = (bench_now_ns() - begin) / count;
			cpu[r] += used_us(&roads[r]) - before;
		}
	for (int r = 0; r < 2; r++) {
		bench_curve_add(
		    &roads[r].time, deep, (double)bench_percentile(took[r], SLICES, 50) / 1000.);
		bench_curve_add(&roads[r].cpu, deep, cpu[r] / SLICES / count);
	}
}

static void compare(const char *how, const double time[2], const double cpu[2])
{
	char name[96];

	(void)snprintf(name, sizeof(name), "file.read 1 KiB, %s", how);
	bench_put(name, time[0], "us", "no checks", time[1], "<=", 2.5);
	(void)snprintf(name, sizeof(name), "file.read 1 KiB, %s: CPU of the path", how);
	bench_put(name, cpu[0], "us", "no checks", cpu[1], "<=", 2.5);
}

static void measure_roads(struct road roads[2])
{
	for (int deep = 1; deep <= DEEP; deep *= 2)
		measure_depth(roads, deep);
	compare("one at a time", (double[]){roads[0].time.first, roads[1].time.first},
	    (double[]){roads[0].cpu.first, roads[1].cpu.first});
	compare("64 in flight", (double[]){roads[0].time.last, roads[1].time.last},
	    (double[]){roads[0].cpu.last, roads[1].cpu.last});
	bench_curve_judge(&roads[0].time, 1);
	bench_curve_judge(&roads[0].cpu, 1);
}

int main(void)
{
	struct road roads[2] = {
	    {.time = {.name = "file.read 1 KiB", .unit = "us"},
		.cpu = {.name = "file.read 1 KiB: CPU of the path", .unit = "us"}},
	    {.time = {.name = "no checks", .unit = "us"},
		.cpu = {.name = "no checks: CPU of the path", .unit = "us"}}};
	json_t *minted;
	const char *cap;

	if (!mkdtemp(directory))
		return 1;
	own = getpid();
	(void)atexit(down);
	(void)signal(SIGPIPE, SIG_IGN);
	script("up", record, sizeof(record));
	(void)setenv("SPACE_CONFIG", place("space.ini"), 1);
	minted = json_loads(record, 0, NULL);
	cap = json_string_value(json_object_get(minted, "cap"));
	if (!cap)
		stop("no capability");
	write_lines(&roads[0], cap);
	write_lines(&roads[1], NULL);
	for (int r = 0; r < 2; r++) {
		roads[r].pids[2] = pid_of("vmm");
		roads[r].pids[3] = pid_of("guest");
		roads[r].time.plot = roads[r].cpu.plot = "requests in flight";
	}
	roads[0].pids[0] = pid_of("manager");
	roads[0].pids[1] = pid_of("host");
	roads[1].pids[1] = bare_start(place("bare-host.sock"), place("run/v.sock"), true);
	roads[1].pids[0] = bare_start(place("bare.sock"), place("bare-host.sock"), false);
	roads[0].fd = bare_connect(place("run/manager.sock"));
	roads[1].fd = bare_connect(place("bare.sock"));
	ask(&roads[0], 1, WARM);
	ask(&roads[1], 1, WARM);
	measure_send();
	measure_roads(roads);
	json_decref(minted);
	return 0;
}
