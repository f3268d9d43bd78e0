/* Statuses of streams: JSON and back, and what a client ends with; signals by name. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/signal.h"
#include "base/util.h"
#include "stream/status.h"

static const char *printed(const struct sp_status *status)
{
	static char text[SP_FRAME_CONTROL_MAX + 1];
	size_t size = sp_status_print(status, text);

	text[size] = '\0';
	return text;
}

static void statuses_are_printed_and_read_back(void **state)
{
	const struct {
		struct sp_status status;
		const char *text;
		int exit;
	} cases[] = {
	    {sp_status_of_wait(3 << 8), "{\"exit\":3}", 3},
	    {sp_status_of_wait(SIGTERM), "{\"signal\":\"SIGTERM\"}", 143},
	    {sp_status_of_wait(40), "{\"signal\":\"SIG40\"}", 168},
	    {{.kind = SP_STATUS_EXIT, .counted = true, .entries = 2, .bytes = 70},
		"{\"exit\":0,\"entries\":2,\"bytes\":70}", 0},
	    {sp_status_of_error(-ENOENT, "a: gone"),
		"{\"error\":\"op\",\"errno\":\"ENOENT\",\"message\":\"a: gone\"}", 1},
	    {sp_status_of_error(SP_E_CLOSED, "x"),
		"{\"error\":\"op\",\"errno\":\"EIO\",\"message\":\"x\"}", 1},
	    {sp_status_of_error(SP_E_BAD_RECORD, "frame"),
		"{\"error\":\"bad-record\",\"message\":\"frame\"}", 3},
	    {sp_status_of_error(SP_E_TIMEOUT, "idle"),
		"{\"error\":\"timeout\",\"message\":\"idle\"}", 1},
	    {sp_status_of_error(SP_E_UNAVAILABLE, "a\nb"),
		"{\"error\":\"unavailable\",\"message\":\"a?b\"}", 1},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_status back;
		assert_string_equal(printed(&cases[i].status), cases[i].text);
		assert_int_equal(
		    sp_status_parse(cases[i].text, strlen(cases[i].text), &back, NULL), 0);
		assert_string_equal(printed(&back), cases[i].text);
		assert_int_equal(sp_status_exit(&back), cases[i].exit);
	}
}

static void the_longest_message_fits(void **state)
{
	char message[SP_ERR_MAX];
	struct sp_status status;

	(void)state;
	memset(message, '"', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	status = sp_status_of_error(-EIO, message);
	assert_int_equal(strlen(printed(&status)), 41 + 2 * (SP_ERR_MAX - 1));
}

static void what_is_no_status_is_refused(void **state)
{
	static const char *const texts[] = {"", "{}", "[]", "{\"exit\":256}", "{\"exit\":-1}",
	    "{\"exit\":\"0\"}", "{\"signal\":\"SIGNO\"}", "{\"error\":\"nonsense\"}",
	    "{\"exit\":0"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_status status = {.number = 77};
		assert_int_equal(
		    sp_status_parse(texts[i], strlen(texts[i]), &status, NULL), SP_E_BAD_RECORD);
		assert_int_equal(status.number, 77);
	}
}

static void signals_are_known_by_name(void **state)
{
	static const struct {
		const char *name;
		int number; /* 0: refused */
	} cases[] = {{"SIGTERM", SIGTERM}, {"TERM", SIGTERM}, {"KILL", SIGKILL}, {"SIG40", 40},
	    {"40", 0}, {"SIG15", 0}, {"SIG0", 0}, {"SIG999", 0}, {"", 0}, {"SIG", 0}, {"term", 0},
	    {"SIGSIGTERM", 0}};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		int number = 0;
		if (sp_signal_parse(cases[i].name, &number) != (cases[i].number != 0) ||
		    number != cases[i].number)
			fail_msg("%s: %d", cases[i].name, number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(statuses_are_printed_and_read_back),
	    cmocka_unit_test(the_longest_message_fits),
	    cmocka_unit_test(what_is_no_status_is_refused),
	    cmocka_unit_test(signals_are_known_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
