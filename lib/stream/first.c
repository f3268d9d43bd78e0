/* One judge for each protocol, fed byte by byte. */
#include "stream/first.h"

#include <string.h>
#include <strings.h>
#include "base/util.h"

static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void add(char *to, size_t room, size_t *size, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++, (*size)++)
		if (*size < room)
			to[*size] = bytes[i];
}

static bool is(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

static void finish_header(struct sp_first *first)
{
	if (first->in_value && is(first->field, first->field_size, "upgrade") &&
	    is(first->value, first->value_size, "websocket"))
		first->websocket = true;
	first->field_size = first->value_size = 0;
	first->in_value = false;
}

static int on_field(http_parser *parser, const char *at, size_t size)
{
	struct sp_first *first = parser->data;

	if (first->in_value)
		finish_header(first);
	add(first->field, sizeof(first->field), &first->field_size, at, size);
	return 0;
}

static int on_value(http_parser *parser, const char *at, size_t size)
{
	struct sp_first *first = parser->data;

	first->in_value = true;
	add(first->value, sizeof(first->value), &first->value_size, at, size);
	return 0;
}

static int on_head(http_parser *parser)
{
	struct sp_first *first = parser->data;

	finish_header(first);
	first->whole = true;
	return 0;
}

/* One byte of a request. False: it is none. */
static bool feed(struct sp_first *first, char byte)
{
	static const http_parser_settings settings = {.on_header_field = on_field,
	    .on_header_value = on_value,
	    .on_headers_complete = on_head};

	/* The parser passes over empty lines before a request; here they are something else. */
	if (first->seen == 0 && (byte == '\r' || byte == '\n'))
		return false;
	(void)http_parser_execute(&first->parser, &settings, &byte, 1);
	return HTTP_PARSER_ERRNO(&first->parser) == HPE_OK;
}

static enum sp_first_verdict judge_http(struct sp_first *first, char byte)
{
	first->preface = first->preface && byte == PREFACE[first->seen];
	first->request = first->request && feed(first, byte);
	if (first->preface && first->seen + 1 == sizeof(PREFACE) - 1)
		return SP_FIRST_FITS;
	if (first->request && byte == '\n')
		return first->parser.http_major == 1 ? SP_FIRST_FITS : SP_FIRST_WRONG;
	return first->preface || first->request ? SP_FIRST_WAIT : SP_FIRST_WRONG;
}

static enum sp_first_verdict judge_websocket(struct sp_first *first, char byte)
{
	const http_parser *parser = &first->parser;

	if (!feed(first, byte))
		return SP_FIRST_WRONG;
	if (!first->whole)
		return SP_FIRST_WAIT;
	return first->websocket && parser->upgrade && parser->method == HTTP_GET &&
		       parser->http_major == 1 && parser->http_minor == 1
		   ? SP_FIRST_FITS
		   : SP_FIRST_WRONG;
}

/* Record: handshake, version 3.0 to 3.3, a length; in it ClientHello, its length, its version. */
static enum sp_first_verdict judge_tls(struct sp_first *first, char byte)
{
	static const struct {
		unsigned char least, most;
	} header[] = {{22, 22}, {3, 3}, {0, 3}, {0, 64}, {0, 255}, {1, 1}, {0, 0}, {0, 255},
	    {0, 255}, {3, 3}, {0, 3}};
	unsigned char value = (unsigned char)byte;

	if (value < header[first->seen].least || value > header[first->seen].most)
		return SP_FIRST_WRONG;
	return first->seen + 1 == SP_COUNT(header) ? SP_FIRST_FITS : SP_FIRST_WAIT;
}

void sp_first_init(struct sp_first *first, enum sp_protocol protocol)
{
	*first = (struct sp_first){.protocol = protocol,
	    .verdict = protocol == SP_PROTOCOL_TCP ? SP_FIRST_FITS : SP_FIRST_WAIT,
	    .preface = true,
	    .request = true};
	http_parser_init(&first->parser, HTTP_REQUEST);
}

static enum sp_first_verdict judge(struct sp_first *first, char byte)
{
	switch (first->protocol) {
	case SP_PROTOCOL_HTTP:
		return judge_http(first, byte);
	case SP_PROTOCOL_WEBSOCKET:
		return judge_websocket(first, byte);
	case SP_PROTOCOL_TLS:
		return judge_tls(first, byte);
	case SP_PROTOCOL_TCP:
	case SP_PROTOCOL_COUNT:
		break;
	}
	return SP_FIRST_WRONG;
}

enum sp_first_verdict sp_first_take(struct sp_first *first, const char *bytes, size_t size)
{
	first->parser.data = first;
	for (size_t i = 0; i < size && first->verdict == SP_FIRST_WAIT; i++) {
		first->verdict =
		    first->seen < SP_FIRST_MAX ? judge(first, bytes[i]) : SP_FIRST_WRONG;
		first->seen++;
	}
	return first->verdict;
}
