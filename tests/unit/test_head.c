/* Heads of requests at a gateway: where they end, what is refused, and what goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "stream/head.h"

#define GET  "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define WS   "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
#define CAP  "v4.public.abc"

/* --- where a head ends --- */

static const struct {
	const char *bytes;
	size_t size;
	ssize_t found; /* 0: more must come; -1: refused */
} ENDS[] = {
#define END(text, found)                                                                           \
	{                                                                                          \
		text, sizeof(text) - 1, found                                                      \
	}
    END("", 0),
    END("GET / HTTP/1.1\r", 0),
    END(GET, 0),
    END(GET "\r", 0),
    END(GET "\r\n", sizeof(GET) + 1),
    END(GET "\r\nbody\n\0", sizeof(GET) + 1),
    END(GET "\r\n {}", sizeof(GET) + 1),
    END(GET "\r\n\t", sizeof(GET) + 1),
    END(GET "X: a\tb\r\n\r\n", sizeof(GET) + 9),
    END("\r\n" GET "\r\n", -1),
    END("\n" GET, -1),
    END("GET / HTTP/1.1\nHost: a\n\n", -1),
    END(GET "X: a\nY: b\r\n\r\n", -1),
    END(GET "X: a\rb\r\n\r\n", -1),
    END(GET "X: a\r\rb\r\n\r\n", -1),
    END(GET "X: a\r\n b\r\n\r\n", -1),
    END(GET "X: a\r\n\tb\r\n\r\n", -1),
    END(GET " X: a\r\n\r\n", -1),
    END(GET "X: a\0b\r\n\r\n", -1),
    END(GET "X: a\x01\r\n\r\n", -1),
    END(GET "X: a\x7f\r\n\r\n", -1),
    END("\x16\x03\x01\x02", -1),
};

static void test_ends(void **state)
{
	struct sp_err err;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(ENDS); i++) {
		ssize_t found = sp_head_find(ENDS[i].bytes, ENDS[i].size, &err);
		if (ENDS[i].found < 0 ? found != SP_E_BAD_RECORD : found != ENDS[i].found)
			fail_msg("end %zu: %zd", i, found);
		/* No byte before the last one would have done. */
		for (size_t size = 0; ENDS[i].found > 0 && size < (size_t)ENDS[i].found; size++)
			assert_int_equal(sp_head_find(ENDS[i].bytes, size, &err), 0);
	}
}

static void test_size(void **state)
{
	static char bytes[SP_HEAD_MAX + 8];
	struct sp_err err;

	(void)state;
	memset(bytes, 'a', sizeof(bytes));
	assert_int_equal(sp_head_find(bytes, SP_HEAD_MAX - 1, &err), 0);
	assert_int_equal(sp_head_find(bytes, SP_HEAD_MAX, &err), SP_E_BAD_RECORD);
	memcpy(bytes + SP_HEAD_MAX - 4, "\r\n\r\n", 4);
	assert_int_equal(sp_head_find(bytes, SP_HEAD_MAX, &err), SP_HEAD_MAX);
	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes + SP_HEAD_MAX - 3, "\r\n\r\n", 4);
	assert_int_equal(sp_head_find(bytes, sizeof(bytes), &err), SP_E_BAD_RECORD);
}

/* --- what is refused --- */

static const char *const REFUSED[] = {
    POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
    POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
    POST "Content-Length: 1\r\ncontent-length: 2\r\n\r\n", POST "Content-Length: 1, 1\r\n\r\n",
    POST "Content-Length: +1\r\n\r\n", POST "Content-Length: -1\r\n\r\n",
    POST "Content-Length: 0x1\r\n\r\n", POST "Content-Length: 1 1\r\n\r\n",
    POST "Content-Length:\r\n\r\n", POST "Content-Length: 99999999999999999999\r\n\r\n",
    POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    POST "Transfer-Encoding: gzip, chunked\r\n\r\n",
    POST "Transfer-Encoding: chunked, chunked\r\n\r\n", POST "Transfer-Encoding: identity\r\n\r\n",
    POST "Transfer-Encoding: xchunked\r\n\r\n", POST "Transfer-Encoding: chunkedx\r\n\r\n",
    POST "Transfer-Encoding:\r\n\r\n", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    GET "Host: a\r\n\r\n", GET "Host: b\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
    GET "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    GET "Authorization: Bearer a\r\nAUTHORIZATION: Basic b\r\n\r\n", GET "X : a\r\n\r\n",
    GET "X\r\n\r\n", GET ": a\r\n\r\n", GET "X(y): a\r\n\r\n", GET "X\"y: a\r\n\r\n",
    GET "X/y: a\r\n\r\n", GET "X\x80y: a\r\n\r\n", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
    "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
    "GET / HTTP/0.9\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
    "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "get / HTTP/1.1\r\nHost: a\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\n", WS "Upgrade: websocket\r\n\r\n", WS "Content-Length: 1\r\n\r\n",
    WS "Transfer-Encoding: chunked\r\n\r\n",
    GET "\r\nGET /two HTTP/1.1\r\nHost: a\r\n\r\n", /* more than a head */
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(REFUSED); i++) {
		struct sp_err err = {0};
		struct sp_head head;
		if (sp_head_parse(REFUSED[i], strlen(REFUSED[i]), &head, &err) != SP_E_BAD_RECORD)
			fail_msg("taken: %s", REFUSED[i]);
		assert_true(err.message[0] != '\0');
	}
}

static void test_many_fields(void **state)
{
	char text[2048] = GET;
	struct sp_head head;
	struct sp_err err;

	(void)state;
	for (unsigned i = 1; i < SP_HEAD_FIELDS; i++)
		strcat(text, "X: a\r\n");
	strcat(text, "\r\n");
	assert_int_equal(sp_head_parse(text, strlen(text), &head, &err), 0);
	assert_int_equal(head.count, SP_HEAD_FIELDS);
	strcpy(text + strlen(text) - 2, "X: a\r\n\r\n");
	assert_int_equal(sp_head_parse(text, strlen(text), &head, &err), SP_E_BAD_RECORD);
	assert_string_equal(err.message, "more than 100 fields");
}

/* --- what goes on, and with which capability --- */

static const struct {
	const char *text, *printed, *token; /* NULL: none */
	bool websocket, chunked, has_length, keep_alive;
} TAKEN[] = {
    {GET "\r\n", GET "\r\n", NULL, false, false, false, true},
    {"GET  / HTTP/1.1\r\nHost:  a \r\n\r\n", GET "\r\n", NULL, false, false, false, true},
    {GET "Authorization: Bearer " CAP "\r\nX: a\r\n\r\n", GET "X: a\r\n\r\n", CAP, false, false,
	false, true},
    {GET "AUTHORIZATION:bearer " CAP " \t\r\n\r\n", GET "\r\n", CAP, false, false, false, true},
    {GET "Authorization: Basic " CAP "\r\n\r\n", GET "\r\n", NULL, false, false, false, true},
    {GET "Authorization: Bearer \r\n\r\n", GET "\r\n", NULL, false, false, false, true},
    /* One Authorization is the one that counts, also when it is none of ours. */
    {GET "Authorization: Basic x\r\nSec-WebSocket-Protocol: " CAP "\r\n\r\n", GET "\r\n", NULL,
	false, false, false, true},
    {"GET /a?b HTTP/1.0\r\n\r\n", "GET /a?b HTTP/1.0\r\n\r\n", NULL, false, false, false, false},
    {GET "Connection: close\r\n\r\n", GET "\r\n", NULL, false, false, false, false},
    {GET
	"Connection: keep-alive, X-Mine , x-other\r\nX-Mine: 1\r\nX-Other: 2\r\nX-Third: 3\r\n\r\n",
	GET "X-Third: 3\r\n\r\n", NULL, false, false, false, true},
    {GET "Keep-Alive: 5\r\nTE: trailers\r\nTrailer: X\r\nProxy-Authorization: a\r\n"
	 "Proxy-Authenticate: a\r\nProxy-Connection: a\r\n\r\n",
	GET "\r\n", NULL, false, false, false, true},
    /* Nominated or not, what frames the request and names its host goes on. */
    {POST "Connection: content-length, host\r\nContent-Length: 5\r\n\r\n",
	POST "Content-Length: 5\r\n\r\n", NULL, false, false, true, true},
    {POST "Transfer-Encoding: Chunked\r\n\r\n", POST "Transfer-Encoding: chunked\r\n\r\n", NULL,
	false, true, false, true},
    {WS "Sec-WebSocket-Protocol: chat, " CAP "\r\n\r\n",
	"GET /chat HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Protocol: chat\r\n"
	"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	CAP, true, false, false, true},
    {WS "Sec-WebSocket-Protocol: " CAP "\r\nSec-WebSocket-Protocol: v4.public.x , a,b\r\n\r\n",
	"GET /chat HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Protocol: a, b\r\n"
	"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	CAP, true, false, false, true},
    {GET "Sec-WebSocket-Protocol: chat, " CAP "\r\n\r\n",
	GET "Sec-WebSocket-Protocol: chat\r\n\r\n", NULL, false, false, false, true},
    /* Its own Authorization goes first; none of the capabilities goes on. */
    {WS "Authorization: Bearer v4.public.x\r\nSec-WebSocket-Protocol: " CAP "\r\n\r\n",
	"GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	"v4.public.x", true, false, false, true},
    /* Only a GET of HTTP/1.1 to websocket alone is one. */
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", GET "\r\n", NULL,
	false, false, false, true},
    {"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n", GET "\r\n", NULL, false, false,
	false, true},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
	GET "\r\n", NULL, false, false, false, true},
    {"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", POST "\r\n",
	NULL, false, false, false, true},
};

static void test_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(TAKEN); i++) {
		size_t size = strlen(TAKEN[i].text), printed;
		char text[1024];
		struct sp_head head;
		struct sp_err err = {0};
		if (sp_head_parse(TAKEN[i].text, size, &head, &err))
			fail_msg("%zu: %s", i, err.message);
		printed = sp_head_print(&head, true, text, size + SP_HEAD_ADDED);
		assert_true(printed <= size + SP_HEAD_ADDED);
		text[printed] = '\0';
		assert_string_equal(text, TAKEN[i].printed);
		if (head.websocket != TAKEN[i].websocket || head.chunked != TAKEN[i].chunked ||
		    head.has_length != TAKEN[i].has_length ||
		    head.keep_alive != TAKEN[i].keep_alive)
			fail_msg("%zu: %d %d %d %d", i, head.websocket, head.chunked,
			    head.has_length, head.keep_alive);
		assert_int_equal(head.token != NULL, TAKEN[i].token != NULL);
		if (head.token) {
			assert_int_equal(head.token_size, strlen(TAKEN[i].token));
			assert_memory_equal(head.token, TAKEN[i].token, head.token_size);
		}
	}
}

/* An upgrade that is not to be one goes on as a plain request; too little room is told. */
static void test_print(void **state)
{
	static const char upgrade[] = WS "\r\n";
	char text[512];
	struct sp_head head;
	size_t size;

	(void)state;
	assert_int_equal(sp_head_parse(upgrade, strlen(upgrade), &head, NULL), 0);
	size = sp_head_print(&head, false, text, sizeof(text));
	text[size] = '\0';
	assert_string_equal(text, "GET /chat HTTP/1.1\r\nHost: a\r\n\r\n");
	memset(text, 'x', sizeof(text));
	assert_int_equal(sp_head_print(&head, false, text, 10), size);
	assert_int_equal(text[10], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ends),
	    cmocka_unit_test(test_size),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_many_fields),
	    cmocka_unit_test(test_taken),
	    cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
