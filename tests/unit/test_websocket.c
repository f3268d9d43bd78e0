/* The server's end of a WebSocket: what comes out of a client's bytes, and what goes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "stream/websocket.h"

#define MAX 70000u

/* What was given, as text: parts put together, `|` behind each whole message. */
struct seen {
	struct sp_websocket *socket;
	char given[MAX + 64];
	size_t given_size;
	unsigned char out[4096];
	size_t out_size;
	const char *answers; /* put at each whole message */
};

static void on_binary(void *context, const char *bytes, size_t size, bool last)
{
	struct seen *seen = context;

	assert_true(seen->given_size + size + 1 < sizeof(seen->given));
	memcpy(seen->given + seen->given_size, bytes, size);
	seen->given_size += size;
	if (!last)
		return;
	seen->given[seen->given_size++] = '|';
	if (seen->answers)
		assert_int_equal(sp_websocket_put(seen->socket, SP_WEBSOCKET_BINARY, seen->answers,
				     strlen(seen->answers)),
		    0);
}

static void on_write(void *context, const char *bytes, size_t size)
{
	struct seen *seen = context;

	if (seen->out_size + size <= sizeof(seen->out))
		memcpy(seen->out + seen->out_size, bytes, size);
	seen->out_size += size;
}

static const struct sp_websocket_handlers HANDLERS = {on_binary, on_write};

static struct seen *make(void)
{
	struct seen *seen = calloc(1, sizeof(*seen));

	assert_non_null(seen);
	assert_int_equal(sp_websocket_new(&HANDLERS, seen, MAX, &seen->socket), 0);
	return seen;
}

static void done(struct seen *seen)
{
	sp_websocket_free(seen->socket);
	free(seen);
}

/* The mask of these frames is 0, so that they can be read; that of `masked` is not. */
#define K           "\0\0\0\0"
#define BYTES(text) text, sizeof(text) - 1

static const struct {
	const char *what, *bytes;
	size_t size;
	const char *given, *out;
	size_t out_size;
	bool closing, over;
} CASES[] = {
    {"nothing", BYTES(""), "", BYTES(""), false, false},
    {"a message", BYTES("\x82\x83" K "abc"), "abc|", BYTES(""), false, false},
    {"masked", BYTES("\x82\x83\x01\x02\x03\x04``e"), "abf|", BYTES(""), false, false},
    {"two", BYTES("\x82\x81" K "a\x82\x81" K "b"), "a|b|", BYTES(""), false, false},
    {"empty", BYTES("\x82\x80" K), "|", BYTES(""), false, false},
    {"in fragments", BYTES("\x02\x81" K "a\x00\x81" K "b\x80\x81" K "c"), "abc|", BYTES(""), false,
	false},
    {"with a ping among them", BYTES("\x02\x81" K "a\x89\x81" K "p\x80\x81" K "c"), "ac|",
	BYTES("\x8a\x01p"), false, false},
    {"a pong", BYTES("\x8a\x81" K "p"), "", BYTES(""), false, false},
    {"a ping", BYTES("\x89\x80" K), "", BYTES("\x8a\x00"), false, false},
    {"close", BYTES("\x88\x80" K), "", BYTES("\x88\x00"), true, true},
    {"close, and why",
	BYTES("\x88\x85" K "\x03\xe8"
	      "bye"),
	"",
	BYTES("\x88\x05\x03\xe8"
	      "bye"),
	true, true},
    {"nothing is taken behind it", BYTES("\x88\x80" K "\x82\x81" K "a"), "", BYTES("\x88\x00"),
	true, true},
    /* What is none. */
    {"unmasked",
	BYTES("\x82\x03"
	      "abc"),
	"", BYTES("\x88\x02\x03\xea"), true, true},
    {"a reserved bit", BYTES("\xc2\x81" K "a"), "", BYTES("\x88\x02\x03\xea"), true, true},
    {"a reserved opcode", BYTES("\x83\x81" K "a"), "", BYTES("\x88\x02\x03\xea"), true, true},
    {"a reserved control opcode", BYTES("\x8b\x80" K), "", BYTES("\x88\x02\x03\xea"), true, true},
    {"a continuation of nothing", BYTES("\x80\x81" K "a"), "", BYTES("\x88\x02\x03\xea"), true,
	true},
    {"a message within one", BYTES("\x02\x81" K "a\x82\x81" K "b"), "a", BYTES("\x88\x02\x03\xea"),
	true, true},
    {"a ping in fragments", BYTES("\x09\x80" K), "", BYTES("\x88\x00"), true, true},
    {"a ping that is too long", BYTES("\x89\xfe\x00\x7e" K), "", BYTES("\x88\x00"), true, true},
    {"a size in too many bytes", BYTES("\x82\xfe\x00\x7d" K), "", BYTES("\x88\x00"), true, true},
    {"a size in far too many", BYTES("\x82\xff\0\0\0\0\0\0\xff\xff" K), "", BYTES("\x88\x00"), true,
	true},
    {"a size of 2^63", BYTES("\x82\xff\x80\0\0\0\0\0\0\0" K), "", BYTES("\x88\x00"), true, true},
    {"a close of one byte", BYTES("\x88\x81" K "\x03"), "", BYTES("\x88\x00"), true, true},
    {"a close with a code that none has", BYTES("\x88\x82" K "\x03\xed"), "",
	BYTES("\x88\x02\x03\xea"), true, true},
    {"too long at once", BYTES("\x82\xff\0\0\0\0\0\1\x11\x71" K "x"), "", BYTES("\x88\x02\x03\xf1"),
	true, true},
    {"longer than anything", BYTES("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" K "x"), "",
	BYTES("\x88\x02\x03\xf1"), true, true},
};

/* However the bytes come in. */
static void take_in_pieces(struct seen *seen, const char *bytes, size_t size, size_t piece)
{
	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		/* From memory of its own, so that a sanitizer sees what is read beyond it. */
		sp_auto_free char *copy = malloc(n);
		assert_non_null(copy);
		memcpy(copy, bytes + at, n);
		assert_int_equal(sp_websocket_take(seen->socket, copy, n), 0);
	}
}

static void test_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++)
		for (size_t piece = 1; piece < 32; piece++) {
			struct seen *seen = make();
			take_in_pieces(seen, CASES[i].bytes, CASES[i].size, piece);
			if (seen->given_size != strlen(CASES[i].given) ||
			    memcmp(seen->given, CASES[i].given, seen->given_size) != 0)
				fail_msg("%s, by %zu: given %.*s", CASES[i].what, piece,
				    (int)seen->given_size, seen->given);
			if (seen->out_size != CASES[i].out_size ||
			    memcmp(seen->out, CASES[i].out, seen->out_size) != 0)
				fail_msg("%s, by %zu: %zu bytes out, %02x", CASES[i].what, piece,
				    seen->out_size, seen->out_size > 3 ? seen->out[3] : 0);
			if (sp_websocket_closing(seen->socket) != CASES[i].closing ||
			    sp_websocket_over(seen->socket) != CASES[i].over)
				fail_msg("%s, by %zu: the end", CASES[i].what, piece);
			done(seen);
		}
}

/* Of a close that comes in pieces the library looks at parts of the reason only; nobody reads it.
 */
static void test_close_reason(void **state)
{
	struct seen *seen = make();

	(void)state;
	take_in_pieces(seen, BYTES("\x88\x83" K "\x03\xe8\xff"), 100);
	assert_int_equal(seen->out_size, 4);
	assert_memory_equal(seen->out, "\x88\x02\x03\xef", 4);
	done(seen);
}

static void test_text(void **state)
{
	static const char words[] = "messages of text are not taken here";
	struct seen *seen = make();

	(void)state;
	take_in_pieces(seen, BYTES("\x81\x82" K "ab\x82\x81" K "c"), 100);
	assert_int_equal(seen->given_size, 0);
	assert_int_equal(seen->out_size, 4 + strlen(words));
	assert_memory_equal(seen->out, "\x88\x25\x03\xeb", 4);
	assert_memory_equal(seen->out + 4, words, strlen(words));
	/* His own close is still to come. */
	assert_true(sp_websocket_closing(seen->socket));
	assert_false(sp_websocket_over(seen->socket));
	take_in_pieces(seen, BYTES("\x88\x82" K "\x03\xeb"), 100);
	assert_true(sp_websocket_over(seen->socket));
	done(seen);
}

/* A message may be as long as the bound, in one frame or in many, and not a byte longer. */
static void test_bound(void **state)
{
	static char bytes[MAX + 1000];
	struct seen *seen = make();

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, "\x82\xff\0\0\0\0\0\1\x11\x70" K, 14);
	take_in_pieces(seen, bytes, MAX + 14, 4096);
	assert_int_equal(seen->given_size, MAX + 1);
	assert_false(sp_websocket_closing(seen->socket));
	done(seen);
	seen = make();
	memcpy(bytes, "\x02\xfe\xff\xff" K, 8);
	take_in_pieces(seen, bytes, 65535 + 8, 4096);
	memcpy(bytes, "\x00\xfe\x11\x71" K, 8); /* 4465 more */
	take_in_pieces(seen, bytes, 4465 + 8, 4096);
	assert_int_equal(seen->given_size, MAX);
	memcpy(bytes, "\x80\x81" K, 6);
	take_in_pieces(seen, bytes, 7, 4096);
	assert_int_equal(seen->given_size, MAX);
	assert_int_equal(seen->out_size, 4);
	assert_memory_equal(seen->out, "\x88\x02\x03\xf1", 4);
	done(seen);
}

/* --- what goes out --- */

static void test_put(void **state)
{
	struct seen *seen = make();
	char large[300];

	(void)state;
	memset(large, 'l', sizeof(large));
	assert_int_equal(sp_websocket_put(seen->socket, SP_WEBSOCKET_TEXT, "hey", 3), 0);
	assert_int_equal(sp_websocket_put(seen->socket, SP_WEBSOCKET_BINARY, "", 0), 0);
	assert_int_equal(sp_websocket_ping(seen->socket), 0);
	assert_int_equal(seen->out_size, 9);
	assert_memory_equal(seen->out, "\x81\x03hey\x82\x00\x89\x00", 9);
	seen->out_size = 0;
	assert_int_equal(
	    sp_websocket_put(seen->socket, SP_WEBSOCKET_BINARY, large, sizeof(large)), 0);
	assert_int_equal(seen->out_size, 304);
	assert_memory_equal(seen->out, "\x82\x7e\x01\x2c", 4);
	assert_memory_equal(seen->out + 4, large, sizeof(large));
	done(seen);
}

static void test_close(void **state)
{
	static const struct {
		const char *reason;
		size_t size;
	} reasons[] = {
	    {"", 0},
	    {"why", 3},
	    {"123456789012345678901234567890123456789012345678901234567890"
	     "123456789012345678901234567890123456789012345678901234567890123",
		123},
	    /* The last character that fits whole. */
	    {"123456789012345678901234567890123456789012345678901234567890"
	     "12345678901234567890123456789012345678901234567890123456789012\xc3\xa9",
		122},
	    {"123456789012345678901234567890123456789012345678901234567890"
	     "1234567890123456789012345678901234567890123456789012345678901\xc3\xa9z",
		123},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(reasons); i++) {
		struct seen *seen = make();
		assert_int_equal(sp_websocket_close(seen->socket, 4409, reasons[i].reason), 0);
		assert_int_equal(seen->out_size, reasons[i].size + 4);
		assert_memory_equal(seen->out + 2, "\x11\x39", 2);
		assert_memory_equal(seen->out + 4, reasons[i].reason, reasons[i].size);
		assert_true(sp_websocket_closing(seen->socket));
		assert_false(sp_websocket_over(seen->socket));
		/* Nothing goes out behind it, and nothing that comes is given. */
		seen->out_size = 0;
		assert_int_equal(sp_websocket_put(seen->socket, SP_WEBSOCKET_TEXT, "a", 1), 0);
		assert_int_equal(sp_websocket_ping(seen->socket), 0);
		assert_int_equal(sp_websocket_close(seen->socket, 1000, "again"), 0);
		take_in_pieces(seen, BYTES("\x82\x81" K "a\x89\x80" K), 100);
		assert_int_equal(seen->out_size, 0);
		assert_int_equal(seen->given_size, 0);
		take_in_pieces(seen, BYTES("\x88\x82" K "\x11\x39"), 100);
		assert_int_equal(seen->out_size, 0);
		assert_true(sp_websocket_over(seen->socket));
		done(seen);
	}
}

/* An answer from within. */
static void test_within(void **state)
{
	struct seen *seen = make();

	(void)state;
	seen->answers = "yes";
	take_in_pieces(seen, BYTES("\x82\x81" K "a\x82\x81" K "b"), 100);
	assert_int_equal(seen->given_size, 4);
	assert_int_equal(seen->out_size, 10);
	assert_memory_equal(seen->out, "\x82\x03yes\x82\x03yes", 10);
	done(seen);
}

/* Whatever comes, it comes to an end, and what is written is not more than that. */
static void test_anything(void **state)
{
	char bytes[64];

	(void)state;
	srandom(42);
	for (unsigned i = 0; i < 20000; i++) {
		struct seen *seen = make();
		size_t size = (size_t)random() % sizeof(bytes);
		for (size_t k = 0; k < size; k++)
			bytes[k] = (char)random();
		/* Most begin as a frame does. */
		if (size > 1 && i % 4) {
			bytes[0] = (char)((unsigned)bytes[0] & 0x8f);
			bytes[1] = (char)(0x80 | (unsigned)bytes[1] % 40);
		}
		take_in_pieces(seen, bytes, size, 1 + (size_t)random() % 8);
		assert_true(seen->out_size <= size + 64);
		assert_true(seen->given_size <= size + 32);
		if (sp_websocket_over(seen->socket))
			assert_true(sp_websocket_closing(seen->socket));
		done(seen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_frames),
	    cmocka_unit_test(test_close_reason),
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_bound),
	    cmocka_unit_test(test_put),
	    cmocka_unit_test(test_close),
	    cmocka_unit_test(test_within),
	    cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests_name("websocket", tests, NULL, NULL);
}
