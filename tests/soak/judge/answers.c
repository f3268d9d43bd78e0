/* Each answer by itself: whose it is, whether it could be given then, and what explains a failure.
 */
#include "judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND  1000000
#define FENCE   15            /* seconds after it, in which what is signed is denied */
#define BROKEN  8             /* seconds by which a clock may be wrong */
#define NOTICED (10 * SECOND) /* a bundle that was installed is in force everywhere */
#define CALLERS 2             /* u, t */

static bool answered_by(const struct incarnation *one, const struct answer *answer)
{
	/* Selected: that very one; else any with this guest. */
	return one->guest == answer->guest && one->sandbox == answer->sandbox &&
	       (answer->asked < 0 ||
		   (one->execution == answer->execution && one->attempt == answer->attempt &&
		       one->worker == answer->worker));
}

bool incarnation_allows(const struct incarnation *incarnation, int64_t begin, int64_t end)
{
	return incarnation->from <= end && begin <= incarnation->to;
}

/* When a newer execution than all before was first seen. */
struct step {
	int64_t at, execution;
};
struct steps {
	LIST(struct step) seen;
};

static struct {
	struct steps *steps; /* of each sandbox and caller */
} self;

bool guest_allowed(unsigned guest, const struct answer *answer)
{
	struct answer by = *answer;

	by.guest = guest;
	for (size_t i = history.incarnations_of[by.sandbox];
	     i < history.incarnations_of[by.sandbox + 1]; i++)
		if (answered_by(&history.incarnations.rows[i], &by) &&
		    incarnation_allows(&history.incarnations.rows[i], by.begin, by.end))
			return true;
	return false;
}

static int64_t execution_of(unsigned guest)
{
	return guest < history.guests.count && history.guests.rows[guest].known
		   ? history.guests.rows[guest].execution
		   : -1;
}

/* A route is found only after somebody began to publish it. */
static bool was_published(const struct answer *answer)
{
	for (size_t i = history.publications_of[answer->sandbox];
	     i < history.publications_of[answer->sandbox + 1]; i++) {
		const struct publication *one = &history.publications.rows[i];
		if (one->execution == execution_of(answer->guest) && one->begin <= answer->end)
			return true;
	}
	return false;
}

/* In whole seconds of the day, as capabilities have them. */
static int64_t day(int64_t us)
{
	return (history.wall + us) / SECOND;
}

/* Whatever it was signed for, it was signed before it was answered. */
static bool is_fenced(const struct answer *answer)
{
	for (size_t i = history.fences_of[answer->sandbox];
	     i < history.fences_of[answer->sandbox + 1]; i++) {
		const struct fence *fence = &history.fences.rows[i];
		if (answer->begin <= fence->end || day(answer->end) > day(fence->begin) + FENCE)
			continue;
		for (size_t j = history.incarnations_of[answer->sandbox];
		     j < history.incarnations_of[answer->sandbox + 1]; j++) {
			const struct incarnation *one = &history.incarnations.rows[j];
			/* The fence was this one's, and no other record came. */
			if (answered_by(one, answer) && one->worker == fence->worker &&
			    one->from < fence->begin && one->going > answer->end)
				return true;
		}
	}
	return false;
}

static bool is_revoked(const struct answer *answer)
{
	for (size_t i = 0; i < history.revocations.count; i++) {
		const struct revocation *one = &history.revocations.rows[i];
		if (one->key == answer->key && one->worker == answer->worker &&
		    one->end + NOTICED < answer->begin)
			return true;
	}
	return false;
}

/* A clock that was not broken on purpose is wrong by two seconds at the most. */
static bool is_expired(const struct answer *answer)
{
	int64_t slack = 2;

	for (size_t i = 0; i < history.windows.count; i++) {
		const struct window *one = &history.windows.rows[i];
		if (one->scope == 'w' && strcmp(one->what, "broken") == 0 &&
		    one->begin <= answer->end && answer->begin <= one->end + SECOND)
			slack = BROKEN;
	}
	return history.wall + answer->begin >
	       (answer->exp + history.skew + slack + 1) * (int64_t)SECOND;
}

/* The same caller is never taken back to an older execution: what he was answered before this was
 * asked is of none that is newer. Answers come in the order of their ends. */
static void judge_order(const struct answer *answer)
{
	struct steps *steps = &self.steps[answer->sandbox * CALLERS + (answer->principal == 't')];
	int64_t execution = execution_of(answer->guest), newest = 0;

	for (size_t i = 0; i < steps->seen.count && steps->seen.rows[i].at < answer->begin; i++)
		newest = steps->seen.rows[i].execution;
	if (execution < newest)
		complain(WENT_BACK,
		    "op %" PRIu64 " of sandbox %u at execution %" PRId64 " after %" PRId64,
		    answer->number, answer->sandbox, execution, newest);
	if (steps->seen.count && steps->seen.rows[steps->seen.count - 1].execution >= execution)
		return;
	steps->seen.rows =
	    grow(steps->seen.rows, steps->seen.count, &steps->seen.room, sizeof(*steps->seen.rows));
	steps->seen.rows[steps->seen.count++] = (struct step){answer->end, execution};
}

static void judge_good(const struct answer *answer)
{
	bool allowed = answer->guest == 0 || guest_allowed(answer->guest, answer);

	if (answer->must)
		complain(NOT_REFUSED, "op %" PRIu64 " of sandbox %u was not to be served",
		    answer->number, answer->sandbox);
	if (answer->guest == 0)
		return;
	if (!allowed)
		complain(WRONG_EXECUTION,
		    "op %" PRIu64 " of sandbox %u was answered by guest %u (execution %" PRId64
		    "), %" PRId64 " to %" PRId64,
		    answer->number, answer->sandbox, answer->guest, execution_of(answer->guest),
		    answer->begin, answer->end);
	else if (answer->asked < 0 && !was_published(answer))
		complain(WRONG_EXECUTION,
		    "op %" PRIu64 " of sandbox %u by a route nobody published", answer->number,
		    answer->sandbox);
	if (is_fenced(answer))
		complain(NOT_REFUSED, "op %" PRIu64 " of sandbox %u in spite of a fence",
		    answer->number, answer->sandbox);
	if (answer->asked >= 0 && is_revoked(answer))
		complain(NOT_REFUSED, "op %" PRIu64 " of sandbox %u by a revoked key",
		    answer->number, answer->sandbox);
	if (answer->asked >= 0 && is_expired(answer))
		complain(NOT_REFUSED, "op %" PRIu64 " of sandbox %u long after its time",
		    answer->number, answer->sandbox);
	if (answer->asked < 0 && allowed)
		judge_order(answer);
}

static void judge_bad(const struct answer *answer)
{
	if (answer->class == 0 || answer->must)
		return;
	if (answer->class == CLASS_OTHER || !windows_excuse(answer, answer->class))
		complain(UNEXPLAINED,
		    "op %" PRIu64 " (%c, %c) of sandbox %u, %" PRId64 " to %" PRId64 ": class %u",
		    answer->number, answer->principal, answer->kind, answer->sandbox, answer->begin,
		    answer->end, answer->class);
}

void answers_judge(void)
{
	self.steps = calloc((size_t)history.sandboxes * CALLERS, sizeof(*self.steps));
	if (!self.steps)
		die("answers", "out of memory");
	for (size_t i = 0; i < history.answers.count; i++) {
		const struct answer *answer = &history.answers.rows[i];
		if (answer->result == OK)
			judge_good(answer);
		else
			judge_bad(answer);
	}
}
