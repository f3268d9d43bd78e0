/* Paths inside a root: every known way out really tried, and what a place is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/util.h"
#include "guest/path.h"

/* base/secret lies outside of base/root. */
static char base[64];
static int root = -1;

static void run(const char *command)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "cd %s && %s", base, command);
	assert_int_equal(system(line), 0);
}

static int setup(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/sp-path-XXXXXX");
	assert_non_null(mkdtemp(base));
	run("mkdir -p root/a/b root/etc && echo outside >secret && echo inside >root/secret &&"
	    "echo name >root/etc/hostname && mkdir outside && echo far >outside/far");
	root = open(base, O_PATH | O_DIRECTORY);
	assert_true(root >= 0);
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/root", base);
	(void)close(root);
	assert_int_equal(sp_root_open(path, &root, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	char line[128];

	(void)state;
	(void)close(root);
	(void)snprintf(line, sizeof(line), "rm -rf %s", base);
	return system(line);
}

/* The first bytes of what a path leads to, or "!" and the error. */
static const char *look(const char *path)
{
	static char text[64];
	int fd = -1, bad = sp_root_resolve(root, path, O_RDONLY | O_NONBLOCK, 0, &fd);

	if (bad) {
		(void)snprintf(text, sizeof(text), "!%s", strerror(-bad));
		return text;
	}
	ssize_t n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void dots_stay_inside(void **state)
{
	(void)state;
	assert_string_equal(look("secret"), "inside\n");
	assert_string_equal(look("/secret"), "inside\n");
	assert_string_equal(look("../secret"), "inside\n");
	assert_string_equal(look("/../../../../secret"), "inside\n");
	assert_string_equal(look("a/b/../../../secret"), "inside\n");
	assert_string_equal(look("../outside/far"), "!No such file or directory");
	assert_string_equal(
	    look("a/b/../../../../../../outside/far"), "!No such file or directory");
}

static void symlinks_stay_inside(void **state)
{
	char command[300];
	(void)state;

	run("ln -s ../../secret root/a/up && ln -s /secret root/a/top && ln -s .. root/a/parent");
	(void)snprintf(command, sizeof(command),
	    "ln -s %s/secret root/a/whole && ln -s %s/outside root/a/dir && ln -s / root/a/slash",
	    base, base);
	run(command);
	assert_string_equal(look("a/up"), "inside\n");
	assert_string_equal(look("a/top"), "inside\n");
	assert_string_equal(look("a/slash/secret"), "inside\n");
	assert_string_equal(look("a/parent/../../secret"), "inside\n");
	assert_string_equal(look("a/whole"), "!No such file or directory");
	assert_string_equal(look("a/dir/far"), "!No such file or directory");
	run("ln -s loop root/loop");
	assert_string_equal(look("loop"), "!Too many levels of symbolic links");
}

static void magic_links_are_refused(void **state)
{
	int proc = -1, fd = -1, slash = -1;
	char link[64];
	(void)state;

	/* With "/" as root, as in a guest: /proc/self/root and the like would lead anywhere. */
	assert_int_equal(sp_root_open("/", &slash, NULL), 0);
	assert_int_equal(sp_root_resolve(slash, "/proc/self/root/etc", O_RDONLY, 0, &fd), -ELOOP);
	assert_int_equal(sp_root_resolve(slash, "/proc/self/cwd", O_RDONLY, 0, &fd), -ELOOP);
	assert_int_equal(sp_root_resolve(slash, "/proc/self/exe", O_RDONLY, 0, &fd), -ELOOP);
	proc = open(base, O_PATH);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d/secret", proc);
	assert_int_equal(sp_root_resolve(slash, link, O_RDONLY, 0, &fd), -ELOOP);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", proc);
	struct sp_place place = {.directory = -1};
	assert_int_equal(sp_place_follow(slash, link, &place), -ELOOP);
	(void)close(proc);
	(void)close(slash);
	assert_int_equal(fd, -1);
	assert_int_equal(place.directory, -1);
}

/* A process that moves a directory in and out of the root while `..` is resolved below it: not once
 * may the walk end outside. Many steps down and up again make the moment a long one. */
static void renames_do_not_open_a_way_out(void **state)
{
	pid_t mover;
	unsigned inside = 0;
	char here[128], there[128], path[1024] = "a/b";
	(void)state;

	run("mkdir -p root/a/b/$(printf 'd/%.0s' $(seq 100))");
	for (int i = 0; i < 100; i++)
		strcat(path, "/d");
	for (int i = 0; i < 100; i++)
		strcat(path, "/..");
	strcat(path, "/../../secret");
	(void)snprintf(here, sizeof(here), "%s/root/a/b", base);
	(void)snprintf(there, sizeof(there), "%s/outside/b", base);
	mover = fork();
	if (mover == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		for (;;) {
			(void)rename(here, there);
			(void)rename(there, here);
		}
	for (int i = 0; i < 20000; i++) {
		const char *seen = look(path);
		assert_string_not_equal(seen, "outside\n");
		inside += strcmp(seen, "inside\n") == 0;
	}
	(void)kill(mover, SIGKILL);
	(void)waitpid(mover, NULL, 0);
	(void)rename(there, here);
	assert_true(inside > 0);
}

static void a_place_is_directory_and_name(void **state)
{
	static const struct {
		const char *path;
		int code;
		const char *name;
		bool slash;
	} rows[] = {
	    {"secret", 0, "secret", false},
	    {"/secret", 0, "secret", false},
	    {"///a///b", 0, "b", false},
	    {"a/b/", 0, "b", true},
	    {"a/b//", 0, "b", true},
	    {"../new", 0, "new", false},
	    {"a/../new", 0, "new", false},
	    {"", -ENOENT, NULL, false},
	    {"/", -EBUSY, NULL, false},
	    {"///", -EBUSY, NULL, false},
	    {".", -EINVAL, NULL, false},
	    {"..", -EINVAL, NULL, false},
	    {"a/..", -EINVAL, NULL, false},
	    {"a/./", -EINVAL, NULL, false},
	    {"none/new", -ENOENT, NULL, false},
	    {"secret/new", -ENOTDIR, NULL, false},
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_place place = {.directory = -1};
		assert_int_equal(sp_place_find(root, rows[i].path, &place), rows[i].code);
		if (rows[i].code == 0) {
			assert_string_equal(place.name, rows[i].name);
			assert_int_equal(place.slash, rows[i].slash);
		} else {
			assert_int_equal(place.directory, -1);
		}
		sp_place_done(&place);
	}
}

static void long_paths_are_refused(void **state)
{
	char path[PATH_MAX + 300];
	struct sp_place place = {.directory = -1};
	(void)state;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(sp_place_find(root, path, &place), -ENAMETOOLONG);
	assert_int_equal(sp_place_follow(root, path, &place), -ENAMETOOLONG);
	path[NAME_MAX + 1] = '\0';
	assert_int_equal(sp_place_find(root, path, &place), -ENAMETOOLONG);
	path[NAME_MAX] = '\0';
	assert_int_equal(sp_place_find(root, path, &place), 0);
	sp_place_done(&place);
}

static ino_t place_inode(const struct sp_place *place)
{
	struct stat info;

	assert_int_equal(fstat(place->directory, &info), 0);
	return info.st_ino;
}

static void following_ends_inside(void **state)
{
	struct sp_place place = {.directory = -1};
	struct stat top;
	char path[128];
	(void)state;

	(void)snprintf(path, sizeof(path), "%s/root", base);
	assert_int_equal(stat(path, &top), 0);
	run("ln -s ../../../secret root/etc/link && ln -s /fresh root/etc/dangling &&"
	    "ln -s dangling root/etc/twice && ln -s self root/etc/self");
	assert_int_equal(sp_place_follow(root, "etc/link", &place), 0);
	assert_string_equal(place.name, "secret");
	assert_int_equal(place_inode(&place), top.st_ino);
	sp_place_done(&place);
	assert_int_equal(sp_place_follow(root, "etc/twice", &place), 0);
	assert_string_equal(place.name, "fresh");
	assert_int_equal(place_inode(&place), top.st_ino);
	sp_place_done(&place);
	assert_int_equal(sp_place_follow(root, "etc/self", &place), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(dots_stay_inside, setup, teardown),
	    cmocka_unit_test_setup_teardown(symlinks_stay_inside, setup, teardown),
	    cmocka_unit_test_setup_teardown(magic_links_are_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(renames_do_not_open_a_way_out, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_place_is_directory_and_name, setup, teardown),
	    cmocka_unit_test_setup_teardown(long_paths_are_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(following_ends_inside, setup, teardown),
	};

	return cmocka_run_group_tests_name("guest_path", tests, NULL, NULL);
}
