/* Lines of clients: what is no request, or one too many, is told; the rest is verified, and then
 * decided on (forward_request.c). */
#include "spacebridge/forward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "admit/admit.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/wire.h"

/* A line that is no request, or one too many: told with its id when it has one. */
static void reject(struct client *client, const char *id, enum sp_error_kind kind, const char *why)
{
	struct sp_audit_line line = {
	    .role = FORWARD_ROLE, .id = id, .error = sp_error_name(kind), .note = why};

	sp_audit_write(client->forward->audit, &line);
	client_put_json(client, id ? sp_result_error(id, kind, false, why)
				   : sp_result_bad_record(NULL, client->lines, why));
}

void forward_bad_line(struct client *client, const char *why)
{
	reject(client, NULL, SP_ERROR_BAD_RECORD, why);
}

/* A line that is no request: told with its id when it has one. */
static void reject_line(struct client *client, const char *line, size_t size, const char *why)
{
	sp_auto_json json_t *record = NULL;
	const json_t *id;
	size_t length = 0;

	if (sp_json_parse(line, size, &record, NULL) == 0) {
		id = json_object_get(record, "id");
		length = json_string_length(id);
	}
	reject(client, length >= 1 && length <= SP_REQUEST_ID_MAX ? json_string_value(id) : NULL,
	    SP_ERROR_BAD_RECORD, why);
}

/* What goes on: our number, and the rest as the client wrote it; to a gateway the capability. */
static int compose(struct request *request, const struct sp_wire *wire)
{
	int n;

	if (request->op->purpose == SP_PURPOSE_SERVICE_PORT) {
		request->cap = strdup(wire->request.cap);
		return request->cap ? 0 : -ENOMEM;
	}
	n = asprintf(&request->item.line,
	    "{\"id\":\"%llu\",\"op\":\"%s\",\"sandbox\":\"%s\",\"args\":%.*s}\n",
	    (unsigned long long)request->item.number, request->op->name, request->sandbox,
	    (int)wire->args_size, wire->args);
	if (n < 0)
		request->item.line = NULL;
	request->item.size = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -ENOMEM : 0;
}

static int read_session(const json_t *args, struct sp_err *err)
{
	const char *session = json_string_value(json_object_get(args, "session"));

	return session && sp_id_valid(session)
		   ? 0
		   : sp_fail(err, SP_E_BAD_RECORD, "request: args: `session` is no id");
}

static int read_port(const json_t *args, struct sp_err *err)
{
	const json_t *port, *protocol;
	const struct sp_json_field fields[] = {
	    {"port", SP_JSON_INTEGER, false, &port},
	    {"protocol", SP_JSON_STRING, false, &protocol},
	};
	enum sp_protocol name;
	int bad = sp_json_take(args, "request: args", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (json_integer_value(port) < 1 || json_integer_value(port) > UINT16_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "request: args: `port` is no port");
	return sp_protocol_parse(json_string_value(protocol), &name)
		   ? 0
		   : sp_fail(err, SP_E_BAD_RECORD, "request: args: `protocol` is none");
}

/* Arguments are the guest's to read, but for those that say what is asked of this manager. */
static int read_args(struct request *request, const struct sp_wire *wire, struct sp_err *err)
{
	enum sp_purpose purpose = request->op->purpose;
	int bad = 0;

	if (purpose != SP_PURPOSE_CONTROL)
		bad = sp_json_parse(wire->args, wire->args_size, &request->args, err);
	if (!bad && purpose == SP_PURPOSE_ATTACH)
		bad = read_session(request->args, err);
	if (!bad && purpose == SP_PURPOSE_SERVICE_PORT)
		bad = read_port(request->args, err);
	return bad;
}

static struct request *make(struct client *client, const struct sp_wire *wire)
{
	const struct sp_request *parsed = &wire->request;
	size_t id_size = strlen(parsed->id) + 1, sandbox_size = strlen(parsed->sandbox) + 1;
	struct request *request = calloc(1, sizeof(*request) + id_size + sandbox_size);

	if (!request)
		return NULL;
	memcpy(request->id, parsed->id, id_size);
	request->sandbox = memcpy(request->id + id_size, parsed->sandbox, sandbox_size);
	request->client = client;
	request->op = parsed->op;
	request->received_us = sp_monotonic_us();
	request->item.number = link_number(client->forward->links);
	request->id_json = strndup(wire->id, wire->id_size);
	if (!request->id_json || compose(request, wire) < 0) {
		request_free(request);
		return NULL;
	}
	request->bytes = request->item.size + (request->cap ? strlen(request->cap) : 0);
	return request;
}

static void admit_to_lists(struct request *request)
{
	struct client *client = request->client;
	struct forward *forward = client->forward;

	client_enter(client, request);
	forward->total++;
	forward->bytes += request->bytes;
	TAILQ_INSERT_TAIL(&forward->due, request, due);
	if (!ev_is_active(&forward->due_timer)) {
		ev_timer_set(
		    &forward->due_timer, (double)forward->config->manager_timeout_ms / 1000., 0.);
		ev_timer_start(forward->loop, &forward->due_timer);
	}
}

/* Steps 1 to 6, and the sandbox before anything is looked up. */
static enum sp_reason verify(struct request *request, const char *cap)
{
	struct forward *forward = request->client->forward;
	struct sp_cap_use use = request_use(request);
	int64_t now = sp_admit_time(request->op, sp_time_now(), sp_journal_floor(forward->journal));
	enum sp_reason reason;

	/* What may be used once only is not worth remembering. */
	if (request->op->single_use)
		reason = sp_capability_verify(cap, strlen(cap), forward->keys.ring,
		    forward->keys.realm, &use, now, forward->config->max_skew, &request->claims);
	else
		reason = sp_memory_verify(forward->keys.memory, cap, strlen(cap),
		    forward->keys.ring, forward->keys.realm, &use, now, forward->config->max_skew,
		    &request->claims);
	return reason ? reason : sp_admit_sandbox(&request->claims, request->sandbox);
}

static bool is_overloaded(const struct client *client, const struct sp_op *op, size_t size)
{
	const struct forward *forward = client->forward;

	return client->inflight >= (size_t)forward->config->max_inflight ||
	       forward->total >= FORWARD_TOTAL_MAX || forward->bytes + size > FORWARD_BYTES_MAX ||
	       (op->stream && forward->stream_count >= SP_LEASES_MAX);
}

static void take_request(struct client *client, const struct sp_wire *wire)
{
	struct request *request = make(client, wire);
	struct sp_err err = {0};
	enum sp_reason reason = SP_REASON_NONE;

	if (!request) {
		reject(client, wire->request.id, SP_ERROR_INTERNAL, "out of memory");
		return;
	}
	if (read_args(request, wire, &err)) {
		reject(client, wire->request.id, SP_ERROR_BAD_RECORD, err.message);
		request_free(request);
		return;
	}
	admit_to_lists(request);
	if (forward_port_denied(request))
		reason = SP_REASON_PORT;
	if (!reason)
		reason = verify(request, wire->request.cap);
	if (reason)
		request_refuse(request, reason, SP_BEHIND_NONE, FORWARD_ROLE, NULL);
	else
		request_decide(request);
}

/* What follows the line is the stream's: it is left unread. Whatever the answer, the connection
 * ends with it, or with the stream. */
static void take_stream(struct client *client, const struct sp_wire *wire)
{
	if (client->lines > 1) {
		reject(client, wire->request.id, SP_ERROR_BAD_RECORD,
		    "request: a stream is the only record of its connection");
		return;
	}
	client->streams = true;
	client->ended = true;
	sp_conn_pause(client->conn);
	take_request(client, wire);
	if (client->inflight == 0)
		client_finish(client);
}

void forward_line(struct client *client, char *line, size_t size)
{
	struct sp_wire wire;
	struct sp_err err = {0};
	const struct sp_request *parsed = &wire.request;

	if (sp_wire_read(line, size, &wire, &err)) {
		reject_line(client, line, size, err.message);
		return;
	}
	if (client_find(client, parsed->id))
		reject(client, parsed->id, SP_ERROR_BAD_RECORD,
		    "request: `id` is in flight on this connection");
	else if (is_overloaded(client, parsed->op, size))
		reject(client, parsed->id, SP_ERROR_OVERLOADED,
		    "too many requests in flight; nothing was run");
	else if (parsed->op->stream)
		take_stream(client, &wire);
	else
		take_request(client, &wire);
	sp_wire_done(&wire);
}
