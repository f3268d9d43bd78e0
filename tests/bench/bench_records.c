/*
 * What one operation on a worker's runtime records costs with 10 of them, and with up to ten
 * thousand times as many, in time of the processor. The store lies in memory: how long a disk takes
 * is no question of size.
 */
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "store/store.h"

enum { STEPS = 5, ROUNDS = 2000, LINES = 1000, LOOKS = 200000, CHANGES = 500, IN_USE = 10 };

static const unsigned SIZES[STEPS] = {10, 100, 1000, 10000, 100000};
static char path[] = "/dev/shm/space-bench-records-XXXXXX";
static char lines[64];
static unsigned records; /* so many there are now */

enum figure { INSTALL, REPLACE, CURRENT, SHOW, COMPARE, LIST, FIGURES };
#define RECORDS(what)                                                                              \
	{                                                                                          \
		.plot = "records", .name = (what), .unit = "us"                                    \
	}
static struct bench_curve curves[FIGURES] = {
    [INSTALL] = RECORDS("install of a new record"),
    [REPLACE] = RECORDS("install of the next execution"),
    [CURRENT] = RECORDS("record in force, of ten in use"),
    [SHOW] = RECORDS("record read from its file, of ten in use"),
    [COMPARE] = RECORDS("spaceid compare, a line"),
    [LIST] = RECORDS("spaceid list, a row"),
};

/* Of the tools, whose start counts too, with a thousand and more. */
static void put(enum figure figure, double ns)
{
	if (figure < COMPARE || records >= SIZES[2])
		bench_curve_add(&curves[figure], records, ns / 1000);
}

/* The same order each time, and no order to the eye. */
static unsigned any(void)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((state >> 33) % records);
}

/* As many sandboxes at work, of however many: what does not fit into the processor's caches is no
 * question of the store. */
static unsigned in_use(unsigned i)
{
	return (unsigned)((uint64_t)(i % IN_USE) * records / IN_USE);
}

static void name_of(unsigned number, char *ret, size_t size)
{
	(void)snprintf(ret, size, "sandbox-%08u", number);
}

static void change(struct sp_store *store, unsigned number, int64_t execution)
{
	char name[32];
	struct sp_change change = {.kind = SP_CHANGE_INSTALL,
	    .sandbox = name,
	    .route = {.execution = execution,
		.attempt = 1,
		.substrate = SP_SUBSTRATE_HOST,
		.worker = "worker-a",
		.activation = "activation-19"},
	    .owner = "op-7",
	    .now = 1000};
	struct sp_outcome outcome;
	struct sp_err err = {0};

	name_of(number, name, sizeof(name));
	if (sp_store_change(store, &change, 2000, &outcome, &err) < 0 ||
	    outcome.effect == SP_EFFECT_CONFLICT) {
		(void)fprintf(stderr, "bench_records: %s: %s\n", name, err.message);
		exit(1);
	}
}

static int64_t run(const char *verb, long *ret_kib)
{
	pid_t pid = fork();
	struct rusage usage;
	int status;

	if (pid == 0) {
		int from = open(lines, O_RDONLY | O_CLOEXEC),
		    to = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(from, STDIN_FILENO);
		(void)dup2(to, STDOUT_FILENO);
		(void)execl(
		    "build/bin/spaceid", "spaceid", verb, "--records", path, "-o", "json", NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
	    (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 10)) {
		(void)fprintf(stderr, "bench_records: spaceid %s: %d\n", verb, status);
		exit(1);
	}
	*ret_kib = usage.ru_maxrss;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

static void write_lines(void)
{
	FILE *file = fopen(lines, "w");
	char name[32];

	if (!file)
		exit(1);
	/* Each another one, so that each is read from its file. */
	for (unsigned i = 0; i < LINES; i++) {
		name_of(i * 7919 % records, name, sizeof(name));
		(void)fprintf(file,
		    "{\"selected\":{\"sandbox\":\"%s\",\"route\":{\"execution\":1,\"worker\":"
		    "\"worker-a\","
		    "\"substrate\":\"host\",\"activation\":\"activation-19\",\"attempt\":1}}}\n",
		    name);
	}
	if (fclose(file) != 0)
		exit(1);
}

static void measure_tools(void)
{
	long kib;

	write_lines();
	put(COMPARE, (double)run("compare", &kib) / LINES);
	put(LIST, (double)run("list", &kib) / records);
	if (records == SIZES[STEPS - 1])
		bench_put("memory of spaceid list of 100000", (double)kib / 1024, "MiB", NULL, 0,
		    "<=", 64);
}

static void measure_looks(struct sp_store *store)
{
	const struct sp_record *record;
	struct sp_record copy;
	char name[32];
	int64_t start;

	/* The first time each is read. */
	for (unsigned i = 0; i < IN_USE; i++) {
		name_of(in_use(i), name, sizeof(name));
		if (sp_store_current(store, name, &record, NULL) < 0)
			exit(1);
	}
	start = bench_cpu_ns();
	for (unsigned i = 0; i < LOOKS; i++) {
		name_of(in_use(i), name, sizeof(name));
		if (sp_store_current(store, name, &record, NULL) < 0)
			exit(1);
	}
	put(CURRENT, (double)(bench_cpu_ns() - start) / LOOKS);
	start = bench_cpu_ns();
	for (unsigned i = 0; i < ROUNDS; i++) {
		name_of(in_use(i), name, sizeof(name));
		if (sp_store_read(store, name, &copy, NULL) < 0)
			exit(1);
		sp_record_done(&copy);
	}
	put(SHOW, (double)(bench_cpu_ns() - start) / ROUNDS);
}

static void measure_changes(struct sp_store *store)
{
	static int64_t times[CHANGES], execution = 1;

	execution++;
	for (int i = 0; i < CHANGES; i++) {
		int64_t start = bench_cpu_ns();
		change(store, any(), execution * CHANGES + i);
		times[i] = bench_cpu_ns() - start;
	}
	put(REPLACE, (double)bench_percentile(times, CHANGES, 50));
}

/* New records up to `count`; the last of them are what one more costs. */
static void grow(struct sp_store *store, unsigned count)
{
	static int64_t times[CHANGES];
	unsigned made = 0;

	for (; records < count; records++, made++) {
		int64_t start = bench_cpu_ns();
		change(store, records, 1);
		times[made % CHANGES] = bench_cpu_ns() - start;
	}
	put(INSTALL, (double)bench_percentile(times, made < CHANGES ? made : CHANGES, 50));
}

static int take_away(const char *at, const struct stat *info, int type, struct FTW *where)
{
	(void)info;
	(void)type;
	(void)where;
	return remove(at);
}

int main(void)
{
	struct sp_store *store;

	if (!mkdtemp(path) || sp_store_open(path, SP_STORE_CREATE, &store, NULL) < 0)
		return 1;
	(void)snprintf(lines, sizeof(lines), "%s.lines", path);
	for (int i = 0; i < STEPS; i++) {
		grow(store, SIZES[i]);
		measure_tools();
		measure_looks(store);
		measure_changes(store);
	}
	for (int i = 0; i < FIGURES; i++)
		bench_curve_judge(&curves[i], 1.3);
	sp_store_close(store);
	(void)remove(lines);
	return nftw(path, take_away, 8, FTW_DEPTH | FTW_PHYS) != 0;
}
