/* Connections of the cache: whoever may ask is part of the control plane, so a peer's uid is
 * checked before a line of it is looked at. Answers go out in the order of the questions. */
#include <stdio.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "net/unix.h"
#include "record/reason.h"
#include "spacerouted/server.h"

void server_answer(struct exchange *exchange, char *answer)
{
	exchange->waits = false;
	exchange->answered = true;
	exchange->answer = answer;
	exchange->size = answer ? strlen(answer) : 0;
	if (!answer)
		sp_conn_close(exchange->peer->conn, false);
}

void server_answer_text(struct exchange *exchange, const char *text, size_t size)
{
	struct peer *peer = exchange->peer;

	exchange->waits = false;
	exchange->answered = true;
	if (exchange == TAILQ_FIRST(&peer->exchanges)) {
		if (sp_conn_put(peer->conn, text, size) < 0)
			sp_conn_close(peer->conn, false);
		return;
	}
	exchange->answer = strndup(text, size);
	exchange->size = size;
	if (!exchange->answer)
		sp_conn_close(peer->conn, false);
}

/* One is kept for the next question. */
static void drop_exchange(struct peer *peer, struct exchange *exchange)
{
	TAILQ_REMOVE(&peer->exchanges, exchange, link);
	peer->open--;
	if (exchange->waits)
		sp_cache_abandon(&exchange->ask);
	free(exchange->answer);
	if (peer->server->idle)
		free(exchange);
	else
		peer->server->idle = exchange;
}

void server_flush(struct peer *peer)
{
	struct exchange *due = TAILQ_FIRST(&peer->exchanges), *next;

	for (; due && due->answered; due = next) {
		next = TAILQ_NEXT(due, link);
		if (due->answer && sp_conn_put(peer->conn, due->answer, due->size) < 0)
			sp_conn_close(peer->conn, false);
		drop_exchange(peer, due);
	}
	if (peer->ending && peer->open == 0)
		sp_conn_close(peer->conn, true);
	else if (sp_conn_full(peer->conn) || peer->open >= SP_WINDOW_MAX)
		sp_conn_pause(peer->conn);
	else if (!peer->ending)
		sp_conn_resume(peer->conn);
}

static struct exchange *new_exchange(struct peer *peer)
{
	struct exchange *exchange = sp_steal(&peer->server->idle);

	if (!exchange)
		exchange = malloc(sizeof(*exchange));
	if (!exchange)
		return NULL;
	/* The question is set where it is read, and what the rules keep where they are asked. */
	exchange->peer = peer;
	exchange->waits = exchange->answered = false;
	exchange->answer = NULL;
	exchange->started_us = server_now_us(peer->server);
	TAILQ_INSERT_TAIL(&peer->exchanges, exchange, link);
	peer->open++;
	return exchange;
}

/* One answer, so that the other side knows why, and the end. */
static void turn_away(struct peer *peer, struct exchange *exchange)
{
	char note[96], caller[32];
	const struct sp_audit_line line = {
	    .role = "cache", .caller = caller, .reason = SP_REASON_UNAUTHORIZED, .note = note};

	(void)snprintf(caller, sizeof(caller), "uid:%u", (unsigned)peer->uid);
	(void)snprintf(
	    note, sizeof(note), "uid %u is not in [cache] allow_uids", (unsigned)peer->uid);
	sp_audit_write(peer->server->audit, &line);
	server_answer(exchange, sp_reply_error(SP_ERROR_UNAVAILABLE, note));
	peer->ending = true;
	sp_conn_pause(peer->conn);
}

static void heard(struct peer *peer)
{
	struct peers *peers = &peer->server->peers;

	if (peer == TAILQ_LAST(peers, peers))
		return;
	TAILQ_REMOVE(peers, peer, link);
	TAILQ_INSERT_TAIL(peers, peer, link);
}

static void take_line(struct peer *peer, const char *line, size_t size)
{
	struct exchange *exchange = new_exchange(peer);
	struct sp_err err = {0};

	heard(peer);
	if (!exchange) {
		sp_conn_close(peer->conn, false);
		return;
	}
	if (!peer->allowed)
		turn_away(peer, exchange);
	else if (!line)
		server_answer(
		    exchange, sp_reply_error(SP_ERROR_BAD_RECORD, "line longer than 256 KiB"));
	else if (!sp_question_quick(line, size, &exchange->question) &&
		 sp_question_parse(line, size, &exchange->question, &err) < 0)
		server_answer(exchange, sp_reply_error(SP_ERROR_BAD_RECORD, err.message));
	else
		server_ask(peer->server, exchange);
	server_flush(peer);
}

static void on_line(struct sp_conn *conn, char *line, size_t size, void *context)
{
	(void)conn;
	take_line(context, line, size);
}

static void on_too_long(struct sp_conn *conn, void *context)
{
	(void)conn;
	take_line(context, NULL, 0);
}

static void on_end(struct sp_conn *conn, void *context)
{
	struct peer *peer = context;

	(void)conn;
	peer->ending = true;
	server_flush(peer);
}

static void on_drain(struct sp_conn *conn, void *context)
{
	(void)conn;
	server_flush(context);
}

static void on_close(struct sp_conn *conn, int code, void *context)
{
	struct peer *peer = context;
	struct server *server = peer->server;
	struct exchange *exchange = TAILQ_FIRST(&peer->exchanges), *next;

	(void)conn;
	(void)code;
	for (; exchange; exchange = next) {
		next = TAILQ_NEXT(exchange, link);
		drop_exchange(peer, exchange);
	}
	TAILQ_REMOVE(&server->peers, peer, link);
	server->peer_count--;
	server->stranger_count -= !peer->allowed;
	free(peer);
	sp_service_release(server->service);
	if (server->stopping && TAILQ_EMPTY(&server->peers))
		sp_service_exit(server->service);
}

static const struct sp_conn_handlers HANDLERS = {.on_line = on_line,
    .on_too_long = on_too_long,
    .on_end = on_end,
    .on_close = on_close,
    .on_drain = on_drain};

/* The last places are kept free by those who have been silent for longest, and wait for nothing:
 * they connect again for their next question. */
static void make_room(struct server *server)
{
	struct peer *peer;

	if (server->peer_count < SERVER_PEERS_MAX - SERVER_PEERS_SPARE)
		return;
	for (peer = TAILQ_FIRST(&server->peers); peer; peer = TAILQ_NEXT(peer, link))
		if (peer->open == 0 && !peer->ending) {
			peer->ending = true;
			sp_conn_pause(peer->conn);
			sp_conn_close(peer->conn, true);
			return;
		}
}

static void join(struct server *server, struct peer *peer, uid_t uid)
{
	make_room(server);
	peer->server = server;
	peer->uid = uid;
	peer->allowed = sp_uid_list_allows(&server->allow, uid);
	TAILQ_INIT(&peer->exchanges);
	TAILQ_INSERT_TAIL(&server->peers, peer, link);
	server->peer_count++;
	if (peer->allowed)
		return;
	sp_conn_idle_limit(peer->conn, SP_STRANGER_LIMIT);
	if (server->stranger_count++ >= SP_STRANGERS_MAX)
		sp_conn_close(peer->conn, false);
}

void server_on_accept(void *context, int fd)
{
	struct server *server = context;
	struct peer *peer = calloc(1, sizeof(*peer));
	struct ucred credentials = {.uid = (uid_t)-1};

	if (!peer || sp_unix_peer(fd, &credentials) < 0 ||
	    sp_conn_new(sp_service_loop(server->service), fd, &HANDLERS, peer, &peer->conn) < 0) {
		free(peer);
		sp_fd_close(&fd);
		sp_service_release(server->service);
		return;
	}
	join(server, peer, credentials.uid);
}
