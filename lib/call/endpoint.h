/*
 * Connections to managers (04-bridge, Client side): one for each endpoint, kept while the set
 * lives, answers matched by number; and one of its own for each call that may become a stream. Who
 * listens is looked at before a word is said. A connection that breaks fails what was on it; the
 * next call opens a new one.
 */
#ifndef SP_CALL_ENDPOINT_H
#define SP_CALL_ENDPOINT_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "base/limits.h"
#include "bridge/answer.h"
#include "record/reason.h"
#include "record/request.h"

struct sp_endpoint;
struct sp_endpoint_set;

/* One request and its answer. The caller owns it until one of the handlers is called, exactly once,
 * never from within sp_endpoint_ask. */
struct sp_endpoint_call {
	TAILQ_ENTRY(sp_endpoint_call) entry, due;
	struct sp_endpoint *endpoint;
	uint64_t number; /* set by sp_endpoint_number */
	int64_t started_ms;
	char *line; /* heap, with its LF */
	size_t size, written;
	bool stream; /* a connection of its own, on which it is the only record */
};
TAILQ_HEAD(sp_endpoint_calls, sp_endpoint_call);

struct sp_endpoint_handlers {
	/* What a manager may say (sp_answer_of_manager). */
	void (*answered)(
	    struct sp_endpoint_call *call, const struct sp_answer *answer, void *context);
	/* Of a call with `stream`: the connection is one now. `fd` (non-blocking) is the callee's;
	 * the `size` bytes that came behind the answer's line are borrowed. */
	void (*opened)(struct sp_endpoint_call *call, const struct sp_answer *answer, int fd,
	    const char *rest, size_t size, void *context);
	/* Transport or timeout; `sent`: may a byte have reached the manager? */
	void (*failed)(struct sp_endpoint_call *call, enum sp_error_kind kind, bool sent,
	    const char *words, void *context);
	/* The set is freed with this call under way; nobody waits for it. */
	void (*forgotten)(struct sp_endpoint_call *call, void *context);
};

struct sp_endpoint_options {
	struct ev_loop *loop;
	const uid_t *uids;  /* who a manager may be, besides 0; borrowed */
	unsigned uid_count; /* 0: our own uid */
	int timeout_ms;     /* one call, connecting included */
};

int sp_endpoint_set_new(const struct sp_endpoint_options *options,
    const struct sp_endpoint_handlers *handlers, void *context, struct sp_endpoint_set **ret);
void sp_endpoint_set_free(struct sp_endpoint_set *set);

/* Other uids and another timeout_ms, as in the options: for connections and calls from now on. */
void sp_endpoint_set_limits(
    struct sp_endpoint_set *set, const uid_t *uids, unsigned uid_count, int timeout_ms);

/* A number for the next call, which must be asked before another is numbered. At most
 * SP_WINDOW_MAX calls may be under way, this one counted. */
uint64_t sp_endpoint_number(struct sp_endpoint_set *set);

/* `path` of the manager's Unix socket. -ENOMEM: not taken. */
int sp_endpoint_ask(struct sp_endpoint_set *set, struct sp_endpoint_call *call, const char *path);

/* Nobody waits for it any more: no handler is called. */
void sp_endpoint_forget(struct sp_endpoint_call *call);

/*
 * What travels to a manager, {"id","op","sandbox","args","cap"} and an LF, into call->line. `args`
 * and `cap` are JSON as text, the latter with its quotes. -ENOMEM or 0.
 */
int sp_endpoint_compose(struct sp_endpoint_call *call, const struct sp_request *request,
    const char *args, size_t args_size, const char *cap, size_t cap_size);

#endif
