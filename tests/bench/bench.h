/* What the measuring programs share: a clock, medians, and one JSON line a figure. */
#ifndef SP_TESTS_BENCH_H
#define SP_TESTS_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline int64_t bench_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Processor time of this process. */
static inline int64_t bench_cpu_ns(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static inline int bench_by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* Sorts. */
static inline int64_t bench_percentile(int64_t *values, size_t count, unsigned percent)
{
	qsort(values, count, sizeof(*values), bench_by_value);
	return values[(count - 1) * percent / 100];
}

/*
 * One figure beside its peer of the same run. `better` is ">=" or "<="; `target` is for `ratio`
 * when peer is given, else for `value`. peer may be NULL.
 */
static inline void bench_put(const char *name, double value, const char *unit, const char *peer,
    double peer_value, const char *better, double target)
{
	double judged = peer ? value / peer_value : value;
	int met = better[0] == '>' ? judged >= target : judged <= target;

	if (peer)
		(void)printf("{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"peer\":\"%s\","
			     "\"peer_value\":%.4g,"
			     "\"ratio\":%.3f,\"target\":\"%s %g\",\"met\":%s}\n",
		    name, value, unit, peer, peer_value, judged, better, target,
		    met ? "true" : "false");
	else
		(void)printf("{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"target\":\"%s "
			     "%g\",\"met\":%s}\n",
		    name, value, unit, better, target, met ? "true" : "false");
	(void)fflush(stdout);
}

#endif
