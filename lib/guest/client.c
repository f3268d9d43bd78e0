/* One connection of the agent: lines in, answers out, no more in memory than a slow reader may
 * leave there. */
#include "guest/client.h"

#include <errno.h>
#include <poll.h>
#include <sodium/utils.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "guest/ops.h"
#include "record/json.h"
#include "record/request.h"
#include "record/result.h"

#define HANGUP_LOOK 0.5 /* seconds between looks for a peer that has gone altogether */

static void keep_waiting(struct sp_client *client, const char *line, size_t size)
{
	struct sp_waiting *waiting = malloc(sizeof(*waiting) + size);

	if (!waiting) {
		sp_conn_close(client->conn, false);
		return;
	}
	waiting->next = NULL;
	waiting->size = size;
	memcpy(waiting->line, line, size);
	*client->waiting_end = waiting;
	client->waiting_end = &waiting->next;
}

static void put(struct sp_client *client, const char *line, size_t size)
{
	if (client->waiting || sp_conn_put(client->conn, line, size) == SP_E_TOO_LARGE)
		keep_waiting(client, line, size);
	if (sp_conn_full(client->conn))
		sp_conn_pause(client->conn);
}

static void on_drain(struct sp_conn *conn, void *context)
{
	struct sp_client *client = context;

	while (client->waiting && !sp_conn_full(conn)) {
		struct sp_waiting *first = client->waiting;
		client->waiting = first->next;
		if (!client->waiting)
			client->waiting_end = &client->waiting;
		(void)sp_conn_put(conn, first->line, first->size);
		free(first);
	}
	if (!sp_conn_full(conn) && !client->agent->stopping)
		sp_conn_resume(conn);
	sp_client_settle(client);
}

static int error_number(int code)
{
	if (code == SP_E_BAD_RECORD)
		return EINVAL;
	return code < 0 && code > -4096 ? -code : EIO;
}

json_t *sp_guest_error(const char *id, int code, const struct sp_err *err)
{
	return sp_result_op_error(
	    id, error_number(code), err->message[0] ? err->message : sp_code_text(code));
}

static json_t *answer_json(const char *id, int code, json_t *result, const struct sp_err *err)
{
	if (code == 0)
		return result ? sp_result_ok(id, result) : NULL;
	json_decref(result);
	return sp_guest_error(id, code, err);
}

void sp_client_answer(
    struct sp_client *client, const char *id, int code, json_t *result, const struct sp_err *err)
{
	sp_auto_json json_t *answer = answer_json(id, code, result, err);
	sp_auto_free char *line = answer ? sp_json_text(answer) : NULL;
	size_t size = line ? strlen(line) : 0;

	/* An answer that cannot be given must not be waited for. */
	if (!line || size > SP_LINE_MAX)
		sp_conn_close(client->conn, true);
	else
		put(client, line, size);
}

static void refuse(struct sp_client *client, const char *id, int code, const char *words)
{
	struct sp_err err;

	(void)sp_fail(&err, code, "%s", words);
	sp_client_answer(client, id, code, NULL, &err);
}

static void forget(struct sp_client *client)
{
	ev_timer_stop(client->agent->loop, &client->hangup);
	(void)ev_clear_pending(client->agent->loop, &client->hangup);
	while (client->waiting) {
		struct sp_waiting *first = client->waiting;
		client->waiting = first->next;
		free(first);
	}
	*client->at = client->next;
	if (client->next)
		client->next->at = client->at;
	free(client);
}

/* The connection is a stream from here on, and no client any more. */
static void become_stream(
    struct sp_client *client, const char *id, const struct sp_stream_kind *kind, const json_t *args)
{
	struct sp_agent *agent = client->agent;
	size_t rest_size = 0;
	char *rest = NULL;
	int fd;

	/* Of what was said before, a hello's answer, nothing may be left. */
	if (sp_conn_flush(client->conn) > 0 ||
	    (fd = sp_conn_take(client->conn, &rest, &rest_size)) < 0) {
		sp_conn_close(client->conn, false);
		return;
	}
	forget(client);
	sp_stream_new(agent, fd, rest, rest_size, id, kind, args);
}

static void serve_op(struct sp_client *client, const char *id, const struct sp_guest_op *op,
    const struct sp_request *request, bool first)
{
	struct sp_err err = {0};
	json_t *result = NULL;
	int bad = 0;

	switch (op->kind) {
	case SP_GUEST_OP_EXEC:
	case SP_GUEST_OP_REMOVE:
		sp_task_start(client, id, op->kind == SP_GUEST_OP_EXEC, request->args);
		return;
	case SP_GUEST_OP_STREAM:
		if (first) {
			become_stream(client, id, op->stream, request->args);
			return;
		}
		bad = sp_fail(&err, -EINVAL, "a stream is not the first request of its connection");
		break;
	case SP_GUEST_OP_SESSION:
		bad = op->session(client->agent->sessions, request->args, &result, &err);
		break;
	case SP_GUEST_OP_DIRECT:
		bad = op->direct(client->agent->root, request->args, &result, &err);
		break;
	}
	sp_client_answer(client, id, bad, result, &err);
}

static void serve(struct sp_client *client, const char *id, const json_t *record)
{
	const char *name = json_string_value(json_object_get(record, "op"));
	const struct sp_guest_op *op = name ? sp_guest_op_find(name) : NULL;
	struct sp_request request;
	struct sp_err err = {0};
	bool first = !client->asked;
	int bad;

	client->asked = true;
	if (name && !op) {
		refuse(client, id, -ENOSYS, "this agent has no such operation");
		return;
	}
	bad = sp_request_parse_guest(record, &request, &err);
	if (!bad && sp_task_find(client, id))
		bad = sp_fail(&err, -EINVAL, "a request with this id is in flight already");
	if (bad)
		sp_client_answer(client, id, bad, NULL, &err);
	else
		serve_op(client, id, op, &request, first);
}

static void audit(struct sp_agent *agent, const char *op, enum sp_reason reason, const char *error,
    const char *note)
{
	struct sp_audit_line line = {.role = "spaced-guest",
	    .sandbox = sp_guest_self_sandbox(agent->self),
	    .op = op,
	    .reason = reason,
	    .error = error,
	    .note = note && *note ? note : NULL};

	sp_audit_write(agent->audit, &line);
}

/* Nothing that could be answered, or matched with its answer. */
static void give_up(struct sp_client *client, const char *words)
{
	audit(client->agent, NULL, SP_REASON_NONE, sp_error_name(SP_ERROR_BAD_RECORD), words);
	sp_conn_close(client->conn, true);
}

static void on_too_long(struct sp_conn *conn, void *context)
{
	(void)conn;
	give_up(context, "a line over its bound");
}

/* A message of the bridge's own. Only the host may speak it, and only with a guest that knows its
 * address: the proof is of both. */
static void serve_bridge(struct sp_client *client, const char *line, size_t size)
{
	struct sp_guest_link link = {client->agent->cid, client->peer.port};
	struct sp_guest_verdict verdict = {
	    .words = "this connection has no VSOCK address (--cid, and a peer with a name)"};
	char answer[SP_HELLO_LINE_MAX];
	size_t made;

	if (link.cid == 0)
		link.cid = sp_guest_own_cid(sp_conn_fd(client->conn));
	if (!client->peer.known || link.cid == 0)
		made = sp_hello_error_print(verdict.words, answer);
	else
		made =
		    sp_guest_self_answer(client->agent->self, line, size, &link, answer, &verdict);
	if (made > 0)
		put(client, answer, made);
	if (made == 0 || !verdict.passed || strcmp(verdict.op, "guest.hello") != 0)
		sp_conn_close(client->conn, true);
	audit(client->agent, verdict.op, verdict.passed ? SP_REASON_NONE : SP_REASON_GUEST_IDENTITY,
	    NULL, verdict.words);
}

static void on_line(struct sp_conn *conn, char *line, size_t size, void *context)
{
	struct sp_client *client = context;
	sp_auto_json json_t *record = NULL;
	struct sp_err err = {.message = ""};
	const json_t *id;

	(void)conn;
	if (!client->begun && sp_hello_meant(line, size)) {
		client->begun = true;
		serve_bridge(client, line, size);
		sodium_memzero(line, size);
		return;
	}
	client->begun = true;
	if (sp_json_parse(line, size, &record, &err)) {
		give_up(client, err.message);
		return;
	}
	id = json_object_get(record, "id");
	if (!json_is_string(id) || json_string_length(id) < 1 ||
	    json_string_length(id) > SP_REQUEST_ID_MAX) {
		give_up(client, "a record without an `id`");
		return;
	}
	serve(client, json_string_value(id), record);
}

static void on_hangup(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_client *client = watcher->data;
	struct pollfd one = {.fd = sp_conn_fd(client->conn)};

	(void)loop;
	(void)events;
	if (poll(&one, 1, 0) > 0 && one.revents & (POLLHUP | POLLERR))
		sp_conn_close(client->conn, false);
}

/* Only its direction has ended, or all of it: the loop does not tell. */
static void on_end(struct sp_conn *conn, void *context)
{
	struct sp_client *client = context;

	(void)conn;
	client->ended = true;
	ev_feed_event(client->agent->loop, &client->hangup, EV_CUSTOM);
	ev_timer_again(client->agent->loop, &client->hangup);
	sp_client_settle(client);
}

void sp_client_settle(struct sp_client *client)
{
	if ((client->ended || client->agent->stopping) && client->tasks == 0 && !client->waiting)
		sp_conn_close(client->conn, true);
}

static void on_close(struct sp_conn *conn, int code, void *context)
{
	struct sp_client *client = context;
	struct sp_agent *agent = client->agent;

	(void)conn;
	(void)code;
	sp_task_forsake(client);
	forget(client);
	sp_service_release(agent->service);
	sp_agent_settle(agent);
}

void sp_client_new(struct sp_agent *agent, int fd)
{
	static const struct sp_conn_handlers handlers = {.on_line = on_line,
	    .on_too_long = on_too_long,
	    .on_end = on_end,
	    .on_close = on_close,
	    .on_drain = on_drain};
	struct sp_guest_peer peer = sp_guest_peer(fd);
	struct sp_client *client = calloc(1, sizeof(*client));

	/* A process of the guest reaches an AF_VSOCK port too, by the local CID. */
	if (peer.known && peer.cid != SP_CID_HOST)
		audit(agent, NULL, SP_REASON_PEER_CREDENTIALS, NULL,
		    "the peer's CID is not the host's");
	if (!client || (peer.known && peer.cid != SP_CID_HOST) ||
	    sp_conn_new(agent->loop, fd, &handlers, client, &client->conn)) {
		free(client);
		(void)close(fd);
		sp_service_release(agent->service);
		return;
	}
	client->agent = agent;
	client->peer = peer;
	client->waiting_end = &client->waiting;
	ev_timer_init(&client->hangup, on_hangup, 0., HANGUP_LOOK);
	client->hangup.data = client;
	client->next = agent->clients;
	client->at = &agent->clients;
	if (client->next)
		client->next->at = &client->next;
	agent->clients = client;
}
