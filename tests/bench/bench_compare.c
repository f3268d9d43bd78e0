/* spaceid compare as a filter, beside bare jansson loading and dumping the same lines: on one core
 * by processor time, so that a busy machine says the same; on two (--jobs 2) by the clock, beside
 * two processes of jansson. Medians of interleaved runs. */
#include <jansson.h>
#include "filter.h"

enum { TIMES = 400, RUNS = 9 }; /* of the 120 vectors */

#define VECTORS "tests/vectors/compare.jsonl"

static char lines_file[] = "/tmp/space-bench-XXXXXX";

static int write_lines(void)
{
	FILE *in = fopen(VECTORS, "re"), *out = fdopen(mkstemp(lines_file), "w");
	char *line = NULL;
	size_t room = 0;
	int count = 0;

	if (!in || !out)
		bench_fail("cannot write");
	for (int i = 0; i < TIMES; i++) {
		rewind(in);
		while (getline(&line, &room, in) > 0) {
			json_t *vector = json_loads(line, 0, NULL);
			(void)json_dumpf(json_object_get(vector, "case"), out, JSON_COMPACT);
			(void)fputc('\n', out);
			json_decref(vector);
			count++;
		}
	}
	free(line);
	(void)fclose(in);
	if (fclose(out) != 0)
		bench_fail("cannot write");
	return count;
}

/* With buffers as large as the filter's: nothing but jansson. */
static void bare(void *context, unsigned part, unsigned parts)
{
	FILE *in = fopen(lines_file, "re"), *out = fopen("/dev/null", "we");
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

int main(void)
{
	char *one[] = {"build/bin/spaceid", "compare", NULL};
	char *two[] = {"build/bin/spaceid", "compare", "--jobs", "2", NULL};
	double ours[RUNS], theirs[RUNS], ours_two[RUNS], theirs_two[RUNS];
	int lines = write_lines();

	for (int i = 0; i < RUNS; i++) {
		ours[i] = lines / bench_filter(one, lines_file, "/dev/null", 11).processor;
		theirs[i] = lines / bench_alone(bare, NULL, 1).processor;
		ours_two[i] = lines / bench_filter(two, lines_file, "/dev/null", 11).wall;
		theirs_two[i] = lines / bench_alone(bare, NULL, 2).wall;
	}
	(void)unlink(lines_file);
	bench_put_pairs(
	    "spaceid compare", ours, "lines/s", "jansson load + dump", theirs, RUNS, ">=", 0.8);
	bench_put_pairs("spaceid compare --jobs 2", ours_two, "lines/s", "jansson in two processes",
	    theirs_two, RUNS, ">=", 0.8);
	return 0;
}
