/* The VSOCK handshake's answer: exactly one form passes, and nothing behind it is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "bridge/handshake.h"

struct row {
	const char *bytes;
	size_t size;
	enum sp_handshake verdict;
	size_t used;
	uint32_t port;
};
#define ROW(text, verdict, used, port)                                                             \
	{                                                                                          \
		text, sizeof(text) - 1, verdict, used, port                                        \
	}
#define BAD(text) ROW(text, SP_HANDSHAKE_BAD, 0, 0)

static const struct row ROWS[] = {
    ROW("", SP_HANDSHAKE_WAIT, 0, 0),
    ROW("OK 1073741824\n", SP_HANDSHAKE_OK, 14, 1073741824),
    ROW("OK 4294967295\n", SP_HANDSHAKE_OK, 14, 4294967295),
    ROW("OK 0\n", SP_HANDSHAKE_OK, 5, 0),
    ROW("OK 7\n{\"id\":\"1\"}\n", SP_HANDSHAKE_OK, 5, 7),
    ROW("OK 7\nOK 8\n", SP_HANDSHAKE_OK, 5, 7),
    ROW("OK 1073741824\nbytes of the guest", SP_HANDSHAKE_OK, 14, 1073741824),
    BAD("O"),
    BAD("OK"),
    BAD("OK 10737"),
    BAD("OK 1073741824"),
    BAD("OK 42949672950\n"),
    BAD("OK 4294967296\n"),
    BAD("OK 00000000000000000000000000000007\n"),
    BAD("OK 07\n"),
    BAD("OK -1\n"),
    BAD("OK +1\n"),
    BAD("OK  1\n"),
    BAD("OK 1 \n"),
    BAD("OK 1\r\n"),
    BAD("OK 0x7\n"),
    BAD("OK 7\0\n"),
    BAD("OK \n"),
    BAD("OK\n"),
    BAD("OK7\n"),
    BAD("\n"),
    BAD("\nOK 7\n"),
    BAD(" OK 7\n"),
    BAD("ok 7\n"),
    BAD("NOTOK 7\n"),
    BAD("NOTOK"),
    BAD("OKAY 7\n"),
    BAD("OK seven\n"),
    BAD("\0\0\0\0\0\0\0\0"),
    BAD("{\"id\":\"1\",\"status\":\"ok\"}\n"),
};

static void every_answer_gets_its_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(ROWS); i++) {
		size_t used = 0;
		uint32_t port = 0;
		enum sp_handshake verdict =
		    sp_handshake_read(ROWS[i].bytes, ROWS[i].size, &used, &port);
		if (verdict != ROWS[i].verdict || used != ROWS[i].used || port != ROWS[i].port)
			fail_msg("row %zu: \"%s\": %d, %zu used, port %u", i, ROWS[i].bytes,
			    (int)verdict, used, (unsigned)port);
	}
}

static void the_question_is_one_line(void **state)
{
	char line[SP_HANDSHAKE_ASK_MAX];
	(void)state;

	assert_int_equal(sp_handshake_ask(5005, line), 13);
	assert_string_equal(line, "CONNECT 5005\n");
	assert_int_equal(sp_handshake_ask(UINT32_MAX, line), 19);
	assert_string_equal(line, "CONNECT 4294967295\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_answer_gets_its_verdict),
	    cmocka_unit_test(the_question_is_one_line),
	};

	return cmocka_run_group_tests_name("handshake", tests, NULL, NULL);
}
