/* All leases of a process: one look at the page's counter for all of them, cuts in bulk, the memory
 * of those that ended. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "lease/inner.h"
#include "record/json.h"

#define TICK         0.009 /* seconds between looks at the page: 10 ms at the most */
#define ENDED_A_TURN 64
#define HURRY        0.001 /* ... while a change is pending */

void sp_lease_remember(struct sp_lease *lease)
{
	struct sp_lease_set *set = lease->set;
	struct sp_lease *oldest;

	TAILQ_INSERT_TAIL(&set->ended, lease, entry);
	if (set->ended_count++ < set->options.remember)
		return;
	oldest = TAILQ_FIRST(&set->ended);
	TAILQ_REMOVE(&set->ended, oldest, entry);
	set->ended_count--;
	sp_lease_free(oldest);
}

static void end(
    struct sp_lease *lease, enum sp_lease_ending ending, enum sp_reason reason, const char *words)
{
	struct sp_lease_set *set = lease->set;

	lease->age_ms = sp_lease_age_ms(lease);
	lease->ended_at = sp_time_now();
	lease->waits = false;
	lease->end.ending = ending;
	lease->end.reason = reason;
	(void)snprintf(lease->end.words, sizeof(lease->end.words), "%s", words);
	TAILQ_REMOVE(&set->open, lease, entry);
	if (--set->count == 0)
		ev_timer_stop(set->options.loop, &set->tick);
}

void sp_lease_doom(
    struct sp_lease *lease, enum sp_lease_ending ending, enum sp_reason reason, const char *words)
{
	struct sp_lease_set *set = lease->set;

	if (lease->end.ending)
		return;
	end(lease, ending, reason, words);
	TAILQ_INSERT_TAIL(&set->dying, lease, entry);
	ev_feed_event(set->options.loop, &set->reap, EV_CUSTOM);
}

void sp_lease_close(struct sp_lease *lease, const char *words)
{
	if (lease->end.ending)
		TAILQ_REMOVE(lease->shut ? &lease->set->shut : &lease->set->dying, lease, entry);
	else
		end(lease, SP_LEASE_CLOSED, SP_REASON_NONE, words);
	sp_lease_remember(lease);
}

/* First all of them are shut, then what takes longer is done about some. */
static void reap(struct sp_lease_set *set)
{
	struct sp_lease *lease;

	while ((lease = TAILQ_FIRST(&set->dying))) {
		TAILQ_REMOVE(&set->dying, lease, entry);
		TAILQ_INSERT_TAIL(&set->shut, lease, entry);
		lease->shut = true;
		lease->handlers->cut(lease, lease->context);
	}
	for (int i = 0; i < ENDED_A_TURN && (lease = TAILQ_FIRST(&set->shut)); i++) {
		TAILQ_REMOVE(&set->shut, lease, entry);
		lease->handlers->ended(lease, &lease->end, lease->context);
		sp_lease_remember(lease);
	}
}

static bool is_reaped(const struct sp_lease_set *set)
{
	return TAILQ_EMPTY(&set->dying) && TAILQ_EMPTY(&set->shut);
}

/* Others that are to be cut meanwhile are not kept waiting for the ends of these. */
static void on_reap(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_lease_set *set = watcher->data;

	(void)events;
	reap(set);
	if (!is_reaped(set))
		ev_feed_event(loop, watcher, EV_CUSTOM);
	sp_lease_set_glance(set);
}

static void set_pace(struct sp_lease_set *set, double seconds)
{
	if (set->count == 0 || set->tick.repeat == seconds)
		return;
	set->tick.repeat = seconds;
	ev_timer_again(set->options.loop, &set->tick);
}

void sp_lease_set_hurry(struct sp_lease_set *set)
{
	set->settled = false;
	set_pace(set, HURRY);
}

void sp_lease_set_glance(struct sp_lease_set *set)
{
	if (sp_page_counter(set->options.store) != set->counter)
		ev_feed_event(set->options.loop, &set->tick, EV_TIMER);
}

static void resume(struct sp_lease *lease)
{
	if (!lease->waits)
		return;
	lease->waits = false;
	lease->handlers->resume(lease, lease->context);
}

static void sweep(struct sp_lease_set *set)
{
	struct sp_lease *lease, *next;

	for (lease = TAILQ_FIRST(&set->open); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry);
		if (sp_lease_settle(lease) == 0)
			resume(lease);
	}
}

static void on_tick(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_lease_set *set = watcher->data;
	uint64_t counter = sp_page_counter(set->options.store);

	(void)loop;
	(void)events;
	if (!set->settled || counter == 0 || counter != set->counter) {
		set->settled = counter != 0;
		set->counter = counter;
		sweep(set);
		set_pace(set, set->settled ? TICK : HURRY);
	}
	sp_lease_files_check(set);
}

int sp_lease_set_new(const struct sp_lease_options *options, struct sp_lease_set **ret)
{
	struct sp_lease_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->options = *options;
	if (set->options.remember > SP_LEASES_ENDED)
		set->options.remember = SP_LEASES_ENDED;
	TAILQ_INIT(&set->open);
	TAILQ_INIT(&set->dying);
	TAILQ_INIT(&set->shut);
	TAILQ_INIT(&set->ended);
	ev_timer_init(&set->tick, on_tick, 0., TICK);
	ev_prepare_init(&set->reap, on_reap);
	/* Before anything else that is pending in this turn. */
	ev_set_priority(&set->tick, EV_MAXPRI);
	ev_set_priority(&set->reap, EV_MAXPRI);
	set->tick.data = set->reap.data = set;
	*ret = set;
	return 0;
}

void sp_lease_set_free(struct sp_lease_set *set, const char *words)
{
	struct sp_lease *lease;

	if (!set)
		return;
	while ((lease = TAILQ_FIRST(&set->open)))
		sp_lease_doom(lease, SP_LEASE_WAS_CUT, SP_REASON_NONE, words);
	(void)ev_clear_pending(set->options.loop, &set->reap);
	while (!is_reaped(set))
		reap(set);
	ev_timer_stop(set->options.loop, &set->tick);
	while ((lease = TAILQ_FIRST(&set->ended))) {
		TAILQ_REMOVE(&set->ended, lease, entry);
		sp_lease_free(lease);
	}
	free(set);
}

void sp_lease_set_cut_timeout(struct sp_lease_set *set, int cut_timeout_ms)
{
	set->options.cut_timeout_ms = cut_timeout_ms;
}

unsigned sp_lease_set_count(const struct sp_lease_set *set)
{
	return set->count;
}

static bool is_of(const struct sp_lease *lease, const char *sandbox)
{
	return !sandbox || strcmp(lease->terms.identity.sandbox, sandbox) == 0;
}

int sp_lease_walk(
    struct sp_lease_set *set, const char *sandbox, sp_lease_each_fn *each, void *context)
{
	struct sp_lease *lease;
	int got = 0;

	TAILQ_FOREACH(lease, &set->open, entry)
	if (got >= 0 && is_of(lease, sandbox))
		got = each(context, sp_lease_json(lease));
	return got < 0 ? got : 0;
}

/* Adds to *count those in the list that fit. */
static void match(const struct sp_leases *list, const char *sandbox, const char *id,
    const struct sp_lease **ret, unsigned *count)
{
	const struct sp_lease *lease;

	TAILQ_FOREACH(lease, list, entry)
	if (is_of(lease, sandbox) && strncmp(lease->id, id, strlen(id)) == 0) {
		*ret = lease;
		++*count;
	}
}

int sp_lease_find(
    struct sp_lease_set *set, const char *sandbox, const char *id, const struct sp_lease **ret)
{
	const struct sp_lease *found = NULL;
	unsigned count = 0;

	match(&set->open, sandbox, id, &found, &count);
	match(&set->dying, sandbox, id, &found, &count);
	match(&set->shut, sandbox, id, &found, &count);
	match(&set->ended, sandbox, id, &found, &count);
	if (count != 1)
		return count ? SP_E_CONFLICT : SP_E_ABSENT;
	*ret = found;
	return 0;
}

unsigned sp_lease_cancel(struct sp_lease_set *set, const char *sandbox, const char *id)
{
	struct sp_lease *lease, *next;
	unsigned count = 0;

	for (lease = TAILQ_FIRST(&set->open); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry);
		if (!is_of(lease, sandbox) || (id && strcmp(lease->id, id) != 0))
			continue;
		sp_lease_doom(lease, SP_LEASE_CANCELLED, SP_REASON_NONE, "cancelled");
		count++;
	}
	return count;
}

static const char *state_of(const struct sp_lease *lease)
{
	static const char *const states[] = {[SP_LEASE_OPEN] = "open",
	    [SP_LEASE_CLOSED] = "closed",
	    [SP_LEASE_WAS_CUT] = "cut",
	    [SP_LEASE_CANCELLED] = "cancelled"};

	return states[lease->end.ending];
}

static json_t *end_json(const struct sp_lease *lease)
{
	enum sp_reason reason = lease->end.reason;
	char ended_at[SP_TIME_SIZE];

	sp_time_format(lease->ended_at, ended_at);
	return json_pack("{ss* ss* ss ss}", "decision",
	    reason ? sp_decision_name(sp_reason_decision(reason)) : NULL, "reason",
	    sp_reason_name(reason), "message", lease->end.words, "ended_at", ended_at);
}

json_t *sp_lease_json(const struct sp_lease *lease)
{
	const struct sp_identity *identity = &lease->terms.identity;
	char opened_at[SP_TIME_SIZE];
	sp_auto_json json_t *end = lease->end.ending ? end_json(lease) : NULL;
	json_t *json;

	sp_time_format(lease->opened_at, opened_at);
	json = json_pack("{ss ss sI ss sI sI ss ss* ss* ss sI sI sI ss}", "lease", lease->id,
	    "role", lease->set->options.role, "pid", (json_int_t)getpid(), "sandbox",
	    identity->sandbox, "execution", (json_int_t)identity->route.execution, "epoch",
	    (json_int_t)lease->terms.epoch, "kind", sp_lease_kind_name(lease->terms.kind), "caller",
	    lease->caller, "op", lease->op, "opened_at", opened_at, "age_ms",
	    (json_int_t)sp_lease_age_ms(lease), "in", (json_int_t)lease->moved[SP_LEASE_IN], "out",
	    (json_int_t)lease->moved[SP_LEASE_OUT], "state", state_of(lease));
	if (json && end && json_object_update(json, end) < 0) {
		json_decref(json);
		return NULL;
	}
	return json;
}
