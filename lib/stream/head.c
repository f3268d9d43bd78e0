/* Heads of requests: bytes first, then http_parser, then the rules of a gateway. */
#include "stream/head.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/util.h"

static const char TOKEN[] = "v4.public.";

struct reading {
	struct sp_head *head;
	bool in_value, full;
};

static int bad(struct sp_err *err, const char *words)
{
	return sp_fail(err, SP_E_BAD_RECORD, "%s", words);
}

ssize_t sp_head_find(const char *bytes, size_t size, struct sp_err *err)
{
	for (size_t i = 0; i < size && i < SP_HEAD_MAX; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		if (byte == '\r' && i + 1 < size && bytes[i + 1] != '\n')
			return bad(err, "a carriage return within a line");
		if (byte == '\n' && (i == 0 || bytes[i - 1] != '\r'))
			return bad(err, "a line end that is not CRLF");
		/* First: behind it comes no line, whatever a body begins with. */
		if (byte == '\n' && (i == 1 || (i >= 3 && bytes[i - 2] == '\n')))
			return i == 1 ? bad(err, "an empty line before the request")
				      : (ssize_t)i + 1;
		if (byte == '\n' && i + 1 < size && (bytes[i + 1] == ' ' || bytes[i + 1] == '\t'))
			return bad(err, "a folded line");
		if (byte == 127 || (byte < ' ' && byte != '\t' && byte != '\r' && byte != '\n'))
			return bad(err, "a control character");
	}
	return size < SP_HEAD_MAX ? 0 : bad(err, "a head longer than 16 KiB");
}

static bool is(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

bool sp_head_named(const struct sp_head_field *field, const char *name)
{
	return is(field->name, field->name_size, name);
}

bool sp_head_item(const char **at, const char *end, const char **ret, size_t *ret_size)
{
	const char *start = *at, *stop;

	while (start < end && (*start == ',' || *start == ' ' || *start == '\t'))
		start++;
	if (start == end)
		return false;
	stop = memchr(start, ',', (size_t)(end - start));
	*at = stop ? stop : end;
	stop = *at;
	while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
		stop--;
	*ret = start;
	*ret_size = (size_t)(stop - start);
	return true;
}

static bool is_token(const char *item, size_t size)
{
	return size >= sizeof(TOKEN) - 1 && memcmp(item, TOKEN, sizeof(TOKEN) - 1) == 0;
}

/* The parser passes some names that are no token (RFC 9110, 5.6.2). */
bool sp_head_is_name(const char *name, size_t size)
{
	static const char separators[] = "\"(),/:;<=>?@[\\]{} \t";

	for (size_t i = 0; i < size; i++)
		if (strchr(separators, name[i]) || (unsigned char)name[i] > 126)
			return false;
	return size > 0;
}

static int on_field(http_parser *parser, const char *at, size_t size)
{
	struct reading *reading = parser->data;
	struct sp_head *head = reading->head;

	reading->full = head->count == SP_HEAD_FIELDS;
	if (reading->full || !sp_head_is_name(at, size))
		return 1;
	head->fields[head->count++] = (struct sp_head_field){.name = at, .name_size = size};
	return 0;
}

static int on_value(http_parser *parser, const char *at, size_t size)
{
	struct reading *reading = parser->data;
	struct sp_head_field *field = &reading->head->fields[reading->head->count - 1];

	while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t'))
		size--;
	field->value = at;
	field->value_size = size;
	return 0;
}

static int on_url(http_parser *parser, const char *at, size_t size)
{
	struct reading *reading = parser->data;

	reading->head->target = at;
	reading->head->target_size = size;
	return 0;
}

/* The body, if there is one, is somebody else's. */
static int on_head(http_parser *parser)
{
	const struct reading *reading = parser->data;

	reading->head->keep_alive = http_should_keep_alive(parser) != 0;
	return 1;
}

int sp_head_one(const struct sp_head *head, const char *name, const struct sp_head_field **ret,
    struct sp_err *err)
{
	const struct sp_head_field *found = NULL;

	for (unsigned i = 0; i < head->count; i++) {
		if (!sp_head_named(&head->fields[i], name))
			continue;
		if (found)
			return sp_fail(err, SP_E_BAD_RECORD, "a second %s", name);
		found = &head->fields[i];
	}
	*ret = found;
	return 0;
}

static int take_framing(struct sp_head *head, struct sp_err *err)
{
	const struct sp_head_field *length, *coding, *host;
	int code = sp_head_one(head, "Content-Length", &length, err);

	if (!code)
		code = sp_head_one(head, "Transfer-Encoding", &coding, err);
	if (!code)
		code = sp_head_one(head, "Host", &host, err);
	if (code)
		return code;
	if (length && coding)
		return bad(err, "Content-Length beside Transfer-Encoding");
	if (coding && (head->old || !is(coding->value, coding->value_size, "chunked")))
		return bad(err, "a Transfer-Encoding that is not chunked");
	if (length &&
	    (length->value_size == 0 || strspn(length->value, "0123456789") != length->value_size))
		return bad(err, "a Content-Length that is no number");
	if (!host && !head->old)
		return bad(err, "no Host");
	head->chunked = coding != NULL;
	head->has_length = length != NULL;
	return 0;
}

static int take_token(struct sp_head *head, struct sp_err *err)
{
	const struct sp_head_field *field;
	int code = sp_head_one(head, "Authorization", &field, err);

	if (code)
		return code;
	if (field && field->value_size > 7 && strncasecmp(field->value, "Bearer ", 7) == 0) {
		head->token = field->value + 7;
		head->token_size = field->value_size - 7;
	}
	/* What is no WebSocket has no other place for it. */
	for (unsigned i = 0; i < head->count && head->websocket && !head->token && !field; i++) {
		const char *at = head->fields[i].value, *item;
		size_t size;
		if (!sp_head_named(&head->fields[i], "Sec-WebSocket-Protocol") || !at)
			continue;
		while (sp_head_item(
		    &at, head->fields[i].value + head->fields[i].value_size, &item, &size))
			if (!head->token && is_token(item, size)) {
				head->token = item;
				head->token_size = size;
			}
	}
	return 0;
}

static int take_upgrade(struct sp_head *head, const http_parser *parser, struct sp_err *err)
{
	const struct sp_head_field *field;
	int code = sp_head_one(head, "Upgrade", &field, err);

	if (code)
		return code;
	head->websocket = field && parser->upgrade && head->method == HTTP_GET && !head->old &&
			  is(field->value, field->value_size, "websocket");
	if (parser->upgrade && (head->chunked || head->has_length))
		return bad(err, "an upgrade with a body");
	return 0;
}

int sp_head_parse(const char *head, size_t size, struct sp_head *ret, struct sp_err *err)
{
	static const http_parser_settings settings = {.on_url = on_url,
	    .on_header_field = on_field,
	    .on_header_value = on_value,
	    .on_headers_complete = on_head};
	struct reading reading = {.head = ret};
	http_parser parser;
	int code;

	*ret = (struct sp_head){.count = 0};
	http_parser_init(&parser, HTTP_REQUEST);
	parser.data = &reading;
	if (http_parser_execute(&parser, &settings, head, size) != size ||
	    HTTP_PARSER_ERRNO(&parser) != HPE_OK)
		return bad(err, reading.full ? "more than 100 fields"
					     : http_errno_description(HTTP_PARSER_ERRNO(&parser)));
	ret->method = parser.method;
	ret->old = parser.http_minor == 0;
	if (parser.http_major != 1 || parser.http_minor > 1 || ret->method == HTTP_CONNECT)
		return bad(err, "neither HTTP/1.1 nor HTTP/1.0, or CONNECT");
	code = take_framing(ret, err);
	if (!code)
		code = take_upgrade(ret, &parser, err);
	return code ? code : take_token(ret, err);
}

/* Is the field named in a Connection? */
static bool is_nominated(const struct sp_head *head, const struct sp_head_field *field)
{
	for (unsigned i = 0; i < head->count; i++) {
		const char *at = head->fields[i].value, *item;
		size_t size;
		if (!sp_head_named(&head->fields[i], "Connection") || !at)
			continue;
		while (sp_head_item(
		    &at, head->fields[i].value + head->fields[i].value_size, &item, &size))
			if (size == field->name_size && strncasecmp(item, field->name, size) == 0)
				return true;
	}
	return false;
}

static bool goes_on(const struct sp_head *head, const struct sp_head_field *field)
{
	static const char *const not_on[] = {"Authorization", "Connection", "Keep-Alive",
	    "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
	    "Transfer-Encoding", "Upgrade"};

	for (size_t i = 0; i < SP_COUNT(not_on); i++)
		if (sp_head_named(field, not_on[i]))
			return false;
	/* What frames the request is never the next hop's alone. */
	return sp_head_named(field, "Content-Length") || sp_head_named(field, "Host") ||
	       !is_nominated(head, field);
}

static size_t put(char *text, size_t room, size_t at, const char *bytes, size_t size)
{
	if (at + size <= room)
		memcpy(text + at, bytes, size);
	return at + size;
}

#define PUT(string) at = put(text, room, at, string, strlen(string))

/* Without the items that are capabilities. */
static size_t put_protocols(const struct sp_head_field *field, char *text, size_t room, size_t at)
{
	const char *next = field->value, *item;
	size_t size, start = at;

	while (sp_head_item(&next, field->value + field->value_size, &item, &size)) {
		if (is_token(item, size))
			continue;
		PUT(at == start ? "Sec-WebSocket-Protocol: " : ", ");
		at = put(text, room, at, item, size);
	}
	if (at > start)
		PUT("\r\n");
	return at;
}

static size_t put_field(const struct sp_head_field *field, char *text, size_t room, size_t at)
{
	if (sp_head_named(field, "Sec-WebSocket-Protocol"))
		return put_protocols(field, text, room, at);
	at = put(text, room, at, field->name, field->name_size);
	PUT(": ");
	at = put(text, room, at, field->value, field->value_size);
	PUT("\r\n");
	return at;
}

size_t sp_head_print(const struct sp_head *head, bool upgrade, char *text, size_t room)
{
	size_t at = 0;

	PUT(http_method_str((enum http_method)head->method));
	PUT(" ");
	at = put(text, room, at, head->target, head->target_size);
	PUT(head->old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	for (unsigned i = 0; i < head->count; i++)
		if (goes_on(head, &head->fields[i]))
			at = put_field(&head->fields[i], text, room, at);
	if (head->chunked)
		PUT("Transfer-Encoding: chunked\r\n");
	if (upgrade && head->websocket)
		PUT("Connection: Upgrade\r\nUpgrade: websocket\r\n");
	PUT("\r\n");
	return at;
}
