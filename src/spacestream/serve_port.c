/*
 * Requests to a port of a guest: handed over to the gateway of its sandbox, by port.connect over
 * the same path as any stream, so that manager and gateway admit each of them. What goes on is
 * written anew by the gateway's own rules (stream/head.h), and so is what comes back: all sandboxes
 * share our origin, so that nothing of one may count for another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/result.h"
#include "spacestream/serve_stream.h"
#include "spacestream/serve_transfer.h"
#include "stream/response.h"

#define PREFIX_MAX (SP_ID_MAX + 64)

struct port {
	char prefix[PREFIX_MAX]; /* of the paths that are its own, here */
	char *head;              /* what goes on, until it has; heap */
	size_t head_size;
	char *offered; /* a list of subprotocols; heap */
	bool old, websocket, ours, chunks;
	bool none; /* what came is no HTTP */
	struct sp_response response;
};

static void done(void *own)
{
	struct port *port = own;

	free(port->head);
	free(port->offered);
	free(port);
}

/* --- the answer --- */

static bool take_head(void *context, const struct sp_response_head *head)
{
	static char text[SP_RESPONSE_PRINT_MAX];
	struct transfer *transfer = context;
	struct port *port = transfer->own;
	struct web *web = transfer->web;
	bool is_last = head->status >= 200 || head->status == 101;
	bool is_open = is_last && !head->is_bare && !head->has_length;
	struct sp_response_form form = {.old = port->old,
	    .prefix = port->prefix,
	    .protocol = port->ours ? SP_UPGRADE_PROTOCOL : NULL};
	size_t size;

	/* An old client knows no other. */
	if (!is_last && port->old)
		return true;
	port->chunks = is_open && !port->old;
	if (is_open && port->old)
		web->keep_alive = false;
	form.keep_alive = web->keep_alive;
	size = sp_response_print(head, &form, text, sizeof(text));
	web_put(web, text, size);
	transfer->begun |= is_last;
	return size > 0;
}

static bool take_body(void *context, const char *bytes, size_t size)
{
	struct transfer *transfer = context;
	const struct port *port = transfer->own;

	if (port->chunks)
		web_answer_chunk(transfer->web, bytes, size);
	else
		web_put(transfer->web, bytes, size);
	return true;
}

static const struct sp_response_handlers HANDLERS = {.head = take_head, .body = take_body};

/* The answer has come to its end, or is none. */
static void look(struct transfer *transfer)
{
	const struct port *port = transfer->own;

	if (port->response.state == SP_RESPONSE_TUNNEL)
		transfer->raw = true;
	else if (port->response.state > SP_RESPONSE_BODY)
		transfer_finish(transfer);
	if (port->response.state == SP_RESPONSE_DONE && port->chunks)
		web_answer_end(transfer->web);
}

static void output(struct transfer *transfer, const char *bytes, size_t size)
{
	struct port *port = transfer->own;
	size_t used = 0;

	if (!transfer->raw) {
		used = sp_response_read(&port->response, bytes, size);
		port->none = port->response.state == SP_RESPONSE_BAD;
		look(transfer);
	}
	if (transfer->raw)
		web_put(transfer->web, bytes + used, size - used);
}

static void output_end(struct transfer *transfer)
{
	struct port *port = transfer->own;

	if (transfer->raw) {
		transfer_finish(transfer);
		return;
	}
	sp_response_end(&port->response);
	look(transfer);
}

/* What the gateway answers so, too: not the caller's fault, and no word of the service's. */
static int status_of(const json_t *record)
{
	return outcome_of(record) == SERVE_ERROR + SP_ERROR_OP ? 502 : 0;
}

static void answer_failure(struct transfer *transfer)
{
	const struct port *port = transfer->own;
	const char *words =
	    port->none ? "the guest's answer is no HTTP" : "the guest ended without an answer";
	json_t *record = transfer_succeeded(transfer)
			     ? sp_result_error(NULL, SP_ERROR_TRANSPORT, true, words)
			     : transfer_record(transfer);

	transfer_answer(transfer, status_of(record), record);
}

static void over(struct transfer *transfer)
{
	struct port *port = transfer->own;
	struct web *web = transfer->web;

	/* Where it was cut is no end. */
	if (transfer->told && transfer_succeeded(transfer) && !transfer->raw &&
	    port->response.state <= SP_RESPONSE_BODY)
		output_end(transfer);
	if (transfer->raw && transfer_succeeded(transfer)) {
		web->phase = WEB_OVER;
	} else if (transfer->raw) {
		web->broken = true;
	} else if (port->response.state == SP_RESPONSE_DONE) {
		web->server->outcomes[SERVE_OK]++;
		if (!web->framed.done)
			web->keep_alive = false;
		web_next(web);
	} else {
		answer_failure(transfer);
	}
}

/* --- the request --- */

static void opened(struct transfer *transfer)
{
	struct port *port = transfer->own;

	transfer_put(transfer, port->head, port->head_size);
	free(sp_steal(&port->head));
}

#define KIND(stream)                                                                               \
	{                                                                                          \
		.op = "port.connect", .is_stream = (stream), .opened = opened, .output = output,   \
		.output_end = output_end, .over = over, .done = done                               \
	}

static const struct transfer_kind HTTP = KIND(false), WEBSOCKET = KIND(true);

/* The subprotocols that are the service's: all but the token, and ours beside it. */
static bool take_offered(struct port *port, const struct sp_head_field *field, bool with_token)
{
	const char *at = field->value, *end = at + field->value_size, *item;
	size_t size, used = port->offered ? strlen(port->offered) : 0;
	char *larger = realloc(port->offered, used + 2 * field->value_size + 3);

	if (!larger)
		return false;
	port->offered = larger;
	port->offered[used] = '\0';
	while (at && sp_head_item(&at, end, &item, &size)) {
		bool is_ours = sp_upgrade_is_ours(item, size);
		port->ours |= with_token && is_ours;
		if (sp_upgrade_is_bearer(item, size) || (with_token && is_ours))
			continue;
		if (used > 0)
			used += (size_t)sprintf(port->offered + used, ", ");
		memcpy(port->offered + used, item, size);
		used += size;
		port->offered[used] = '\0';
	}
	return true;
}

static bool is_kept(const struct sp_head_field *field)
{
	/* Cookies are of an origin, which is all sandboxes'. */
	return !sp_head_named(field, "Cookie") && !sp_head_named(field, "Cookie2") &&
	       !sp_head_named(field, "X-Forwarded-Prefix") &&
	       !sp_head_named(field, "Sec-WebSocket-Protocol");
}

/* Fields of its own, in the place of those of the client. */
static void add_field(struct sp_head *head, const char *name, const char *value)
{
	if (value && *value && head->count < SP_HEAD_FIELDS)
		head->fields[head->count++] = (struct sp_head_field){.name = name,
		    .value = value,
		    .name_size = strlen(name),
		    .value_size = strlen(value)};
}

static int write_head(struct port *port, const struct sp_asked *asked, bool with_token)
{
	struct sp_head head = *asked->head;
	const char *path = asked->parts[2].text - 1; /* with its slash */
	size_t room = asked->head_size + SP_HEAD_ADDED + PREFIX_MAX;

	head.target_size -= (size_t)(path - head.target);
	head.target = path;
	head.count = 0;
	for (unsigned i = 0; i < asked->head->count; i++) {
		const struct sp_head_field *field = &asked->head->fields[i];
		if (sp_head_named(field, "Sec-WebSocket-Protocol") &&
		    !take_offered(port, field, with_token))
			return -1;
		if (is_kept(field))
			head.fields[head.count++] = *field;
	}
	add_field(&head, "X-Forwarded-Prefix", port->prefix);
	add_field(&head, "Sec-WebSocket-Protocol", port->offered);
	port->head = malloc(room);
	if (!port->head)
		return -1;
	port->head_size = sp_head_print(&head, port->websocket, port->head, room);
	return port->head_size <= room && port->head_size <= TRANSFER_FIRST ? 0 : -1;
}

static struct port *port_new(
    const struct sp_asked *asked, const char *sandbox, int64_t number, bool with_token)
{
	struct port *port = calloc(1, sizeof(*port));

	if (!port)
		return NULL;
	(void)snprintf(port->prefix, sizeof(port->prefix), "/v1/sandboxes/%s/ports/%lld", sandbox,
	    (long long)number);
	port->old = asked->head->old;
	port->websocket = asked->head->websocket;
	if (write_head(port, asked, with_token) == 0)
		return port;
	free(port->head);
	free(port->offered);
	free(port);
	return NULL;
}

static bool take_number(const struct sp_target_part *part, int64_t *ret)
{
	char text[8];

	if (part->size >= sizeof(text))
		return false;
	memcpy(text, part->text, part->size);
	text[part->size] = '\0';
	return sp_number_parse(text, 1, UINT16_MAX, ret);
}

void serve_port(void *context, const struct sp_asked *asked)
{
	struct web *web = context;
	const struct sp_head *head = asked->head;
	char sandbox[SP_ID_MAX + 1];
	struct transfer *transfer;
	struct port *port;
	int64_t number;
	bool with_token;

	if (!sp_target_id(&asked->parts[0], sandbox) || !take_number(&asked->parts[1], &number)) {
		web_fail(web, 404, SP_ERROR_BAD_RECORD, "there is nothing here");
		return;
	}
	if (!stream_admit_port(web, head, &with_token))
		return;
	port = port_new(asked, sandbox, number, with_token);
	if (!port) {
		web->broken = true;
		return;
	}
	transfer = transfer_begin(web, port->websocket ? &WEBSOCKET : &HTTP, asked, sandbox,
	    json_pack("{s:I, s:s}", "port", (json_int_t)number, "protocol",
		port->websocket ? "websocket" : "http"),
	    port);
	if (!transfer)
		return;
	transfer->chunked = head->chunked;
	sp_response_init(
	    &port->response, head->method == HTTP_HEAD, port->websocket, &HANDLERS, transfer);
}
