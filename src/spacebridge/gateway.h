/*
 * spacebridge gateway, netgtw: one for each sandbox, the second check of its service ports
 * (06-streams). What its files share.
 *
 *   gateway.c         options, setting up, running, stopping
 *   gateway_listen.c  where it listens: a Unix socket, or TCP on loopback or with TLS
 *   gateway_tls.c     its certificate and key
 *   gateway_admit.c   what a capability may, here and now; audit lines
 *   gateway_port.c    a port of the guest: from the decision to `open`
 *   gateway_frames.c  its frames, inside the brackets of its lease
 *   gateway_front.c   what every client's connection has, and bytes that nobody looks at
 *   gateway_visit.c   a connection in line mode: its life
 *   gateway_line.c    its line
 *   gateway_first.c   its first bytes
 *   gateway_say.c     what it is told
 *   gateway_open.c    it as a stream
 *   gateway_http.c    a connection with --http: its life (gateway_web.h)
 *   gateway_head.c    ... a request's head, and what it may
 *   gateway_way.c     ... its way to a port of the guest
 *   gateway_reply.c   ... what it is told by the gateway itself
 *   gateway_web.c     ... one exchange: bodies and answers
 */
#ifndef SP_SPACEBRIDGE_GATEWAY_H
#define SP_SPACEBRIDGE_GATEWAY_H

#include <ev.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "admit/admit.h"
#include "bridge/answer.h"
#include "cli/cli.h"
#include "lease/lease.h"
#include "lease/live.h"
#include "net/audit.h"
#include "net/service.h"
#include "net/tls.h"
#include "net/watch.h"
#include "relay/relay.h"
#include "spacebridge/approach.h"
#include "spacebridge/keys.h"
#include "store/store.h"
#include "stream/first.h"
#include "stream/frame.h"
#include "stream/status.h"
#include "token/journal.h"

#define GATEWAY_ROLE     "netgtw"
#define GATEWAY_LINE_MAX (SP_TOKEN_MAX + 1024) /* the first line */
#define GATEWAY_VISITS   2048                  /* connections at once; streams are fewer */
/* What is read of a client before it is a stream: the line, and first bytes; or a head. */
#define GATEWAY_IN_MAX (GATEWAY_LINE_MAX + 2u * 16384u)

struct front;
struct port;
struct visit;
struct web;

struct gateway {
	struct sp_cli *cli;
	struct sp_service *service;
	struct ev_loop *loop;
	struct sp_store *store;
	struct sp_holder *holder;
	struct sp_audit *audit;
	struct sp_journal *journal;
	struct sp_tls *tls; /* NULL: what it accepts is plain */
	struct sp_watch *cert_watch, *key_watch;
	struct sp_lease_set *leases;
	struct sp_lease_live *live;
	struct sp_config config; /* as it says now */
	struct keys keys;
	struct approach_options approach;
	struct approach_set watched;
	const char *sandbox;
	char records[PATH_MAX + 16]; /* where they are */
	TAILQ_HEAD(visits, visit) visits;
	TAILQ_HEAD(webs, web) webs;
	bool http;
	unsigned port_count; /* of the guest, open or on the way */
};

/* --- gateway_listen.c --- */

/* At this address ("": the sandbox's own socket), or at what LISTEN_FDS hands over. SP_E_CONFIG:
 * plain TCP beyond loopback. As sp_tls_new where TLS is configured; a Unix socket stays plain. */
int gateway_listen(struct gateway *gateway, const char *address, struct sp_err *err);

/* --- gateway_tls.c --- */

/* Once it listens: where TLS is configured and this is TCP. As sp_tls_new. */
int gateway_tls_open(struct gateway *gateway, struct sp_err *err);
void gateway_tls_close(struct gateway *gateway);

/* Reads certificate and key again, of this configuration. As sp_tls_load. */
int gateway_tls_load(struct gateway *gateway, const struct sp_config *config, struct sp_err *err);

/* --- gateway_admit.c --- */

/* What is asked for: a port, and who says that he may. */
struct gateway_asked {
	const char *token;
	uint16_t port; /* 0: the capability's */
	int protocol;  /* enum sp_protocol; -1: the capability's */
	bool once;     /* the capability is used up by it */
};

/* The port, before anything is looked up; then steps 1 to 6 of 02-capability, and the sandbox. As
 * sp_capability_verify. */
enum sp_reason gateway_verify(
    const struct gateway *gateway, const struct gateway_asked *asked, struct sp_claims *ret);

/* Is this a port that nobody reaches through a gateway: the agent's own, or [gateway] deny_ports?
 */
bool gateway_port_denied(const struct sp_config *config, uint16_t port);

/* Steps 7 and 8 against the record in force (NULL: none). */
struct sp_admission gateway_decide(const struct gateway *gateway, const struct sp_claims *claims,
    const struct sp_record *record, bool once);

/* An audit line. `id` and `claims` may be NULL, and all of the outcome; `epoch` 0. */
struct gateway_outcome {
	enum sp_reason reason;
	const char *error, *action, *note;
};
void gateway_audit(const struct gateway *gateway, const char *id, const struct sp_claims *claims,
    int64_t epoch, const struct gateway_outcome *outcome, int64_t started_us);

/* --- gateway_port.c --- */

/* Are [gateway] max_streams open, or on the way? And the words for it. */
bool gateway_is_full(const struct gateway *gateway);
#define GATEWAY_FULL "[gateway] max_streams are open"

/* Why a port was not opened: `answer` of the guest's agent, else a reason, else an error. */
struct port_refusal {
	const struct sp_answer *answer;
	enum sp_reason reason;
	enum sp_behind behind;
	enum sp_error_kind error;
	bool sent;
	const char
	    *words; /* of a refusal for the audit alone, of an error for everybody; or NULL */
};

/* Called from the loop, never from within a call here. */
struct port_handlers {
	/* Identity, fence and journal let it pass; nothing has been connected yet. False: the
	 * callee has freed it. */
	bool (*admitted)(void *context);
	/* Nothing was opened: free it. */
	void (*refused)(const struct port_refusal *refusal, void *context);
	/* The guest's service has accepted. Start it, or free it. */
	void (*opened)(void *context);
	/* Its lease is cut: the client is ended at once, what is buffered thrown away. */
	void (*cut)(void *context);
	/* Follows `cut`: free it. */
	void (*ended)(const struct sp_lease_end *end, void *context);
	/* There may be moves again after port_enter said no: takes note of it, moves nothing. */
	void (*resumed)(void *context);
	/* A second has passed. NULL: it does not matter. */
	void (*second)(void *context);
	/* --- once started (gateway_frames.c) --- */
	/* Bytes from the guest, inside the bracket: how many were taken. Fewer: port_more. */
	size_t (*data)(const char *bytes, size_t size, void *context);
	/* Outside the bracket, when something came or went: look at the port's state. */
	void (*changed)(void *context);
};

struct port {
	struct gateway *gateway;
	const struct sp_claims *claims;
	const struct port_handlers *handlers;
	void *context;
	bool once, used;        /* the capability is good for one use; it has been used */
	bool proven, asked;     /* the VMM and its guest; the agent, for the port */
	int64_t epoch, version; /* of the record that it was decided on */
	struct approach approach;
	ev_timer retry, limit;
	ev_io answer; /* of the agent */
	struct sp_short_line line;
	struct sp_lease *lease;
	/* --- gateway_frames.c --- */
	ev_io readable, writable;
	struct sp_frame_reader reader;
	char *kept; /* read and not taken: first `piece` bytes of payload, then frames; heap */
	size_t kept_start, kept_end, piece;
	char *held; /* what the connection had no room for; heap */
	size_t held_start, held_end;
	bool started, paused;
	/* What `changed` is about. */
	bool guest_ended;        /* its direction; all of it was taken */
	bool over;               /* its last frame has come: `status` */
	bool lost;               /* the connection ended without it */
	struct sp_status status; /* of `over` */
};

/* Opens one, for claims that were verified (borrowed as long as it lives). -ENOMEM or 0. */
int port_open(struct gateway *gateway, const struct sp_claims *claims, bool once,
    const struct port_handlers *handlers, void *context, struct port **ret);

/* Closes its lease with these words, and the guest's connection. NULL is fine. */
void port_free(struct port *port, const char *words);

/* --- gateway_frames.c --- */

void port_frames_init(struct port *port);
void port_frames_done(struct port *port);
void port_frames_resume(struct port *port);

/* Reads the guest's frames from now on. */
void port_start(struct port *port);

/* Brackets one move. Not 0: move nothing until `resumed`. */
int port_enter(struct port *port);
void port_leave(struct port *port, enum sp_lease_way way, size_t moved);

/* Inside the bracket, with nothing held: a frame of these bytes (SP_FRAME_PAYLOAD_MAX at the most);
 * what does not go at once is held. */
void port_put(struct port *port, const char *bytes, size_t size);

/* Is something held? Then `changed` tells when it has gone. */
static inline bool port_holds(const struct port *port)
{
	return port->held != NULL;
}

/* The callee of `data` takes more again. */
void port_more(struct port *port);

/* --- gateway_front.c --- */

typedef void front_ended_fn(void *owner, int code, const char *words);

/* A client's connection: what a line and a request have of it both. */
struct front {
	struct gateway *gateway;
	void *owner; /* the visit, or the web */
	int client;
	char *in; /* read, and not passed on; heap, GATEWAY_IN_MAX */
	size_t size;
	int64_t started_us;     /* of what is asked */
	struct port *port;      /* NULL: none */
	struct sp_relay *relay; /* once it is a stream */
	front_ended_fn *ended;  /* ... and then no more */
	ev_io readable;
	ev_timer limit;
};

/* Takes `fd`, and `in` of `size`, NULL: made here. The limit is connect_timeout_ms. -ENOMEM: the
 * connection is closed and released. */
int front_init(struct front *front, struct gateway *gateway, int fd, char *in, size_t size,
    void (*readable)(struct ev_loop *loop, ev_io *watcher, int events),
    void (*limit)(struct ev_loop *loop, ev_timer *watcher, int events), void *owner);

/* Closes all of it. `words` for the lease. */
void front_done(struct front *front, const char *words);

/* Sets the limit anew. */
void front_limit(struct front *front, double seconds);

/* Reads more into `in`, which has room. Bytes, 0: the client has ended; -EAGAIN, -errno. */
ssize_t front_read(struct front *front);

/* The first `size` bytes of `in` are done with. */
void front_used(struct front *front, size_t size);

/* The client has been told no, or all: what it still sends is thrown away until it ends or a second
 * has passed. Were the connection closed at once, the answer could be lost with it. */
void front_part(struct front *front, const char *words);

/* Throws away what came. True: the client has ended. */
bool front_throw_away(struct front *front);

/*
 * From now on bytes go by themselves, first what is in `in` (lib/relay). A client that is not
 * framed is so towards the guest. `ended` is called once, with what the relay ends with and words
 * for it; not when the lease is cut. -ENOMEM or 0.
 */
int front_pass(struct front *front, bool framed, front_ended_fn *ended);

/* --- gateway_visit.c --- */

enum visit_phase {
	VISIT_LINE,    /* its line is awaited */
	VISIT_OPENING, /* decided on */
	VISIT_FIRST,   /* open; its first bytes are judged */
	VISIT_OPEN,
	VISIT_PARTING, /* has been told no */
};

struct visit {
	struct front front;
	TAILQ_ENTRY(visit) entry;
	enum visit_phase phase;
	size_t judged;
	char *id_json; /* as it stood in the line, NULL: none; heap */
	char *id;
	char lease[SP_LEASE_ID_SIZE]; /* once it is open */
	bool framed;
	enum sp_protocol protocol;
	struct sp_claims claims;
	struct sp_first *first; /* heap, until there is a verdict */
	struct sp_frame_reader frames;
	bool client_ended;
};

void visit_accept(void *context, int fd); /* sp_service_accept_fn */
void visit_free(struct visit *visit, const char *words);

/* --- gateway_say.c --- */

/* The one line of a refusal or an error, after which it parts. */
void visit_refuse(
    struct visit *visit, enum sp_reason reason, enum sp_behind behind, const char *note);
void visit_fail(struct visit *visit, enum sp_error_kind error, bool sent, const char *words);
void visit_refused(const struct port_refusal *refusal, void *context); /* port_handlers */

/* The first bytes are not of its protocol. */
void visit_deny_protocol(struct visit *visit);

/* -ENOMEM or 0. */
int visit_say_open(struct visit *visit);

/* `what` has become of its lease. `error` and `words` may be NULL. */
void visit_audit_lease(const struct visit *visit, enum sp_reason reason, const char *error,
    const char *what, const char *words);

/* --- gateway_http.c, gateway_web.c: connections whose every request is admitted by itself --- */

/* Takes a connection over, with what was read of it (both stolen). */
void web_begin(struct gateway *gateway, int fd, char *in, size_t size);
void web_end(struct web *web, const char *words);

/* --- gateway_line.c --- */

/* Reads the line: closed, as 06-streams has it, with `id` and `framed` beside. SP_E_BAD_RECORD.
 * The token is borrowed from *ret_record. */
int visit_line_parse(struct visit *visit, const char *line, size_t size, json_t **ret_record,
    struct gateway_asked *ret, struct sp_err *err);

/* --- gateway_first.c --- */

/* What is at hand of the first bytes. */
enum sp_first_verdict visit_judge(struct visit *visit);

/* --- gateway_open.c --- */

/* The port of a visit: what becomes of it is the stream's matter. */
extern const struct port_handlers visit_port;

/* Judges what is at hand of the first bytes, and goes on or ends. */
void visit_first(struct visit *visit);

/* It goes on as long as its lease; `words` of an end are for the audit. */
void visit_end(struct visit *visit, int code, const char *words);

#endif
