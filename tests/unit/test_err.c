/* Codes, their words and exit codes, and messages that stay bounded and printable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "base/err.h"
#include "base/util.h"

static const struct {
	int code, exit;
	const char *text;
} CODES[] = {
    {0, 0, "done"},
    {SP_E_USAGE, 2, "wrong usage"},
    {SP_E_CONFIG, 2, "wrong configuration"},
    {SP_E_BAD_RECORD, 3, "bad record"},
    {SP_E_BAD_KEY, 3, "bad key"},
    {SP_E_BAD_ARCHIVE, 3, "bad archive"},
    {SP_E_CONFLICT, 14, "conflict"},
    {SP_E_TIMEOUT, 1, "timed out"},
    {SP_E_CLOSED, 1, "closed by the other side"},
    {SP_E_TOO_LARGE, 3, "too large"},
    {SP_E_ABSENT, 1, "absent"},
    {SP_E_DENIED, 11, "denied"},
    {SP_E_UNAVAILABLE, 1, "unavailable"},
    {-ENOENT, 1, "No such file or directory"},
    {-EACCES, 1, "Permission denied"},
};

static void codes_have_words_and_exit_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CODES); i++) {
		assert_int_equal(sp_code_exit(CODES[i].code), CODES[i].exit);
		assert_string_equal(sp_code_text(CODES[i].code), CODES[i].text);
	}
}

static void a_failure_returns_its_code(void **state)
{
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(sp_fail(&err, SP_E_CONFLICT, "%s is %d", "epoch", 9), SP_E_CONFLICT);
	assert_int_equal(err.code, SP_E_CONFLICT);
	assert_string_equal(err.message, "epoch is 9");
	assert_int_equal(sp_fail(NULL, SP_E_CLOSED, "%s", "nobody listens"), SP_E_CLOSED);
}

static void errno_is_read_first_and_named_last(void **state)
{
	struct sp_err err = {0};

	(void)state;
	errno = ENOENT;
	assert_int_equal(sp_fail_errno(&err, "%s", "/etc/x"), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.message, "/etc/x: No such file or directory");
	errno = EPERM;
	assert_int_equal(sp_fail_errno(NULL, "x"), -EPERM);
	/* A caller that lost errno still fails. */
	errno = 0;
	assert_int_equal(sp_fail_errno(&err, "x"), -EIO);
}

static void context_goes_before_the_message(void **state)
{
	struct sp_err err = {0};

	(void)state;
	(void)sp_fail(&err, SP_E_BAD_RECORD, "`op` is missing");
	assert_int_equal(sp_err_prefix(&err, SP_E_CLOSED, "line %d", 3), SP_E_BAD_RECORD);
	assert_string_equal(err.message, "line 3: `op` is missing");
	assert_int_equal(sp_err_prefix(NULL, SP_E_CLOSED, "x"), SP_E_CLOSED);
}

static void context_never_turns_a_failure_into_success(void **state)
{
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(sp_err_prefix(&err, SP_E_ABSENT, "s-42"), SP_E_ABSENT);
	assert_int_equal(err.code, SP_E_ABSENT);
	assert_string_equal(err.message, "s-42: absent");
}

static void words_may_quote_the_message_they_replace(void **state)
{
	struct sp_err err = {0};

	(void)state;
	(void)sp_fail(&err, SP_E_BAD_KEY, "mode 0644");
	(void)sp_fail(&err, SP_E_CONFIG, "[keys] secret: %s", err.message);
	assert_string_equal(err.message, "[keys] secret: mode 0644");
	(void)sp_err_prefix(&err, 0, "%s", err.message);
	assert_string_equal(err.message, "[keys] secret: mode 0644: [keys] secret: mode 0644");
}

static void messages_are_cut_never_overrun(void **state)
{
	char long_word[2 * SP_ERR_MAX];
	struct sp_err err = {0};

	(void)state;
	memset(long_word, 'x', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	(void)sp_fail(&err, SP_E_USAGE, "%s", long_word);
	assert_int_equal(strlen(err.message), SP_ERR_MAX - 1);
	errno = ENOENT;
	(void)sp_fail_errno(&err, "%s", long_word);
	assert_int_equal(strlen(err.message), SP_ERR_MAX - 1);
	(void)sp_err_prefix(&err, 0, "%s", "context");
	assert_int_equal(strlen(err.message), SP_ERR_MAX - 1);
	assert_memory_equal(err.message, "context: xxx", 12);
}

/* What is cut in the middle of a character, or never was one, must still make a JSON string. */
static void messages_are_printable_utf8(void **state)
{
	static const struct {
		const char *words, *message;
	} cases[] = {
	    {"a\033[2Jb", "a?[2Jb"},
	    {"tab\tbell\a", "tab?bell?"},
	    {"del\177", "del?"},
	    {"c1\xc2\x9b"
	     "2J",
		"c1??2J"},
	    {"caf\xc3\xa9", "caf\xc3\xa9"},
	    {"half\xc3", "half?"},
	    {"\xff\xfe", "??"},
	    {"\xed\xa0\x80", "???"},
	};
	struct sp_err err = {0};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		(void)sp_fail(&err, SP_E_USAGE, "%s", cases[i].words);
		assert_string_equal(err.message, cases[i].message);
	}
	(void)sp_fail(&err, SP_E_USAGE, "%.4s", "caf\xc3\xa9");
	assert_string_equal(err.message, "caf?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(codes_have_words_and_exit_codes),
	    cmocka_unit_test(a_failure_returns_its_code),
	    cmocka_unit_test(errno_is_read_first_and_named_last),
	    cmocka_unit_test(context_goes_before_the_message),
	    cmocka_unit_test(context_never_turns_a_failure_into_success),
	    cmocka_unit_test(words_may_quote_the_message_they_replace),
	    cmocka_unit_test(messages_are_cut_never_overrun),
	    cmocka_unit_test(messages_are_printable_utf8),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
