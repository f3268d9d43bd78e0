/* A server's frame: sockets of its own and inherited ones, signals, watched paths. Each test is a
 * child with a default loop of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/io.h"
#include "base/util.h"
#include "net/service.h"
#include "net/unix.h"

/* In the child, where cmocka's way out does not lead back. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition);              \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static char directory[64];

static int take_away(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	return remove(path);
}

static void in_child(void (*test)(void))
{
	int status = -1;
	pid_t child;

	(void)strcpy(directory, "/tmp/test-service-XXXXXX");
	assert_non_null(mkdtemp(directory));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (chdir(directory) < 0)
			_exit(2);
		/* A loop that never ends must not hold the suite up. */
		(void)alarm(120);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	(void)nftw(directory, take_away, 8, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(status, 0);
}

/* A server that counts, and ends when `wanted` things have happened. */
struct server {
	struct sp_service *service;
	unsigned accepted, changed, stopped, wanted;
	int fds[16];
	ev_timer step;
	void (*next)(struct server *server);
};

static void count(struct server *server, unsigned *counter)
{
	++*counter;
	if (server->wanted > 0 && --server->wanted == 0)
		sp_service_exit(server->service);
}

static void on_accept(void *context, int fd)
{
	struct server *server = context;

	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(server->accepted < 16);
	server->fds[server->accepted] = fd;
	count(server, &server->accepted);
}

static void on_change(void *context)
{
	struct server *server = context;

	count(server, &server->changed);
}

static void on_stop(void *context)
{
	struct server *server = context;

	count(server, &server->stopped);
}

static void on_step(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct server *server = watcher->data;

	(void)loop;
	(void)events;
	server->next(server);
}

/* Something to do from within the loop, once. */
static void later(struct server *server, double seconds, void (*next)(struct server *server))
{
	server->next = next;
	ev_timer_init(&server->step, on_step, seconds, 0.);
	server->step.data = server;
	ev_timer_start(sp_service_loop(server->service), &server->step);
}

static void new_server(struct server *server)
{
	*server = (struct server){0};
	CHECK(sp_service_new(&server->service, NULL) == 0);
}

static void run_until(struct server *server, unsigned wanted)
{
	server->wanted = wanted;
	CHECK(sp_service_run(server->service, NULL) == 0);
}

static void put(const char *path, const char *text)
{
	CHECK(sp_file_replace(AT_FDCWD, path, 0600, text, strlen(text), NULL) == 0);
}

static int connect_to(const char *path)
{
	int fd = -1;

	return sp_unix_connect(path, 1000, &fd, NULL) == 0 ? fd : -1;
}

static void child_serves_and_unlinks(void)
{
	struct server server;
	struct stat info;

	new_server(&server);
	CHECK(sp_service_listen(server.service, "s", 0660, 8, on_accept, &server, NULL) == 0);
	CHECK(stat("s", &info) == 0 && (info.st_mode & 07777) == 0660);
	CHECK(connect_to("s") >= 0 && connect_to("s") >= 0);
	run_until(&server, 2);
	CHECK(server.accepted == 2);
	CHECK(access("s", F_OK) < 0);
	/* A connection that ends after the loop has: the listener is closed and stays so. */
	sp_service_release(server.service);
	sp_service_free(server.service);
}

static void a_socket_of_its_own_is_served_and_unlinked(void **state)
{
	(void)state;
	in_child(child_serves_and_unlinks);
}

static void raise_term(struct server *server)
{
	(void)server;
	(void)raise(SIGTERM);
	(void)raise(SIGTERM);
}

static void child_successor_stays(void)
{
	struct server server;
	int other = -1;

	new_server(&server);
	CHECK(sp_service_listen(server.service, "s", 0600, 8, on_accept, &server, NULL) == 0);
	/* Kept beside, so that its inode number is not used again at once. */
	CHECK(rename("s", "old") == 0);
	CHECK(sp_unix_listen("s", 0600, &other, NULL) == 0);
	later(&server, 0., raise_term);
	CHECK(sp_service_run(server.service, NULL) == 0);
	CHECK(access("s", F_OK) == 0);
	CHECK(connect_to("s") >= 0);
}

static void a_successors_socket_is_left_alone(void **state)
{
	(void)state;
	in_child(child_successor_stays);
}

static void child_bound(void)
{
	struct server server;
	int first, second, third;

	new_server(&server);
	CHECK(sp_service_listen(server.service, "s", 0600, 2, on_accept, &server, NULL) == 0);
	first = connect_to("s");
	second = connect_to("s");
	third = connect_to("s");
	CHECK(first >= 0 && second >= 0 && third >= 0);
	for (int i = 0; i < 20; i++)
		(void)ev_run(sp_service_loop(server.service), EVRUN_NOWAIT);
	CHECK(server.accepted == 2);
	sp_service_release(server.service);
	for (int i = 0; i < 20; i++)
		(void)ev_run(sp_service_loop(server.service), EVRUN_NOWAIT);
	CHECK(server.accepted == 3);
}

static void above_its_bound_accepting_pauses(void **state)
{
	(void)state;
	in_child(child_bound);
}

static int inherited_at_3(const char *path, const char *pid, const char *count_text)
{
	char own[16];
	int fd = -1;

	CHECK(sp_unix_listen(path, 0600, &fd, NULL) == 0);
	if (fd != 3) {
		CHECK(dup2(fd, 3) == 3);
		(void)close(fd);
	}
	CHECK(fcntl(3, F_SETFD, 0) == 0);
	(void)snprintf(own, sizeof(own), "%d", (int)getpid());
	CHECK(setenv("LISTEN_PID", pid ? pid : own, 1) == 0);
	CHECK(setenv("LISTEN_FDS", count_text, 1) == 0);
	return 3;
}

static void child_inherits(void)
{
	struct server server;
	struct ucred peer;
	pid_t child;
	int status;

	/* The socket is made here and served by the child: its peer must name the child. */
	CHECK(inherited_at_3("s", NULL, "1") == 3);
	child = fork();
	if (child == 0) {
		char own[16];
		(void)snprintf(own, sizeof(own), "%d", (int)getpid());
		CHECK(setenv("LISTEN_PID", own, 1) == 0);
		new_server(&server);
		CHECK(getenv("LISTEN_FDS") == NULL && getenv("LISTEN_PID") == NULL);
		CHECK(fcntl(3, F_GETFD) == FD_CLOEXEC);
		CHECK(sp_service_listen(
			  server.service, "other", 0600, 8, on_accept, &server, NULL) == 0);
		/* The second call makes its own. */
		CHECK(sp_service_listen(
			  server.service, "second", 0600, 8, on_accept, &server, NULL) == 0);
		int fd = connect_to("s");
		CHECK(fd >= 0);
		CHECK(sp_unix_peer(fd, &peer) == 0 && peer.pid == getpid());
		CHECK(connect_to("second") >= 0);
		CHECK(access("other", F_OK) < 0);
		run_until(&server, 2);
		/* The inherited socket is its maker's to unlink. */
		CHECK(access("s", F_OK) == 0);
		CHECK(access("second", F_OK) < 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void inherited_sockets_come_first_and_name_this_process(void **state)
{
	(void)state;
	in_child(child_inherits);
}

static void child_of_another_pid(void)
{
	struct server server;

	CHECK(inherited_at_3("s", "1", "1") == 3);
	new_server(&server);
	CHECK(sp_service_listen(server.service, "own", 0600, 8, on_accept, &server, NULL) == 0);
	CHECK(access("own", F_OK) == 0);
}

static void sockets_for_another_process_are_not_taken(void **state)
{
	(void)state;
	in_child(child_of_another_pid);
}

static void child_bad_counts(void)
{
	static const char *const counts[] = {"5", "x", "-1", "01", "1 "};
	struct sp_service *service = NULL;
	struct sp_err err;
	char words[128];

	for (size_t i = 0; i < SP_COUNT(counts); i++) {
		err = (struct sp_err){0};
		CHECK(inherited_at_3("s", NULL, counts[i]) == 3);
		CHECK(sp_service_new(&service, &err) == SP_E_CONFIG);
		(void)snprintf(words, sizeof(words), "LISTEN_FDS: `%s` is not a number from 0 to 4",
		    counts[i]);
		CHECK(strcmp(err.message, words) == 0);
		CHECK(service == NULL);
		CHECK(close(3) == 0 && unlink("s") == 0);
	}
}

static void a_count_out_of_bounds_is_an_error(void **state)
{
	(void)state;
	in_child(child_bad_counts);
}

static void child_no_listener(void)
{
	struct server server;
	struct sp_err err = {0};

	CHECK(inherited_at_3("s", NULL, "1") == 3);
	CHECK(dup2(socket(AF_UNIX, SOCK_STREAM, 0), 3) == 3);
	new_server(&server);
	CHECK(sp_service_listen(server.service, "own", 0600, 8, on_accept, &server, &err) ==
	      SP_E_CONFIG);
	CHECK(strcmp(err.message, "LISTEN_FDS: descriptor 3 is no listening socket") == 0);
}

static void an_inherited_descriptor_must_listen(void **state)
{
	(void)state;
	in_child(child_no_listener);
}

static void child_more(void)
{
	struct server server;
	struct sp_err err = {0};
	char name[2] = "a";

	new_server(&server);
	for (; name[0] < 'e'; name[0]++)
		CHECK(sp_service_listen(server.service, name, 0600, 8, on_accept, &server, NULL) ==
		      0);
	CHECK(sp_service_listen(server.service, "e", 0600, 8, on_accept, &server, &err) == -ENOSPC);
	CHECK(access("e", F_OK) < 0);
	for (int i = 0; i < 4; i++)
		CHECK(sp_service_on_change(server.service, NULL, on_change, &server, NULL) == 0);
	CHECK(sp_service_on_change(server.service, NULL, on_change, &server, &err) == -ENOSPC);
}

static void tables_have_bounds(void **state)
{
	(void)state;
	in_child(child_more);
}

static void child_term_plain(void)
{
	struct server server;

	new_server(&server);
	CHECK(sp_service_listen(server.service, "s", 0600, 8, on_accept, &server, NULL) == 0);
	later(&server, 0., raise_term);
	CHECK(sp_service_run(server.service, NULL) == 0);
	CHECK(access("s", F_OK) < 0);
}

static void sigterm_ends_it(void **state)
{
	(void)state;
	in_child(child_term_plain);
}

static void child_term(void)
{
	struct server server;

	new_server(&server);
	CHECK(sp_service_listen(server.service, "s", 0600, 8, on_accept, &server, NULL) == 0);
	sp_service_on_stop(server.service, on_stop, &server);
	later(&server, 0., raise_term);
	run_until(&server, 1);
	CHECK(server.stopped == 1);
	/* Nobody can connect any more while what is in flight ends. */
	CHECK(access("s", F_OK) < 0);
}

static void sigterm_asks_once_to_stop(void **state)
{
	(void)state;
	in_child(child_term);
}

static void raise_hangup(struct server *server)
{
	(void)server;
	(void)raise(SIGHUP);
}

static void child_hangup(void)
{
	struct server server;

	new_server(&server);
	CHECK(sp_service_on_change(server.service, NULL, on_change, &server, NULL) == 0);
	CHECK(sp_service_on_change(server.service, "f", on_change, &server, NULL) == 0);
	later(&server, 0., raise_hangup);
	run_until(&server, 2);
	CHECK(server.changed == 2);
}

static void sighup_is_a_change_of_everything(void **state)
{
	(void)state;
	in_child(child_hangup);
}

/* A change, made from within the loop, five times over. How long it took to be told is printed
 * only: a busy machine makes no failure. */
static const char *watched;
static void (*change)(int round);
static int rounds;
static int64_t changed_at, slowest;

static void make_change(struct server *server)
{
	(void)server;
	changed_at = sp_monotonic_ms();
	change(rounds);
}

static void on_watched(void *context)
{
	struct server *server = context;
	int64_t took = sp_monotonic_ms() - changed_at;

	if (changed_at == 0)
		return;
	slowest = took > slowest ? took : slowest;
	changed_at = 0;
	if (++rounds == 5)
		sp_service_exit(server->service);
	else
		/* After the echo of this change has settled. */
		later(server, 0.06, make_change);
}

static void child_watch(void)
{
	struct server server;

	new_server(&server);
	rounds = 0;
	CHECK(sp_service_on_change(server.service, watched, on_watched, &server, NULL) == 0);
	later(&server, 0., make_change);
	CHECK(sp_service_run(server.service, NULL) == 0);
	CHECK(rounds == 5);
	(void)fprintf(stderr, "# slowest %lld ms\n", (long long)slowest);
}

static void watch(const char *path, void (*by)(int round))
{
	watched = path;
	change = by;
	in_child(child_watch);
}

static void replace_file(int round)
{
	put("f", round % 2 ? "one" : "two");
}

static void write_in_place(int round)
{
	int fd = open("f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && pwrite(fd, round % 2 ? "a" : "b", 1, 0) == 1 && close(fd) == 0);
}

static void come_and_go(int round)
{
	if (round % 2)
		CHECK(unlink("f") == 0);
	else
		put("f", "x");
}

static void replace_inside(int round)
{
	(void)mkdir("d", 0700);
	put("d/manifest.json", round % 2 ? "one" : "two");
}

/* Two directories, and a symlink that is renamed over from one to the other. */
static void swap_link_to_directory(int round)
{
	(void)mkdir("v0", 0700);
	(void)mkdir("v1", 0700);
	CHECK(symlink(round % 2 ? "v1" : "v0", "next") == 0);
	CHECK(rename("next", "d") == 0);
}

/* What is written into the directory that the link points to now. */
static void write_behind_the_link(int round)
{
	if (round % 2)
		put("d/manifest.json", "x");
	else
		swap_link_to_directory(round / 2);
}

static void swap_a_parent(int round)
{
	(void)mkdir("v0", 0700);
	(void)mkdir("v1", 0700);
	(void)mkdir("v0/keys", 0700);
	(void)mkdir("v1/keys", 0700);
	CHECK(symlink(round % 2 ? "v1" : "v0", "next") == 0);
	CHECK(rename("next", "current") == 0);
}

/* As Kubernetes mounts a ConfigMap: f is a link through `..data`, and that is swapped. */
static void swap_the_data_link(int round)
{
	swap_link_to_directory(round);
	CHECK(rename("d", "..data") == 0);
	put("..data/f", "x");
	if (round == 0)
		CHECK(symlink("..data/f", "f") == 0);
}

static void parents_come_one_by_one(int round)
{
	static const char *const names[] = {"a", "a/b", "a/b/c", "a/b/c/d"};

	if (round < 4)
		CHECK(mkdir(names[round], 0700) == 0);
	else
		put("a/b/c/d/f", "x");
}

static void replace_the_whole_directory(int round)
{
	char aside[16], old[16];

	(void)snprintf(aside, sizeof(aside), "new%d", round);
	(void)snprintf(old, sizeof(old), "old%d", round);
	CHECK(mkdir(aside, 0700) == 0);
	(void)rename("d", old);
	CHECK(rename(aside, "d") == 0);
}

static void every_way_to_change_a_path_is_seen(void **state)
{
	(void)state;
	watch("f", replace_file);
	watch("f", write_in_place);
	watch("f", come_and_go);
	watch("d", replace_inside);
	watch("d/manifest.json", replace_inside);
	watch("d", swap_link_to_directory);
	watch("d", write_behind_the_link);
	watch("current/keys", swap_a_parent);
	watch("f", swap_the_data_link);
	watch("a/b/c/d/f", parents_come_one_by_one);
	watch("d", replace_the_whole_directory);
	watch("d/manifest.json", replace_the_whole_directory);
}

static unsigned watches_of(int fd)
{
	char path[64], line[256];
	unsigned lines = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	CHECK(file);
	while (fgets(line, sizeof(line), file))
		lines += strncmp(line, "inotify ", 8) == 0;
	(void)fclose(file);
	return lines;
}

static void swap_to_a_new_one(int round)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "v%d", round);
	CHECK(mkdir(name, 0700) == 0);
	CHECK(symlink(name, "next") == 0);
	CHECK(rename("next", "d") == 0);
}

static void child_watch_count(void)
{
	int probe;
	unsigned most = 0;

	watched = "d";
	change = swap_to_a_new_one;
	child_watch();
	probe = open("/dev/null", O_RDONLY);
	for (int fd = 3; fd < probe; fd++) {
		char path[64], target[64] = "";
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "inotify") &&
		    watches_of(fd) > most)
			most = watches_of(fd);
	}
	/* The directory it lies in and the one it leads to; not those of before. */
	CHECK(most == 2);
}

static void watches_of_old_directories_are_given_back(void **state)
{
	(void)state;
	in_child(child_watch_count);
}

static void elsewhere(struct server *server)
{
	put("other/f", "x");
	later(server, 0.06, raise_term);
}

static void child_elsewhere(void)
{
	struct server server;

	CHECK(mkdir("other", 0700) == 0 && mkdir("d", 0700) == 0);
	new_server(&server);
	CHECK(sp_service_on_change(server.service, "d/f", on_change, &server, NULL) == 0);
	later(&server, 0., elsewhere);
	CHECK(sp_service_run(server.service, NULL) == 0);
	CHECK(server.changed == 0);
}

static void changes_elsewhere_are_none(void **state)
{
	(void)state;
	in_child(child_elsewhere);
}

/* Where the service manager listens. */
static int manager_socket(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "notify"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	char path[256];

	CHECK(bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0);
	(void)snprintf(path, sizeof(path), "%s/notify", directory);
	CHECK(setenv("NOTIFY_SOCKET", path, 1) == 0);
	return fd;
}

/* The next thing it is told begins so; "": it is told nothing more. */
static bool told(int fd, const char *words)
{
	char text[64] = "";
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	return *words ? n > 0 && strncmp(text, words, strlen(words)) == 0 : n == -1;
}

static void reload_and_end(struct server *server)
{
	(void)server;
	(void)raise(SIGHUP);
	later(server, 0., raise_term);
}

static void child_notify(void)
{
	int fd = manager_socket();
	struct server server;

	new_server(&server);
	CHECK(sp_service_on_change(server.service, NULL, on_change, &server, NULL) == 0);
	later(&server, 0., reload_and_end);
	CHECK(sp_service_run(server.service, NULL) == 0);
	CHECK(told(fd, "READY=1"));
	CHECK(server.changed == 1);
	CHECK(told(fd, "RELOADING=1\nMONOTONIC_USEC="));
	CHECK(told(fd, "READY=1"));
	CHECK(told(fd, "STOPPING=1"));
	CHECK(told(fd, ""));
}

static void the_service_manager_is_told(void **state)
{
	(void)state;
	in_child(child_notify);
}

static int manager;

/* Ends when the loop has been heard twice. */
static void hear(struct server *server)
{
	server->changed += told(manager, "WATCHDOG=1");
	later(server, 0.002, server->changed == 2 ? raise_term : hear);
}

static void under_watchdog(const char *pid, double wait, void (*next)(struct server *server))
{
	struct server server;

	manager = manager_socket();
	CHECK(setenv("WATCHDOG_USEC", "30000", 1) == 0);
	CHECK(pid ? setenv("WATCHDOG_PID", pid, 1) == 0 : unsetenv("WATCHDOG_PID") == 0);
	new_server(&server);
	later(&server, wait, next);
	CHECK(sp_service_run(server.service, NULL) == 0);
}

static void child_watchdog(void)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", getpid());
	under_watchdog(pid, 0., hear);
}

static void child_watchdog_of_anybody(void)
{
	under_watchdog(NULL, 0., hear);
}

static void child_watchdog_of_another(void)
{
	under_watchdog("1", 0.05, raise_term);
	CHECK(told(manager, "READY=1"));
	CHECK(told(manager, "STOPPING=1"));
}

static void the_watchdog_hears_from_the_loop(void **state)
{
	(void)state;
	in_child(child_watchdog);
	in_child(child_watchdog_of_anybody);
	in_child(child_watchdog_of_another);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_socket_of_its_own_is_served_and_unlinked),
	    cmocka_unit_test(a_successors_socket_is_left_alone),
	    cmocka_unit_test(above_its_bound_accepting_pauses),
	    cmocka_unit_test(inherited_sockets_come_first_and_name_this_process),
	    cmocka_unit_test(sockets_for_another_process_are_not_taken),
	    cmocka_unit_test(a_count_out_of_bounds_is_an_error),
	    cmocka_unit_test(an_inherited_descriptor_must_listen),
	    cmocka_unit_test(tables_have_bounds),
	    cmocka_unit_test(sigterm_ends_it),
	    cmocka_unit_test(sigterm_asks_once_to_stop),
	    cmocka_unit_test(sighup_is_a_change_of_everything),
	    cmocka_unit_test(every_way_to_change_a_path_is_seen),
	    cmocka_unit_test(watches_of_old_directories_are_given_back),
	    cmocka_unit_test(changes_elsewhere_are_none),
	    cmocka_unit_test(the_service_manager_is_told),
	    cmocka_unit_test(the_watchdog_hears_from_the_loop),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
