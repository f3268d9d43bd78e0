/*
 * Links from the manager to the bridges: one for each sandbox and identity epoch, attested when it
 * is opened, carrying many requests, closed when the epoch moves (04-bridge, The four roles).
 *
 * An item is one request on its way. Whether a byte of it may have gone is known exactly: each
 * write is made here, inside the bracket of the holder's slot, and no item shares its line with
 * another.
 */
#ifndef SP_SPACEBRIDGE_LINK_H
#define SP_SPACEBRIDGE_LINK_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "attest/attest.h"
#include "bridge/answer.h"
#include "record/reason.h"
#include "store/store.h"

struct link;
struct link_set;

struct link_item {
	TAILQ_ENTRY(link_item) entry; /* of its link */
	struct link_item *chain;      /* by number */
	struct link *link;            /* NULL: on none */
	uint64_t number;              /* link_number() */
	char *line;                   /* heap, with its LF; NULL once all of it is written */
	size_t size, written;
};
TAILQ_HEAD(link_items, link_item);

enum link_outcome {
	LINK_MOVED,   /* the record went on: what has not been sent may be decided anew */
	LINK_REFUSED, /* the bridge or its VMM is not what was recorded: `reason`, `hop` */
	LINK_ERROR,   /* no way to the guest: `error` */
	LINK_LOST,    /* broken: transport */
};

/* A connection that has become a stream: the bridge's attestation with its descriptor, and what
 * came right behind the line that opened it (heap, may be NULL). */
struct link_stream {
	struct sp_attestation *attestation;
	char *rest;
	size_t rest_size;
	int64_t from; /* as in bridge/answer.h */
};

/* How an item ended without an answer. Nothing of it is left on the link. */
struct link_end {
	enum link_outcome outcome;
	enum sp_reason reason;
	const char *hop;
	enum sp_error_kind error;
	const char *words; /* for people; for a refusal, only the audit may have them */
};

struct link_handlers {
	/* Right before an item's first byte, with the page as it is now. False: the callee has
	 * taken it off with link_drop and ended it. May be asked again of the same item. */
	bool (*may_pass)(struct link_item *item, const struct sp_page_view *view, void *context);
	/* All items of a batch were asked; make what was promised for them durable. False: it is
	 * not, and they are asked again. */
	bool (*commit)(void *context);
	/* Its first byte has gone. */
	void (*passed)(struct link_item *item, void *context);
	/* An answer with its number has come: it is off the link. `words`: why the answer is not
	 * one that a guest may give, else NULL. Must not touch any link. */
	void (*answered)(struct link_item *item, const struct sp_answer *answer, const char *words,
	    void *context);
	/* The guest has opened a stream on the link that this item had to itself, and that now
	 * ends: the item is off it, the stream the callee's. Must not touch any link. */
	void (*opened)(struct link_item *item, const struct link_stream *stream, void *context);
	/* All answers at hand were given: write them out now, while the epoch is held. */
	void (*flush)(void *context);
	/* It is off the link, which is gone. */
	void (*ended)(struct link_item *item, const struct link_end *end, void *context);
};

struct link_options {
	struct ev_loop *loop;
	struct sp_store *store;
	struct sp_holder *holder;
	enum sp_level min_level;
	int connect_timeout_ms; /* to a bridge that says it is ready */
	int settle_ms;          /* how long a change of a record may be pending */
};

/* All borrowed for the life of the set. -ENOMEM or 0. */
int link_set_new(const struct link_options *options, const struct link_handlers *handlers,
    void *context, struct link_set **ret);

/* Other limits from now on: of `options` the three values are taken. */
void link_set_limits(struct link_set *set, const struct link_options *options);

/* Closes every link; its items end as LINK_LOST. */
void link_set_free(struct link_set *set);

/* The number for the next item: unique in this process. */
uint64_t link_number(struct link_set *set);

/*
 * Sends an item down the link of this record's sandbox and epoch, opened now if there is none. The
 * item may end within the call.
 */
void link_submit(struct link_set *set, struct link_item *item, const struct sp_record *record);

/* The same down a link of its own, on which the guest may open a stream. */
void link_submit_alone(
    struct link_set *set, struct link_item *item, const struct sp_record *record);

/*
 * Nobody waits for this item any more: takes it off its link; a late answer to it is thrown away.
 * Returns whether a byte of it may have gone.
 */
bool link_drop(struct link_item *item);

/* The epoch that an item's link belongs to. */
int64_t link_epoch(const struct link_item *item);

#endif
