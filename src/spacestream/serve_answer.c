/* Answers: the table of statuses, and the bytes of an answer into the connection's buffer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "spacestream/serve.h"

static const struct {
	int status;
	const char *phrase;
} STATUSES[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};
_Static_assert(SP_COUNT(STATUSES) == SERVE_STATUSES, "one counter each");

/* Which status the one record of a request has by its outcome (spacestream(1) has this table). */
static const int BY_OUTCOME[SERVE_OUTCOMES] = {
    [SERVE_OK] = 200,
    [SERVE_REFRESH] = 409,
    [SERVE_DENY] = 403,
    [SERVE_ERROR + SP_ERROR_BAD_RECORD] = 400,
    [SERVE_ERROR + SP_ERROR_TRANSPORT] = 502,
    [SERVE_ERROR + SP_ERROR_TIMEOUT] = 504,
    [SERVE_ERROR + SP_ERROR_OP] = 422,
    [SERVE_ERROR + SP_ERROR_OVERLOADED] = 503,
    [SERVE_ERROR + SP_ERROR_TOO_LARGE] = 413,
    [SERVE_ERROR + SP_ERROR_UNAVAILABLE] = 503,
    [SERVE_ERROR + SP_ERROR_INTERNAL] = 500,
};

unsigned status_index(int status)
{
	for (unsigned i = 0; i < SERVE_STATUSES; i++)
		if (STATUSES[i].status == status)
			return i;
	abort(); /* a bug: the table above lacks it */
}

int status_at(unsigned index)
{
	return STATUSES[index].status;
}

const char *status_phrase(int status)
{
	return STATUSES[status_index(status)].phrase;
}

int outcome_status(enum serve_outcome outcome)
{
	return BY_OUTCOME[outcome];
}

enum serve_outcome outcome_of(const json_t *record)
{
	const char *decision = json_string_value(json_object_get(record, "decision"));
	const char *error = json_string_value(json_object_get(record, "error"));
	enum sp_error_kind kind = SP_ERROR_INTERNAL;

	if (decision)
		return strcmp(decision, sp_decision_name(SP_REFRESH_ROUTE)) == 0 ? SERVE_REFRESH
										 : SERVE_DENY;
	if (!error)
		return SERVE_OK;
	(void)sp_error_parse(error, &kind);
	return SERVE_ERROR + (enum serve_outcome)kind;
}

static int make_room(struct web *web, size_t size)
{
	size_t queued = web->out_end - web->out_start, room = web->out_room ? web->out_room : 1024;
	char *larger;

	if (web->out_start > 0) {
		memmove(web->out, web->out + web->out_start, queued);
		web->out_start = 0;
		web->out_end = queued;
	}
	while (room < queued + size)
		room *= 2;
	if (room == web->out_room)
		return 0;
	larger = realloc(web->out, room);
	if (!larger)
		return -ENOMEM;
	web->out = larger;
	web->out_room = room;
	return 0;
}

void web_put(struct web *web, const char *bytes, size_t size)
{
	if (size > web->out_room - web->out_end && make_room(web, size) < 0) {
		web->broken = true;
		return;
	}
	if (size > 0)
		memcpy(web->out + web->out_end, bytes, size);
	web->out_end += size;
}

static void put_head(struct web *web, int status, const char *type, const char *more)
{
	char head[1024];
	int size = snprintf(head, sizeof(head),
	    "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n%s%s\r\n",
	    status, status_phrase(status), type, more,
	    web->keep_alive ? "" : "Connection: close\r\n");

	web->server->requests[status_index(status)]++;
	web_put(web, head, (size_t)size);
}

void web_answer_head(struct web *web, int status, const char *type, const char *more, size_t size)
{
	char lines[640];

	(void)snprintf(lines, sizeof(lines), "Content-Length: %zu\r\n%.560s", size, more);
	put_head(web, status, type, lines);
}

void web_answer(
    struct web *web, int status, const char *type, const char *more, const char *body, size_t size)
{
	web_answer_head(web, status, type, more, size);
	if (!web->no_body)
		web_put(web, body, size);
}

void web_answer_record(struct web *web, int status, json_t *record)
{
	sp_auto_free char *text = record ? sp_json_text(record) : NULL;
	size_t size = text ? strlen(text) : 0;

	json_decref(record);
	if (!text) {
		web->broken = true;
		return;
	}
	text[size++] = '\n'; /* in the place of the NUL */
	web_answer(web, status, "application/json", "", text, size);
}

void web_continue(struct web *web)
{
	web_put(web, "HTTP/1.1 100 Continue\r\n\r\n", 25);
}

void web_answer_chunks(struct web *web, const char *type)
{
	put_head(web, 200, type, "Transfer-Encoding: chunked\r\n");
}

void web_answer_chunk(struct web *web, const char *bytes, size_t size)
{
	char head[24];
	int n = snprintf(head, sizeof(head), "%zx\r\n", size);

	/* One of nothing would be the end. */
	if (size == 0)
		return;
	web_put(web, head, (size_t)n);
	web_put(web, bytes, size);
	web_put(web, "\r\n", 2);
}

void web_answer_lines(struct web *web)
{
	web->lines = true;
	web_answer_chunks(web, "application/x-ndjson");
}

void web_answer_line(struct web *web, const char *text, size_t size)
{
	char head[24];
	int n = snprintf(head, sizeof(head), "%zx\r\n", size + 1);

	web_put(web, head, (size_t)n);
	web_put(web, text, size);
	web_put(web, "\n\r\n", 3);
}

void web_answer_end(struct web *web)
{
	web_put(web, "0\r\n\r\n", 5);
}

void web_answer_events(struct web *web)
{
	put_head(web, 200, "text/event-stream", "Transfer-Encoding: chunked\r\n");
}

void web_answer_event(struct web *web, const char *text, size_t size)
{
	const char *before = size > 0 ? "data: " : ":";
	char head[32];
	int n = snprintf(head, sizeof(head), "%zx\r\n%s", strlen(before) + size + 2, before);

	web_put(web, head, (size_t)n);
	web_put(web, text, size);
	web_put(web, "\n\n\r\n", 4);
}

void web_fail_record(struct web *web, int status, const char *more, json_t *record /* stolen */)
{
	sp_auto_free char *text = record ? sp_json_text(record) : NULL;
	size_t size = text ? strlen(text) : 0;

	json_decref(record);
	web->phase = WEB_OVER;
	if (web->lines)
		return;
	web->keep_alive = false;
	if (text)
		text[size++] = '\n'; /* in the place of the NUL */
	web_answer(web, status, "application/json", more, text ? text : "", size);
}

void web_fail(struct web *web, int status, enum sp_error_kind kind, const char *words)
{
	web_fail_record(web, status, "", sp_result_error(NULL, kind, false, words));
}
