/* One lease: opened on the durable record, compared again when the page's version moved. */
#include "lease/lease.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "lease/inner.h"

#define ENTER_TRIES 8

void sp_lease_free(struct sp_lease *lease)
{
	free(lease->caller);
	free(lease->op);
	free(lease);
}

static void free_lease(struct sp_lease **lease)
{
	if (*lease)
		sp_lease_free(*lease);
}

static int copy(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

static struct sp_lease *make(struct sp_lease_set *set, const struct sp_lease_asked *asked)
{
	sp_cleanup(free_lease) struct sp_lease *lease = calloc(1, sizeof(*lease));
	unsigned char id[(SP_LEASE_ID_SIZE - 1) / 2];

	if (!lease || copy(asked->caller, &lease->caller) || copy(asked->op, &lease->op))
		return NULL;
	randombytes_buf(id, sizeof(id));
	(void)sodium_bin2hex(lease->id, sizeof(lease->id), id, sizeof(id));
	lease->set = set;
	lease->terms = asked->terms;
	return sp_steal(&lease);
}

/* Where the lease's sandbox stands in the page. */
static int find(struct sp_lease *lease)
{
	struct sp_store *store = lease->set->options.store;
	int bad = sp_page_find(store, lease->terms.identity.sandbox, &lease->ref);

	lease->cursor = sp_page_cursor(store);
	return bad ? bad : sp_page_look(store, lease->ref, &lease->seen);
}

/* The record as it is on disk, and the page that says so. *ret is the store's. */
static int read_record(struct sp_lease *lease, const struct sp_record **ret, struct sp_err *err)
{
	const struct sp_record *record;
	int bad =
	    sp_store_reread(lease->set->options.store, lease->terms.identity.sandbox, &record, err);

	if (bad)
		return bad;
	bad = find(lease);
	if (bad)
		return sp_fail(err, bad, "the page of records does not know this sandbox");
	if (lease->seen.pending || (int64_t)lease->seen.version != record->version)
		return -EAGAIN;
	*ret = record;
	return 0;
}

/* A stream that is to open needs all that a control stream needs to stay. */
static int admit(struct sp_lease *lease, enum sp_reason *ret_reason, struct sp_err *err)
{
	struct sp_lease_terms terms = lease->terms;
	const struct sp_record *record = NULL;
	enum sp_lease_verdict verdict;
	int bad = read_record(lease, &record, err);

	if (bad == SP_E_ABSENT) {
		*ret_reason = SP_REASON_ABSENT;
		return SP_E_CONFLICT;
	}
	if (bad)
		return bad == -EAGAIN || bad == -ENOMEM ? bad : SP_E_UNAVAILABLE;
	terms.kind = SP_LEASE_CONTROL;
	verdict = sp_lease_judge(&terms, record, SP_BETWEEN_NOTHING, ret_reason);
	return verdict == SP_LEASE_STAYS ? 0 : SP_E_CONFLICT;
}

int sp_lease_open(struct sp_lease_set *set, const struct sp_lease_asked *asked,
    const struct sp_lease_handlers *handlers, void *context, struct sp_lease **ret,
    enum sp_reason *ret_reason, struct sp_err *err)
{
	sp_cleanup(free_lease) struct sp_lease *lease = NULL;
	int bad;

	if (set->count >= SP_LEASES_MAX)
		return sp_fail(err, SP_E_TOO_LARGE, "%u streams are open, the most there may be",
		    SP_LEASES_MAX);
	lease = make(set, asked);
	if (!lease)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = admit(lease, ret_reason, err);
	if (bad)
		return bad;
	lease->handlers = handlers;
	lease->context = context;
	lease->opened_at = sp_time_now();
	lease->opened_ms = sp_monotonic_ms();
	TAILQ_INSERT_TAIL(&set->open, lease, entry);
	if (set->count++ == 0)
		ev_timer_again(set->options.loop, &set->tick);
	*ret = sp_steal(&lease);
	return 0;
}

static enum sp_lease_between weigh(enum sp_effect effect)
{
	switch (effect) {
	case SP_EFFECT_CONFLICT:
	case SP_EFFECT_NONE:
	case SP_EFFECT_EVIDENCE:
	case SP_EFFECT_HANDOFF:
	case SP_EFFECT_FENCED:
		return SP_BETWEEN_NOTHING;
	case SP_EFFECT_ATTEMPT_ONLY:
		return SP_BETWEEN_ATTEMPTS;
	case SP_EFFECT_INSTALLED:
	case SP_EFFECT_REPLACED:
	case SP_EFFECT_RETIRED:
	case SP_EFFECT_PRUNED:
		return SP_BETWEEN_REPLACED;
	case SP_EFFECT_SETTLED:
		break;
	}
	return SP_BETWEEN_UNKNOWN;
}

/* Everything since the last comparison. A single step shows in the record itself. What the page no
 * longer remembers can have been no more than owner and evidence while the floor has not moved. */
static enum sp_lease_between look_back(
    const struct sp_lease *lease, const struct sp_page_view *view)
{
	enum sp_lease_between between = SP_BETWEEN_NOTHING;
	struct sp_page_change change;
	uint64_t cursor = lease->cursor;
	int got;

	if (view->version <= lease->seen.version + 1)
		return between;
	while ((got = sp_page_next(lease->set->options.store, &cursor, &change)) == 1) {
		enum sp_lease_between one = weigh(change.effect);
		if (strcmp(change.sandbox, lease->terms.identity.sandbox) != 0)
			continue;
		if (one == SP_BETWEEN_REPLACED)
			return one;
		between = one > between ? one : between;
	}
	if (got < 0)
		between = SP_BETWEEN_UNKNOWN;
	return between == SP_BETWEEN_UNKNOWN && view->floor <= lease->seen.version
		   ? SP_BETWEEN_NOTHING
		   : between;
}

/* A change that does not come to an end within cut_timeout ends the lease instead. */
static int hold_still(struct sp_lease *lease)
{
	int64_t now = sp_monotonic_ms();

	if (!lease->paused_ms)
		lease->paused_ms = now;
	sp_lease_set_hurry(lease->set);
	if (now - lease->paused_ms <= lease->set->options.cut_timeout_ms)
		return -EAGAIN;
	sp_lease_doom(lease, SP_LEASE_WAS_CUT, SP_REASON_NONE,
	    "a change of the record did not come to its end");
	return SP_E_CONFLICT;
}

/* The version moved: what is in force decides. */
static int compare(struct sp_lease *lease, const struct sp_page_view *view, uint64_t cursor)
{
	struct sp_store *store = lease->set->options.store;
	const struct sp_record *record = NULL;
	enum sp_reason reason = SP_REASON_NONE;
	int bad = sp_store_current(store, lease->terms.identity.sandbox, &record, NULL);

	/* Between look and reading it may have moved on. */
	if (bad == -EAGAIN || (!bad && (int64_t)view->version != record->version))
		return hold_still(lease);
	if (sp_lease_judge(&lease->terms, bad ? NULL : record, look_back(lease, view), &reason) ==
	    SP_LEASE_CUT) {
		sp_lease_doom(lease, SP_LEASE_WAS_CUT, reason,
		    bad && bad != SP_E_ABSENT ? "the record cannot be read"
					      : "the record moved on");
		return SP_E_CONFLICT;
	}
	lease->terms.epoch = record->epoch;
	lease->seen = *view;
	lease->cursor = cursor;
	lease->paused_ms = 0;
	return 0;
}

int sp_lease_settle(struct sp_lease *lease)
{
	struct sp_store *store = lease->set->options.store;
	struct sp_page_view view = {0};
	uint64_t cursor = sp_page_cursor(store);
	int bad = sp_page_look(store, lease->ref, &view);

	/* The page was made anew, or the entry given away with its tombstone. */
	if (bad == SP_E_ABSENT) {
		bad = sp_page_find(store, lease->terms.identity.sandbox, &lease->ref);
		if (!bad)
			bad = sp_page_look(store, lease->ref, &view);
	}
	if (bad == SP_E_UNAVAILABLE || (!bad && view.pending && !view.writer_dead))
		return hold_still(lease);
	if (bad || view.pending || view.state != SP_PAGE_ACTIVE ||
	    view.version != lease->seen.version)
		return compare(lease, &view, cursor);
	lease->cursor = cursor;
	lease->paused_ms = 0;
	return 0;
}

int sp_lease_enter(struct sp_lease *lease)
{
	struct sp_holder *holder = lease->set->options.holder;

	if (lease->end.ending)
		return SP_E_CONFLICT;
	/* A turn of the loop that is full of moves must not keep the others waiting for theirs. */
	sp_lease_set_glance(lease->set);
	for (int i = 0; i < ENTER_TRIES; i++) {
		int code = sp_holder_enter(holder, lease->ref, &lease->seen);
		if (code == 0)
			return 0;
		code = sp_lease_settle(lease);
		if (code == -EAGAIN)
			lease->waits = true;
		if (code)
			return code;
	}
	lease->waits = true;
	sp_lease_set_hurry(lease->set);
	return -EAGAIN;
}

void sp_lease_leave(struct sp_lease *lease, enum sp_lease_way way, size_t moved)
{
	sp_holder_leave(lease->set->options.holder);
	lease->moved[way] += moved;
}

void sp_lease_cut(struct sp_lease *lease, enum sp_reason reason, const char *words)
{
	sp_lease_doom(lease, SP_LEASE_WAS_CUT, reason, words);
}

const char *sp_lease_id(const struct sp_lease *lease)
{
	return lease->id;
}

const struct sp_lease_terms *sp_lease_terms(const struct sp_lease *lease)
{
	return &lease->terms;
}

const char *sp_lease_caller(const struct sp_lease *lease)
{
	return lease->caller;
}

const char *sp_lease_op(const struct sp_lease *lease)
{
	return lease->op;
}

int64_t sp_lease_age_ms(const struct sp_lease *lease)
{
	return lease->end.ending ? lease->age_ms : sp_monotonic_ms() - lease->opened_ms;
}

uint64_t sp_lease_moved(const struct sp_lease *lease, enum sp_lease_way way)
{
	return lease->moved[way];
}
