/* spacestream serve: the entry over HTTP/1 (spacestream(1), THE ENTRY OVER HTTP). What its files
 * share: a server has connections (`web`), one of them asks one thing at a time, and what it asks
 * of sandboxes are operations (`op`), answered in the order in which they came. */
#ifndef SP_SPACESTREAM_SERVE_H
#define SP_SPACESTREAM_SERVE_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "call/call.h"
#include "client/setup.h"
#include "net/service.h"
#include "net/tls.h"
#include "record/lines.h"
#include "stream/body.h"
#include "stream/head.h"
#include "stream/target.h"

#define SERVE_CONNECTIONS 1024 /* besides streams */
#define SERVE_STREAMS     3072
#define SERVE_SPARE       64 /* places; when there are no more, who is silent is let go */
#define SERVE_IN_MAX      SP_HEAD_MAX
#define SERVE_OUT_FULL    (256u * 1024u) /* bytes for a slow client, above which nothing is begun */
#define SERVE_WINDOW_MAX  64             /* operations of one request at once */
#define SERVE_BUCKETS     256
#define SERVE_TOO_LONG    "request: longer than 192 KiB" /* as the stage `route` says it */

/* Whoever holds one token, with something in flight. Told apart by the token's hash: a name alone
 * could be claimed by anybody, who would then use up what is its owner's. */
struct caller {
	LIST_ENTRY(caller) link;
	unsigned char credential[SP_CREDENTIAL_SIZE];
	unsigned flying, streams;
};
LIST_HEAD(callers, caller);

/* Indices of the tables in serve_answer.c and serve_metrics.c. */
#define SERVE_STATUSES 19
enum serve_outcome {
	SERVE_OK,
	SERVE_REFRESH,
	SERVE_DENY,
	SERVE_ERROR, /* and the kind of error */
	SERVE_OUTCOMES = SERVE_ERROR + SP_ERROR_COUNT
};

struct server {
	struct sp_cli *cli;
	struct sp_service *service;
	struct ev_loop *loop;
	struct sp_tls *tls; /* NULL: plain */
	const char *tls_cert, *tls_key;
	struct sp_client_setup setup;
	struct page *page;
	int64_t inflight;    /* operations of one caller at once */
	int64_t open;        /* streams of one caller at once */
	int64_t whole, idle; /* seconds */
	int64_t reattach;    /* seconds that a newer route is waited for after a cut */
	const char *origins; /* whose pages may ask for streams; NULL: our own alone */
	/* Whoever has given no sign for longest comes first. */
	TAILQ_HEAD(webs, web) webs;
	struct callers callers[SERVE_BUCKETS];
	bool stopping;
	unsigned connections, flying, streams;
	uint64_t cut, replaced; /* streams */
	uint64_t requests[SERVE_STATUSES], outcomes[SERVE_OUTCOMES];
};

enum web_phase {
	WEB_HEAD, /* a request's head is awaited */
	WEB_BODY, /* its body is, or its answers are */
	WEB_WORK, /* `work` has it, until web_next or the end */
	WEB_OVER, /* nothing more is taken; what is to be written goes out, then it ends */
};

/* What is waited for, and how long. */
enum web_wait { WAIT_NOTHING, WAIT_REQUEST, WAIT_WHOLE, WAIT_READER, WAIT_PART, WAIT_WORK };

/* What a handler does with a connection that is no records: it sets `work` and `state`, and the
 * phase WEB_WORK. */
struct web_work {
	/* Takes what it may of `in`, and puts (web_put) what it may while out is not full. True:
	 * again, something was done. */
	bool (*step)(struct web *web);
	bool (*reads)(const struct web *web); /* shall bytes be read into `in`? */
	/* Seconds until `late`, 0: for ever; counted anew whenever something was written, or
	 * `moved` was set. Until what was put is written, --idle-timeout goes instead. */
	double (*limit)(const struct web *web);
	bool (*late)(struct web *web); /* false: cut it */
	/* Lets go of all that it holds, `state` too: once, at web_next, behind the phase WEB_OVER,
	 * or with the connection. */
	void (*end)(struct web *web);
};

struct op {
	TAILQ_ENTRY(op) entry;
	struct web *web;
	struct caller *caller; /* NULL: it is not counted */
	struct sp_call *call;  /* NULL: answered */
	size_t number;         /* its line */
	char *text;            /* the answer, without LF; heap; NULL while there is none */
	size_t size;
	int status; /* that it calls for */
};

struct web {
	TAILQ_ENTRY(web) link;
	struct server *server;
	int fd;
	int64_t sign_ms; /* when it came, its last head came, or its last answer was over */
	enum web_phase phase;
	ev_io readable, writable;
	ev_timer limit;
	enum web_wait waits;
	size_t waits_line; /* of WAIT_WHOLE: for the end of which line */
	bool moved;        /* something was written since the limit was set */
	char in[SERVE_IN_MAX];
	size_t size;
	/* The request. */
	struct sp_body framed;
	bool keep_alive, no_body; /* no_body: HEAD */
	bool lines;               /* JSON Lines: the answer's head is on its way */
	bool broken;
	bool begun; /* the one record of a body that is no lines */
	struct sp_who who;
	unsigned window;
	struct sp_line_reader body; /* given, never read; not of lines: one record */
	TAILQ_HEAD(ops, op) ops;
	unsigned op_count;
	/* The answer. */
	char *out; /* heap */
	size_t out_start, out_end, out_room;
	bool shut;
	const struct web_work *work; /* NULL: none */
	void *state;                 /* its own */
};

/* --- serve_web.c: a connection --- */

void web_accept(void *context, int fd);

/* Does what can be done now, and watches for the rest. The connection may be gone afterwards. */
void web_advance(struct web *web);

/* The request has been answered whole: on to the next one, or to the end. */
void web_next(struct web *web);

/* The server stops: what is in flight ends first. The connection may be gone afterwards. */
void web_stop(struct web *web);

void web_free(struct web *web);

/* --- serve_head.c: what is asked --- */

/* `in` begins with a head of this size: answered, or on to its body. */
void web_take_head(struct web *web, size_t size);

/* Who asks: the token proves it to the cache, which has its hash. False: answered. */
bool web_take_caller(struct web *web, const struct sp_head *head);

/* Does the client wait for leave to send its body? False: it wants something else; answered. */
bool web_take_expectation(struct web *web, const struct sp_head *head, bool *ret_expects);

/* --- serve_routes.c: what there is, and who does it --- */

/* Gives a request to the handler of its row, or refuses it. A handler answers (web_answer and
 * web_next, or web_fail), or leaves the connection in another phase than WEB_HEAD. */
void serve_route(struct web *web, const struct sp_head *head, size_t head_size);

/* The handlers (sp_target_fn; the context is the struct web), in the file that is named so. */
void serve_ops(void *context, const struct sp_asked *asked);      /* serve_head.c */
void serve_metrics(void *context, const struct sp_asked *asked);  /* serve_metrics.c */
void serve_attach(void *context, const struct sp_asked *asked);   /* serve_attach.c */
void serve_watch(void *context, const struct sp_asked *asked);    /* serve_watch.c */
void serve_tree_get(void *context, const struct sp_asked *asked); /* serve_tree.c */
void serve_tree_put(void *context, const struct sp_asked *asked);
void serve_openapi(void *context, const struct sp_asked *asked); /* serve_openapi.c */
void serve_port(void *context, const struct sp_asked *asked);    /* serve_port.c */

/* --- serve_body.c: records out of a body --- */

/* Takes what it may of `in`; begins, answers and ends what it can. True: again, something was
 * done. */
bool web_body_step(struct web *web);

/* Sets the parser of a request's body from its head. -ENOMEM. */
int web_body_begin(struct web *web, const char *head, size_t size);
void web_body_end(struct web *web);

/* --- serve_op.c: one operation --- */

/* A record that came as a line (NULL: one that was too long), to be answered in its turn.
 * -ENOMEM. */
int op_begin(struct web *web, const char *line, size_t size, size_t number);
void op_free(struct op *op);

/* --- serve_answer.c: status and bytes --- */

const char *status_phrase(int status);
unsigned status_index(int status);
int status_at(unsigned index);

/* The status that an outcome has as the one answer of a request. */
int outcome_status(enum serve_outcome outcome);

/* One of an answer's record. */
enum serve_outcome outcome_of(const json_t *record);

/* Adds bytes to what goes out. Without memory the connection is broken. */
void web_put(struct web *web, const char *bytes, size_t size);

/* A whole answer; `body` is as it goes out. `more` are further lines of its head, or "". */
void web_answer(
    struct web *web, int status, const char *type, const char *more, const char *body, size_t size);

/* The head alone, of an answer of this size. */
void web_answer_head(struct web *web, int status, const char *type, const char *more, size_t size);

/* The same with a record, stolen, as its body. */
void web_answer_record(struct web *web, int status, json_t *record);

/* The client may send its body. */
void web_continue(struct web *web);

/* The head of an answer that comes in chunks; one of them; and their end. */
void web_answer_chunks(struct web *web, const char *type);
void web_answer_chunk(struct web *web, const char *bytes, size_t size);
void web_answer_end(struct web *web);

/* The head of an answer that is lines, and one of them; they end as chunks do. */
void web_answer_lines(struct web *web);
void web_answer_line(struct web *web, const char *text, size_t size);

/* The head of an answer that is Server-Sent Events, and one of them; without text it is none, and
 * shows that we are there. */
void web_answer_events(struct web *web);
void web_answer_event(struct web *web, const char *text, size_t size);

/* The request is refused before it was read to its end: an answer, and the end of the connection.
 * If an answer has begun: the end alone. */
void web_fail(struct web *web, int status, enum sp_error_kind kind, const char *words);
void web_fail_record(struct web *web, int status, const char *more, json_t *record /* stolen */);

/* --- serve_caller.c: what one caller may have in flight --- */

/* False: no more now. */
bool caller_take(struct server *server, const struct sp_who *who, struct caller **ret);
void caller_leave(struct server *server, struct caller *caller);
bool caller_take_stream(struct server *server, const struct sp_who *who, struct caller **ret);
void caller_leave_stream(struct server *server, struct caller *caller);

/* --- serve_room.c --- */

/* Somebody comes: lets go whoever has been silent for longest when few places are left, so that
 * strangers cannot take them all for as long as they are given time. */
void serve_make_room(struct server *server);

/* --- serve_listen.c --- */

int serve_listen(struct server *server, struct sp_err *err);

/* The files of the certificate again; what was stays in use if they are none. */
void serve_tls_again(void *context);

#endif
