/* What a command's end looks like, at every size of output, and the args of commands; peers' names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/limits.h"
#include "base/util.h"
#include "guest/exec.h"
#include "guest/exec_args.h"
#include "guest/exec_result.h"
#include "guest/listen.h"
#include "guest/path.h"
#include "guest/value.h"
#include "record/json.h"
#include "record/result.h"

#define EXITED(code)     ((code) << 8)
#define SIGNALED(number) (number)

static struct sp_output output(const char *bytes, size_t size, bool cut)
{
	return (struct sp_output){(char *)(uintptr_t)bytes, size, size, cut};
}

static void ends_are_told_apart(void **state)
{
	static const struct {
		int status;
		bool cut, timed_out;
		const char *expected;
	} rows[] = {
	    {EXITED(0), false, false,
		"{\"exit\":0,\"stdout\":{\"text\":\"o\"},\"stderr\":{\"data\":\"/w==\"},"
		"\"truncated\":false}"},
	    {EXITED(255), true, false,
		"{\"exit\":255,\"stdout\":{\"text\":\"o\"},\"stderr\":{\"data\":\"/w==\"},"
		"\"truncated\":true}"},
	    {SIGNALED(15), false, false,
		"{\"signal\":\"SIGTERM\",\"stdout\":{\"text\":\"o\"},\"stderr\":{\"data\":\"/"
		"w==\"},\"truncated\":false}"},
	    {SIGNALED(9), false, true,
		"{\"signal\":\"SIGKILL\",\"stdout\":{\"text\":\"o\"},\"stderr\":{\"data\":\"/"
		"w==\"},\"truncated\":false,\"timed_out\":true}"},
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_output out = output("o", 1, rows[i].cut), err = output("\xff", 1, false);
		sp_auto_json json_t *object =
		    sp_exec_result(rows[i].status, &out, &err, rows[i].timed_out);
		sp_auto_free char *text = sp_json_text(object);
		assert_string_equal(text, rows[i].expected);
	}
}

/* The outputs' first bytes are kept whatever they are; the line never grows over its bound. */
static void any_two_outputs_fit_one_line(void **state)
{
	static const char fills[] = {'a', '\n', '"', '\x01', '\0', '\xff'};
	static const size_t sizes[] = {0, 1, 65535, SP_EXEC_OUTPUT_MAX, SP_EXEC_LIMIT_MAX};
	static char out_bytes[SP_EXEC_LIMIT_MAX], err_bytes[SP_EXEC_LIMIT_MAX];
	char id[SP_REQUEST_ID_MAX + 1];
	(void)state;

	memset(id, '\x01', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	for (size_t f = 0; f < sizeof(fills) * sizeof(fills); f++)
		for (size_t s = 0; s < SP_COUNT(sizes) * SP_COUNT(sizes); s++) {
			size_t out_size = sizes[s / SP_COUNT(sizes)],
			       err_size = sizes[s % SP_COUNT(sizes)];
			memset(out_bytes, fills[f / sizeof(fills)], sizeof(out_bytes));
			memset(err_bytes, fills[f % sizeof(fills)], sizeof(err_bytes));
			struct sp_output out = output(out_bytes, out_size, false);
			struct sp_output err = output(err_bytes, err_size, false);
			json_t *object = sp_exec_result(0, &out, &err, true);
			assert_non_null(object);
			/* By default nothing is cut. */
			if (out_size <= SP_EXEC_OUTPUT_MAX && err_size <= SP_EXEC_OUTPUT_MAX)
				assert_true(json_is_false(json_object_get(object, "truncated")));
			sp_auto_json json_t *answer = sp_result_ok(id, object);
			sp_auto_free char *text = sp_json_text(answer);
			assert_true(strlen(text) <= SP_LINE_MAX);
		}
}

static void a_cut_in_a_character_leaves_text(void **state)
{
	struct sp_output out = output("h\xc3\xa4\xf0\x9f\x98", 6, true), err = output("", 0, false);
	sp_auto_json json_t *object = sp_exec_result(0, &out, &err, false);
	sp_auto_free char *text = sp_json_text(object);
	(void)state;

	assert_string_equal(text,
	    "{\"exit\":0,\"stdout\":{\"text\":\"h\xc3\xa4\"},\"stderr\":{\"text\":\"\"},"
	    "\"truncated\":true}");
	out.cut = false;
	sp_auto_json json_t *whole = sp_exec_result(0, &out, &err, false);
	assert_non_null(json_object_get(json_object_get(whole, "stdout"), "data"));
}

static int take(const char *text, struct sp_exec_args *ret)
{
	sp_auto_json json_t *args = NULL;
	sp_auto_fd int root = -1;

	assert_int_equal(sp_json_parse(text, strlen(text), &args, NULL), 0);
	assert_int_equal(sp_root_open("/", &root, NULL), 0);
	return sp_exec_args_take(root, args, SP_EXEC_RUN, ret, NULL);
}

static void wrong_args_are_refused(void **state)
{
	static const struct {
		const char *args;
		int code;
	} rows[] = {
	    {"{}", SP_E_BAD_RECORD},
	    {"{\"argv\":\"sh\"}", SP_E_BAD_RECORD},
	    {"{\"argv\":[]}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"\"]}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\",1]}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"env\":{\"A=B\":\"\"}}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"env\":{\"\":\"\"}}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"env\":{\"A\":1}}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"timeout_ms\":0}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"timeout_ms\":3600001}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"limit\":131073}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"text\":\"\",\"data\":\"\"}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"shell\":true}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"cwd\":\"\"}", SP_E_BAD_RECORD},
	    {"{\"argv\":[\"sh\"],\"cwd\":\"/none\"}", -ENOENT},
	    {"{\"argv\":[\"sh\"],\"cwd\":\"/dev/null\"}", -ENOTDIR},
	    {"{\"argv\":[\"sh\"],\"cwd\":\"/proc/self/root\"}", -ELOOP},
	    {"{\"argv\":[\"no-such-program\"]}", -ENOENT},
	    {"{\"argv\":[\"sh\"],\"env\":{\"PATH\":\"bin:\"}}", -ENOENT},
	    {"{\"argv\":[\"passwd\"],\"env\":{\"PATH\":\"/etc\"}}", -EACCES},
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_exec_args args = {.directory = -1};
		assert_int_equal(take(rows[i].args, &args), rows[i].code);
		sp_exec_args_done(&args);
	}
}

static void the_environment_is_the_commands_own(void **state)
{
	struct sp_exec_args args = {.directory = -1};
	(void)state;

	(void)setenv("NOTIFY_SOCKET", "@x", 1);
	(void)setenv("HOME", "/home/x", 1);
	assert_int_equal(take("{\"argv\":[\"sh\",\"-c\",\"\"],\"env\":{\"LANG\":\"C\",\"X\":\"1\"},"
			      "\"data\":\"AA==\"}",
			     &args),
	    0);
	assert_string_equal(args.environment[1], "HOME=/home/x");
	assert_string_equal(args.environment[2], "LANG=C");
	assert_string_equal(args.environment[3], "X=1");
	assert_null(args.environment[4]);
	assert_int_equal(args.program[0], '/');
	assert_int_equal(args.input_size, 1);
	assert_int_equal(args.input[0], 0);
	sp_exec_args_done(&args);
}

static void peers_names_have_one_form(void **state)
{
	static const struct {
		const char *name;
		bool known;
		uint32_t cid, port;
	} rows[] = {
	    {"vsock:2:1073741824", true, 2, 1073741824},
	    {"vsock:2:1073741824:88", true, 2, 1073741824},
	    {"vsock:7:1", true, 7, 1},
	    {"vsock:2:", false, 0, 0},
	    {"vsock:2", false, 0, 0},
	    {"vsock:", false, 0, 0},
	    {"vsock", false, 0, 0},
	    {"vsock::1", false, 0, 0},
	    {"vsock:2:-1", false, 0, 0},
	    {"vsock:2:4294967296", false, 0, 0},
	    {"vsock:02:1", false, 0, 0},
	    {"Vsock:2:1", false, 0, 0},
	    {"00a1b", false, 0, 0},
	    {"", false, 0, 0},
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_guest_peer peer = {false, 0, 0};
		assert_int_equal(
		    sp_guest_peer_parse(rows[i].name, strlen(rows[i].name), &peer), rows[i].known);
		assert_int_equal(peer.cid, rows[i].cid);
		assert_int_equal(peer.port, rows[i].port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ends_are_told_apart),
	    cmocka_unit_test(any_two_outputs_fit_one_line),
	    cmocka_unit_test(a_cut_in_a_character_leaves_text),
	    cmocka_unit_test(wrong_args_are_refused),
	    cmocka_unit_test(the_environment_is_the_commands_own),
	    cmocka_unit_test(peers_names_have_one_form),
	};

	return cmocka_run_group_tests_name("guest_exec", tests, NULL, NULL);
}
