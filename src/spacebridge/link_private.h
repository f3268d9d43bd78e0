/* What link.c (a link's life) and link_io.c (its bytes) share. */
#ifndef SP_SPACEBRIDGE_LINK_PRIVATE_H
#define SP_SPACEBRIDGE_LINK_PRIVATE_H

#include "record/lines.h"
#include "spacebridge/link.h"

#define LINK_NUMBER_BUCKETS  4096
#define LINK_SANDBOX_BUCKETS 1024
#define LINK_HOP             "sbx-manager"
#define LINK_LATE_MAX        16384 /* answers that nobody waits for, on one link */

enum link_state { LINK_OPENING, LINK_OPEN, LINK_CLOSING };

struct link {
	struct link_set *set;
	TAILQ_ENTRY(link) entry;
	struct link *chain; /* by sandbox */
	bool listed;        /* found by its sandbox */
	bool alone;         /* it is for one item only */
	bool has_ref;       /* `ref` is set */
	enum link_state state;
	struct sp_identity identity;
	int64_t epoch;
	struct sp_page_ref ref;
	struct sp_attestation *attestation;
	struct sp_attestation
	    *onward; /* the VMM's, as far as it could be begun; NULL: not at all */
	json_t *vmm; /* what the bridge must be connected to, as recorded; NULL: nothing is */
	int fd;      /* the attestation's */
	ev_io readable, writable, exited;
	ev_timer limit, retry, doubt;
	ev_prepare pump, finish; /* never started: fed to the loop as events */
	struct sp_line_reader reader;
	struct link_items waiting, sent;
	uint64_t *late; /* numbers whose answers are thrown away; heap, NULL: none yet */
	unsigned late_count, seconds;
	int64_t paused_since, used_at; /* monotonic milliseconds; 0: not paused */
	char *doubts;                  /* why it is about to be refused; heap, NULL: it is not */
	enum sp_reason doubted;
	struct link_end end;
	char words[SP_ERR_MAX];
};

struct link_set {
	struct link_options options;
	const struct link_handlers *handlers;
	void *context;
	TAILQ_HEAD(links, link) links;
	unsigned count, sent;
	uint64_t last_number, page_counter;
	ev_timer watch, second;
	struct link_item *numbers[LINK_NUMBER_BUCKETS];
	struct link *sandboxes[LINK_SANDBOX_BUCKETS];
};

/* --- link_set.c --- */

struct link *link_find(struct link_set *set, const char *sandbox);
void link_set_add(struct link *link);
void link_enlist(struct link *link);
void link_set_remove(struct link *link);
void link_unlist(struct link *link);

/* Off its link and out of the table of numbers. */
void link_item_detach(struct link_item *item);

/* The fully sent item of this number on this link, or NULL. */
struct link_item *link_item_find(struct link *link, uint64_t number);

/* --- link.c --- */

/* The link of this sandbox and epoch, opened when there is none; or one for a single item. NULL:
 * out of memory. */
struct link *link_obtain(struct link_set *set, const struct sp_record *record);
struct link *link_make_alone(struct link_set *set, const struct sp_record *record);

/* What the link is a connection of becomes the caller's, with what was read of it beyond the last
 * line; the link ends. -ENOMEM: it ends all the same. */
int link_give_away(struct link *link, struct link_stream *ret);

/* Ends a link at the end of the loop's turn; the first reason given stays, but an epoch that has
 * moved is a better one. */
void link_close(struct link *link, const struct link_end *end);
void link_lose(struct link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
void link_refuse(
    struct link *link, enum sp_reason reason, const char *hop, const struct sp_report *report);
/* Refuses it in a moment, unless it ends before: then what was seen was its end. */
void link_doubt(struct link *link, enum sp_reason reason, const struct sp_report *report);
void link_free_now(struct link *link);

/* Looks at the page: 1 when this link's epoch is in force (and *ret_view is set), 0 when a change
 * is pending (the link sleeps a while), -1 when the link has gone. */
int link_settled(struct link *link, struct sp_page_view *ret_view);

/* A change is pending: nothing moves until the retry. */
void link_pause(struct link *link);

/* The greeting was `ready` and every check passed. */
void link_ready(struct link *link);

/* --- link_io.c --- */

/* Writes what may be written now. */
void link_write(struct link *link);

/* Reads what is there: the greeting, then answers. */
void link_read(struct link *link);

/* Takes a number's answer as one to throw away. False: too many. */
bool link_late_add(struct link *link, uint64_t number);

#endif
