/* The file operations, each with its args as JSON and its result or errno. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/util.h"
#include "guest/file.h"
#include "guest/path.h"
#include "guest/value.h"
#include "record/json.h"

static char base[64];
static int root = -1;

static void run(const char *command)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "cd %s && %s", base, command);
	assert_int_equal(system(line), 0);
}

static int setup(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/sp-file-XXXXXX");
	(void)umask(022);
	return mkdtemp(base) ? sp_root_open(base, &root, NULL) : -1;
}

static int teardown(void **state)
{
	char line[128];

	(void)state;
	(void)close(root);
	(void)snprintf(line, sizeof(line), "rm -rf %s", base);
	return system(line);
}

static void make_socket(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", base);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	(void)close(fd);
}

static int remove_all(int at, const json_t *args, json_t **ret, struct sp_err *err)
{
	struct sp_removal *removal = NULL;
	int done = sp_removal_new(at, args, &removal, err);

	while (removal && done == 0)
		done = sp_removal_step(removal, 3, err);
	sp_removal_free(removal);
	if (done < 0)
		return done;
	*ret = json_object();
	return 0;
}

/* The result as text, or "!code". Valid until the next call. */
static const char *call(sp_file_op_fn *op, const char *args)
{
	static char text[512 * 1024];
	sp_auto_json json_t *object = NULL, *result = NULL;
	struct sp_err err = {.code = 1};
	int bad;

	assert_int_equal(sp_json_parse(args, strlen(args), &object, &err), 0);
	err.code = 1;
	bad = op(root, object, &result, &err);
	if (bad) {
		assert_int_equal(err.code, bad);
		assert_true(strlen(err.message) > 0);
		(void)snprintf(text, sizeof(text), "!%s",
		    bad == SP_E_BAD_RECORD ? "args" : strerrorname_np(-bad));
	} else {
		assert_non_null(result);
		sp_auto_free char *line = sp_json_text(result);
		assert_true(strlen(line) < sizeof(text));
		(void)snprintf(text, sizeof(text), "%s", line);
	}
	return text;
}

static void is(sp_file_op_fn *op, const char *args, const char *expected)
{
	assert_string_equal(call(op, args), expected);
}

static void read_gives_text_or_data(void **state)
{
	(void)state;
	run("printf 'hello\\n' >text && printf 'a\\0b' >nul && printf '\\377' >bad && : >empty");
	is(sp_file_op_read, "{\"path\":\"/text\"}",
	    "{\"size\":6,\"eof\":true,\"text\":\"hello\\n\"}");
	is(sp_file_op_read, "{\"path_data\":\"dGV4dA==\"}",
	    "{\"size\":6,\"eof\":true,\"text\":\"hello\\n\"}");
	is(sp_file_op_read, "{\"path\":\"nul\"}", "{\"size\":3,\"eof\":true,\"data\":\"YQBi\"}");
	is(sp_file_op_read, "{\"path\":\"bad\"}", "{\"size\":1,\"eof\":true,\"data\":\"/w==\"}");
	is(sp_file_op_read, "{\"path\":\"empty\"}", "{\"size\":0,\"eof\":true,\"text\":\"\"}");
}

static void read_takes_ranges(void **state)
{
	(void)state;
	run("printf 0123456789 >ten");
	is(sp_file_op_read, "{\"path\":\"ten\",\"offset\":3,\"limit\":4}",
	    "{\"size\":10,\"eof\":false,\"text\":\"3456\"}");
	is(sp_file_op_read, "{\"path\":\"ten\",\"offset\":6,\"limit\":4}",
	    "{\"size\":10,\"eof\":true,\"text\":\"6789\"}");
	is(sp_file_op_read, "{\"path\":\"ten\",\"offset\":10}",
	    "{\"size\":10,\"eof\":true,\"text\":\"\"}");
	is(sp_file_op_read, "{\"path\":\"ten\",\"limit\":0}",
	    "{\"size\":10,\"eof\":false,\"text\":\"\"}");
	is(sp_file_op_read, "{\"path\":\"ten\",\"offset\":-1}", "!args");
	is(sp_file_op_read, "{\"path\":\"ten\",\"limit\":-1}", "!args");
}

/* Whatever the contents, the answer's line stays below its bound. */
static void read_of_the_most_fits_a_line(void **state)
{
	static const struct {
		const char *make, *key;
	} rows[] = {
	    {"head -c 200000 /dev/zero | tr '\\0' a >big", "text"},
	    {"head -c 200000 /dev/zero | tr '\\0' '\\\"' >big", "data"},
	    {"head -c 200000 /dev/zero | tr '\\0' '\\001' >big", "data"},
	    {"head -c 200000 /dev/zero >big", "data"},
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		run(rows[i].make);
		const char *text = call(sp_file_op_read, "{\"path\":\"big\",\"limit\":1000000}");
		char start[64];
		(void)snprintf(
		    start, sizeof(start), "{\"size\":200000,\"eof\":false,\"%s\":\"", rows[i].key);
		assert_memory_equal(text, start, strlen(start));
		assert_true(strlen(text) <= SP_LINE_MAX - SP_ANSWER_FRAME + 64);
		assert_true(strlen(text) > SP_READ_MAX);
	}
}

static void read_refuses_what_is_no_file(void **state)
{
	(void)state;
	run("mkdir dir && mkfifo fifo && ln -s nowhere dangling");
	make_socket();
	is(sp_file_op_read, "{\"path\":\"none\"}", "!ENOENT");
	is(sp_file_op_read, "{\"path\":\"dir\"}", "!EISDIR");
	is(sp_file_op_read, "{\"path\":\"fifo\"}", "!EINVAL");
	is(sp_file_op_read, "{\"path\":\"socket\"}", "!ENXIO");
	is(sp_file_op_read, "{\"path\":\"dangling\"}", "!ENOENT");
	is(sp_file_op_read, "{\"path\":\"dir/../../../etc/passwd\"}", "!ENOENT");
}

static void args_are_closed(void **state)
{
	static const char *const rows[] = {
	    "{}",
	    "{\"path\":\"\"}",
	    "{\"path\":1}",
	    "{\"path\":\"a\",\"path_data\":\"YQ==\"}",
	    "{\"path_data\":\"YQ\"}",
	    "{\"path_data\":\"YQBi\"}",
	    "{\"path\":\"a\",\"mod\":1}",
	    "{\"path\":\"a\",\"offset\":\"1\"}",
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		is(sp_file_op_read, rows[i], "!args");
	is(sp_file_op_write, "{\"path\":\"a\"}", "!args");
	is(sp_file_op_write, "{\"path\":\"a\",\"text\":\"a\",\"data\":\"YQ==\"}", "!args");
	is(sp_file_op_write, "{\"path\":\"a\",\"text\":\"\",\"mode\":\"0999\"}", "!args");
	is(sp_file_op_write, "{\"path\":\"a\",\"text\":\"\",\"mode\":4096}", "!args");
	is(sp_file_op_write, "{\"path\":\"a\",\"text\":\"\",\"mode\":true}", "!args");
	is(sp_file_op_write, "{\"path\":\"a\",\"text\":\"\",\"exclusive\":true,\"create\":false}",
	    "!args");
	is(sp_file_op_stat, "{\"path\":\"a\",\"follow\":true}", "!args");
	is(sp_file_op_chmod, "{\"path\":\"a\"}", "!args");
	is(sp_file_op_rename, "{\"from\":\"a\"}", "!args");
	is(remove_all, "{\"path\":\"a\",\"recursive\":1}", "!args");
	run("test ! -e a");
}

static void write_replaces_whole(void **state)
{
	(void)state;
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"one\\n\"}", "{\"size\":4}");
	run("test \"$(cat f)\" = one && test \"$(stat -c %a f)\" = 644");
	is(sp_file_op_write, "{\"path\":\"f\",\"data\":\"AP8=\",\"mode\":\"0600\"}",
	    "{\"size\":2}");
	run("test \"$(stat -c %a-%s f)\" = 600-2");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"\"}", "{\"size\":0}");
	run("test \"$(stat -c %a-%s f)\" = 600-0");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"x\",\"mode\":493}", "{\"size\":1}");
	run("test \"$(stat -c %a f)\" = 755 && test \"$(ls -A)\" = f");
}

static void write_keeps_an_open_reader_whole(void **state)
{
	char path[128], text[16] = "";
	int fd;
	(void)state;

	run("printf old >f");
	(void)snprintf(path, sizeof(path), "%s/f", base);
	fd = open(path, O_RDONLY);
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"new contents\"}", "{\"size\":12}");
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "old");
	(void)close(fd);
}

static void write_appends_and_creates_as_told(void **state)
{
	(void)state;
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"a\",\"create\":false}", "!ENOENT");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"a\",\"append\":true,\"create\":false}",
	    "!ENOENT");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"a\",\"append\":true}", "{\"size\":1}");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"b\",\"append\":true,\"create\":false}",
	    "{\"size\":2}");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"x\",\"exclusive\":true}", "!EEXIST");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"x\",\"exclusive\":true,\"append\":true}",
	    "!EEXIST");
	run("test \"$(cat f)\" = ab");
	is(sp_file_op_write, "{\"path\":\"f\",\"text\":\"c\",\"create\":false}", "{\"size\":1}");
	is(sp_file_op_write, "{\"path\":\"g\",\"text\":\"g\",\"exclusive\":true}", "{\"size\":1}");
	run("test \"$(cat f g)\" = cg && test \"$(ls -A | wc -l)\" = 2");
}

static void write_goes_through_links_inside_only(void **state)
{
	char command[256];
	(void)state;

	run("mkdir d && printf old >d/real && ln -s d/real link && ln -s /d/fresh dangling &&"
	    "ln -s /tmp out && ln -s link exclusive");
	(void)snprintf(command, sizeof(command), "ln -s %s/../escaped up", base);
	run(command);
	is(sp_file_op_write, "{\"path\":\"link\",\"text\":\"new\"}", "{\"size\":3}");
	run("test -L link && test \"$(cat d/real)\" = new");
	is(sp_file_op_write, "{\"path\":\"dangling\",\"text\":\"made\"}", "{\"size\":4}");
	run("test -L dangling && test \"$(cat d/fresh)\" = made");
	is(sp_file_op_write, "{\"path\":\"exclusive\",\"text\":\"\",\"exclusive\":true}",
	    "!EEXIST");
	is(sp_file_op_write, "{\"path\":\"out/x\",\"text\":\"\"}", "!ENOENT");
	is(sp_file_op_write, "{\"path\":\"up\",\"text\":\"\"}", "!ENOENT");
	is(sp_file_op_write, "{\"path\":\"out/x\",\"text\":\"\",\"append\":true}", "!ENOENT");
	run("test ! -e ../escaped");
}

static void write_refuses_what_is_no_file(void **state)
{
	(void)state;
	run("mkdir dir && mkfifo fifo && ln -s socket link");
	make_socket();
	is(sp_file_op_write, "{\"path\":\"dir\",\"text\":\"\"}", "!EISDIR");
	is(sp_file_op_write, "{\"path\":\"/\",\"text\":\"\"}", "!EISDIR");
	is(sp_file_op_write, "{\"path\":\"new/\",\"text\":\"\"}", "!EISDIR");
	is(sp_file_op_write, "{\"path\":\"dir\",\"text\":\"\",\"append\":true}", "!EISDIR");
	is(sp_file_op_write, "{\"path\":\"fifo\",\"text\":\"\"}", "!EINVAL");
	is(sp_file_op_write, "{\"path\":\"fifo\",\"text\":\"\",\"append\":true}", "!ENXIO");
	is(sp_file_op_write, "{\"path\":\"socket\",\"text\":\"x\"}", "!EINVAL");
	is(sp_file_op_write, "{\"path\":\"link\",\"text\":\"x\"}", "!EINVAL");
	is(sp_file_op_write, "{\"path\":\"socket\",\"text\":\"x\",\"append\":true}", "!ENXIO");
	is(sp_file_op_write, "{\"path\":\"none/f\",\"text\":\"\"}", "!ENOENT");
	run("test -p fifo && test -S socket && test -L link");
}

/* A disk that takes no more: the old file stays, nothing is left lying about. */
static void write_that_does_not_fit_changes_nothing(void **state)
{
	struct rlimit old, little = {.rlim_cur = 4, .rlim_max = RLIM_INFINITY};
	(void)state;

	run("printf old >f");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	little.rlim_max = old.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	const char *seen = call(sp_file_op_write, "{\"path\":\"f\",\"text\":\"too long\"}");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_string_equal(seen, "!EFBIG");
	run("test \"$(cat f)\" = old && test \"$(ls -A)\" = f");
}

static void stat_and_chmod_follow_links(void **state)
{
	(void)state;
	run("printf 12345 >f && chmod 640 f && touch -d 2026-11-29T15:36:07Z f && ln -s f l &&"
	    "ln -s gone dangling");
	is(sp_file_op_stat, "{\"path\":\"l\"}",
	    "{\"type\":\"file\",\"size\":5,\"mode\":\"0640\",\"mtime\":\"2026-11-29T15:36:07Z\"}");
	is(sp_file_op_stat, "{\"path\":\"dangling\"}", "!ENOENT");
	is(sp_file_op_chmod, "{\"path\":\"l\",\"mode\":\"4711\"}", "{}");
	run("test \"$(stat -c %a f)\" = 4711");
	is(sp_file_op_chmod, "{\"path\":\"f\",\"mode\":0}", "{}");
	run("test \"$(stat -c %a f)\" = 0");
	is(sp_file_op_chmod, "{\"path\":\"dangling\",\"mode\":0}", "!ENOENT");
}

static void mkdir_makes_one_or_all(void **state)
{
	(void)state;
	is(sp_file_op_mkdir, "{\"path\":\"a\"}", "{}");
	is(sp_file_op_mkdir, "{\"path\":\"a\"}", "!EEXIST");
	is(sp_file_op_mkdir, "{\"path\":\"/\"}", "!EEXIST");
	is(sp_file_op_mkdir, "{\"path\":\"b/c\"}", "!ENOENT");
	is(sp_file_op_mkdir, "{\"path\":\"b/c//d/\",\"parents\":true}", "{}");
	is(sp_file_op_mkdir, "{\"path\":\"b/c/d\",\"parents\":true}", "{}");
	is(sp_file_op_mkdir, "{\"path\":\"/\",\"parents\":true}", "{}");
	is(sp_file_op_mkdir, "{\"path\":\"../x/../y\",\"parents\":true}", "{}");
	run("test -d b/c/d && test -d x && test -d y && touch file && ln -s gone dangling &&"
	    "ln -s b/c link");
	is(sp_file_op_mkdir, "{\"path\":\"link/e/f\",\"parents\":true}", "{}");
	run("test -d b/c/e/f");
	is(sp_file_op_mkdir, "{\"path\":\"file\",\"parents\":true}", "!ENOTDIR");
	is(sp_file_op_mkdir, "{\"path\":\"file/x\",\"parents\":true}", "!ENOTDIR");
	is(sp_file_op_mkdir, "{\"path\":\"dangling\",\"parents\":true}", "!ENOENT");
}

static void rename_moves_entries(void **state)
{
	(void)state;
	run("printf a >a && mkdir d && ln -s a l");
	is(sp_file_op_rename, "{\"from\":\"a\",\"to\":\"d/b\"}", "{}");
	is(sp_file_op_rename, "{\"from\":\"a\",\"to\":\"d/b\"}", "!ENOENT");
	is(sp_file_op_rename, "{\"from_data\":\"bA==\",\"to_data\":\"/w==\"}", "{}");
	run("test -L \"$(printf '\\377')\" && test \"$(cat d/b)\" = a");
	is(sp_file_op_rename, "{\"from\":\"d\",\"to\":\"d/e\"}", "!EINVAL");
	is(sp_file_op_rename, "{\"from\":\"d\",\"to\":\"/\"}", "!EBUSY");
	is(sp_file_op_rename, "{\"from\":\"d/..\",\"to\":\"x\"}", "!EINVAL");
	is(sp_file_op_rename, "{\"from\":\"../../d\",\"to\":\"../../e\"}", "{}");
	run("test -d e");
}

static void list_names_everything_once(void **state)
{
	(void)state;
	run("mkdir -p t/sub/deep u && printf 1 >u/b && chmod 600 u/b && ln -s /etc u/link &&"
	    "touch t/sub/deep/x \"u/$(printf '\\377')\" && touch -h -d @0 u/* && ln -s /etc "
	    "t/link");
	is(sp_file_op_list, "{\"path\":\"u\"}",
	    "{\"entries\":["
	    "{\"name\":\"b\",\"type\":\"file\",\"size\":1,\"mode\":\"0600\",\"mtime\":"
	    "\"1970-01-01T00:00:00Z\"},"
	    "{\"name\":\"link\",\"type\":\"symlink\",\"size\":4,\"mode\":\"0777\",\"mtime\":"
	    "\"1970-01-01T00:00:00Z\"},"
	    "{\"name_data\":\"/w==\",\"type\":\"file\",\"size\":0,\"mode\":\"0644\",\"mtime\":"
	    "\"1970-01-01T00:00:00Z\"}],\"truncated\":false}");
	const char *seen = call(sp_file_op_list, "{\"path\":\"t\",\"recursive\":true}");
	assert_non_null(strstr(seen, "\"sub/deep/x\""));
	assert_non_null(strstr(seen, "\"sub/deep\""));
	assert_null(strstr(seen, "link/"));
	assert_non_null(strstr(seen, "\"truncated\":false"));
	seen = call(sp_file_op_list, "{\"path\":\"u\",\"limit\":3}");
	assert_non_null(strstr(seen, "\"truncated\":false"));
	seen = call(sp_file_op_list, "{\"path\":\"u\",\"limit\":2}");
	assert_non_null(strstr(seen, "\"truncated\":true"));
	is(sp_file_op_list, "{\"path\":\"t/sub/deep/x\"}", "!ENOTDIR");
	is(sp_file_op_list, "{\"path\":\"none\"}", "!ENOENT");
	is(sp_file_op_list, "{\"path\":\"t/link\"}", "!ENOENT");
}

static void list_of_very_many_fits_a_line(void **state)
{
	(void)state;
	run("mkdir m && cd m && seq -f '%05g-a-name-of-some-length' 5000 | xargs touch");
	const char *seen = call(sp_file_op_list, "{\"path\":\"m\"}");
	assert_true(strlen(seen) <= SP_LINE_MAX - SP_ANSWER_FRAME);
	assert_true(strlen(seen) > SP_LINE_MAX / 2);
	assert_non_null(strstr(seen, "\"truncated\":true"));
}

static void remove_takes_away_what_is_meant(void **state)
{
	(void)state;
	run("mkdir -p t/a/b t/empty keep && touch t/a/f t/a/b/g keep/me && ln -s ../keep t/a/link "
	    "&&"
	    "ln -s t/a top");
	is(remove_all, "{\"path\":\"t\"}", "!ENOTEMPTY");
	is(remove_all, "{\"path\":\"t/empty\"}", "{}");
	is(remove_all, "{\"path\":\"top\",\"recursive\":true}", "{}");
	run("test -d t/a/b && test ! -L top");
	is(remove_all, "{\"path\":\"t\",\"recursive\":true}", "{}");
	run("test ! -e t && test -e keep/me");
	is(remove_all, "{\"path\":\"t\",\"recursive\":true}", "!ENOENT");
	is(remove_all, "{\"path\":\"/\",\"recursive\":true}", "!EBUSY");
	is(remove_all, "{\"path\":\"keep/.\",\"recursive\":true}", "!EINVAL");
	is(remove_all, "{\"path\":\"keep/me\"}", "{}");
}

static void depth_is_bounded(void **state)
{
	(void)state;
	run("mkdir -p $(printf 'd/%.0s' $(seq 255)) $(printf 'e/%.0s' $(seq 300))");
	is(remove_all, "{\"path\":\"d\",\"recursive\":true}", "{}");
	is(remove_all, "{\"path\":\"e\",\"recursive\":true}", "!ELOOP");
	const char *seen = call(sp_file_op_list, "{\"path\":\"e\",\"recursive\":true}");
	assert_non_null(strstr(seen, "\"truncated\":true"));
}

static void escaped_size_is_what_jansson_writes(void **state)
{
	char bytes[256];
	(void)state;

	for (int i = 1; i < 128; i++)
		bytes[i - 1] = (char)i;
	sp_auto_json json_t *value = json_stringn(bytes, 127);
	sp_auto_free char *text = json_dumps(value, JSON_ENCODE_ANY);
	assert_int_equal(sp_text_escaped(bytes, 127), strlen(text));
	assert_int_equal(sp_text_escaped("\xc3\xa4\xf0\x9f\x98\x80", 6), 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(read_gives_text_or_data),
	    TEST(read_takes_ranges),
	    TEST(read_of_the_most_fits_a_line),
	    TEST(read_refuses_what_is_no_file),
	    TEST(args_are_closed),
	    TEST(write_replaces_whole),
	    TEST(write_keeps_an_open_reader_whole),
	    TEST(write_appends_and_creates_as_told),
	    TEST(write_goes_through_links_inside_only),
	    TEST(write_refuses_what_is_no_file),
	    TEST(write_that_does_not_fit_changes_nothing),
	    TEST(stat_and_chmod_follow_links),
	    TEST(mkdir_makes_one_or_all),
	    TEST(rename_moves_entries),
	    TEST(list_names_everything_once),
	    TEST(list_of_very_many_fits_a_line),
	    TEST(remove_takes_away_what_is_meant),
	    TEST(depth_is_bounded),
	    TEST(escaped_size_is_what_jansson_writes),
	};

	return cmocka_run_group_tests_name("guest_file", tests, NULL, NULL);
}
