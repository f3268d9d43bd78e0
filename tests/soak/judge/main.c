/* soak-judge DIRECTORY: what was wrong in a soak. Prints a line; 0: nothing, 1: something, 2: the
 * history cannot be judged. */
#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SAID      10 /* of each kind */
#define PERMITTED 2  /* unexplained of a million */

const char *const WRONG_NAMES[WRONGS] = {
    [WRONG_EXECUTION] = "wrong_execution",
    [AFTER_REFUSAL] = "ran_after_refusal",
    [TWICE] = "ran_twice",
    [MISSING] = "missing",
    [WENT_BACK] = "went_back",
    [NOT_REFUSED] = "not_refused",
    [STREAM_BYTES] = "stream_bytes",
    [STREAM_CUT] = "stream_cut",
    [LATE_CHANGE] = "late_change",
    [TROUBLE] = "trouble",
    [UNEXPLAINED] = "unexplained",
};
uint64_t wrongs[WRONGS];

void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "soak-judge: %s: %s\n", what, why);
	exit(2);
}

void complain(enum wrong wrong, const char *format, ...)
{
	va_list arguments;

	if (wrongs[wrong]++ >= SAID)
		return;
	(void)fprintf(stderr, "soak-judge: %s: ", WRONG_NAMES[wrong]);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	(void)fputc('\n', stderr);
}

/* What was answered how often; the share of what was asked while a failure would have had an
 * excuse says how much the count of those without one is worth. */
static void print(void)
{
	uint64_t counts[MAYBE + 1] = {0}, excused = 0, stood = 0;
	double seconds = (double)(history.load_end - history.load_begin) / 1e6;

	for (size_t i = 0; i < history.answers.count; i++) {
		const struct answer *answer = &history.answers.rows[i];
		counts[answer->result]++;
		excused += windows_excuse(answer, CLASS_REFRESH | CLASS_TRANSPORT | CLASS_BRIDGE);
	}
	for (size_t i = 0; i < history.streams.count; i++)
		stood +=
		    history.streams.rows[i].how[0] == 's' && history.streams.rows[i].how[2] == 'o';
	(void)printf("{\"seed\":%" PRIu64 ",\"sandboxes\":%u,\"operations\":%" PRIu64
		     ",\"seconds\":%.1f,\"per_second\":%.0f,\"changes\":%" PRIu64 ",\"faults\":%zu"
		     ",\"guests\":%zu,\"answers\":%zu,\"ok\":%" PRIu64 ",\"refused\":%" PRIu64
		     ",\"unsent\":%" PRIu64 ",\"maybe\":%" PRIu64 ",\"ran\":%" PRIu64
		     ",\"streams\":%zu,\"stood\":%" PRIu64 ",\"excused_share\":%.4f",
	    history.seed, history.sandboxes, history.issued, seconds,
	    seconds > 0 ? (double)history.issued / seconds : 0., history.changes,
	    history.windows.count, history.guests.count - (history.guests.count > 0),
	    history.answers.count, counts[OK], counts[REFUSED], counts[UNSENT], counts[MAYBE], ran,
	    history.streams.count, stood,
	    history.answers.count ? (double)excused / (double)history.answers.count : 0.);
	for (int wrong = 0; wrong < WRONGS; wrong++)
		(void)printf(",\"%s\":%" PRIu64, WRONG_NAMES[wrong], wrongs[wrong]);
	(void)puts("}");
}

static bool is_bad(void)
{
	uint64_t bad = 0;

	for (int wrong = 0; wrong < UNEXPLAINED; wrong++)
		bad += wrongs[wrong];
	return bad > 0 || wrongs[UNEXPLAINED] * 1000000 > PERMITTED * history.issued;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		(void)fprintf(stderr, "usage: soak-judge DIRECTORY\n");
		return 2;
	}
	history_read(argv[1]);
	windows_sort();
	runs_judge(argv[1]);
	answers_judge();
	streams_judge();
	print();
	return is_bad() ? 1 : 0;
}
