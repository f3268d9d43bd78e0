/*
 * What we did to somebody excuses some kinds of failure, of him alone, at that time and for a
 * moment after it. The moments are promises of the tools, with something on top.
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000
/* What ended is seen to have ended by everybody. */
#define SETTLED (SECOND / 2)
/* A registry that knew nothing newer is believed for a second ("unchanged"), and a watch looks
 * once a second. */
#define REPAIRED (2 * SECOND)
/* A fence denies what was signed up to 15 s after it, and that is used again for half its life. */
#define UNFENCED (23 * SECOND)
/* A command is never judged by an earlier time than one before it, so that a clock set back makes
 * capabilities look old for as long as it was fast. */
#define SET_BACK (12 * SECOND)
/* A stream that ends does so when what ends it is done. */
#define CUT_AFTER (3 * SECOND)

#define LIVES (CLASS_BRIDGE | CLASS_TRANSPORT)

static const struct rule {
	const char *what;
	unsigned settled;                        /* excused until that */
	unsigned repaired;                       /* ... that */
	unsigned unfenced;                       /* ... that */
	enum { STAYS, CUTS_CONTROL, CUTS } cuts; /* of streams: none, those by a bridge, all */
} RULES[] = {
    {"activate", LIVES | CLASS_FENCED, CLASS_REFRESH, 0, CUTS},
    {"resume", LIVES | CLASS_FENCED, CLASS_REFRESH, 0, CUTS},
    {"migrate", LIVES | CLASS_FENCED, CLASS_REFRESH, 0, CUTS},
    {"ended", LIVES | CLASS_FENCED, CLASS_REFRESH, 0, CUTS},
    {"kill-vmm", LIVES | CLASS_FENCED, CLASS_REFRESH, 0, CUTS},
    {"kill-host", LIVES, CLASS_REFRESH, 0, CUTS_CONTROL},
    {"attempt", LIVES, CLASS_REFRESH, 0, CUTS_CONTROL},
    {"lose", LIVES, CLASS_REFRESH, 0, STAYS},
    {"tell", LIVES, CLASS_REFRESH, 0, STAYS},
    {"kill-guest", LIVES, 0, 0, CUTS},
    {"fence", 0, 0, CLASS_FENCED, STAYS},
    /* It cuts the connection of bridge and guest, too, whatever was under way on it. */
    {"fence-cut", CLASS_TRANSPORT, 0, CLASS_FENCED, CUTS},
    {"handoff", 0, 0, 0, STAYS},
    {"late", 0, 0, 0, STAYS},
    {"stall-host", 0, 0, 0, STAYS},
    {"reset-vmm", CLASS_TRANSPORT, 0, 0, CUTS},
    {"stall-vmm", 0, 0, 0, STAYS},
    {"kill-manager", CLASS_TRANSPORT, 0, 0, CUTS},
    {"stop-manager", CLASS_TRANSPORT, 0, 0, CUTS},
    {"stall-manager", 0, 0, 0, STAYS},
    {"kill-gateway", 0, 0, 0, CUTS},
    {"stall-gateway", 0, 0, 0, STAYS},
    {"broken", CLASS_TIME, 0, 0, STAYS},
    /* Without it a refusal is not repaired. */
    {"kill-cache", CLASS_UNAVAILABLE | CLASS_REFRESH, 0, 0, STAYS},
    {"stall-cache", 0, 0, 0, STAYS},
    {"kill-signer", CLASS_UNAVAILABLE, 0, 0, STAYS},
    {"stall-signer", 0, 0, 0, STAYS},
    {"rotate", 0, 0, 0, STAYS},
};

static const struct rule *rule_of(const struct window *window)
{
	for (size_t i = 0; i < sizeof(RULES) / sizeof(*RULES); i++)
		if (strcmp(RULES[i].what, window->what) == 0)
			return &RULES[i];
	die(window->what, "no such window");
}

/* Of each scope, by when they begin. */
static int compare(const void *a, const void *b)
{
	const struct window *one = a, *two = b;

	if (one->scope != two->scope)
		return one->scope < two->scope ? -1 : 1;
	if (one->number != two->number)
		return one->number < two->number ? -1 : 1;
	return one->begin < two->begin ? -1 : one->begin > two->begin;
}

void windows_sort(void)
{
	qsort(history.windows.rows, history.windows.count, sizeof(*history.windows.rows), compare);
}

/* The first window of a scope. */
static size_t first(char scope, unsigned number)
{
	struct window wanted = {.scope = scope, .number = number, .begin = INT64_MIN};
	size_t low = 0, high = history.windows.count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (compare(&history.windows.rows[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_excused(
    const struct window *window, const struct answer *answer, int64_t begin, unsigned class)
{
	const struct rule *rule = rule_of(window);
	int64_t settled = rule->settled & CLASS_TIME && answer->kind == 'X' ? SET_BACK : SETTLED;

	return (rule->settled & class && window->end + settled >= begin) ||
	       (rule->repaired & class && window->end + REPAIRED >= begin) ||
	       (rule->unfenced & class && window->end + UNFENCED >= begin);
}

static bool excuses(
    char scope, unsigned number, const struct answer *answer, int64_t begin, unsigned class)
{
	for (size_t i = first(scope, number); i < history.windows.count; i++) {
		const struct window *one = &history.windows.rows[i];
		if (one->scope != scope || one->number != number || one->begin > answer->end)
			return false;
		if (is_excused(one, answer, begin, class))
			return true;
	}
	return false;
}

/* May an entry be as old as it likes? One of a cache that does not follow the registry is, until it
 * is rejected. */
static bool may_be_old(const struct answer *answer)
{
	const struct cache *last = NULL;

	for (size_t i = 0; i < history.caches.count; i++)
		if (history.caches.rows[i].at <= answer->begin)
			last = &history.caches.rows[i];
	return last && !last->watch;
}

/* The workers that may have been asked. */
static bool asks(const struct answer *answer, unsigned worker)
{
	if (answer->must)
		return true;
	if (answer->asked >= 0)
		return answer->worker == worker;
	for (size_t i = history.incarnations_of[answer->sandbox];
	     i < history.incarnations_of[answer->sandbox + 1]; i++) {
		const struct incarnation *one = &history.incarnations.rows[i];
		if (one->worker == worker && one->from <= answer->end &&
		    (one->to == NEVER || answer->begin <= one->to + REPAIRED || may_be_old(answer)))
			return true;
	}
	return false;
}

/* Is what was selected no more, or about to be? An entry of a cache without a watch is old. */
static bool is_outdated(const struct answer *answer)
{
	for (size_t i = history.incarnations_of[answer->sandbox];
	     i < history.incarnations_of[answer->sandbox + 1]; i++) {
		const struct incarnation *one = &history.incarnations.rows[i];
		if (one->worker == answer->worker && one->execution == answer->execution &&
		    one->attempt == answer->attempt)
			return one->going <= answer->end;
	}
	return false;
}

/* Of what was held back: what its capability, or its being sent again, makes of it. */
static bool held_excuse(const struct answer *answer, unsigned class)
{
	if (class == CLASS_REFRESH)
		return is_outdated(answer);
	if (class == CLASS_REPLAYED)
		return answer->kind == 'X';
	if (class == CLASS_TIME)
		return history.wall + answer->end >= (answer->exp - 1) * SECOND;
	if (class == CLASS_KEY)
		for (size_t i = 0; i < history.revocations.count; i++)
			if (history.revocations.rows[i].key == answer->key)
				return true;
	return false;
}

bool windows_excuse(const struct answer *answer, unsigned class)
{
	/* What was held back was selected long ago. */
	int64_t since = answer->asked >= 0 && class & (CLASS_REFRESH | CLASS_FENCED | CLASS_BRIDGE)
			    ? answer->asked
			    : answer->begin;

	if (answer->asked >= 0 && held_excuse(answer, class))
		return true;
	if (excuses('s', answer->sandbox, answer, since, class) ||
	    excuses('c', 0, answer, answer->begin, class))
		return true;
	for (unsigned worker = 0; worker < 2; worker++)
		if (excuses('w', worker, answer, answer->begin, class) && asks(answer, worker))
			return true;
	return false;
}

static bool cuts(char scope, unsigned number, const struct stream *stream)
{
	int64_t at = stream->end;

	for (size_t i = first(scope, number); i < history.windows.count; i++) {
		const struct window *one = &history.windows.rows[i];
		if (one->scope != scope || one->number != number || one->begin > at)
			return false;
		if (rule_of(one)->cuts >= (stream->kind == 'g' ? CUTS : CUTS_CONTROL) &&
		    one->end + CUT_AFTER >= at)
			return true;
	}
	return false;
}

bool windows_cut(const struct stream *stream)
{
	return cuts('s', stream->sandbox, stream) || cuts('w', stream->worker, stream);
}
