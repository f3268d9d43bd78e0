/*
 * spacebridge forward, the manager: what its files share.
 *
 *   forward.c          options, setting up, running, stopping
 *   forward_client.c   connections of clients: lines in, lines out, bounds
 *   forward_line.c     a line: is it a request, may it be one; verification
 *   forward_request.c  one request: admission, passing on, its end
 *   forward_stream.c   a request that became a stream: its lease, its relay, its end
 *   forward_bridge.c   the bridges of open streams, watched while they are
 *   forward_manage.c   operations on leases
 *   forward_port.c     service ports: the hand-over to the sandbox's gateway
 */
#ifndef SP_SPACEBRIDGE_FORWARD_H
#define SP_SPACEBRIDGE_FORWARD_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "cli/cli.h"
#include "lease/lease.h"
#include "lease/live.h"
#include "net/audit.h"
#include "net/conn.h"
#include "net/service.h"
#include "record/request.h"
#include "record/result.h"
#include "spacebridge/keys.h"
#include "spacebridge/link.h"
#include "store/store.h"
#include "token/journal.h"

#define FORWARD_ROLE          "sbx-manager"
#define FORWARD_CLIENTS_MAX   1024
#define FORWARD_CLIENTS_SPARE 64                  /* below which silent clients are let go */
#define FORWARD_TOTAL_MAX     16384               /* requests under way, all clients */
#define FORWARD_BYTES_MAX     (64u * 1024 * 1024) /* ... their lines */
#define FORWARD_HELD_MAX      (64u * 1024 * 1024) /* answers that slow clients have not read */
#define FORWARD_DECIDE_MAX    8 /* times that one request is decided anew when records move */
#define FORWARD_ID_BUCKETS    64
#define FORWARD_LISTED_MAX    512 /* leases in one answer to lease.list */

struct forward;
struct client;
struct handover;
struct stream;
struct bridge;

struct request {
	struct link_item item; /* the link's view of it; its first member */
	TAILQ_ENTRY(request) due, parked;
	struct request *chain; /* by id, of its client */
	struct client *client;
	const struct sp_op *op;
	const char *sandbox;       /* behind the id */
	char *id_json;             /* as text with its quotes, heap */
	json_t *args;              /* of operations whose arguments are looked at here, else NULL */
	char *cap;                 /* of a service port: it goes on to its gateway; heap */
	struct handover *handover; /* ... once it does */
	size_t bytes;              /* counted against FORWARD_BYTES_MAX */
	int64_t received_us, parked_ms;
	int64_t epoch, version; /* of the record that it was last decided on; 0: none */
	unsigned decided;
	bool is_parked; /* a change of its record is pending */
	uint64_t used;  /* its jti was put into the journal as the n-th; 0: not */
	struct sp_claims claims;
	char id[];
};
TAILQ_HEAD(requests, request);

struct held {
	STAILQ_ENTRY(held) entry;
	size_t size;
	char line[];
};

struct client {
	struct forward *forward;
	struct sp_conn *conn;
	TAILQ_ENTRY(client) entry, dirty;
	bool is_dirty, ended; /* has answers to flush; sends nothing more */
	bool turned_away;     /* its uid is not served */
	bool dismissed;       /* made room for others */
	bool streams;         /* its one request opens a stream: nothing more is read as lines */
	size_t lines, inflight;
	STAILQ_HEAD(helds, held) held; /* answers that wait for room */
	struct request *ids[FORWARD_ID_BUCKETS];
};

struct forward {
	struct sp_cli *cli;
	struct sp_config *config; /* our own: some of it changes while we run */
	struct sp_service *service;
	struct ev_loop *loop;
	struct keys keys;
	struct sp_journal *journal;
	struct sp_store *store;
	struct sp_holder *holder;
	struct sp_audit *audit;
	struct link_set *links;
	struct sp_lease_set *leases;
	struct sp_lease_live *live;
	TAILQ_HEAD(streams, stream) opening, streams; /* without a lease yet; with one */
	LIST_HEAD(, bridge) bridges;
	unsigned stream_count; /* both */
	ev_prepare opened;     /* never started: fed to the loop as an event */
	ev_timer opening_timer, stream_timer;
	unsigned stream_turns, stream_number;       /* seconds; streams so far */
	TAILQ_HEAD(clients, client) clients, dirty; /* clients: longest silent first */
	unsigned client_count;
	struct requests due, parked; /* by deadline; waiting for a record to settle */
	ev_timer due_timer, parked_timer;
	uint64_t journal_puts, journal_synced; /* jtis put into the journal, durably */
	bool journal_failed;
	size_t total, bytes, held;
	bool stopping;
};

/* --- forward_client.c --- */

void forward_accept(void *context, int fd); /* sp_service_accept_fn */

/* Gives a client one line, at once or when it has room. `size` without LF. */
void client_put(struct client *client, const char *line, size_t size);
void client_put_json(struct client *client, json_t *answer /* stolen */);

/* Writes out what clients were given in this turn. */
void forward_flush_clients(struct forward *forward);

/* A request is under way, found by its id; it is answered and leaves. The last one to leave ends a
 * client that sends nothing more. */
void client_enter(struct client *client, struct request *request);
void client_leave(struct client *client, struct request *request);
struct request *client_find(const struct client *client, const char *id);

/* Ends a connection: what is queued goes out first. */
void client_finish(struct client *client);

/* Its client's one request has become a stream: gives the client's descriptor, and what it sent
 * behind the request (heap, may be NULL); both are gone. Or -ENOMEM: they stay. */
int client_take(struct request *request, char **ret_rest, size_t *ret_size);

/* The manager stops: no more lines are read. */
void client_stop(struct client *client);

/* Exits once nothing is left, when the manager stops. */
void forward_try_exit(struct forward *forward);

/* --- forward_line.c --- */

/* One line of a client; it may be changed. */
void forward_line(struct client *client, char *line, size_t size);
void forward_bad_line(struct client *client, const char *why);

/* --- forward_request.c --- */

void request_free(struct request *request);

/* Its audit line. `error` (with SP_REASON_NONE) and `note` may be NULL. */
void request_audit(
    const struct request *request, enum sp_reason reason, const char *error, const char *note);

/* What its capability must allow. */
struct sp_cap_use request_use(const struct request *request);

/* Decides on it, as the record is now. It may end within the call. */
void request_decide(struct request *request);

/* Ends it with an answer, and an audit line; `note` is for the audit alone. */
void request_refuse(struct request *request, enum sp_reason reason, enum sp_behind behind,
    const char *hop, const char *note);
void request_fail(struct request *request, enum sp_error_kind kind, bool sent, const char *words);
void request_fail_noted(struct request *request, enum sp_error_kind kind, bool sent,
    const char *words, const char *note);

/* It was answered, or needs no answer: out of every list, freed. */
void request_done(struct request *request);

/* The same without a word to its client, which goes too. */
void request_leave(struct request *request);

/* The client has gone: nobody waits for its answers. */
void forward_abandon(struct client *client);

void forward_timers_init(struct forward *forward);

/* The time limit of requests has changed: those under way have the new one. */
void forward_timers_changed(struct forward *forward);

extern const struct link_handlers forward_link_handlers;

/* --- forward_stream.c --- */

void forward_streams_init(struct forward *forward);
int forward_leases_open(struct forward *forward, struct sp_err *err);

/* (link_handlers) */
void forward_stream_opened(struct link_item *item, const struct link_stream *opened, void *context);

/* The same for a connection to a gateway (`fd` and `rest` are stolen). */
void forward_stream_gateway(struct request *request, int fd, char *rest, size_t rest_size);

/* Cuts all streams, with these words for people. */
void forward_streams_cut(struct forward *forward, const char *words);
void forward_leases_close(struct forward *forward);

/* --- forward_port.c --- */

/* Is this a port that no request reaches, asked before anything is looked up? */
bool forward_port_denied(const struct request *request);

/* A service port that was admitted: hands it to the gateway of its sandbox. It may end within the
 * call. */
void forward_port(struct request *request);

/* Is the peer of this connection a gateway, as configured? */
enum sp_reason forward_gateway_check(
    const struct forward *forward, int fd, struct sp_report *report);

/* Nobody waits for it any more. Returns whether a byte of it may have gone. */
bool handover_drop(struct request *request);

/* --- forward_manage.c --- */

/* Carries out an operation on leases that was admitted; it ends within the call. */
void forward_manage(struct request *request);

#endif
