/*
 * What one operation costs with 1,000 sandboxes, and with ten, a hundred and a thousand times as
 * many: the registry, the whole of it moved by the tools, and the cache over its socket. In time of
 * the processor: how long a disk takes, and what else runs, is not a question of size.
 * SCALE_MAX=N: no more than N sandboxes.
 */
#include <fcntl.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "routing/registry.h"
#include "base/util.h"
#include "record/json.h"
#include "socket.h"

enum { ROUNDS = 20000, COMMITS = 300, DEEP = 16, STEPS = 4, CHANGED = 1000 };

static const unsigned SIZES[STEPS] = {1000, 10000, 100000, 1000000};
/* What is read of a B-tree of a thousand times as many has twice as many levels. */
#define TREE_GROWTH 2

static char directory[] = "/tmp/space-bench-scale-XXXXXX";
static char url[96], config[96], sock[96], lines[96], answers[96];
static unsigned sandboxes; /* so many there are now */

/* --- figures --- */

enum figure { PUBLISH, RESOLVE, LOOKUP, LIST, EXPORT, IMPORT, CATCH_UP, FILL, GET, FIGURES };

#define ROUTES(what)                                                                               \
	{                                                                                          \
		.plot = "routes", .name = (what), .unit = "us"                                     \
	}
static struct bench_curve curves[FIGURES] = {
    [PUBLISH] = ROUTES("publish"),
    [RESOLVE] = ROUTES("resolve"),
    [LOOKUP] = ROUTES("authorize and resolve"),
    [LIST] = ROUTES("list, a row"),
    [EXPORT] = ROUTES("export, a row"),
    [IMPORT] = ROUTES("import, a row"),
    [CATCH_UP] = ROUTES("watch, a change missed"),
    [FILL] = ROUTES("cache fill"),
    [GET] = ROUTES("cache get"),
};

static void put(enum figure figure, double ns)
{
	bench_curve_add(&curves[figure], sandboxes, ns / 1000);
}

static unsigned any(void)
{
	return randombytes_uniform(sandboxes);
}

/* --- the registry by itself --- */

static struct sp_publication publication(unsigned number, int64_t execution)
{
	struct sp_publication wanted = {.endpoint = "unix:/run/space/worker-a/manager.sock"};

	(void)snprintf(
	    wanted.identity.sandbox, sizeof(wanted.identity.sandbox), "sandbox-%08u", number);
	wanted.identity.route = (struct sp_route){.execution = execution,
	    .attempt = 1,
	    .substrate = SP_SUBSTRATE_KUBERNETES,
	    .worker = "worker-a",
	    .pod_uid = "0b9fa1c2-1111-2222-3333-444455556666",
	    .activation = "activation-19"};
	return wanted;
}

/* As the cache opens it. */
static struct sp_registry *open_registry(const char *at)
{
	const struct sp_registry_options options = {
	    .timeout_ms = 20000, .create = true, .mapped = true};
	struct sp_registry *registry;

	bench_must(sp_registry_open(at, &options, &registry, NULL));
	return registry;
}

static void measure_publish(struct sp_registry *registry)
{
	static int64_t times[COMMITS];
	static int64_t execution = 100;

	execution++;
	for (int i = 0; i < COMMITS; i++) {
		struct sp_publication wanted = publication(any(), execution * COMMITS + i);
		enum sp_publish_effect effect;
		int64_t revision, start = bench_cpu_ns();
		bench_must(sp_registry_publish(registry, &wanted, &effect, &revision, NULL));
		times[i] = bench_cpu_ns() - start;
	}
	sp_registry_tidy(registry);
	put(PUBLISH, (double)bench_percentile(times, COMMITS, 50));
}

static void looked(void *context, const struct sp_lookup *lookup)
{
	(void)context;
	if (!lookup->available || !lookup->routed)
		exit(1);
}

static void resolve_any(struct sp_registry *registry)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct sp_publication wanted = publication(any(), 1);
		struct sp_placement placement;
		bench_must(
		    sp_registry_resolve(registry, wanted.identity.sandbox, &placement, NULL));
	}
}

static void measure_reads(struct sp_registry *registry)
{
	int64_t start;

	/* What a process that stays does once: each page that it sees first is a fault. */
	resolve_any(registry);
	start = bench_cpu_ns();
	resolve_any(registry);
	put(RESOLVE, (double)(bench_cpu_ns() - start) / ROUNDS);
	start = bench_cpu_ns();
	for (int i = 0; i < ROUNDS; i++) {
		struct sp_publication wanted = publication(any(), 1);
		const struct sp_flight_question question = {
		    .caller = "uid:1000", .sandbox = wanted.identity.sandbox, .authorize = true};
		sp_registry_lookup(registry, &question, 1000, looked, NULL);
	}
	put(LOOKUP, (double)(bench_cpu_ns() - start) / ROUNDS);
}

static void ignore_revoked(void *context, const char *subject, const char *pattern)
{
	(void)context;
	(void)subject;
	(void)pattern;
}

static void count_routed(void *context, const char *sandbox, const struct sp_placement *placement)
{
	sp_auto_json json_t *line = sp_placement_json(sandbox, placement);
	sp_auto_free char *text = sp_json_text(line);

	if (!text)
		exit(1);
	++*(unsigned *)context;
}

/* Somebody who has missed the last changes, however many sandboxes there are. */
static void measure_catch_up(void)
{
	static const struct sp_registry_changes changes = {
	    .revoked = ignore_revoked, .routed = count_routed};
	struct sp_registry *registry = open_registry(url);
	unsigned told = 0;
	int64_t revision, start;

	bench_must(sp_registry_snapshot_begin(registry, &revision, NULL));
	sp_registry_snapshot_end(registry);
	sp_registry_resume(registry, revision - CHANGED);
	start = bench_cpu_ns();
	bench_must(sp_registry_poll(registry, &changes, &told));
	if (told > 0)
		put(CATCH_UP, (double)(bench_cpu_ns() - start) / told);
	sp_registry_close(registry);
}

/* --- by the tools --- */

/* Runs spacerouted; how long it took, and the most memory that it had. */
static int64_t run(
    const char *verb, const char *in, const char *out, const char *with, long *ret_kib)
{
	pid_t pid = fork();
	struct rusage usage;
	int status;

	if (pid == 0) {
		int from = open(in, O_RDONLY | O_CLOEXEC);
		int to = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		(void)dup2(from, STDIN_FILENO);
		(void)dup2(to, STDOUT_FILENO);
		(void)execl(
		    "build/bin/spacerouted", "spacerouted", verb, "-c", with, "-o", "json", NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
		(void)fprintf(stderr, "bench: spacerouted %s: %d\n", verb, status);
		exit(1);
	}
	*ret_kib = usage.ru_maxrss;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

static void put_memory(const char *verb, long kib)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "memory of %s of %u", verb, sandboxes);
	bench_put(name, (double)kib / 1024, "MiB", NULL, 0, "<=", 32);
}

/* What export would have printed of so many. */
static void write_lines(void)
{
	FILE *file = fopen(lines, "w");

	if (!file)
		exit(1);
	(void)fprintf(file, "{\"kind\":\"registry\",\"version\":1,\"revision\":0}\n");
	for (unsigned i = 0; i < sandboxes; i++)
		(void)fprintf(file,
		    "{\"kind\":\"route\",\"sandbox\":\"sandbox-%08u\",\"route\":{\"execution\":7,"
		    "\"worker\":\"worker-a\",\"substrate\":\"kubernetes\",\"pod_uid\":"
		    "\"0b9fa1c2-1111-2222-3333-444455556666\",\"activation\":\"activation-19\","
		    "\"attempt\":1},\"endpoint\":\"unix:/run/space/worker-a/manager.sock\","
		    "\"state\":\"active\",\"revision\":%u}\n",
		    i, i + 1);
	(void)fprintf(file,
	    "{\"kind\":\"grant\",\"principal\":\"uid:1000\",\"sandbox\":\"*\",\"ops\":[\"file.*\"],"
	    "\"ports\":[],"
	    "\"revision\":%u}\n{\"kind\":\"end\",\"routes\":%u,\"grants\":1}\n",
	    sandboxes + 1, sandboxes);
	if (fclose(file) != 0)
		exit(1);
}

static void measure_tools(void)
{
	static const struct {
		const char *verb;
		enum figure figure;
	} steps[] = {{"import", IMPORT}, {"list", LIST}, {"export", EXPORT}};
	long kib;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int64_t ns = run(steps[i].verb, lines, answers, config, &kib);
		put(steps[i].figure, (double)ns / sandboxes);
		if (sandboxes == SIZES[STEPS - 1])
			put_memory(steps[i].verb, kib);
	}
}

/* --- the cache over its socket --- */

static void read_lines(int fd, int count)
{
	static char room[65536];

	while (count > 0) {
		ssize_t n;
		(void)sp_poll_one(fd, 1 /* POLLIN */, -1);
		n = sp_read_some(fd, room, sizeof(room));
		bench_must(n > 0 ? 0 : -1);
		for (const char *at = room; (at = memchr(at, '\n', (size_t)(room + n - at))); at++)
			count--;
	}
}

/* Nanoseconds of the server a question: of sandboxes in a row, or of any. */
static double ask_cache(pid_t server, int fd, bool in_a_row)
{
	int rounds = in_a_row && sandboxes < ROUNDS ? (int)sandboxes : ROUNDS;
	double start;

	rounds -= rounds % DEEP;
	start = bench_cpu(server);
	for (int i = 0; i < rounds; i += DEEP) {
		char batch[DEEP * 128];
		int size = 0;
		for (int deep = 0; deep < DEEP; deep++)
			size += snprintf(batch + size, sizeof(batch) - (size_t)size,
			    "{\"ask\":\"get\",\"caller\":\"uid:1000\",\"sandbox\":\"sandbox-%08u\","
			    "\"op\":\"file.read\"}\n",
			    in_a_row ? (unsigned)(i + deep) : any());
		bench_must(sp_write_all(fd, batch, (size_t)size, 10000));
		read_lines(fd, DEEP);
	}
	return (bench_cpu(server) - start) * 1e9 / rounds;
}

static void measure_cache(bool warm)
{
	const char *const arguments[] = {"build/bin/spacerouted", "serve", "-c", config, "--listen",
	    sock, "--audit", "/dev/null", warm ? "--warm" : NULL, NULL};
	const char *first =
	    "{\"ask\":\"get\",\"caller\":\"uid:1000\",\"sandbox\":\"sandbox-00000999\","
	    "\"op\":\"file.read\"}\n";
	pid_t server = bench_start(arguments);
	int fd = -1;

	for (int i = 0; i < 60000 && sp_unix_connect(sock, 1000, &fd, NULL) < 0; i++)
		(void)usleep(1000);
	bench_must(fd);
	/* It listens before it is warm, and answers when it is. */
	bench_must(sp_write_all(fd, first, strlen(first), 10000));
	read_lines(fd, 1);
	if (warm && sandboxes == SIZES[STEPS - 1])
		bench_put("cache warm-up, per entry", bench_cpu(server) * 1e6 / sandboxes, "us",
		    NULL, 0, "<=", 5);
	put(warm ? GET : FILL, ask_cache(server, fd, !warm));
	(void)close(fd);
	bench_stop(server);
}

static void write_config(void)
{
	FILE *file = fopen(config, "w");

	if (!file || fprintf(file, "[registry]\nurl = %s\ntimeout_ms = 20000\n", url) < 0 ||
	    fclose(file) != 0)
		exit(1);
}

static void measure(unsigned count)
{
	struct sp_registry *registry;

	sandboxes = count;
	(void)snprintf(url, sizeof(url), "sqlite:%s/%u.db", directory, count);
	write_config();
	write_lines();
	measure_tools();
	registry = open_registry(url);
	measure_reads(registry);
	measure_cache(false);
	measure_cache(true);
	measure_publish(registry);
	measure_catch_up();
	sp_registry_close(registry);
}

int main(void)
{
	const char *max = getenv("SCALE_MAX");
	char command[128];

	if (!mkdtemp(directory))
		return 1;
	(void)signal(SIGPIPE, SIG_IGN);
	bench_pin(BENCH_CLIENT_CPU);
	(void)snprintf(config, sizeof(config), "%s/space.ini", directory);
	(void)snprintf(sock, sizeof(sock), "%s/cache.sock", directory);
	(void)snprintf(lines, sizeof(lines), "%s/lines", directory);
	(void)snprintf(answers, sizeof(answers), "%s/answers", directory);
	for (int i = 0; i < STEPS; i++)
		if (!max || SIZES[i] <= strtoul(max, NULL, 10))
			measure(SIZES[i]);
	for (int i = 0; i < FIGURES; i++)
		bench_curve_judge(&curves[i], i == RESOLVE || i == LOOKUP ? TREE_GROWTH : 1.3);
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) == 0 ? 0 : 1;
}
