/* The first bytes of a stream: what each protocol begins with, and what it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "stream/first.h"

#define WS_HEAD                                                                                    \
	"GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n"                                  \
	"Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n"
#define HELLO "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

static const struct row {
	enum sp_protocol protocol;
	const char *bytes;
	size_t size, decided; /* by the byte of this number */
	enum sp_first_verdict verdict;
} ROWS[] = {
#define ROW(protocol, text, decided, verdict)                                                      \
	{                                                                                          \
		SP_PROTOCOL_##protocol, text, sizeof(text) - 1, decided, SP_FIRST_##verdict        \
	}
    ROW(HTTP, "GET / HTTP/1.1\r\nHost: a\r\n", 16, FITS),
    ROW(HTTP, "POST /a?b=c HTTP/1.0\r\n", 22, FITS),
    ROW(HTTP, "PROPFIND / HTTP/1.1\n", 20, FITS),
    ROW(HTTP, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, FITS),
    ROW(HTTP, "PRI * HTTP/2.0\r\n\r\nSN", 20, WRONG),
    ROW(HTTP, "GET /\r\n", 7, WRONG),
    ROW(HTTP, "\r\nGET / HTTP/1.1\r\n", 1, WRONG),
    ROW(HTTP, "SSH-2.0-OpenSSH_9\r\n", 2, WRONG),
    ROW(HTTP, HELLO, 1, WRONG),
    ROW(HTTP, "GET / HTTP/3.0\r\n", 16, WRONG),
    ROW(HTTP, "GET", 0, WAIT),
    ROW(WEBSOCKET, WS_HEAD "\x81\x85", sizeof(WS_HEAD) - 1, FITS),
    ROW(WEBSOCKET, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, WRONG),
    ROW(WEBSOCKET, "GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", 53, WRONG),
    ROW(WEBSOCKET, "POST / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 60,
	WRONG),
    ROW(WEBSOCKET, "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", 38, WRONG),
    ROW(WEBSOCKET, "GET / HTTP/1.1\r\nUpgrade: websocket\r\n", 0, WAIT),
    ROW(WEBSOCKET, "PRI * HTTP/2.0\r\n", 3, WRONG),
    ROW(TLS, HELLO "\x01\x02", 11, FITS),
    ROW(TLS, "\x16\x03\x03\x00\x40\x01\x00\x00\x3c\x03\x03", 11, FITS),
    ROW(TLS, "\x16\x03\x01\x02\x00\x02", 6, WRONG),
    ROW(TLS, "\x17\x03\x03", 1, WRONG),
    ROW(TLS, "\x16\x02", 2, WRONG),
    ROW(TLS, "\x16\x03\x01\x41", 4, WRONG),
    ROW(TLS, "GET / HTTP/1.1\r\n", 1, WRONG),
    ROW(TCP, "", 0, FITS),
    ROW(TCP, "anything", 0, FITS),
};

/* Whole, and byte by byte: the same verdict, and no earlier or later than it can be known. */
static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(ROWS); i++) {
		const struct row *row = &ROWS[i];
		struct sp_first whole, single;
		size_t used = 0;
		sp_first_init(&whole, row->protocol);
		assert_int_equal(sp_first_take(&whole, row->bytes, row->size), row->verdict);
		sp_first_init(&single, row->protocol);
		while (used < row->size &&
		       sp_first_take(&single, row->bytes + used, 0) == SP_FIRST_WAIT)
			(void)sp_first_take(&single, row->bytes + used++, 1);
		if (single.verdict != row->verdict ||
		    (row->verdict != SP_FIRST_WAIT && used != row->decided))
			fail_msg(
			    "row %zu: verdict %d after %zu bytes", i, (int)single.verdict, used);
	}
}

static void test_bound(void **state)
{
	struct sp_first first;
	static char much[SP_FIRST_MAX];

	(void)state;
	memset(much, 'a', sizeof(much));
	memcpy(much, "GET /", 5);
	sp_first_init(&first, SP_PROTOCOL_HTTP);
	assert_int_equal(sp_first_take(&first, much, sizeof(much)), SP_FIRST_WAIT);
	assert_int_equal(sp_first_take(&first, "a", 1), SP_FIRST_WRONG);
}

static void test_verdicts_stay(void **state)
{
	struct sp_first first;

	(void)state;
	sp_first_init(&first, SP_PROTOCOL_TLS);
	assert_int_equal(sp_first_take(&first, "x", 1), SP_FIRST_WRONG);
	assert_int_equal(sp_first_take(&first, HELLO, sizeof(HELLO) - 1), SP_FIRST_WRONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_bound),
	    cmocka_unit_test(test_verdicts_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
