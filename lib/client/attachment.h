/*
 * One stream operation for a attachment, from asking for it to its end (05-routing, Filters;
 * 06-streams, Verbs): a call with its one repair, the stream on descriptors of this process, and
 * after a cut, where the operation may be repeated (07-operations), one more: once the registry
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

/* Borrowed for its life, but for the descriptors of `pump`, which are taken. */
struct sp_attachment_options {
	struct sp_path *path;
	const struct sp_who *who;
	const char *op, *sandbox;
	json_t *args;
	struct sp_pump_options pump;
	/* How long a newer route is waited for after a cut, milliseconds. 0: a cut is the end. */
	int64_t reattach_ms;
	/* The session's output begins where we do: after a cut it goes on at the byte where it was
	 * left, and not with all that is kept. */
	bool from_start;
};

enum sp_attachment_event {
	SP_ATTACHMENT_OPENED,
	SP_ATTACHMENT_CUT,      /* and a newer route is waited for */
	SP_ATTACHMENT_REOPENED, /* on another execution, or another attempt */
	SP_ATTACHMENT_GAP,      /* going on where it was left is not possible; what is kept comes */
};

struct sp_attachment_news {
	enum sp_attachment_event event;
	const char *lease;            /* opened, reopened */
	int64_t epoch;                /* ... */
	const struct sp_route *route; /* that is, or was, open */
	const char *words;            /* cut: why; "": nobody could say */
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
	const char *words;
};

struct sp_attachment_handlers {
	void (*told)(void *context, const struct sp_attachment_news *news);
	size_t (*on_input)(void *context, const char *bytes, size_t size); /* as in client/pump.h */
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

/* Bytes of output that were given out so far. */
uint64_t sp_attachment_received(const struct sp_attachment *attachment);

/* While it is open: the terminal has this size now. */
void sp_attachment_resize(struct sp_attachment *attachment, unsigned rows, unsigned cols);

/*
 * The answer to a call in words for people, such as "refused by sbx-manager: deny: expired", and
 * its exit code. `words` has SP_ERR_MAX bytes.
 */
int sp_attachment_words(const struct sp_call_end *end, char *words);

#endif
