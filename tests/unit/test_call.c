/* A call in one process: what its stages come to together, against a cache, a signer and a manager
 * that say what a test wants. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/io.h"
#include "base/util.h"
#include "call/call.h"
#include "net/unix.h"
#include "record/json.h"

#define LINES_MAX 8

enum server { CACHE, SIGNER, MANAGER, SERVERS };
static const char *const NAMES[SERVERS] = {"cache", "signer", "manager"};

static char directory[] = "/tmp/test-call-XXXXXX";
static pid_t pids[SERVERS];
static unsigned *asked; /* lines that each server has read */
static struct ev_loop *loop;
static struct sp_path *path;

static void socket_of(enum server server, char ret[64])
{
	(void)snprintf(ret, 64, "%s/%s", directory, NAMES[server]);
}

/* What a line is answered with: the next of the script, with its id in the place of $ID. */
static void answer(int fd, const char *line, const char *script)
{
	const char *id = strstr(line, "\"id\":"), *at = strstr(script, "$ID");
	char text[4096];
	int n = at && id ? snprintf(text, sizeof(text), "%.*s%.*s%s\n", (int)(at - script), script,
			       (int)strcspn(id + 5, ","), id + 5, at + 3)
			 : snprintf(text, sizeof(text), "%s\n", script);

	(void)sp_write_all(fd, text, (size_t)n, 5000);
}

/* One connection after the other; the script goes on through all of them. An empty line of it is
 * no answer. */
static void serve(enum server server, int listener, const char *const *script)
{
	unsigned next = 0;
	char *line = NULL;
	size_t room = 0;

	for (;;) {
		int fd;
		FILE *in;
		(void)sp_poll_one(listener, POLLIN, -1);
		fd = accept(listener, NULL, NULL);
		in = fdopen(fd, "r");
		while (in && getline(&line, &room, in) > 0) {
			asked[server]++;
			if (script[next] && *script[next])
				answer(fd, line, script[next]);
			next += script[next] != NULL;
		}
		if (in)
			(void)fclose(in);
	}
}

static void start(enum server server, const char *const *script)
{
	char name[64];
	int fd;

	socket_of(server, name);
	assert_int_equal(sp_unix_listen(name, 0600, &fd, NULL), 0);
	pids[server] = fork();
	assert_true(pids[server] >= 0);
	if (pids[server] == 0) {
		(void)signal(SIGPIPE, SIG_IGN);
		serve(server, fd, script);
	}
	(void)close(fd);
}

#define ROUTE(n)                                                                                   \
	"{\"execution\":" #n ",\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\","      \
	"\"attempt\":1}"
#define STALE                                                                                      \
	"{\"id\":$ID,\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":"            \
	"\"execution\",\"hop\":\"m\",\"behind\":\"caller\"}"
#define CAP       "{\"cap\":\"v4.public.x\"}"
#define OK        "{\"id\":$ID,\"status\":\"ok\",\"result\":{}}"
#define UNCHANGED "{\"status\":\"ok\",\"effect\":\"unchanged\"}"

static char found[1024], newer[1024];

/* What a test is given, and what it comes to. */
struct expected {
	const char *cache[LINES_MAX], *signer[LINES_MAX], *manager[LINES_MAX];
	const char *answer;
	unsigned asked[SERVERS];
};

static struct seen {
	unsigned ends;
	char answer[1024], rest[64];
	int fd, attempted;
	int64_t execution;
} seen;

static void ended(void *context, const struct sp_call_end *end)
{
	sp_auto_free char *text = end->record ? sp_json_text(end->record) : end->text;

	assert_ptr_equal(context, &seen);
	seen.ends++;
	seen.fd = end->fd;
	seen.attempted = end->attempted;
	seen.execution = end->route ? end->route->execution : 0;
	(void)snprintf(seen.answer, sizeof(seen.answer), "%s", text ? text : "");
	(void)snprintf(
	    seen.rest, sizeof(seen.rest), "%.*s", (int)end->rest_size, end->rest ? end->rest : "");
	json_decref(end->record);
	ev_break(loop, EVBREAK_ALL);
}

static void begin(const struct expected *expected)
{
	char cache[64], signer[64];
	struct sp_path_options options = {.cache_socket = cache,
	    .cache_timeout_ms = 5000,
	    .signer_socket = signer,
	    .manager_timeout_ms = 300};

	memset(asked, 0, SERVERS * sizeof(*asked));
	start(CACHE, expected->cache);
	start(SIGNER, expected->signer);
	start(MANAGER, expected->manager);
	socket_of(CACHE, cache);
	socket_of(SIGNER, signer);
	loop = options.loop = ev_loop_new(EVFLAG_AUTO);
	seen = (struct seen){.fd = -1};
	assert_int_equal(sp_path_new(&options, &path, NULL), 0);
}

static int finish(void **state)
{
	(void)state;
	for (enum server server = CACHE; server < SERVERS; server++) {
		if (pids[server] <= 0)
			continue;
		(void)kill(pids[server], SIGKILL);
		(void)waitpid(pids[server], NULL, 0);
		pids[server] = 0;
	}
	sp_path_free(sp_steal(&path));
	if (loop) {
		(void)ev_run(loop, EVRUN_NOWAIT); /* what was closed ends */
		ev_loop_destroy(sp_steal(&loop));
	}
	return 0;
}

static struct sp_call *call(const char *op, const char *args, const struct sp_who *who)
{
	sp_auto_json json_t *record = NULL;
	struct sp_call *made;
	char text[256];
	int n = snprintf(text, sizeof(text),
	    "{\"id\":\"mine\",\"op\":\"%s\",\"sandbox\":\"s\",\"args\":%s}", op, args);

	assert_int_equal(sp_json_parse(text, (size_t)n, &record, NULL), 0);
	assert_int_equal(sp_call_start(path, who, record, (size_t)n, ended, &seen, &made, NULL), 0);
	assert_int_equal(seen.ends, 0);
	return made;
}

static void comes_to(const char *op, const struct expected *expected)
{
	struct sp_who who;

	sp_who_self(&who);
	begin(expected);
	(void)call(op, "{}", &who);
	(void)ev_run(loop, 0);
	assert_int_equal(seen.ends, 1);
	assert_string_equal(seen.answer, expected->answer);
	for (enum server server = CACHE; server < SERVERS; server++)
		assert_int_equal(asked[server], expected->asked[server]);
	assert_int_equal(seen.fd, -1);
	(void)finish(NULL);
}

static void one_attempt(void **state)
{
	(void)state;
	comes_to("ping", &(struct expected){{found}, {CAP}, {OK},
			     "{\"id\":\"mine\",\"status\":\"ok\",\"result\":{}}", {1, 1, 1}});
	comes_to("ping",
	    &(struct expected){
		{"{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"unauthorized\"}"},
		{NULL}, {NULL},
		"{\"id\":\"mine\",\"status\":\"refused\",\"decision\":\"deny\",\"reason\":"
		"\"unauthorized\",\"hop\":\"node-api\"}",
		{1, 0, 0}});
	comes_to("ping",
	    &(struct expected){{found},
		{"{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"access\"}"}, {NULL},
		"{\"id\":\"mine\",\"status\":\"refused\",\"decision\":\"deny\",\"reason\":"
		"\"access\",\"hop\":\"signer\"}",
		{1, 1, 0}});
	comes_to("ping",
	    &(struct expected){{found}, {"nonsense"}, {NULL},
		"{\"id\":\"mine\",\"status\":\"error\",\"error\":\"unavailable\",\"message\":"
		"\"the signer's answer is no record\"}",
		{1, 1, 0}});
}

static void one_repair_and_no_more(void **state)
{
	static const char refused[] =
	    "{\"id\":\"mine\",\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":"
	    "\"execution\",\"hop\":\"m\",\"behind\":\"caller\"}";

	(void)state;
	comes_to("ping", &(struct expected){{found, newer}, {CAP, CAP}, {STALE, OK},
			     "{\"id\":\"mine\",\"status\":\"ok\",\"result\":{}}", {2, 2, 2}});
	assert_int_equal(seen.execution, 8);
	assert_int_equal(seen.attempted, 2);
	comes_to("ping",
	    &(struct expected){{found, newer}, {CAP, CAP}, {STALE, STALE}, refused, {2, 2, 2}});
	comes_to(
	    "ping", &(struct expected){{found, UNCHANGED}, {CAP}, {STALE}, refused, {2, 1, 1}});
	comes_to(
	    "ping", &(struct expected){{found, "nonsense"}, {CAP}, {STALE}, refused, {2, 1, 1}});
	/* This operation is not rebuilt. */
	comes_to("lease.list", &(struct expected){{found}, {CAP}, {STALE}, refused, {1, 1, 1}});
}

static void retries_by_the_table(void **state)
{
	static const char late[] =
	    "{\"id\":\"mine\",\"status\":\"error\",\"error\":\"timeout\",\"sent\":true,"
	    "\"message\":\"the manager did not answer in time\"}";

	(void)state;
	/* Silence: sent, perhaps done. */
	comes_to("file.write", &(struct expected){{found}, {CAP}, {""}, late, {1, 1, 1}});
	comes_to("ping", &(struct expected){{found}, {CAP, CAP}, {"", OK},
			     "{\"id\":\"mine\",\"status\":\"ok\",\"result\":{}}", {1, 2, 2}});
	comes_to("ping", &(struct expected){{found}, {CAP, CAP}, {"", ""}, late, {1, 2, 2}});
}

static void nobody_is_refused_without_a_question(void **state)
{
	const struct sp_who nobody = {.caller = "uid:65534", .nobody = true};

	(void)state;
	begin(&(struct expected){.answer = NULL});
	(void)call("ping", "{}", &nobody);
	(void)ev_run(loop, 0);
	assert_string_equal(seen.answer,
	    "{\"id\":\"mine\",\"status\":\"refused\",\"decision\":\"deny\",\"reason\":"
	    "\"unauthorized\",\"hop\":\"node-api\"}");
	assert_int_equal(asked[CACHE], 0);
}

static void a_stream_is_handed_over_with_what_came_behind(void **state)
{
	struct sp_who who;
	char word[5] = "";

	(void)state;
	sp_who_self(&who);
	begin(&(struct expected){.cache = {found},
	    .signer = {CAP},
	    .manager = {
		"{\"id\":$ID,\"status\":\"open\",\"lease\":\"l\",\"epoch\":3}\nbehind", "word"}});
	(void)call("tree.get", "{\"path\":\"/\"}", &who);
	(void)ev_run(loop, 0);
	assert_string_equal(
	    seen.answer, "{\"id\":\"mine\",\"status\":\"open\",\"lease\":\"l\",\"epoch\":3}");
	assert_true(seen.fd >= 0);
	/* The server's own LF may come with it or after it. */
	assert_memory_equal(seen.rest, "behind", strlen("behind"));
	assert_int_equal(sp_write_all(seen.fd, "more\n", 5, 1000), 0);
	if (!strchr(seen.rest, '\n'))
		assert_int_equal(sp_read_exact(seen.fd, word, 1, 5000), 0);
	assert_int_equal(sp_read_exact(seen.fd, word, 4, 5000), 0);
	assert_string_equal(word, "word");
	(void)close(seen.fd);
}

static void a_call_that_is_given_up_tells_nobody(void **state)
{
	struct sp_who who;
	struct sp_call *made;

	(void)state;
	sp_who_self(&who);
	begin(&(struct expected){
	    .cache = {found, found, found}, .signer = {CAP, CAP}, .manager = {"", OK}});
	made = call("ping", "{}", &who);
	while (asked[MANAGER] == 0)
		(void)ev_run(loop, EVRUN_ONCE | (asked[SIGNER] ? EVRUN_NOWAIT : 0));
	sp_call_cancel(made);
	sp_call_cancel(call("ping", "{}", &who));
	(void)call("ping", "{}", &who);
	(void)ev_run(loop, 0);
	assert_int_equal(seen.ends, 1);
	assert_string_equal(seen.answer, "{\"id\":\"mine\",\"status\":\"ok\",\"result\":{}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(one_attempt, finish),
	    cmocka_unit_test_teardown(one_repair_and_no_more, finish),
	    cmocka_unit_test_teardown(retries_by_the_table, finish),
	    cmocka_unit_test_teardown(nobody_is_refused_without_a_question, finish),
	    cmocka_unit_test_teardown(a_stream_is_handed_over_with_what_came_behind, finish),
	    cmocka_unit_test_teardown(a_call_that_is_given_up_tells_nobody, finish),
	};
	char manager[64];
	int failed;

	(void)signal(SIGPIPE, SIG_IGN);
	asked = mmap(NULL, SERVERS * sizeof(*asked), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (asked == MAP_FAILED || !mkdtemp(directory))
		return 1;
	socket_of(MANAGER, manager);
	(void)snprintf(found, sizeof(found),
	    "{\"status\":\"ok\",\"effect\":\"hit\",\"route\":" ROUTE(
		7) ",\"endpoint\":"
		   "\"unix:%s\",\"revision\":1,\"access\":[\"ping\",\"file.*\",\"lease.*\",\"tree.*"
		   "\"],"
		   "\"ports\":[],\"expires\":\"2100-01-01T00:00:00Z\"}",
	    manager);
	(void)snprintf(newer, sizeof(newer),
	    "{\"status\":\"ok\",\"effect\":\"replaced\",\"route\":" ROUTE(
		8) ",\"endpoint\":"
		   "\"unix:%s\",\"revision\":2}",
	    manager);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (enum server server = CACHE; server < SERVERS; server++) {
		socket_of(server, manager);
		(void)unlink(manager);
	}
	(void)rmdir(directory);
	return failed;
}
