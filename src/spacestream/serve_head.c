/* What a request's head asks for. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/text.h"
#include "call/route.h"
#include "record/result.h"
#include "routing/bearer.h"
#include "spacestream/serve.h"

static bool is(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

bool web_take_caller(struct web *web, const struct sp_head *head)
{
	static const char challenge[] = "WWW-Authenticate: Bearer\r\n";
	char text[SP_BEARER_SIZE];
	struct sp_bearer bearer;

	if (head->token && head->token_size < sizeof(text)) {
		memcpy(text, head->token, head->token_size);
		text[head->token_size] = '\0';
		if (sp_bearer_parse(text, &bearer, NULL) == 0) {
			sp_who_bearer(&bearer, &web->who);
			return true;
		}
	}
	web_fail_record(web, 401, challenge,
	    sp_result_refused(NULL, SP_REASON_UNAUTHORIZED, SP_BEHIND_NONE, SP_ROUTE_HOP));
	return false;
}

/* What the body is: one record, or lines. A media type that a page of another site could send
 * unasked is none of them. */
static bool take_type(struct web *web, const struct sp_head *head, bool *ret_lines)
{
	const struct sp_head_field *field = NULL;
	const char *end;
	size_t size = 0;

	if (sp_head_one(head, "Content-Type", &field, NULL) == 0 && field) {
		end = memchr(field->value, ';', field->value_size);
		size = end ? (size_t)(end - field->value) : field->value_size;
	}
	while (size > 0 && (field->value[size - 1] == ' ' || field->value[size - 1] == '\t'))
		size--;
	*ret_lines = size > 0 && (is(field->value, size, "application/x-ndjson") ||
				     is(field->value, size, "application/jsonl"));
	if (!*ret_lines && (size == 0 || !is(field->value, size, "application/json"))) {
		web_fail(web, 415, SP_ERROR_BAD_RECORD,
		    "the body is neither application/json nor application/x-ndjson");
		return false;
	}
	/* Chunks alone show whether an answer is whole. */
	if (*ret_lines && head->old) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, "lines are for HTTP/1.1");
		return false;
	}
	return true;
}

/* `window`, of lines alone. */
static bool take_query(struct web *web, const struct sp_asked *asked, bool lines)
{
	char text[16];
	int64_t window;
	size_t prefix = strlen("window=");

	web->window = 1;
	if (!asked->query)
		return true;
	if (lines && asked->query_size > prefix && asked->query_size < sizeof(text) &&
	    memcmp(asked->query, "window=", prefix) == 0) {
		(void)snprintf(text, sizeof(text), "%.*s", (int)(asked->query_size - prefix),
		    asked->query + prefix);
		if (sp_number_parse(text, 1, SERVE_WINDOW_MAX, &window)) {
			web->window = (unsigned)window;
			return true;
		}
	}
	web_fail(web, 400, SP_ERROR_BAD_RECORD,
	    "the query is not window= and a number from 1 to 64, for lines");
	return false;
}

bool web_take_expectation(struct web *web, const struct sp_head *head, bool *ret_expects)
{
	const struct sp_head_field *field = NULL;

	if (sp_head_one(head, "Expect", &field, NULL) < 0 ||
	    (field && !is(field->value, field->value_size, "100-continue"))) {
		web_fail(web, 417, SP_ERROR_BAD_RECORD, "Expect: not 100-continue");
		return false;
	}
	*ret_expects = field && !head->old;
	return true;
}

void serve_ops(void *context, const struct sp_asked *asked)
{
	struct web *web = context;
	bool lines, expects;

	if (!web_take_caller(web, asked->head) || !take_type(web, asked->head, &lines) ||
	    !take_query(web, asked, lines))
		return;
	if (web_body_begin(web, web->in, asked->head_size) < 0) {
		web->broken = true;
		return;
	}
	web->phase = WEB_BODY;
	if (!lines && asked->head->has_length && web->framed.parser.content_length > SP_ASKED_MAX)
		web_fail(web, 413, SP_ERROR_BAD_RECORD, SERVE_TOO_LONG);
	if (web->phase != WEB_BODY || !web_take_expectation(web, asked->head, &expects))
		return;
	if (expects)
		web_continue(web);
	if (lines)
		web_answer_lines(web);
}

void web_take_head(struct web *web, size_t size)
{
	struct sp_head head;
	struct sp_err err = {0};

	web->keep_alive = web->no_body = false;
	if (sp_head_parse(web->in, size, &head, &err) < 0) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
		return;
	}
	web->keep_alive = head.keep_alive && !head.old && !web->server->stopping;
	web->no_body = head.method == HTTP_HEAD;
	serve_route(web, &head, size);
	web->size -= size;
	memmove(web->in, web->in + size, web->size);
}
