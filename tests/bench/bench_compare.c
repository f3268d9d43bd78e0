/* spaceid compare as a filter, beside bare jansson loading and dumping the same lines. Processor
 * time of both, so that a busy machine says the same. */
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

enum { TIMES = 400, RUNS = 7 }; /* of the 120 vectors */

#define VECTORS "tests/vectors/compare.jsonl"
#define LINES   "/tmp/space-bench-compare.jsonl"

static int write_lines(void)
{
	FILE *in = fopen(VECTORS, "re"), *out = fopen(LINES, "we");
	char *line = NULL;
	size_t room = 0;
	int count = 0;

	if (!in || !out)
		return -1;
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
	return fclose(out) == 0 ? count : -1;
}

static int64_t used_ns(int who)
{
	struct rusage usage;

	(void)getrusage(who, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

/* In this process, with buffers as large as the filter's: nothing but jansson. */
static int64_t bare(void)
{
	FILE *in = fopen(LINES, "re"), *out = fopen("/dev/null", "we");
	char *line = NULL, *text = malloc(65536);
	size_t room = 0;
	ssize_t size;
	int64_t start = used_ns(RUSAGE_SELF);

	while (in && out && (size = getline(&line, &room, in)) > 0) {
		json_t *value = json_loadb(line, (size_t)size, JSON_REJECT_DUPLICATES, NULL);
		size_t used = json_dumpb(value, text, 65536, JSON_COMPACT);
		text[used] = '\n';
		(void)fwrite(text, 1, used + 1, out);
		json_decref(value);
	}
	start = used_ns(RUSAGE_SELF) - start;
	free(line);
	free(text);
	(void)fclose(in);
	(void)fclose(out);
	return start;
}

static int64_t filter(void)
{
	int64_t start = used_ns(RUSAGE_CHILDREN);
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		int in = open(LINES, O_RDONLY), out = open("/dev/null", O_WRONLY);
		if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
			_exit(126);
		(void)execl("build/bin/spaceid", "spaceid", "compare", (char *)NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 11)
		exit(1);
	return used_ns(RUSAGE_CHILDREN) - start;
}

int main(void)
{
	int64_t ours[RUNS], theirs[RUNS];
	int lines = write_lines();

	if (lines < 0)
		return 1;
	for (int i = 0; i < RUNS; i++) {
		theirs[i] = bare();
		ours[i] = filter();
	}
	(void)unlink(LINES);
	bench_put("spaceid compare", lines * 1e9 / (double)bench_percentile(ours, RUNS, 50),
	    "lines/s", "jansson load + dump",
	    lines * 1e9 / (double)bench_percentile(theirs, RUNS, 50), ">=", 0.7);
	return 0;
}
