/* Audit lines: whole, one each, and never in the way of the service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/text.h"
#include "base/util.h"
#include "net/audit.h"
#include "net/watch.h"
#include "record/json.h"

static char path[] = "/tmp/test-audit-XXXXXX/audit";

static int setup(void **state)
{
	struct sp_audit *audit = NULL;

	path[22] = '\0';
	(void)strcpy(path + 16, "XXXXXX");
	if (!mkdtemp(path))
		return -1;
	path[22] = '/';
	if (sp_audit_open(path, &audit, NULL) < 0)
		return -1;
	*state = audit;
	return 0;
}

static int teardown(void **state)
{
	sp_audit_close(*state);
	(void)unlink(path);
	path[22] = '\0';
	return rmdir(path);
}

static char text[1 << 16];

static void read_text(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	(void)close(fd);
}

static const struct sp_route ROUTE = {
    .execution = 7, .attempt = 1, .substrate = SP_SUBSTRATE_HOST, .worker = "w", .activation = "a"};

/* The line without its time, which is checked and cut. */
static void expect_last(const char *rest)
{
	char *line = text, *lf, time[SP_TIME_SIZE];
	int64_t seconds;

	read_text();
	while ((lf = strchr(line, '\n')) && lf[1])
		line = lf + 1;
	assert_non_null(lf);
	assert_memory_equal(line, "{\"time\":\"", 9);
	memcpy(time, line + 9, SP_TIME_SIZE - 1);
	time[SP_TIME_SIZE - 1] = '\0';
	assert_true(sp_time_parse(time, &seconds));
	assert_string_equal(line + 9 + 20 + 2, rest);
}

static void a_line_has_what_is_known(void **state)
{
	struct sp_audit_line line = {.role = "sbx-manager", .microseconds = 41};

	sp_audit_write(*state, &line);
	expect_last(
	    "\"role\":\"sbx-manager\",\"decision\":\"match\",\"action\":\"passed\",\"us\":41}\n");
	line.id = "1";
	line.caller = "uid:0";
	line.sandbox = "s-42";
	line.op = "file.read";
	line.reason = SP_REASON_EXECUTION;
	line.kid = "k";
	line.jti = "j";
	line.selected = &ROUTE;
	line.epoch = 9;
	line.note = "full";
	sp_audit_write(*state, &line);
	expect_last(
	    "\"role\":\"sbx-manager\",\"id\":\"1\",\"caller\":\"uid:0\",\"sandbox\":\"s-42\","
	    "\"op\":\"file.read\",\"decision\":\"refresh-route\",\"reason\":\"execution\","
	    "\"action\":\"refused\",\"kid\":\"k\",\"jti\":\"j\",\"route\":{\"execution\":7,"
	    "\"worker\":\"w\","
	    "\"substrate\":\"host\",\"activation\":\"a\",\"attempt\":1},\"epoch\":9,"
	    "\"us\":41,\"note\":\"full\"}\n");
	line = (struct sp_audit_line){.role = "netgtw", .error = "overloaded"};
	sp_audit_write(*state, &line);
	expect_last(
	    "\"role\":\"netgtw\",\"error\":\"overloaded\",\"action\":\"failed\",\"us\":0}\n");
}

#define SELECTED                                                                                   \
	"{\"execution\":7,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\","           \
	"\"attempt\":1}"

static void a_refusal_tells_what_was_installed_and_who_is_behind(void **state)
{
	struct sp_route route = ROUTE;
	struct sp_audit_installed installed = {&route, 9, false};
	struct sp_audit_line line = {.role = "netgtw",
	    .reason = SP_REASON_EXECUTION,
	    .selected = &ROUTE,
	    .installed = &installed};

	route.execution = 6;
	sp_audit_write(*state, &line);
	expect_last("\"role\":\"netgtw\",\"decision\":\"refresh-route\",\"reason\":\"execution\","
		    "\"behind\":\"receiver\",\"action\":\"refused\",\"route\":" SELECTED
		    ",\"installed\":{\"route\":{\"execution\":6,\"worker\":\"w\",\"substrate\":"
		    "\"host\",\"activation\":\"a\",\"attempt\":1},\"epoch\":9,\"state\":"
		    "\"active\"},\"us\":0}\n");
	installed.route = NULL;
	line.reason = SP_REASON_ABSENT;
	sp_audit_write(*state, &line);
	expect_last("\"role\":\"netgtw\",\"decision\":\"refresh-route\",\"reason\":\"absent\","
		    "\"action\":\"refused\",\"route\":" SELECTED ",\"installed\":null,\"us\":0}\n");
	line = (struct sp_audit_line){.role = "spaceid", .change = true, .action = "retired"};
	sp_audit_write(*state, &line);
	expect_last("\"role\":\"spaceid\",\"action\":\"retired\",\"us\":0}\n");
}

static unsigned count_lines(const char *with)
{
	unsigned lines = 0;

	read_text();
	for (char *line = text, *lf; (lf = strchr(line, '\n')); line = lf + 1) {
		*lf = '\0';
		lines += strstr(line, with) != NULL;
	}
	return lines;
}

/* Bad lines of the same second beyond the burst are counted; whatever has a decision is written. */
static void a_flood_is_counted_and_hides_nothing(void **state)
{
	struct sp_audit_line bad = {.role = "sbx-manager", .error = "bad-record", .note = "x"};
	struct sp_audit_line line = {.role = "sbx-manager", .kid = "k", .jti = "told"};

	for (int i = 0; i < 20000; i++) {
		sp_audit_write(*state, &bad);
		if (i % 1000 == 0)
			sp_audit_write(*state, &line);
	}
	bad.kid = "k"; /* this one has shown a key's capability */
	sp_audit_write(*state, &bad);
	assert_int_equal(count_lines("\"jti\":\"told\""), 20);
	assert_int_equal(count_lines("\"kid\":\"k\""), 21);
	assert_in_range(count_lines("bad-record"), SP_AUDIT_BURST + 1, 1000);
}

static long sum_repeated(void)
{
	long sum = 0;

	read_text();
	for (const char *at = text; (at = strstr(at, "\"repeated\":")) != NULL; at++)
		sum += strtol(at + strlen("\"repeated\":"), NULL, 10);
	return sum;
}

static void none_of_a_flood_is_uncounted(void **state)
{
	struct sp_audit_line bad = {.role = "netgtw", .error = "overloaded"};
	struct sp_audit *audit = NULL;

	(void)state;
	assert_int_equal(sp_audit_open(path, &audit, NULL), 0);
	for (int i = 0; i < 5000; i++)
		sp_audit_write(audit, &bad);
	sp_audit_close(audit);
	assert_int_equal((long)count_lines("us") - count_lines("repeated") + sum_repeated(), 5000);
}

/* By the loop's own time where nothing else is written. */
static void the_rest_of_a_flood_comes_by_itself(void **state)
{
	struct sp_audit_line bad = {.role = "netgtw", .error = "overloaded"};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);

	sp_audit_attach(*state, loop);
	for (int i = 0; i < SP_AUDIT_BURST + 5; i++)
		sp_audit_write(*state, &bad);
	assert_int_equal(ev_run(loop, 0), 0); /* until its timer has come */
	sp_audit_attach(*state, NULL);
	ev_loop_destroy(loop);
	assert_int_equal(
	    (long)count_lines("us") - count_lines("repeated") + sum_repeated(), SP_AUDIT_BURST + 5);
}

struct watched {
	struct sp_audit *audit;
	int changes;
};

static void on_change(void *context)
{
	struct watched *watched = context;

	watched->changes++;
	(void)sp_audit_reopen(watched->audit, NULL);
}

/* Ends it when all that must come has come, and time for what must not. */
static void on_time(struct ev_loop *loop, ev_timer *timer, int events)
{
	const struct watched *watched = timer->data;

	(void)events;
	if (watched->changes >= 2)
		ev_break(loop, EVBREAK_ALL);
}

/* A server that has its audit file beside its configuration watches both. */
static void reopening_does_not_call_for_itself(void **state)
{
	struct watched watched = {.audit = *state};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct sp_watch *watch = NULL;
	struct sp_audit_line line = {.role = "cache"};
	char old[64], config[64];
	ev_timer timer;

	(void)snprintf(old, sizeof(old), "%s.1", path);
	(void)snprintf(config, sizeof(config), "%.*s/space.ini", 22, path);
	assert_int_equal(sp_watch_new(loop, config, on_change, &watched, &watch, NULL), 0);
	sp_audit_write(*state, &line);
	assert_int_equal(rename(path, old), 0);
	on_change(&watched);
	sp_audit_write(*state, &line);
	ev_timer_init(&timer, on_time, 0.6, 0.6);
	timer.data = &watched;
	ev_timer_start(loop, &timer);
	(void)ev_run(loop, 0);
	/* Ours, that of the rename, and that of the new file; one more may fall between two looks.
	 */
	assert_in_range(watched.changes, 2, 4);
	sp_watch_free(watch);
	ev_loop_destroy(loop);
	assert_int_equal(unlink(old), 0);
}

static void the_file_is_for_us_and_our_group(void **state)
{
	struct stat info;

	(void)state;
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777 & ~0640u, 0);
}

static void lines_are_added(void **state)
{
	struct sp_audit_line line = {.role = "cache"};
	struct sp_audit *second = NULL;
	unsigned lines = 0;

	assert_int_equal(sp_audit_open(path, &second, NULL), 0);
	for (int i = 0; i < 10; i++) {
		sp_audit_write(*state, &line);
		sp_audit_write(second, &line);
	}
	sp_audit_close(second);
	read_text();
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 20);
}

static void after_rotation_lines_go_to_the_new_file(void **state)
{
	struct sp_audit_line line = {.role = "cache"};
	char old[64];

	(void)snprintf(old, sizeof(old), "%s.1", path);
	sp_audit_write(*state, &line);
	assert_int_equal(rename(path, old), 0);
	assert_int_equal(sp_audit_reopen(*state, NULL), 0);
	line.role = "signer";
	sp_audit_write(*state, &line);
	read_text();
	assert_null(strstr(text, "cache"));
	assert_non_null(strstr(text, "signer"));
	assert_int_equal(unlink(old), 0);
}

/* A full disk, played by the file size limit: the line is lost, the one after it is whole. */
static void a_full_disk_loses_the_line_and_no_more(void **state)
{
	struct sp_audit_line line = {.role = "cache"};
	struct rlimit before, tight = {30, 30};
	char *after;
	int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
	sp_auto_json json_t *parsed = NULL;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	tight.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	assert_true(dup2(null, STDERR_FILENO) >= 0);
	sp_audit_write(*state, &line);
	sp_audit_write(*state, &line);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void)close(saved);
	(void)close(null);
	line.role = "signer";
	sp_audit_write(*state, &line);
	read_text();
	after = strchr(text, '\n') + 1;
	assert_int_equal(after - text, 31);
	after[strlen(after) - 1] = '\0';
	assert_int_equal(sp_json_parse(after, strlen(after), &parsed, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(parsed, "role")), "signer");
}

static void where_it_cannot_be_written_it_is_not_opened(void **state)
{
	struct sp_audit *audit = NULL;
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(sp_audit_open("/nonexistent/audit", &audit, &err), -ENOENT);
	assert_string_equal(err.message, "/nonexistent/audit: No such file or directory");
	assert_null(audit);
	assert_int_equal(sp_audit_open("/", &audit, &err), -EISDIR);
	sp_audit_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_line_has_what_is_known),
	    TEST(a_refusal_tells_what_was_installed_and_who_is_behind),
	    TEST(a_flood_is_counted_and_hides_nothing),
	    TEST(none_of_a_flood_is_uncounted),
	    TEST(the_rest_of_a_flood_comes_by_itself),
	    TEST(reopening_does_not_call_for_itself),
	    TEST(the_file_is_for_us_and_our_group),
	    TEST(lines_are_added),
	    TEST(after_rotation_lines_go_to_the_new_file),
	    TEST(a_full_disk_loses_the_line_and_no_more),
	    TEST(where_it_cannot_be_written_it_is_not_opened),
	};

	return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
