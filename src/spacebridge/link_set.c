/* All links of a manager: found by sandbox, their items by number; looked after together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "spacebridge/link_private.h"

#define IDLE_LIMIT_MS 60000
#define HELD_SECONDS  20
#define WATCH         0.01 /* seconds between looks at the page while answers are awaited */

static struct link **bucket_of(struct link_set *set, const char *sandbox)
{
	uint32_t hash = 2166136261u;

	for (; *sandbox; sandbox++)
		hash = (hash ^ (unsigned char)*sandbox) * 16777619u;
	return &set->sandboxes[hash % LINK_SANDBOX_BUCKETS];
}

struct link *link_find(struct link_set *set, const char *sandbox)
{
	struct link *link = *bucket_of(set, sandbox);

	while (link && strcmp(link->identity.sandbox, sandbox) != 0)
		link = link->chain;
	return link;
}

void link_enlist(struct link *link)
{
	struct link **at = bucket_of(link->set, link->identity.sandbox);

	link->chain = *at;
	*at = link;
	link->listed = true;
}

void link_unlist(struct link *link)
{
	struct link **at = bucket_of(link->set, link->identity.sandbox);

	if (!link->listed)
		return;
	while (*at != link)
		at = &(*at)->chain;
	*at = link->chain;
	link->listed = false;
}

void link_set_add(struct link *link)
{
	struct link_set *set = link->set;

	TAILQ_INSERT_TAIL(&set->links, link, entry);
	if (set->count++ == 0)
		ev_timer_again(set->options.loop, &set->second);
}

void link_set_remove(struct link *link)
{
	struct link_set *set = link->set;

	TAILQ_REMOVE(&set->links, link, entry);
	if (--set->count == 0)
		ev_timer_stop(set->options.loop, &set->second);
}

static struct link_item **number_slot(struct link_set *set, uint64_t number)
{
	return &set->numbers[number % LINK_NUMBER_BUCKETS];
}

static void item_attach(struct link *link, struct link_item *item)
{
	struct link_item **slot = number_slot(link->set, item->number);

	item->link = link;
	item->chain = *slot;
	*slot = item;
	TAILQ_INSERT_TAIL(&link->waiting, item, entry);
}

void link_item_detach(struct link_item *item)
{
	struct link *link = item->link;
	struct link_item **at = number_slot(link->set, item->number);

	while (*at != item)
		at = &(*at)->chain;
	*at = item->chain;
	if (item->line) {
		TAILQ_REMOVE(&link->waiting, item, entry);
	} else {
		TAILQ_REMOVE(&link->sent, item, entry);
		link->set->sent--;
	}
	item->link = NULL;
}

struct link_item *link_item_find(struct link *link, uint64_t number)
{
	struct link_item *item = *number_slot(link->set, number);

	while (item && item->number != number)
		item = item->chain;
	return item && item->link == link && !item->line ? item : NULL;
}

static void submit(struct link_set *set, struct link_item *item, struct link *link)
{
	if (!link) {
		set->handlers->ended(item,
		    &(struct link_end){.outcome = LINK_LOST, .words = "out of memory"},
		    set->context);
		return;
	}
	link->used_at = sp_monotonic_ms();
	item_attach(link, item);
	if (link->state == LINK_OPEN)
		ev_feed_event(set->options.loop, &link->pump, EV_CUSTOM);
}

void link_submit(struct link_set *set, struct link_item *item, const struct sp_record *record)
{
	submit(set, item, link_obtain(set, record));
}

void link_submit_alone(struct link_set *set, struct link_item *item, const struct sp_record *record)
{
	submit(set, item, link_make_alone(set, record));
}

/* What has begun must be written to its end, or the link's lines would be torn. */
static void leave_stub(struct link_item *item)
{
	struct link *link = item->link;
	struct link_item *stub = calloc(1, sizeof(*stub));
	uint64_t number = item->number;

	if (!stub) {
		link_item_detach(item);
		link_lose(link, "out of memory");
		return;
	}
	stub->line = sp_steal(&item->line);
	stub->size = item->size;
	stub->written = item->written;
	item->line = stub->line; /* detach asks on which list it is */
	link_item_detach(item);
	item->line = NULL;
	stub->link = link;
	stub->chain = *number_slot(link->set, 0);
	*number_slot(link->set, 0) = stub;
	TAILQ_INSERT_HEAD(&link->waiting, stub, entry);
	if (!link_late_add(link, number))
		link_lose(link, "too many answers outstanding that nobody waits for");
}

bool link_drop(struct link_item *item)
{
	struct link *link = item->link;
	bool sent = item->written > 0;

	if (!link)
		return sent;
	if (link->alone) {
		link_item_detach(item);
		link_lose(link, "nobody waits for it any more");
		return sent;
	}
	if (sent && item->line) {
		leave_stub(item);
		return sent;
	}
	link_item_detach(item);
	if (sent && link->state != LINK_CLOSING && !link_late_add(link, item->number))
		link_lose(link, "too many answers outstanding that nobody waits for");
	return sent;
}

int64_t link_epoch(const struct link_item *item)
{
	return item->link ? item->link->epoch : 0;
}

uint64_t link_number(struct link_set *set)
{
	return ++set->last_number;
}

/* Answers are awaited: an epoch that moved must not leave them waiting for the time limit. */
static void on_watch(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct link_set *set = watcher->data;
	uint64_t counter = sp_page_counter(set->options.store);
	struct link *link;
	struct sp_page_view view;

	(void)events;
	if (set->sent == 0)
		ev_timer_stop(loop, &set->watch);
	if (counter == set->page_counter)
		return;
	set->page_counter = counter;
	for (link = TAILQ_FIRST(&set->links); link; link = TAILQ_NEXT(link, entry))
		(void)link_settled(link, &view);
}

/* The pins each second; who holds the other end, which costs more, each link within 30 s. */
static bool is_still_proven(struct link *link)
{
	if (sp_attest_alive(link->attestation, NULL))
		return false;
	return ++link->seconds % HELD_SECONDS != 0 || !sp_attest_held(link->attestation, NULL);
}

static void on_second(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct link_set *set = watcher->data;
	int64_t now = sp_monotonic_ms();
	struct link *link;

	on_watch(loop, &set->watch, events);
	for (link = TAILQ_FIRST(&set->links); link; link = TAILQ_NEXT(link, entry)) {
		if (link->state != LINK_OPEN)
			continue;
		if (!is_still_proven(link))
			link_lose(link, "the bridge is no longer what was proven");
		else if (TAILQ_EMPTY(&link->waiting) && TAILQ_EMPTY(&link->sent) &&
			 now - link->used_at > IDLE_LIMIT_MS)
			link_lose(link, "idle");
	}
}

int link_set_new(const struct link_options *options, const struct link_handlers *handlers,
    void *context, struct link_set **ret)
{
	struct link_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->options = *options;
	set->handlers = handlers;
	set->context = context;
	TAILQ_INIT(&set->links);
	ev_timer_init(&set->watch, on_watch, WATCH, WATCH);
	ev_init(&set->second, on_second);
	set->second.repeat = 1.;
	set->watch.data = set->second.data = set;
	*ret = set;
	return 0;
}

void link_set_limits(struct link_set *set, const struct link_options *options)
{
	set->options.min_level = options->min_level;
	set->options.connect_timeout_ms = options->connect_timeout_ms;
	set->options.settle_ms = options->settle_ms;
}

void link_set_free(struct link_set *set)
{
	if (!set)
		return;
	while (!TAILQ_EMPTY(&set->links)) {
		struct link *link = TAILQ_FIRST(&set->links);
		link_lose(link, "the manager ends");
		link_free_now(link);
	}
	ev_timer_stop(set->options.loop, &set->watch);
	ev_timer_stop(set->options.loop, &set->second);
	free(set);
}
