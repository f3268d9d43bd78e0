/* What the measuring programs share: clocks, medians, peers that may be missing, and one JSON line
 * a figure. */
#ifndef SP_TESTS_BENCH_H
#define SP_TESTS_BENCH_H

#include <errno.h>
#include <stdbool.h>
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

/* Is this peer installed? Otherwise it is said that its figures are left out (tests/bench/run
 * collects that). */
static inline bool bench_has(const char *peer)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "command -v %s >/dev/null", peer);
	if (system(command) == 0)
		return true;
	(void)fprintf(
	    stderr, "%s: no %s: its figures are left out\n", program_invocation_short_name, peer);
	return false;
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

static inline int bench_by_number(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* What is given stays as it is. */
static inline double bench_median(const double *values, size_t count)
{
	double sorted[256];

	count = count < 256 ? count : 256;
	for (size_t i = 0; i < count; i++)
		sorted[i] = values[i];
	qsort(sorted, count, sizeof(*sorted), bench_by_number);
	return sorted[count / 2];
}

/*
 * A figure that was measured `count` times, each time right beside its peer: the medians of both,
 * and the median of their ratios, so that what disturbs the machine for a while disturbs few of
 * them.
 */
static inline void bench_put_pairs(const char *name, const double *ours, const char *unit,
    const char *peer, const double *theirs, size_t count, const char *better, double target)
{
	double ratios[256], ratio;

	count = count < 256 ? count : 256;
	for (size_t i = 0; i < count; i++)
		ratios[i] = ours[i] / theirs[i];
	ratio = bench_median(ratios, count);
	(void)printf("{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"peer\":\"%s\","
		     "\"peer_value\":%.4g,\"ratio\":%.3f,\"target\":\"%s %g\",\"met\":%s}\n",
	    name, bench_median(ours, count), unit, peer, bench_median(theirs, count), ratio, better,
	    target, (better[0] == '>' ? ratio >= target : ratio <= target) ? "true" : "false");
	(void)fflush(stdout);
}

/*
 * What one of something (`name`) costs with the more of what there may be many of (`plot`). Each
 * point is a line; the curves of one `plot` are drawn together (tests/bench/plot).
 */
struct bench_curve {
	const char *plot, *name, *unit;
	double few, first, many, last; /* the first point, and the last one */
};

static inline void bench_curve_add(struct bench_curve *curve, double at, double value)
{
	if (curve->few == 0) {
		curve->few = at;
		curve->first = value;
	}
	curve->many = at;
	curve->last = value;
	(void)printf(
	    "{\"plot\":\"%s\",\"curve\":\"%s\",\"at\":%.10g,\"value\":%.4g,\"unit\":\"%s\"}\n",
	    curve->plot, curve->name, at, value, curve->unit);
	(void)fflush(stdout);
}

/* A figure: the last point beside the first one. */
static inline void bench_curve_judge(const struct bench_curve *curve, double most)
{
	char name[128], few[32];

	if (curve->many == curve->few)
		return;
	(void)snprintf(name, sizeof(name), "%s, %.10g %s", curve->name, curve->many, curve->plot);
	(void)snprintf(few, sizeof(few), "%.10g %s", curve->few, curve->plot);
	bench_put(name, curve->last, curve->unit, few, curve->first, "<=", most);
}

#endif
