/*
 * spacerouted route as a filter, from a cache that knows all it is asked, beside bare jansson
 * loading and dumping the asked lines: by processor time, of the filter alone, as the cache is a
 * process of its own; then with --jobs 2, by processor time and by the clock, beside two processes
 * of jansson. Medians of interleaved runs.
 */
#include <jansson.h>
#include "filter.h"
#include "socket.h"

enum { LINES = 50000, SANDBOXES = 200, RUNS = 9 };

static char directory[] = "/tmp/space-bench-XXXXXX";
static char config[64], sock[64], asked[64], published[64];

static void name_files(void)
{
	(void)snprintf(config, sizeof(config), "%s/space.ini", directory);
	(void)snprintf(sock, sizeof(sock), "%s/cache.sock", directory);
	(void)snprintf(asked, sizeof(asked), "%s/asked", directory);
	(void)snprintf(published, sizeof(published), "%s/published", directory);
}

static FILE *create(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		bench_fail("cannot write");
	return file;
}

static void write_files(void)
{
	FILE *file = create(config);

	(void)fprintf(file, "[registry]\nurl = sqlite:%s/registry.db\n[cache]\nsocket = %s\n",
	    directory, sock);
	(void)fclose(file);
	file = create(published);
	for (int i = 0; i < SANDBOXES; i++)
		(void)fprintf(file,
		    "{\"sandbox\":\"s-%d\",\"route\":{\"execution\":7,\"worker\":\"worker-a\","
		    "\"substrate\":\"kubernetes\",\"pod_uid\":"
		    "\"0b9f6a2e-0c1d-4e2f-8a3b-5c6d7e8f9a0b\",\"activation\":\"act-19\","
		    "\"attempt\":1},\"endpoint\":\"unix:/run/space/manager.sock\"}\n",
		    i);
	(void)fclose(file);
	file = create(asked);
	for (int i = 0; i < LINES; i++)
		(void)fprintf(file,
		    "{\"id\":\"r%d\",\"op\":\"file.read\",\"sandbox\":\"s-%d\",\"args\":{\"path\":"
		    "\"/etc/hostname\"}}\n",
		    i, i % SANDBOXES);
	(void)fclose(file);
}

/* Nothing but jansson. */
static void bare(void *context, unsigned part, unsigned parts)
{
	FILE *in = fopen(asked, "re"), *out = fopen("/dev/null", "we");
	char *line = NULL, *text = malloc(65536);
	size_t room = 0;
	ssize_t size;

	(void)context;
	for (unsigned i = 0; in && out && (size = getline(&line, &room, in)) > 0; i++) {
		json_t *value;
		size_t used;
		if (i % parts != part)
			continue;
		value = json_loadb(line, (size_t)size, JSON_REJECT_DUPLICATES, NULL);
		used = json_dumpb(value, text, 65536, JSON_COMPACT);
		text[used] = '\n';
		(void)fwrite(text, 1, used + 1, out);
		json_decref(value);
	}
	(void)fclose(out);
}

static void measure(void)
{
	char *one[] = {"build/bin/spacerouted", "route", "--window", "64", NULL};
	char *two[] = {"build/bin/spacerouted", "route", "--jobs", "2", "--window", "64", NULL};
	double ours[RUNS], theirs[RUNS], two_processor[RUNS], two_wall[RUNS], theirs_wall[RUNS];

	(void)bench_filter(one, asked, "/dev/null", 0);
	for (int i = 0; i < RUNS; i++) {
		struct bench_spent spent;
		ours[i] = LINES / bench_filter(one, asked, "/dev/null", 0).processor;
		theirs[i] = LINES / bench_alone(bare, NULL, 1).processor;
		spent = bench_filter(two, asked, "/dev/null", 0);
		two_processor[i] = LINES / spent.processor;
		two_wall[i] = LINES / spent.wall;
		theirs_wall[i] = LINES / bench_alone(bare, NULL, 2).wall;
	}
	bench_put_pairs("spacerouted route, 64 in flight", ours, "lines/s", "jansson load + dump",
	    theirs, RUNS, ">=", 0.8);
	bench_put_pairs("spacerouted route --jobs 2, its own processor time", two_processor,
	    "lines/s", "jansson load + dump", theirs, RUNS, ">=", 0.8);
	bench_put_pairs("spacerouted route --jobs 2, the cache on the same cores", two_wall,
	    "lines/s", "jansson in two processes", theirs_wall, RUNS, ">=", 0.8);
}

int main(void)
{
	char *publish[] = {"build/bin/spacerouted", "publish", NULL};
	char *grant[] = {"build/bin/spacerouted", "grant", "--principal", NULL, "--sandbox", "*",
	    "--ops", "file.*,exec.*", NULL};
	const char *const serve[] = {
	    "build/bin/spacerouted", "serve", "--no-watch", "--audit", "/dev/null", NULL};
	char principal[32], remove[64];
	pid_t cache;

	if (!mkdtemp(directory))
		bench_fail("cannot start");
	name_files();
	write_files();
	if (setenv("SPACE_CONFIG", config, 1) < 0)
		bench_fail("cannot start");
	(void)snprintf(principal, sizeof(principal), "uid:%u", (unsigned)getuid());
	grant[3] = principal;
	(void)bench_filter(publish, published, "/dev/null", 0);
	(void)bench_filter(grant, "/dev/null", "/dev/null", 0);
	cache = bench_start(serve);
	(void)close(bench_reach(sock));
	measure();
	bench_stop(cache);
	(void)snprintf(remove, sizeof(remove), "rm -r %s", directory);
	return system(remove) == 0 ? 0 : 1;
}
