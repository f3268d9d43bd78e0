/* The opening of a WebSocket: what a head must say, whose page may ask, and the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "stream/upgrade.h"

#define GET     "GET /x HTTP/1.1\r\n"
#define HOST    "Host: a\r\n"
#define UPGRADE "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
#define KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" /* of RFC 6455, 1.3 */
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define WS      GET HOST UPGRADE KEY VERSION
#define OFFERS  "Sec-WebSocket-Protocol: "

static int read_text(
    const char *text, struct sp_upgrade *ret, enum sp_upgrade_fault *ret_fault, struct sp_err *err)
{
	struct sp_head head;
	size_t size = strlen(text);

	assert_int_equal(sp_head_find(text, size, err), size);
	assert_int_equal(sp_head_parse(text, size, &head, err), 0);
	return sp_upgrade_read(&head, ret, ret_fault, err);
}

static const struct {
	const char *head, *token;
	bool protocol;
} GOOD[] = {
    {WS "\r\n", "", false},
    {WS "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "", false},
    {WS OFFERS "\r\n\r\n", "", false},
    {WS OFFERS "space.v1\r\n\r\n", "", true},
    {WS OFFERS "chat, space.v1\r\n\r\n", "", true},
    {WS OFFERS "space.v1,bearer.YTpi\r\n\r\n", "a:b", true},
    {WS OFFERS "bearer.YTpi\r\n" OFFERS "space.v1\r\n\r\n", "a:b", true},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(GOOD); i++) {
		struct sp_upgrade upgrade;
		enum sp_upgrade_fault fault;
		struct sp_err err = {0};
		char text[SP_UPGRADE_ANSWER_MAX], wanted[SP_UPGRADE_ANSWER_MAX];
		size_t size;
		if (read_text(GOOD[i].head, &upgrade, &fault, &err))
			fail_msg("good %zu: %s", i, err.message);
		assert_string_equal(upgrade.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
		assert_string_equal(upgrade.token, GOOD[i].token);
		size = sp_upgrade_print(&upgrade, text);
		(void)snprintf(wanted, sizeof(wanted),
		    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		    "Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
		    "%s\r\n",
		    GOOD[i].protocol ? "Sec-WebSocket-Protocol: space.v1\r\n" : "");
		assert_string_equal(text, wanted);
		assert_int_equal(size, strlen(text));
	}
}

#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
	const char *head;
	enum sp_upgrade_fault fault;
	const char *words;
} BAD[] = {
    {GET HOST KEY VERSION "\r\n", SP_UPGRADE_NONE, "this is for WebSocket"},
    {GET HOST "Connection: Upgrade\r\n" KEY VERSION "\r\n", SP_UPGRADE_NONE,
	"this is for WebSocket"},
    {GET HOST "Upgrade: websocket\r\n" KEY VERSION "\r\n", SP_UPGRADE_NONE,
	"this is for WebSocket"},
    {GET HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n" KEY VERSION "\r\n", SP_UPGRADE_NONE,
	"this is for WebSocket"},
    {"POST /x HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n", SP_UPGRADE_NONE,
	"this is for WebSocket"},
    {"GET /x HTTP/1.0\r\n" HOST UPGRADE KEY VERSION "\r\n", SP_UPGRADE_NONE,
	"this is for WebSocket"},
    {GET HOST UPGRADE KEY "\r\n", SP_UPGRADE_UNKNOWN, "Sec-WebSocket-Version: not 13"},
    {GET HOST UPGRADE KEY "Sec-WebSocket-Version: 8\r\n\r\n", SP_UPGRADE_UNKNOWN,
	"Sec-WebSocket-Version: not 13"},
    {GET HOST UPGRADE KEY "Sec-WebSocket-Version: 13, 8\r\n\r\n", SP_UPGRADE_UNKNOWN,
	"Sec-WebSocket-Version: not 13"},
    {WS VERSION "\r\n", SP_UPGRADE_BAD, "a second Sec-WebSocket-Version"},
    {WS KEY "\r\n", SP_UPGRADE_BAD, "a second Sec-WebSocket-Key"},
    {GET HOST UPGRADE VERSION "\r\n", SP_UPGRADE_BAD, "Sec-WebSocket-Key: not 16 bytes in base64"},
    {GET HOST UPGRADE VERSION "Sec-WebSocket-Key:\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Key: not 16 bytes in base64"},
    {GET HOST UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Key: not 16 bytes in base64"},
    {GET HOST UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Key: not 16 bytes in base64"},
    {GET HOST UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZWE=\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Key: not 16 bytes in base64"},
    {WS OFFERS "chat\r\n\r\n", SP_UPGRADE_BAD, "Sec-WebSocket-Protocol: space.v1 is not offered"},
    {WS OFFERS "bearer.YTpi\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Protocol: space.v1 is not offered"},
    {WS OFFERS "space.v1, bearer.YTpi, bearer.YTpj\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Protocol: a second bearer."},
    {WS OFFERS "space.v1, bearer.YTpi=\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Protocol: bearer. is not followed by base64url"},
    {WS OFFERS "space.v1, bearer.YQBi\r\n\r\n", SP_UPGRADE_BAD,
	"Sec-WebSocket-Protocol: bearer. is not followed by base64url"},
    {WS OFFERS "space.v1, bearer." HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
	       "\r\n\r\n",
	SP_UPGRADE_BAD, "Sec-WebSocket-Protocol: bearer. is not followed by base64url"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(BAD); i++) {
		struct sp_upgrade upgrade;
		enum sp_upgrade_fault fault;
		struct sp_err err = {0};
		int bad = read_text(BAD[i].head, &upgrade, &fault, &err);
		if (bad != SP_E_BAD_RECORD || fault != BAD[i].fault ||
		    strcmp(err.message, BAD[i].words) != 0)
			fail_msg("bad %zu: %d, fault %d, %s", i, bad, (int)fault, err.message);
	}
}

static const struct {
	const char *host, *origin; /* NULL: none */
	bool tls;
	const char *allowed;
	int good; /* -1: refused */
} ORIGINS[] = {
    {"a", NULL, false, NULL, 1},
    {"127.0.0.1:80", "http://127.0.0.1:80", false, NULL, 1},
    {"127.0.0.1", "http://127.0.0.1", false, NULL, 1},
    {"[::1]:8443", "https://[::1]:8443", true, NULL, 1},
    {"LocalHost:1", "http://localhost:1", false, NULL, 1},
    {"192.0.2.7", "https://192.0.2.7", true, NULL, 1},
    /* Another scheme, port or host. */
    {"127.0.0.1:80", "https://127.0.0.1:80", false, NULL, 0},
    {"127.0.0.1:80", "http://127.0.0.1:80", true, NULL, 0},
    {"127.0.0.1:80", "http://127.0.0.1:81", false, NULL, 0},
    {"127.0.0.1:80", "http://127.0.0.1", false, NULL, 0},
    {"127.0.0.1:80", "http://localhost:80", false, NULL, 0},
    {"127.0.0.1:80", "http://evil.example", false, NULL, 0},
    {"127.0.0.1:80", "null", false, NULL, 0},
    {"127.0.0.1:80", "", false, NULL, 0},
    {"", "http://", false, NULL, 0},
    /* A name that its owner may turn to us. */
    {"evil.example:80", "http://evil.example:80", false, NULL, 0},
    {"localhost.evil.example", "http://localhost.evil.example", false, NULL, 0},
    {"127.0.0.1.evil.example", "http://127.0.0.1.evil.example", false, NULL, 0},
    {"127.0.0.1:80.evil.example", "http://127.0.0.1:80.evil.example", false, NULL, 0},
    {"[::1].evil.example", "http://[::1].evil.example", false, NULL, 0},
    {"[evil.example]", "http://[evil.example]", false, NULL, 0},
    {"[::1", "http://[::1", false, NULL, 0},
    {"127.0.0.1:", "http://127.0.0.1:", false, NULL, 0},
    /* A list. */
    {"a", "https://app.example", false, "https://app.example", 1},
    {"a", "https://b.example:8443", false, "https://app.example, https://B.example:8443", 1},
    {"a", "https://app.example:8443", false, "https://app.example", 0},
    {"a", "https://app.exampl", false, "https://app.example", 0},
    {"a", "http://app.example", false, "https://app.example", 0},
    {"a", "null", false, "https://app.example", 0},
    {"127.0.0.1", "http://127.0.0.1", false, "https://app.example", 1},
    {"a", "https://app.example\r\nOrigin: https://app.example", false, "https://app.example", -1},
};

static void test_origins(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(ORIGINS); i++) {
		char text[512];
		struct sp_head head;
		bool good = false;
		int bad, size = snprintf(text, sizeof(text), GET "Host: %s\r\n%s%s%s\r\n",
			     ORIGINS[i].host, ORIGINS[i].origin ? "Origin: " : "",
			     ORIGINS[i].origin ? ORIGINS[i].origin : "",
			     ORIGINS[i].origin ? "\r\n" : "");
		assert_int_equal(sp_head_parse(text, (size_t)size, &head, NULL), 0);
		bad = sp_upgrade_origin(&head, ORIGINS[i].tls, ORIGINS[i].allowed, &good, NULL);
		if ((bad ? -1 : good) != ORIGINS[i].good)
			fail_msg("origin %zu: %d, %d", i, bad, good);
	}
}

static void test_lists(void **state)
{
	static const char *const good[] = {
	    "https://app.example", "http://127.0.0.1:80,https://[::1]", " https://a , http://b "};
	static const char *const bad[] = {"", ",", "app.example", "https://",
	    "https://app.example/", "*", "https://*", "https://a https://b", "ftp://a", "null"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(good); i++)
		if (!sp_upgrade_origins_valid(good[i]))
			fail_msg("good %zu", i);
	for (size_t i = 0; i < SP_COUNT(bad); i++)
		if (sp_upgrade_origins_valid(bad[i]))
			fail_msg("bad %zu", i);
}

/* Whatever a head says, reading it comes to an end. */
static void test_anything(void **state)
{
	static const char *const words[] = {GET, HOST, UPGRADE, KEY, VERSION, OFFERS, "\r\n",
	    "space.v1", "bearer.", "YTpi", ",", " ", "=", "Origin: ", "http://[", "]", ":",
	    "127.0.0.1"};
	struct sp_upgrade upgrade;
	enum sp_upgrade_fault fault;
	struct sp_err err;
	struct sp_head head;
	bool good;

	(void)state;
	srandom(42);
	for (unsigned i = 0; i < 50000; i++) {
		char text[1024] = GET HOST UPGRADE VERSION;
		for (unsigned k = 0; k < 12; k++)
			(void)strcat(text, words[random() % (long)SP_COUNT(words)]);
		(void)strcat(text, "\r\n\r\n");
		sp_auto_free char *copy = strdup(text);
		ssize_t size = sp_head_find(copy, strlen(copy), &err);
		if (size <= 0 || sp_head_parse(copy, (size_t)size, &head, &err))
			continue;
		(void)sp_upgrade_read(&head, &upgrade, &fault, &err);
		(void)sp_upgrade_origin(&head, false, "http://a", &good, &err);
	}
}

/* --- subprotocols alone --- */

static void test_offers(void **state)
{
	static const struct {
		const char *head, *token; /* NULL: refused */
		bool ours;
	} cases[] = {
	    {WS "\r\n", "", false},
	    {WS OFFERS "chat\r\n\r\n", "", false},
	    {WS OFFERS "chat, bearer.YTpi\r\n\r\n", "a:b", false},
	    {WS OFFERS "space.v1\r\n" OFFERS "bearer.YTpi\r\n\r\n", "a:b", true},
	    {WS OFFERS "bearer.YTpi, bearer.YTpi\r\n\r\n", NULL, false},
	    {WS OFFERS "bearer.!\r\n\r\n", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_upgrade upgrade;
		struct sp_head head;
		int bad;

		assert_int_equal(
		    sp_head_parse(cases[i].head, strlen(cases[i].head), &head, NULL), 0);
		bad = sp_upgrade_offers(&head, &upgrade, NULL);
		assert_int_equal(bad, cases[i].token ? 0 : SP_E_BAD_RECORD);
		if (bad)
			continue;
		assert_string_equal(upgrade.token, cases[i].token);
		assert_int_equal(upgrade.protocol, cases[i].ours);
	}
	assert_true(sp_upgrade_is_bearer("bearer.x", 8));
	assert_false(sp_upgrade_is_bearer("bearer.x", 7));
	assert_true(sp_upgrade_is_ours("space.v1,", 8));
	assert_false(sp_upgrade_is_ours("space.v1,", 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good),
	    cmocka_unit_test(test_offers),
	    cmocka_unit_test(test_bad),
	    cmocka_unit_test(test_origins),
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests_name("upgrade", tests, NULL, NULL);
}
