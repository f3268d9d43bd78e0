/*
 * Clients of the manager. A slow reader is held up, not the links: its answers wait here, within a
 * bound for all clients together, and it is asked for nothing more until it has taken them.
 */
#include "spacebridge/forward.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "net/unix.h"

#define TURNED_AWAY_LIMIT 1. /* seconds */

static uint32_t hash_of(const char *id)
{
	uint32_t hash = 2166136261u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	return hash % FORWARD_ID_BUCKETS;
}

struct request *client_find(const struct client *client, const char *id)
{
	struct request *request = client->ids[hash_of(id)];

	while (request && strcmp(request->id, id) != 0)
		request = request->chain;
	return request;
}

void client_enter(struct client *client, struct request *request)
{
	struct request **at = &client->ids[hash_of(request->id)];

	request->chain = *at;
	*at = request;
	client->inflight++;
}

void client_leave(struct client *client, struct request *request)
{
	struct request **at = &client->ids[hash_of(request->id)];

	while (*at != request)
		at = &(*at)->chain;
	*at = request->chain;
	client->inflight--;
	if (client->inflight == 0 && (client->ended || client->forward->stopping))
		client_finish(client);
}

static bool is_held(const struct client *client)
{
	return !STAILQ_EMPTY(&client->held) || sp_conn_full(client->conn);
}

static void hold(struct client *client, const char *line, size_t size)
{
	struct forward *forward = client->forward;
	struct held *held = NULL;

	if (forward->held + size <= FORWARD_HELD_MAX)
		held = malloc(sizeof(*held) + size);
	if (!held) {
		sp_conn_close(client->conn, false);
		return;
	}
	held->size = size;
	memcpy(held->line, line, size);
	STAILQ_INSERT_TAIL(&client->held, held, entry);
	forward->held += size;
}

static void mark_dirty(struct client *client)
{
	if (client->is_dirty)
		return;
	client->is_dirty = true;
	TAILQ_INSERT_TAIL(&client->forward->dirty, client, dirty);
}

void client_put(struct client *client, const char *line, size_t size)
{
	if (is_held(client)) {
		/* Whoever does not read for so long is not waiting for an answer. */
		if (STAILQ_EMPTY(&client->held)) {
			sp_conn_pause(client->conn);
			sp_conn_idle_limit(client->conn,
			    (double)client->forward->config->manager_timeout_ms / 1000.);
		}
		hold(client, line, size);
		return;
	}
	if (sp_conn_put(client->conn, line, size) < 0)
		sp_conn_close(client->conn, false);
	mark_dirty(client);
}

void client_put_json(struct client *client, json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	if (text)
		client_put(client, text, strlen(text));
	else
		sp_conn_close(client->conn, false);
	free(text);
	json_decref(answer);
}

static void on_drain(struct sp_conn *conn, void *context)
{
	struct client *client = context;

	while (!STAILQ_EMPTY(&client->held) && !sp_conn_full(conn)) {
		struct held *held = STAILQ_FIRST(&client->held);
		STAILQ_REMOVE_HEAD(&client->held, entry);
		client->forward->held -= held->size;
		(void)sp_conn_put(conn, held->line, held->size);
		free(held);
	}
	if (is_held(client))
		return;
	sp_conn_idle_limit(conn, 0);
	if (client->inflight == 0 && (client->ended || client->forward->stopping))
		client_finish(client);
	else if (!client->forward->stopping && !client->streams)
		sp_conn_resume(conn);
}

void forward_flush_clients(struct forward *forward)
{
	while (!TAILQ_EMPTY(&forward->dirty)) {
		struct client *client = TAILQ_FIRST(&forward->dirty);
		TAILQ_REMOVE(&forward->dirty, client, dirty);
		client->is_dirty = false;
		(void)sp_conn_flush(client->conn);
	}
}

/* Answers that are still held go first; the last on_drain comes back here. */
void client_finish(struct client *client)
{
	if (STAILQ_EMPTY(&client->held))
		sp_conn_close(client->conn, true);
}

void client_stop(struct client *client)
{
	sp_conn_pause(client->conn);
	if (client->inflight == 0)
		client_finish(client);
}

static void on_line(struct sp_conn *conn, char *line, size_t size, void *context)
{
	struct client *client = context;

	(void)conn;
	client->lines++;
	/* In the order of their last line: whoever has said nothing for longest comes first. */
	TAILQ_REMOVE(&client->forward->clients, client, entry);
	TAILQ_INSERT_TAIL(&client->forward->clients, client, entry);
	if (!client->turned_away)
		forward_line(client, line, size);
}

static void on_too_long(struct sp_conn *conn, void *context)
{
	struct client *client = context;

	(void)conn;
	client->lines++;
	if (!client->turned_away)
		forward_bad_line(client, "line longer than 256 KiB");
}

static void on_end(struct sp_conn *conn, void *context)
{
	struct client *client = context;

	(void)conn;
	client->ended = true;
	if (client->inflight == 0)
		client_finish(client);
}

/* Out of every list, freed; its connection is closed, or somebody else's. */
static void forget(struct client *client)
{
	struct forward *forward = client->forward;

	while (!STAILQ_EMPTY(&client->held)) {
		struct held *held = STAILQ_FIRST(&client->held);
		STAILQ_REMOVE_HEAD(&client->held, entry);
		forward->held -= held->size;
		free(held);
	}
	if (client->is_dirty)
		TAILQ_REMOVE(&forward->dirty, client, dirty);
	TAILQ_REMOVE(&forward->clients, client, entry);
	forward->client_count--;
	free(client);
	sp_service_release(forward->service);
}

void forward_try_exit(struct forward *forward)
{
	if (forward->stopping && TAILQ_EMPTY(&forward->clients) && forward->stream_count == 0)
		sp_service_exit(forward->service);
}

static void on_close(struct sp_conn *conn, int code, void *context)
{
	struct client *client = context;
	struct forward *forward = client->forward;

	(void)conn;
	(void)code;
	client->ended = false; /* nothing more is to be finished */
	forward_abandon(client);
	forget(client);
	forward_try_exit(forward);
}

int client_take(struct request *request, char **ret_rest, size_t *ret_size)
{
	struct client *client = request->client;
	int fd = sp_conn_take(client->conn, ret_rest, ret_size);

	if (fd < 0)
		return fd;
	request_leave(request);
	forget(client);
	return fd;
}

static const struct sp_conn_handlers HANDLERS = {
    .on_line = on_line,
    .on_too_long = on_too_long,
    .on_end = on_end,
    .on_close = on_close,
    .on_drain = on_drain,
};

static bool is_allowed(const struct forward *forward, int fd, uid_t *ret_uid)
{
	struct ucred peer;

	if (sp_unix_peer(fd, &peer) < 0)
		return false;
	*ret_uid = peer.uid;
	return sp_uid_list_allows(&forward->config->manager_allow, peer.uid);
}

/* Turned away before a word of it is looked at. What it says is thrown away until it ends: were the
 * connection closed at once, its write would fail before it could read why. */
static void turn_away(struct client *client, uid_t uid)
{
	char caller[32];
	struct sp_audit_line line = {.role = FORWARD_ROLE,
	    .caller = caller,
	    .reason = SP_REASON_UNAUTHORIZED,
	    .note = "the peer's uid is not in [manager] allow_uids"};

	(void)snprintf(caller, sizeof(caller), "uid:%lld", (long long)uid);
	sp_audit_write(client->forward->audit, &line);
	client->turned_away = true;
	client_put_json(
	    client, sp_result_refused(NULL, SP_REASON_UNAUTHORIZED, SP_BEHIND_NONE, FORWARD_ROLE));
	sp_conn_idle_limit(client->conn, TURNED_AWAY_LIMIT);
}

/* The last places are kept free by those who have been silent for longest, and wait for nothing. */
static void make_room(struct forward *forward)
{
	struct client *client;

	if (forward->client_count < FORWARD_CLIENTS_MAX - FORWARD_CLIENTS_SPARE)
		return;
	for (client = TAILQ_FIRST(&forward->clients); client; client = TAILQ_NEXT(client, entry))
		if (!client->dismissed && client->inflight == 0 && !is_held(client)) {
			client->dismissed = true;
			sp_conn_close(client->conn, true);
			return;
		}
}

void forward_accept(void *context, int fd)
{
	struct forward *forward = context;
	struct client *client = calloc(1, sizeof(*client));
	uid_t uid = (uid_t)-1;
	bool allowed = is_allowed(forward, fd, &uid);

	if (!client || sp_conn_new(forward->loop, fd, &HANDLERS, client, &client->conn) < 0) {
		free(client);
		(void)close(fd);
		sp_service_release(forward->service);
		return;
	}
	client->forward = forward;
	STAILQ_INIT(&client->held);
	make_room(forward);
	TAILQ_INSERT_TAIL(&forward->clients, client, entry);
	forward->client_count++;
	if (!allowed)
		turn_away(client, uid);
}
