/* A path is watched where this user has no inotify instance, or no inotify watch, left. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "net/watch.h"
#include "scratch.h"

#define QUIET 0.25 /* seconds in which nothing may happen */
#define LIMIT 60.0 /* in which something must */

static bool no_instance;
static struct ev_loop *loop;
static struct sp_watch *watch;
static unsigned calls;

int inotify_init1(int flags)
{
	if (!no_instance)
		return (int)syscall(SYS_inotify_init1, flags);
	errno = EMFILE;
	return -1;
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	(void)fd;
	(void)path;
	(void)mask;
	errno = ENOSPC;
	return -1;
}

static void on_change(void *context)
{
	(void)context;
	calls++;
	ev_break(loop, EVBREAK_ALL);
}

static void on_time(struct ev_loop *on, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(on, EVBREAK_ALL);
}

/* Was it called within so many seconds? */
static bool called_within(double seconds)
{
	unsigned before = calls;
	ev_timer timer;

	ev_timer_init(&timer, on_time, seconds, 0.);
	ev_timer_start(loop, &timer);
	(void)ev_run(loop, 0);
	ev_timer_stop(loop, &timer);
	return calls > before;
}

/* A change may be told twice; then there is quiet. */
static void quiet(void)
{
	while (called_within(QUIET))
		;
}

static void is_noticed(void)
{
	assert_true(called_within(LIMIT));
	quiet();
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(scratch_path(name), "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void move(const char *from, const char *to)
{
	char old[4096];

	(void)snprintf(old, sizeof(old), "%s", scratch_path(from));
	assert_int_equal(rename(old, scratch_path(to)), 0);
}

static void start(const char *name)
{
	loop = ev_loop_new(EVFLAG_AUTO);
	assert_int_equal(sp_watch_new(loop, scratch_path(name), on_change, NULL, &watch, NULL), 0);
	quiet();
}

static void stop(void)
{
	sp_watch_free(watch);
	ev_loop_destroy(loop);
}

static void a_file_that_comes_changes_is_replaced_and_goes_is_noticed(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		no_instance = i == 0;
		start("file");
		put("file", "one");
		is_noticed();
		put("file", "two");
		is_noticed();
		put("aside", "two");
		quiet();
		move("aside", "file");
		is_noticed();
		assert_int_equal(unlink(scratch_path("file")), 0);
		is_noticed();
		stop();
	}
}

/* As a bundle is installed. */
static void what_is_replaced_in_a_directory_is_noticed(void **state)
{
	(void)state;
	no_instance = true;
	assert_int_equal(mkdir(scratch_path("keys"), 0700), 0);
	start("keys");
	put("keys/manifest", "one");
	is_noticed();
	put("keys/aside", "two");
	quiet();
	move("keys/aside", "keys/manifest");
	is_noticed();
	stop();
}

/* As Kubernetes renews what it mounts. */
static void a_link_that_is_swapped_on_the_way_is_noticed(void **state)
{
	(void)state;
	no_instance = true;
	assert_int_equal(mkdir(scratch_path("1"), 0700), 0);
	assert_int_equal(mkdir(scratch_path("2"), 0700), 0);
	put("1/file", "one");
	put("2/file", "two");
	assert_int_equal(symlink("1", scratch_path("now")), 0);
	start("now/file");
	assert_int_equal(symlink("2", scratch_path("next")), 0);
	move("next", "now");
	is_noticed();
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    test_in_scratch(a_file_that_comes_changes_is_replaced_and_goes_is_noticed),
	    test_in_scratch(what_is_replaced_in_a_directory_is_noticed),
	    test_in_scratch(a_link_that_is_swapped_on_the_way_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
