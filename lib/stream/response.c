/* Answers: the head is gathered whole, then http_parser reads it and the body. */
#include "stream/response.h"

#include <stdio.h>
#include <string.h>
#include "base/util.h"

struct reading {
	struct sp_response *response;
	struct sp_response_head *head;
};

void sp_response_init(struct sp_response *response, bool to_head, bool may_switch,
    const struct sp_response_handlers *handlers, void *context)
{
	response->state = SP_RESPONSE_HEAD;
	response->to_head = to_head;
	response->may_switch = may_switch;
	response->handlers = handlers;
	response->context = context;
	response->head_size = 0;
}

/* --- the head --- */

static int on_status(http_parser *parser, const char *at, size_t size)
{
	struct reading *reading = parser->data;

	reading->head->reason = at;
	reading->head->reason_size = size;
	return 0;
}

static int on_field(http_parser *parser, const char *at, size_t size)
{
	struct sp_response_head *head = ((struct reading *)parser->data)->head;

	if (head->count == SP_HEAD_FIELDS || !sp_head_is_name(at, size))
		return 1;
	head->fields[head->count++] = (struct sp_head_field){.name = at, .name_size = size};
	return 0;
}

static int on_value(http_parser *parser, const char *at, size_t size)
{
	struct sp_response_head *head = ((struct reading *)parser->data)->head;
	struct sp_head_field *field = &head->fields[head->count - 1];

	while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t'))
		size--;
	field->value = at;
	field->value_size = size;
	return 0;
}

static int on_head(http_parser *parser)
{
	struct reading *reading = parser->data;
	struct sp_response_head *head = reading->head;

	head->status = parser->status_code;
	head->is_bare = reading->response->to_head || head->status < 200 || head->status == 204 ||
			head->status == 304;
	head->has_length = (parser->flags & F_CONTENTLENGTH) != 0;
	head->length = head->has_length ? parser->content_length : 0;
	return head->is_bare ? 1 : 0;
}

static int on_done(http_parser *parser)
{
	http_parser_pause(parser, 1);
	return 0;
}

static bool is_acceptable(const struct sp_response *response, const struct sp_response_head *head)
{
	return response->parser.http_major == 1 && head->status >= 100 && head->status <= 599 &&
	       (head->status != 101 || response->may_switch);
}

/* False: it is none. */
static bool take_head(struct sp_response *response, size_t size)
{
	static const http_parser_settings settings = {.on_status = on_status,
	    .on_header_field = on_field,
	    .on_header_value = on_value,
	    .on_headers_complete = on_head,
	    .on_message_complete = on_done};
	struct sp_response_head head = {.status = 0, .reason = ""};
	struct reading reading = {.response = response, .head = &head};
	enum http_errno code;
	bool paused;

	http_parser_init(&response->parser, HTTP_RESPONSE);
	response->parser.data = &reading;
	(void)http_parser_execute(&response->parser, &settings, response->head, size);
	code = HTTP_PARSER_ERRNO(&response->parser);
	paused = code == HPE_PAUSED;
	if ((code != HPE_OK && !paused) || !is_acceptable(response, &head) ||
	    !response->handlers->head(response->context, &head))
		return false;
	if (head.status == 101)
		response->state = SP_RESPONSE_TUNNEL;
	else if (head.status >= 200)
		response->state = head.is_bare || paused ? SP_RESPONSE_DONE : SP_RESPONSE_BODY;
	return true;
}

static size_t read_head(struct sp_response *response, const char *bytes, size_t size)
{
	size_t before = response->head_size, room = sizeof(response->head) - before;
	size_t n = size < room ? size : room;
	ssize_t found;

	memcpy(response->head + before, bytes, n);
	response->head_size += n;
	found = sp_head_find(response->head, response->head_size, NULL);
	if (found == 0)
		return n;
	if (found < 0 || !take_head(response, (size_t)found)) {
		response->state = SP_RESPONSE_BAD;
		return n;
	}
	response->head_size = 0;
	return (size_t)found - before;
}

/* --- the body --- */

static int on_body(http_parser *parser, const char *at, size_t size)
{
	struct sp_response *response = parser->data;

	return response->handlers->body(response->context, at, size) ? 0 : 1;
}

static int on_body_done(http_parser *parser)
{
	struct sp_response *response = parser->data;

	response->state = SP_RESPONSE_DONE;
	http_parser_pause(parser, 1);
	return 0;
}

static const http_parser_settings BODY = {.on_body = on_body, .on_message_complete = on_body_done};

static size_t read_body(struct sp_response *response, const char *bytes, size_t size)
{
	size_t used;

	response->parser.data = response;
	used = http_parser_execute(&response->parser, &BODY, bytes, size);
	if (response->state == SP_RESPONSE_BODY && HTTP_PARSER_ERRNO(&response->parser) != HPE_OK)
		response->state = SP_RESPONSE_BAD;
	return used;
}

size_t sp_response_read(struct sp_response *response, const char *bytes, size_t size)
{
	size_t used = 0;

	while (used < size && response->state <= SP_RESPONSE_BODY)
		used += response->state == SP_RESPONSE_HEAD
			    ? read_head(response, bytes + used, size - used)
			    : read_body(response, bytes + used, size - used);
	return used;
}

void sp_response_end(struct sp_response *response)
{
	if (response->state == SP_RESPONSE_BODY)
		(void)read_body(response, NULL, 0);
	if (response->state <= SP_RESPONSE_BODY)
		response->state = SP_RESPONSE_BAD;
}

/* --- written anew --- */

struct text {
	char *at;
	size_t room, size;
};

static void put(struct text *text, const char *bytes, size_t size)
{
	if (size > 0 && text->size + size <= text->room)
		memcpy(text->at + text->size, bytes, size);
	text->size += size;
}

static void put_text(struct text *text, const char *words)
{
	put(text, words, strlen(words));
}

/* Of the last hop alone; and what counts for a whole origin, which is not this service's own. */
static bool goes_on(const struct sp_head_field *field)
{
	static const char *const not_on[] = {"Connection", "Keep-Alive", "Proxy-Authenticate",
	    "Proxy-Authentication-Info", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding",
	    "Content-Length", "Upgrade",
	    /* --- */
	    "Alt-Svc", "Clear-Site-Data", "NEL", "Public-Key-Pins", "Report-To",
	    "Reporting-Endpoints", "Service-Worker-Allowed", "Set-Cookie", "Set-Cookie2",
	    "Strict-Transport-Security"};

	for (size_t i = 0; i < SP_COUNT(not_on); i++)
		if (sp_head_named(field, not_on[i]))
			return false;
	return true;
}

/* A path; what begins with two slashes names a host. */
static bool is_path(const struct sp_head_field *field)
{
	return field->value_size > 0 && field->value[0] == '/' &&
	       (field->value_size == 1 || (field->value[1] != '/' && field->value[1] != '\\'));
}

static void put_field(struct text *text, const struct sp_head_field *field, const char *prefix)
{
	put(text, field->name, field->name_size);
	put_text(text, ": ");
	if ((sp_head_named(field, "Location") || sp_head_named(field, "Content-Location")) &&
	    is_path(field))
		put_text(text, prefix);
	put(text, field->value, field->value_size);
	put_text(text, "\r\n");
}

static void put_switch(struct text *text, const struct sp_response_head *head, const char *protocol)
{
	put_text(text, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	for (unsigned i = 0; protocol && i < head->count; i++)
		if (sp_head_named(&head->fields[i], "Sec-WebSocket-Protocol"))
			protocol = NULL;
	if (!protocol)
		return;
	put_text(text, "Sec-WebSocket-Protocol: ");
	put_text(text, protocol);
	put_text(text, "\r\n");
}

static void put_framing(struct text *text, const struct sp_response_head *head, bool old)
{
	char line[64];

	if (head->has_length && head->status >= 200 && head->status != 204) {
		(void)snprintf(line, sizeof(line), "Content-Length: %llu\r\n",
		    (unsigned long long)head->length);
		put_text(text, line);
	} else if (!head->is_bare && !old) {
		put_text(text, "Transfer-Encoding: chunked\r\n");
	}
}

size_t sp_response_print(const struct sp_response_head *head, const struct sp_response_form *form,
    char *text, size_t room)
{
	struct text out = {.at = text, .room = room};
	char line[16];

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", head->status);
	put_text(&out, line);
	put(&out, head->reason, head->reason_size);
	put_text(&out, "\r\n");
	for (unsigned i = 0; i < head->count; i++)
		if (goes_on(&head->fields[i]))
			put_field(&out, &head->fields[i], form->prefix);
	if (head->status == 101)
		put_switch(&out, head, form->protocol);
	else
		put_framing(&out, head, form->old);
	if (head->status >= 200) {
		put_text(&out, "Content-Security-Policy: sandbox\r\n");
		if (!form->keep_alive)
			put_text(&out, "Connection: close\r\n");
	}
	put_text(&out, "\r\n");
	return out.size <= room ? out.size : 0;
}
