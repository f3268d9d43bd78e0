/* The greeting between bridge and manager: what is taken, what is not, and that both directions
 * agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "bridge/greeting.h"

#define READY                                                                                      \
	"{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"        \
	"\"full\",\"fd\":8,\"vsock_inode\":4711,\"vsock_fd\":12,\"vmm_fd\":9}"

static void greetings_survive_both_ways(void **state)
{
	static const char *const lines[] = {
	    READY,
	    "{\"bridge\":\"refused\",\"reason\":\"vmm-process\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"peer-credentials\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"evidence-unavailable\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"retired\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"absent\"}",
	    "{\"bridge\":\"error\",\"error\":\"transport\",\"message\":\"no OK\"}",
	    "{\"bridge\":\"error\",\"error\":\"timeout\",\"message\":\"\"}",
	    "{\"bridge\":\"error\",\"error\":\"overloaded\",\"message\":\"1023\"}",
	    "{\"bridge\":\"error\",\"error\":\"unavailable\",\"message\":\"no page\"}",
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		struct sp_greeting greeting;
		char line[SP_GREETING_MAX];
		size_t size;
		assert_int_equal(sp_greeting_parse(lines[i], strlen(lines[i]), &greeting, NULL), 0);
		assert_int_equal(sp_greeting_print(&greeting, line, &size), 0);
		assert_int_equal(size, strlen(line));
		assert_string_equal(line, lines[i]);
	}
}

static void anything_else_is_no_greeting(void **state)
{
	static const char *const lines[] = {
	    "",
	    "{}",
	    "[]",
	    "{\"bridge\":true}",
	    "{\"bridge\":\"open\"}",
	    READY "{}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vmm_fd\":9}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":9,\"cap\":\"\"}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":0,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":9}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":0,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":9}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"best\",\"vsock_inode\":1,\"vsock_fd\":1}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":0,\"vsock_fd\":1,\"vmm_fd\":9}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vsock_fd\":-1,\"vmm_fd\":9}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":-1,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":9}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":2147483648,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":9}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":-1}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"s-42\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":2147483648}",
	    "{\"bridge\":\"ready\",\"sandbox\":\"../s\",\"execution\":7,\"epoch\":9,\"level\":"
	    "\"full\",\"fd\":8,\"vsock_inode\":1,\"vsock_fd\":1,\"vmm_fd\":9}",
	    "{\"bridge\":\"refused\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"execution\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"sandbox\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"expired\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"nonsense\"}",
	    "{\"bridge\":\"refused\",\"reason\":\"retired\",\"route\":{}}",
	    "{\"bridge\":\"error\",\"error\":\"transport\"}",
	    "{\"bridge\":\"error\",\"error\":\"op\",\"message\":\"\"}",
	    "{\"bridge\":\"error\",\"error\":\"internal\",\"message\":\"\"}",
	    "{\"bridge\":\"error\",\"error\":\"transport\",\"message\":\"\",\"sent\":false}",
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		struct sp_greeting greeting = {.epoch = 77};
		assert_int_equal(sp_greeting_parse(lines[i], strlen(lines[i]), &greeting, NULL),
		    SP_E_BAD_RECORD);
		assert_int_equal(greeting.epoch, 77);
	}
}

static void a_long_or_foul_message_is_bounded(void **state)
{
	struct sp_greeting greeting = {.kind = SP_GREETING_ERROR,
	    .error = SP_ERROR_TRANSPORT,
	    .message = "a\xff\xfe"
		       "b"};
	char line[SP_GREETING_MAX];
	size_t size;
	(void)state;

	assert_int_equal(sp_greeting_print(&greeting, line, &size), 0);
	assert_non_null(strstr(line, "\"a??b\""));
	memset(greeting.message, 1, sizeof(greeting.message) - 1);
	assert_int_equal(sp_greeting_print(&greeting, line, &size), 0);
	assert_int_equal(sp_greeting_parse(line, size, &greeting, NULL), 0);
	memset(line, ' ', sizeof(line));
	assert_int_equal(sp_greeting_parse(line, sizeof(line), &greeting, NULL), SP_E_BAD_RECORD);
}

static void nothing_unsayable_is_printed(void **state)
{
	struct sp_greeting greeting = {.kind = SP_GREETING_REFUSED, .reason = SP_REASON_EXECUTION};
	char line[SP_GREETING_MAX];
	size_t size;
	(void)state;

	assert_int_equal(sp_greeting_print(&greeting, line, &size), -EINVAL);
	greeting = (struct sp_greeting){.kind = SP_GREETING_ERROR, .error = SP_ERROR_OP};
	assert_int_equal(sp_greeting_print(&greeting, line, &size), -EINVAL);
	greeting = (struct sp_greeting){.kind = SP_GREETING_READY, .sandbox = "s"};
	assert_int_equal(sp_greeting_print(&greeting, line, &size), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(greetings_survive_both_ways),
	    cmocka_unit_test(anything_else_is_no_greeting),
	    cmocka_unit_test(a_long_or_foul_message_is_bounded),
	    cmocka_unit_test(nothing_unsayable_is_printed),
	};

	return cmocka_run_group_tests_name("greeting", tests, NULL, NULL);
}
