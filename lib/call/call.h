/*
 * The path of one request in one process (00-overview): route, mint, send, one repair, mint anew,
 * send; by the same stages as the filters', on a libev loop, many at once. A stream operation ends
 * in a connection that is the stream.
 */
#ifndef SP_CALL_CALL_H
#define SP_CALL_CALL_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"
#include "call/mint.h"
#include "call/who.h"
#include "record/route.h"

struct sp_path;
struct sp_call;

/* Texts are copied, everything else is borrowed for the life of the path. */
struct sp_path_options {
	struct ev_loop *loop;
	const char *cache_socket;
	int cache_timeout_ms;
	const char *signer_socket; /* NULL: `minter` signs, told to `audit` (may be NULL) */
	struct sp_minter *minter;
	struct sp_audit *audit;
	const uid_t *manager_uids; /* who a manager may be, besides 0; none: our own uid */
	unsigned manager_uid_count;
	int manager_timeout_ms; /* one answer, connecting included */
	bool no_streams;        /* whoever asks for one and may have it asked a bad record */
};

/* -ENOMEM. SIGPIPE must be ignored by the program. */
int sp_path_new(const struct sp_path_options *options, struct sp_path **ret, struct sp_err *err);

/* Another cache_timeout_ms and manager_timeout_ms, other manager_uids: for what is asked and
 * connected from now on. The rest of the options stays. */
void sp_path_limits(struct sp_path *path, const struct sp_path_options *options);

/* No call may be under way. NULL is fine. */
void sp_path_free(struct sp_path *path);

struct sp_call_end {
	/* The done record under the caller's id, without `request`; a reference for the callee.
	 * NULL: `text` is it, a well-formed `ok` of `size` bytes (heap, for the callee), or, with
	 * that NULL too, memory ran out. */
	json_t *record;
	char *text;
	size_t size;
	/* A stage found the record bad, and these are its words (borrowed): a filter answers with
	 * the line's number. NULL otherwise, also where a server said so. */
	const char *bad;
	/* The route that was tried last; NULL: none was. Borrowed. */
	const struct sp_route *route;
	int attempted; /* 0: none; 1 or 2 */
	/* `open`: the stream (non-blocking, for the callee), and what came behind the answer's
	 * line (borrowed). Else -1. */
	int fd;
	const char *rest;
	size_t rest_size;
};

/* Called exactly once, from the loop, never from within sp_call_start. The call is gone; the path
 * must stay. */
typedef void sp_call_fn(void *context, const struct sp_call_end *end);

/*
 * Begins with an asked record that came as a line of `size` bytes (0: it was made here). `asked` is
 * taken over: it is changed on its way. At most SP_WINDOW_MAX may be under way on one path.
 * SP_E_BAD_RECORD: it is no asked record; -ENOMEM. Then nobody is called.
 */
int sp_call_start(struct sp_path *path, const struct sp_who *who, json_t *asked, size_t size,
    sp_call_fn *ended, void *context, struct sp_call **ret, struct sp_err *err);

/* Of a path with `no_streams`: this one may become a stream. */
void sp_call_allow_stream(struct sp_call *call);

/* Nobody is called any more; what was sent stays sent. */
void sp_call_cancel(struct sp_call *call);

/*
 * Asks the cache where a sandbox is (`sandbox` is a valid id), or with `rejected` whether there is
 * another route than this one, which was found wrong; then it asks the registry. Called once with
 * the reply, from the loop (routing/cache_wire.h; SP_CACHE_UNAVAILABLE: no answer), unless that is
 * cancelled before, or the path freed. -ENOMEM: nobody is called.
 */
struct sp_reply;
struct sp_where;
typedef void sp_path_where_fn(void *context, const struct sp_reply *reply);
int sp_path_where(struct sp_path *path, const struct sp_who *who, const char *sandbox,
    const struct sp_route *rejected, sp_path_where_fn *replied, void *context,
    struct sp_where **ret);
void sp_path_where_cancel(struct sp_where *where);

#endif
