/* Bodies of requests: http_parser, and the line ends that it does not look at. */
#include "stream/body.h"

static int on_bytes(http_parser *parser, const char *at, size_t size)
{
	struct sp_body *body = parser->data;

	return body->take(body->context, at, size) ? 0 : 1;
}

/* The parser, as Debian builds it, takes any bytes for some of the line ends among chunks. It
 * pauses behind each for us to look. */
static int on_chunk_size(http_parser *parser)
{
	struct sp_body *body = parser->data;

	body->last_chunk = parser->content_length == 0;
	body->at_line_end = true;
	http_parser_pause(parser, 1);
	return 0;
}

static int on_chunk_end(http_parser *parser)
{
	struct sp_body *body = parser->data;

	if (body->last_chunk)
		return 0;
	body->at_line_end = true;
	http_parser_pause(parser, 1);
	return 0;
}

static int on_done(http_parser *parser)
{
	struct sp_body *body = parser->data;

	body->done = true;
	body->at_line_end = (parser->flags & F_CHUNKED) != 0;
	http_parser_pause(parser, 1);
	return 0;
}

static const http_parser_settings SETTINGS = {.on_body = on_bytes,
    .on_chunk_header = on_chunk_size,
    .on_chunk_complete = on_chunk_end,
    .on_message_complete = on_done};

void sp_body_begin(
    struct sp_body *body, const char *head, size_t size, sp_body_fn *take, void *context)
{
	*body = (struct sp_body){.take = take, .context = context};
	http_parser_init(&body->parser, HTTP_REQUEST);
	body->parser.data = body;
	(void)http_parser_execute(&body->parser, &SETTINGS, head, size);
}

/* The line end that the parser has paused behind. */
static bool is_line_end(const struct sp_body *body, const char *bytes, size_t used)
{
	char before = used >= 2 ? bytes[used - 2] : body->before;

	return before == '\r' && bytes[used - 1] == '\n';
}

static void look(struct sp_body *body, const char *bytes, size_t used)
{
	enum http_errno code = HTTP_PARSER_ERRNO(&body->parser);

	body->bad = (code != HPE_OK && code != HPE_PAUSED) ||
		    (body->at_line_end && (used == 0 || !is_line_end(body, bytes, used)));
	if (body->at_line_end && !body->done)
		http_parser_pause(&body->parser, 0);
}

size_t sp_body_read(struct sp_body *body, const char *bytes, size_t size)
{
	size_t used = 0;

	while (used < size && !body->done && !body->bad) {
		body->at_line_end = false;
		used += http_parser_execute(&body->parser, &SETTINGS, bytes + used, size - used);
		look(body, bytes, used);
	}
	if (used > 0)
		body->before = bytes[used - 1];
	return used;
}
