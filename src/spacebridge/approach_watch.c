/*
 * The look at the VMMs of connections in use (04-bridge): the end of a VMM at once, its pins every
 * second and once for all of its connections, and in turn whether it still holds each of them.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/util.h"
#include "spacebridge/approach.h"

#define SECOND 1.
#define TURNS  25 /* seconds within which each connection is asked about */

/* Connections to one VMM, which is pinned once for all of them. */
struct approach_group {
	LIST_ENTRY(approach_group) entry;
	struct approach_set *set;
	TAILQ_HEAD(, approach) approaches;
	ev_io exited;
	bool busy; /* its members are being gone through */
};

static void free_if_empty(struct approach_group *group)
{
	struct approach_set *set = group->set;

	if (group->busy || !TAILQ_EMPTY(&group->approaches))
		return;
	ev_io_stop(set->loop, &group->exited);
	LIST_REMOVE(group, entry);
	free(group);
	if (LIST_EMPTY(&set->groups))
		ev_timer_stop(set->loop, &set->second);
}

void approach_unwatch(struct approach *approach)
{
	struct approach_group *group = sp_steal(&approach->group);

	if (!group)
		return;
	TAILQ_REMOVE(&group->approaches, approach, beside);
	free_if_empty(group);
}

static void lose(struct approach *approach, enum sp_reason reason, const char *words)
{
	approach_unwatch(approach);
	approach->handlers->lost(reason, words, approach->context);
}

static void lose_all(struct approach_group *group, enum sp_reason reason, const char *words)
{
	struct approach *approach;

	group->busy = true;
	while ((approach = TAILQ_FIRST(&group->approaches)))
		lose(approach, reason, words);
	group->busy = false;
	free_if_empty(group);
}

static void on_exited(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	lose_all(watcher->data, SP_REASON_VMM_PROCESS, "the VMM has exited");
}

static void check_held(struct approach *approach)
{
	struct sp_report report = {.failed_only = true};
	char words[SP_ERR_MAX] = "";
	enum sp_reason reason = sp_attest_held(approach->attestation, &report);

	sp_report_words(&report, words, sizeof(words));
	sp_report_done(&report);
	if (reason)
		lose(approach, reason, words);
}

static void check_each(struct approach_group *group, unsigned turn)
{
	struct approach *approach, *next;

	group->busy = true;
	for (approach = TAILQ_FIRST(&group->approaches); approach; approach = next) {
		next = TAILQ_NEXT(approach, beside);
		if (approach->turn == turn)
			check_held(approach);
		if (approach->group)
			approach->handlers->second(approach->context);
	}
	group->busy = false;
	free_if_empty(group);
}

static void check_group(struct approach_group *group, unsigned turn)
{
	struct sp_report report = {.failed_only = true};
	char words[SP_ERR_MAX] = "";
	enum sp_reason reason =
	    sp_attest_alive(TAILQ_FIRST(&group->approaches)->attestation, &report);

	sp_report_words(&report, words, sizeof(words));
	sp_report_done(&report);
	if (reason)
		lose_all(group, reason, words);
	else
		check_each(group, turn);
}

static void on_second(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct approach_set *set = watcher->data;
	struct approach_group *group, *next;

	(void)loop;
	(void)events;
	set->turn = (set->turn + 1) % TURNS;
	for (group = LIST_FIRST(&set->groups); group; group = next) {
		next = LIST_NEXT(group, entry);
		check_group(group, set->turn);
	}
}

static struct approach_group *make_group(struct approach_set *set, int pidfd)
{
	struct approach_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->set = set;
	TAILQ_INIT(&group->approaches);
	ev_io_init(&group->exited, on_exited, pidfd, EV_READ);
	group->exited.data = group;
	if (pidfd >= 0)
		ev_io_start(set->loop, &group->exited);
	if (LIST_EMPTY(&set->groups))
		ev_timer_again(set->loop, &set->second);
	LIST_INSERT_HEAD(&set->groups, group, entry);
	return group;
}

/* The one that has pinned the same process. */
static struct approach_group *find_group(
    struct approach_set *set, struct sp_attestation *attestation)
{
	struct approach_group *group;

	LIST_FOREACH(group, &set->groups, entry)
	if (sp_attest_share(attestation, TAILQ_FIRST(&group->approaches)->attestation))
		return group;
	return NULL;
}

int approach_watch(struct approach *approach)
{
	struct approach_set *set = approach->options->set;
	struct approach_group *group = find_group(set, approach->attestation);

	if (!group)
		group = make_group(set, sp_attest_pidfd(approach->attestation));
	if (!group)
		return -ENOMEM;
	approach->group = group;
	approach->turn = set->next_turn++ % TURNS;
	TAILQ_INSERT_TAIL(&group->approaches, approach, beside);
	return 0;
}

void approach_set_init(struct approach_set *set, struct ev_loop *loop)
{
	*set = (struct approach_set){.loop = loop};
	LIST_INIT(&set->groups);
	ev_timer_init(&set->second, on_second, 0., SECOND);
	set->second.data = set;
}
