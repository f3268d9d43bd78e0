/*
 * One stream operation for a client, from asking for it to its end (05-routing, Filters;
 * 06-streams, Verbs): a call with its one repair, the stream between it and what is at our side,
 * and after a cut, where the operation may be repeated (07-operations), one more: once the registry
 * shows a newer route than the one that was cut, by the same admission. Nothing moves to another
 * execution by itself.
 */
#ifndef SP_CLIENT_ATTACHMENT_H
#define SP_CLIENT_ATTACHMENT_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include "call/call.h"
#include "client/pump.h"

#define SP_ATTACHMENT_LOOK 0.25 /* seconds between looks for a newer route */
#define SP_ATTACHMENT_WHY  3.0  /* seconds that the manager has to say why it was cut */

struct sp_attachment;

/* Borrowed for its life. */
struct sp_attachment_options {
	struct ev_loop *loop;
	struct sp_path *path;
	const struct sp_who *who;
	const char *op, *sandbox;
	json_t *args;
	const struct sp_side *side;
	void *side_context;
	/* How long a newer route is waited for after a cut, milliseconds. 0: a cut is the end. */
	int64_t reattach_ms;
	/* A stream that was opened again and is cut later may be opened again, too. Else that is
	 * for the first cut alone. */
	bool each_cut;
};

enum sp_attachment_event {
	SP_ATTACHMENT_OPENED,
	SP_ATTACHMENT_CUT,      /* and a newer route is waited for */
	SP_ATTACHMENT_REOPENED, /* on another execution, or another attempt */
	SP_ATTACHMENT_GAP,      /* before `reopened`: output does not go on where it was left */
};

struct sp_attachment_news {
	enum sp_attachment_event event;
	const char *lease; /* opened, reopened */
	int64_t epoch;     /* ... */
	int64_t from;      /* ... where in the session's output it begins; -1: not known */
	const struct sp_route *route;  /* that is, or was, open */
	const struct sp_route *before; /* reopened: that was cut */
	const char *words;             /* cut: why; "": nobody could say */
	int64_t missing; /* gap: bytes that are not kept any more; -1: not known, and what comes may
			    have come before */
};

enum sp_attachment_ending {
	SP_ATTACHMENT_STATUS,   /* `status` */
	SP_ATTACHMENT_LOST,     /* cut, and not opened again: `words` say why */
	SP_ATTACHMENT_ANSWERED, /* it was not opened: `words` say what was answered */
	SP_ATTACHMENT_DONE,     /* nobody reads our output any more */
	SP_ATTACHMENT_BROKEN,   /* `words` */
};

struct sp_attachment_end {
	enum sp_attachment_ending ending;
	int exit; /* as 01-records has it; of a status its own (stream/status.h) */
	const struct sp_status *status;
	const json_t *record; /* that was answered; NULL: memory ran out */
	const char *words;
};

struct sp_attachment_handlers {
	void (*told)(void *context, const struct sp_attachment_news *news);
	/* Last, from the loop. It is still to be freed, not from within. */
	void (*ended)(void *context, const struct sp_attachment_end *end);
};

/* Begins. SP_E_BAD_RECORD: no such operation or arguments; -ENOMEM. */
int sp_attachment_new(const struct sp_attachment_options *options,
    const struct sp_attachment_handlers *handlers, void *context, struct sp_attachment **ret,
    struct sp_err *err);

/* Whatever it is at, it is at no more; no handler is called. */
void sp_attachment_stop(struct sp_attachment *attachment);
void sp_attachment_free(struct sp_attachment *attachment); /* NULL is fine */

/* Bytes of output that our side has taken so far. */
uint64_t sp_attachment_received(const struct sp_attachment *attachment);

/* While it is open: the terminal has this size now. */
void sp_attachment_resize(struct sp_attachment *attachment, unsigned rows, unsigned cols);

/*
 * The answer to a call in words for people, such as "refused by sbx-manager: deny: expired", and
 * its exit code. `words` has SP_ERR_MAX bytes.
 */
int sp_attachment_words(const struct sp_call_end *end, char *words);

#endif
