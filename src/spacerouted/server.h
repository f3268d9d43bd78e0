/* The cache as a server: what its files share. serve.c sets it up, server_peer.c speaks with peers,
 * server_ask.c carries questions through the rules and the registry. */
#ifndef SPACEROUTED_SERVER_H
#define SPACEROUTED_SERVER_H

#include <sys/queue.h>
#include "net/audit.h"
#include "net/conn.h"
#include "net/service.h"
#include "spacerouted/verbs.h"

struct peer;

/* One lookup of the registry under way. */
struct lookup {
	struct server *server;
	struct sp_flight *flight;
};

struct server {
	struct sp_cli *cli;
	struct sp_service *service;
	struct sp_registry *registry;
	struct sp_cache *cache;
	struct sp_audit *audit;
	struct sp_uid_list allow;
	TAILQ_HEAD(peers, peer) peers; /* who has been silent for longest first */
	unsigned peer_count, stranger_count;
	int64_t polled_ms;       /* when the registry was last looked at for changes of others */
	struct ev_io told;       /* the registry's descriptor, where it has one */
	struct ev_prepare waits; /* about to wait: the time is to be read anew */
	int64_t now_us;          /* monotonic, of this turn of the loop; 0: not yet read */
	int64_t now_s;           /* of day */
	struct lookup *spare;    /* for the next one; NULL: not yet made */
	struct exchange *idle;   /* the same */
	bool follows;            /* entries get new routes unasked */
	bool stopping;
};

/* One question and its place in the order of answers. */
struct exchange {
	TAILQ_ENTRY(exchange) link;
	struct peer *peer;
	struct sp_question question;
	struct sp_cache_ask ask;
	bool waits;    /* in the cache's rules */
	bool answered; /* given to the connection, when `answer` is NULL */
	char *answer;  /* heap: others are to be answered first */
	size_t size;
	int64_t started_us;
};

struct peer {
	TAILQ_ENTRY(peer) link;
	struct server *server;
	struct sp_conn *conn;
	TAILQ_HEAD(exchanges, exchange) exchanges;
	unsigned open;
	uid_t uid;
	bool allowed; /* or a stranger */
	bool ending;
};

#define SERVER_PEERS_MAX   1024
#define SERVER_PEERS_SPARE 64 /* below which silent peers are let go */

/* The time of this turn, in which many questions may come at once; monotonic, microseconds. */
int64_t server_now_us(struct server *server);
struct sp_cache_time server_now(struct server *server);

void server_on_accept(void *context, int fd);

/* Answers that are due, in order; ends a peer that has ended once all are written. */
void server_flush(struct peer *peer);

/* Takes a question whose exchange is in the peer's list: answers it now, or when the registry has.
 * The exchange may be gone on return. */
void server_ask(struct server *server, struct exchange *exchange);

/* Fills the cache with what those who have grants would ask for, up to its bound. */
int server_warm_up(struct server *server, int64_t max_entries, struct sp_err *err);

/* Takes up what has changed in the registry, and what it has answered. */
void server_poll(struct server *server);

/* Sets the answer (stolen; NULL: out of memory, which ends the peer). */
void server_answer(struct exchange *exchange, char *answer);

/* The same of a text that is borrowed; it is copied only when others are to be answered first. */
void server_answer_text(struct exchange *exchange, const char *text, size_t size);

#endif
