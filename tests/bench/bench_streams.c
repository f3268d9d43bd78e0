/*
 * Many streams through manager and bridges: what one more takes to open beside how many there are
 * (each is a new connection: bridge and VMM attested, the guest's hello), and what they cost when
 * nothing is said on them. CPU time is the processes' own, which other work on the machine changes
 * least.
 */
#include "bench.h"

#include <errno.h>
#include <ev.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "net/unix.h"

#define SANDBOXES   16
#define STREAMS     10000
#define IDLE        8000
#define WINDOW      64
#define PROBES      100 /* streams opened one at a time */
#define SPARE       400 /* descriptors of a manager beside two for each stream */
#define DESCRIPTORS (2 * (STREAMS + PROBES) + SPARE)
#define IDLE_NS     5000000000
#define PATIENCE_S  60.

static char directory[] = "/tmp/bench-streams-XXXXXX";

struct stream {
	int fd;
	char answer[256];
	size_t size;
	ev_io readable;
};

static struct {
	struct ev_loop *loop;
	struct stream streams[STREAMS + PROBES];
	size_t most, started, opened;
	size_t spread; /* so many sandboxes take their turns */
	char *requests[SANDBOXES];
	pid_t manager, hosts[SANDBOXES];
} self;

static char *script(const char *words)
{
	char command[128];
	char *line = NULL;
	size_t room = 0;
	FILE *out;

	(void)snprintf(command, sizeof(command), "tests/bench/streams.sh %s", words);
	out = popen(command, "re");
	if (!out || getline(&line, &room, out) < 0)
		sp_steal(&line);
	if (!out || pclose(out) != 0) {
		(void)fprintf(stderr, "bench_streams: %s failed\n", command);
		exit(1);
	}
	return line;
}

static void script_at(const char *verb, const char *argument, char **ret)
{
	char words[96];
	char *line;

	(void)snprintf(words, sizeof(words), "%s %s %s", verb, directory, argument);
	line = script(words);
	if (ret)
		*ret = line;
	else
		free(line);
}

static void give_up(const char *why)
{
	(void)fprintf(stderr, "bench_streams: %s\n", why);
	script_at("down", "", NULL);
	exit(1);
}

static pid_t pid_of(const char *name)
{
	char path[96], text[32] = {0};
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s.pid", directory, name);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		give_up(path);
	(void)fclose(file);
	return (pid_t)atoi(text);
}

/* The number behind these words at the beginning of a line (NULL: of the file). */
static double number_in(pid_t pid, const char *name, const char *before)
{
	char path[64], line[256];
	double found = -1;
	size_t skip = before ? strlen(before) : 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	while (file && found < 0 && fgets(line, sizeof(line), file))
		if (!before || strncmp(line, before, skip) == 0)
			found = strtod(line + skip, NULL);
	if (!file || found < 0)
		give_up(path);
	(void)fclose(file);
	return found;
}

static double cpu_ns(pid_t pid)
{
	return number_in(pid, "schedstat", NULL);
}

static double memory(pid_t pid)
{
	return 1024 * number_in(pid, "smaps_rollup", "Pss:");
}

static double of_hosts(double (*each)(pid_t))
{
	double sum = 0;

	for (int i = 0; i < SANDBOXES; i++)
		sum += each(self.hosts[i]);
	return sum;
}

static double of_all(double (*each)(pid_t))
{
	return each(self.manager) + of_hosts(each);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct stream *stream = watcher->data;
	ssize_t n = sp_read_some(
	    stream->fd, stream->answer + stream->size, sizeof(stream->answer) - 1 - stream->size);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n <= 0)
		give_up("a stream was not opened");
	stream->size += (size_t)n;
	if (!strchr(stream->answer, '\n'))
		return;
	if (!strstr(stream->answer, "\"status\":\"open\""))
		give_up(stream->answer);
	ev_io_stop(loop, watcher);
	self.opened++;
}

static void open_one(void)
{
	struct stream *stream = &self.streams[self.started];
	const char *request = self.requests[self.started++ % self.spread];
	struct sp_err err = {0};
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/run/manager.sock", directory);
	if (sp_unix_connect(path, 10000, &stream->fd, &err) ||
	    sp_write_all(stream->fd, request, strlen(request), 10000))
		give_up(err.message);
	ev_io_init(&stream->readable, on_readable, stream->fd, EV_READ);
	stream->readable.data = stream;
	ev_io_start(self.loop, &stream->readable);
}

static void on_patience(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)watcher;
	(void)events;
	give_up("too long");
}

static void open_to(size_t count)
{
	ev_timer patience;

	ev_timer_init(&patience, on_patience, PATIENCE_S, 0.);
	ev_timer_start(self.loop, &patience);
	while (self.opened < count) {
		while (self.started < count && self.started - self.opened < WINDOW)
			open_one();
		(void)ev_run(self.loop, EVRUN_ONCE);
	}
	ev_timer_stop(self.loop, &patience);
}

/* All but the first `count`. */
static void close_to(size_t count)
{
	while (self.started > count)
		(void)close(self.streams[--self.started].fd);
	self.opened = count;
}

/* Nanoseconds to open one more, the median, and what manager and bridges used of the processor for
 * each. */
static double open_singly(double *ret_cpu)
{
	static int64_t took[PROBES];
	size_t before = self.opened;
	double cpu = of_all(cpu_ns);

	for (size_t i = 0; i < PROBES; i++) {
		int64_t begin = bench_now_ns();
		open_to(before + i + 1);
		took[i] = bench_now_ns() - begin;
	}
	*ret_cpu = (of_all(cpu_ns) - cpu) / PROBES;
	return (double)bench_percentile(took, PROBES, 50);
}

static struct bench_curve time_curve = {.plot = "streams", .name = "opening one", .unit = "us"};
static struct bench_curve cpu_curve = {
    .plot = "streams", .name = "opening one: CPU of manager and bridges", .unit = "us"};

static void measure_opening(void)
{
	size_t before = self.opened;
	double cpu, time = open_singly(&cpu);

	bench_curve_add(&time_curve, (double)before, time / 1e3);
	bench_curve_add(&cpu_curve, (double)before, cpu / 1e3);
}

/* To one sandbox, whose bridge has opened one before. */
static void measure_new(void)
{
	double cpu;

	self.spread = 1;
	open_to(1);
	bench_put("new connection, bridge and VMM attested, guest's hello, median",
	    open_singly(&cpu) / 1e3, "us", NULL, 0, "<=", 600);
	self.spread = SANDBOXES;
}

/* Per cent of a core. */
static double idle(void)
{
	double cpu = of_all(cpu_ns);
	int64_t begin = bench_now_ns();

	(void)usleep(IDLE_NS / 1000);
	return 100 * (of_all(cpu_ns) - cpu) / (double)(bench_now_ns() - begin);
}

/* That a process looks at the page of records every 10 ms costs it the same, however many it has.
 */
static void measure_idle(double few)
{
	double all = idle();
	char name[96];

	(void)snprintf(
	    name, sizeof(name), "CPU of %zu idle streams, beyond that of one", self.opened);
	bench_put(name, all - few, "%", NULL, 0, "<=", 2);
	bench_put(
	    "CPU of a process with idle streams", all / (SANDBOXES + 1), "%", NULL, 0, "<=", 0.5);
}

/* As many descriptors as it takes, where that is allowed; else as many streams as there may be. */
static void allow_descriptors(void)
{
	struct rlimit limit = {DESCRIPTORS, DESCRIPTORS};

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		sp_descriptors_raise(NULL);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	self.most = STREAMS;
	if (limit.rlim_cur < DESCRIPTORS) {
		self.most = ((size_t)limit.rlim_cur - SPARE) / 2 - PROBES;
		(void)fprintf(stderr,
		    "bench_streams: no more than %llu descriptors: %zu streams instead of %d\n",
		    (unsigned long long)limit.rlim_cur, self.most, STREAMS);
	}
}

static void set_up(void)
{
	char number[16];

	allow_descriptors();
	self.loop = ev_default_loop(0);
	(void)snprintf(number, sizeof(number), "%d", SANDBOXES);
	script_at("up", number, NULL);
	self.manager = pid_of("manager");
	for (int i = 0; i < SANDBOXES; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "host-%d", i + 1);
		self.hosts[i] = pid_of(name);
		(void)snprintf(number, sizeof(number), "%d", i + 1);
		script_at("request", number, &self.requests[i]);
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int main(void)
{
	double before, few;

	if (!mkdtemp(directory))
		return 1;
	set_up();
	measure_new();
	/* From here on every process looks at the page of records. */
	open_to(self.opened + SANDBOXES);
	close_to(1);
	few = idle();
	before = of_all(memory);
	measure_opening();
	open_to(1000);
	measure_opening();
	open_to(least(IDLE, self.most));
	bench_put("memory of an idle stream, manager and bridge",
	    (of_all(memory) - before) / (double)(self.opened - 1) / 1024., "KiB", NULL, 0,
	    "<=", 16);
	measure_idle(few);
	measure_opening();
	open_to(self.most);
	measure_opening();
	bench_curve_judge(&time_curve, 1.5);
	bench_curve_judge(&cpu_curve, 1.5);
	script_at("down", "", NULL);
	return 0;
}
