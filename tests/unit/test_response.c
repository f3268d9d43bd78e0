/* Answers of a guest's service: where they end, what is none, and how their heads go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "stream/response.h"

#define OK "HTTP/1.1 200 OK\r\n"

struct seen {
	char text[4096]; /* heads written anew, and bodies */
	size_t size;
	struct sp_response_form form;
};

static bool take_head(void *context, const struct sp_response_head *head)
{
	struct seen *seen = context;
	size_t room = sizeof(seen->text) - seen->size;
	size_t size = sp_response_print(head, &seen->form, seen->text + seen->size, room);

	seen->size += size;
	return size > 0;
}

static bool take_body(void *context, const char *bytes, size_t size)
{
	struct seen *seen = context;

	assert_true(size < sizeof(seen->text) - seen->size);
	memcpy(seen->text + seen->size, bytes, size);
	seen->size += size;
	return true;
}

static const struct sp_response_handlers HANDLERS = {.head = take_head, .body = take_body};

enum { TO_HEAD = 1, SWITCH = 2, OLD = 4, CLOSE = 8, NAMED = 16 };

#define CSP "Content-Security-Policy: sandbox\r\n"

static const struct {
	const char *bytes, *seen;
	enum sp_response_state state;
	unsigned how, rest; /* rest: bytes that are not its own */
} ANSWERS[] = {
    {OK "Content-Length: 2\r\n\r\nabX", OK "Content-Length: 2\r\n" CSP "\r\nab", SP_RESPONSE_DONE,
	0, 1},
    {OK "Content-Length: 0\r\n\r\nX", OK "Content-Length: 0\r\n" CSP "\r\n", SP_RESPONSE_DONE, 0,
	1},
    {OK "Content-Length: 2\r\n\r\na", OK "Content-Length: 2\r\n" CSP "\r\na", SP_RESPONSE_BAD, 0,
	0},
    {OK "Content-Length: 2\r\n\r\n", OK "Content-Length: 2\r\n" CSP "\r\n", SP_RESPONSE_DONE,
	TO_HEAD, 0},
    {OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x\r\nbc\r\n0\r\nT: u\r\n\r\nX",
	OK "Transfer-Encoding: chunked\r\n" CSP "\r\nabc", SP_RESPONSE_DONE, 0, 1},
    {OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
	OK "Transfer-Encoding: chunked\r\n" CSP "\r\na", SP_RESPONSE_BAD, 0, 0},
    {OK "Transfer-Encoding: chunked\r\n\r\nx\r\n", OK "Transfer-Encoding: chunked\r\n" CSP "\r\n",
	SP_RESPONSE_BAD, 0, 2},
    {OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
	OK CSP "Connection: close\r\n\r\na", SP_RESPONSE_DONE, OLD | CLOSE, 0},
    /* Up to the end. */
    {OK "\r\nab", OK "Transfer-Encoding: chunked\r\n" CSP "\r\nab", SP_RESPONSE_DONE, 0, 0},
    {"HTTP/1.0 200\r\n\r\nab", "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n" CSP "\r\nab",
	SP_RESPONSE_DONE, 0, 0},
    {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n" CSP "\r\n", SP_RESPONSE_DONE,
	0, 0},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\nX",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n" CSP "\r\n", SP_RESPONSE_DONE, 0, 1},
    /* What is not final. */
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" OK
     "Content-Length: 1\r\n\r\na",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" OK
	"Content-Length: 1\r\n" CSP "\r\na",
	SP_RESPONSE_DONE, 0, 0},
    {"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX: y\r\n\r\n\x81\x01",
	"HTTP/1.1 101 S\r\nX: y\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	SP_RESPONSE_TUNNEL, SWITCH, 2},
    {"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "", SP_RESPONSE_BAD, 0,
	0},
    {"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	"Sec-WebSocket-Protocol: ours\r\n\r\n",
	SP_RESPONSE_TUNNEL, SWITCH | NAMED, 0},
    {"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
     "sec-websocket-protocol: its\r\n\r\n",
	"HTTP/1.1 101 S\r\nsec-websocket-protocol: its\r\nConnection: Upgrade\r\n"
	"Upgrade: websocket\r\n\r\n",
	SP_RESPONSE_TUNNEL, SWITCH | NAMED, 0},
    /* What does not go on, and what goes on otherwise. */
    {OK "Connection: keep-alive, X\r\nKeep-Alive: 1\r\nSet-Cookie: a=b\r\nset-cookie: c\r\n"
	"Alt-Svc: h2\r\nClear-Site-Data: *\r\nStrict-Transport-Security: max-age=1\r\n"
	"Location: /a?b\r\nX: c\r\nContent-Length: 0\r\n\r\n",
	OK "Location: /p/a?b\r\nX: c\r\nContent-Length: 0\r\n" CSP "\r\n", SP_RESPONSE_DONE, 0, 0},
    {OK "Location: //x/\r\nContent-Location: /\r\nLocation: a\r\nLocation: http://x/\r\n"
	"Content-Length: 0\r\n\r\n",
	OK "Location: //x/\r\nContent-Location: /p/\r\nLocation: a\r\nLocation: http://x/\r\n"
	   "Content-Length: 0\r\n" CSP "\r\n",
	SP_RESPONSE_DONE, 0, 0},
    /* What is none. */
    {"", "", SP_RESPONSE_BAD, 0, 0},
    {"SSH-2.0-x\r\n\r\n", "", SP_RESPONSE_BAD, 0, 0},
    {"HTTP/2 200\r\n\r\n", "", SP_RESPONSE_BAD, 0, 0},
    {"HTTP/1.1 99 X\r\n\r\n", "", SP_RESPONSE_BAD, 0, 0},
    {"HTTP/1.1 600 X\r\n\r\n", "", SP_RESPONSE_BAD, 0, 0},
    {OK "X: a\r\n b\r\n\r\n", "", SP_RESPONSE_BAD, 0, 0},
    {"HTTP/1.1 200 OK\nX: a\n\n", "", SP_RESPONSE_BAD, 0, 0},
    {OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\na", "", SP_RESPONSE_BAD, 0, 0},
    {OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na", "", SP_RESPONSE_BAD, 0, 0},
    {OK "Content-Length: -1\r\n\r\na", "", SP_RESPONSE_BAD, 0, 0},
    {OK "Content-Length : 1\r\n\r\na", "", SP_RESPONSE_BAD, 0, 0},
    {OK "Set-Cookie : a\r\nContent-Length: 0\r\n\r\n", "", SP_RESPONSE_BAD, 0, 0},
};

/* So many bytes at a time. */
static void try_one(size_t i, size_t step)
{
	const unsigned how = ANSWERS[i].how;
	struct seen seen = {.form = {.old = how & OLD,
				.keep_alive = !(how & CLOSE),
				.prefix = "/p",
				.protocol = how & NAMED ? "ours" : NULL}};
	struct sp_response response;
	size_t size = strlen(ANSWERS[i].bytes), at = 0;

	sp_response_init(&response, how & TO_HEAD, how & SWITCH, &HANDLERS, &seen);
	while (at < size && response.state <= SP_RESPONSE_BODY) {
		size_t n = size - at < step ? size - at : step;
		at += sp_response_read(&response, ANSWERS[i].bytes + at, n);
	}
	sp_response_end(&response);
	if (response.state != ANSWERS[i].state || seen.size != strlen(ANSWERS[i].seen) ||
	    memcmp(seen.text, ANSWERS[i].seen, seen.size) != 0)
		fail_msg("answer %zu by %zu: %d, %.*s", i, step, response.state, (int)seen.size,
		    seen.text);
	if (response.state != SP_RESPONSE_BAD && size - at != ANSWERS[i].rest)
		fail_msg("answer %zu by %zu: %zu left", i, step, size - at);
}

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(ANSWERS); i++)
		for (size_t step = 1; step <= 1024; step += step < 8 ? 1 : 1016)
			try_one(i, step);
}

static void test_bounds(void **state)
{
	static char bytes[2 * SP_HEAD_MAX];
	struct seen seen = {.form = {.prefix = ""}};
	struct sp_response response;
	size_t at;

	(void)state;
	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes, OK "X: ", sizeof(OK "X: ") - 1);
	sp_response_init(&response, false, false, &HANDLERS, &seen);
	(void)sp_response_read(&response, bytes, sizeof(bytes));
	assert_int_equal(response.state, SP_RESPONSE_BAD);
	at = sizeof(OK) - 1;
	memcpy(bytes, OK, at);
	for (unsigned i = 0; i <= SP_HEAD_FIELDS; i++)
		at += (size_t)sprintf(bytes + at, "X: a\r\n");
	memcpy(bytes + at, "\r\n", 2);
	sp_response_init(&response, false, false, &HANDLERS, &seen);
	(void)sp_response_read(&response, bytes, at + 2);
	assert_int_equal(response.state, SP_RESPONSE_BAD);
	assert_int_equal(seen.size, 0);
	/* What there is no room for is not written. */
	seen.size = sizeof(seen.text) - 40;
	sp_response_init(&response, false, false, &HANDLERS, &seen);
	(void)sp_response_read(&response, OK "\r\n", sizeof(OK) + 1);
	assert_int_equal(response.state, SP_RESPONSE_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_answers),
	    cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
