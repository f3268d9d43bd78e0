/* Unix sockets by path: long ones, stale ones, living ones, and what is no socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/util.h"
#include "net/unix.h"

static char directory[64];

static int take_away(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	return remove(path);
}

static int setup(void **state)
{
	(void)state;
	(void)strcpy(directory, "/tmp/test-unix-XXXXXX");
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : nftw(directory, take_away, 8, FTW_DEPTH | FTW_PHYS);
}

static void talk(const char *path)
{
	sp_auto_fd int listener = -1, near = -1, far = -1;
	struct ucred peer;
	struct stat info;
	char byte;

	assert_int_equal(sp_unix_listen(path, 0620, &listener, NULL), 0);
	assert_int_equal(lstat(path, &info), 0);
	assert_true(S_ISSOCK(info.st_mode));
	assert_int_equal(info.st_mode & 07777, 0620);
	assert_int_equal(info.st_nlink, 1);
	assert_int_equal(sp_unix_connect(path, 1000, &near, NULL), 0);
	far = accept(listener, NULL, NULL);
	assert_true(far >= 0);
	assert_int_equal(write(near, "x", 1), 1);
	assert_int_equal(read(far, &byte, 1), 1);
	assert_int_equal(sp_unix_peer(near, &peer), 0);
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.uid, geteuid());
	assert_int_equal(fcntl(near, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(near, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(listener, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(listener, F_GETFL) & O_NONBLOCK);
}

/* Whole paths and file names around the 107 bytes of an address, relative and absolute. */
static void paths_of_every_length_work(void **state)
{
	char name[256], path[1024], deep[700] = "";
	mode_t mask = umask(077);

	(void)state;
	for (size_t length = 1; length <= 255; length = length < 60 ? length + 30 : length + 1) {
		memset(name, 'n', length);
		name[length] = '\0';
		talk(name);
		assert_int_equal(unlink(name), 0);
		(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
		talk(path);
		assert_int_equal(unlink(path), 0);
	}
	for (int i = 0; i < 3; i++) {
		size_t n = strlen(deep);
		(void)snprintf(deep + n, sizeof(deep) - n, "%s%.200s", i ? "/" : "", name);
		assert_int_equal(mkdir(deep, 0700), 0);
	}
	(void)snprintf(path, sizeof(path), "%s/%s", deep, "s.sock");
	talk(path);
	(void)umask(mask);
}

static int count_entries(void)
{
	int entries = 0;
	FILE *list = popen("ls -A | wc -l", "re");

	assert_non_null(list);
	assert_int_equal(fscanf(list, "%d", &entries), 1);
	assert_int_equal(pclose(list), 0);
	return entries;
}

static void stale_and_living(const char *path)
{
	struct sp_err err = {0};
	int first = -1, second = -1;
	char words[400];

	assert_int_equal(sp_unix_listen(path, 0600, &first, NULL), 0);
	assert_int_equal(sp_unix_listen(path, 0600, &second, &err), -EADDRINUSE);
	(void)snprintf(words, sizeof(words), "%s: another process listens there", path);
	assert_string_equal(err.message, words);
	assert_int_equal(second, -1);
	/* Stale now. */
	sp_fd_close(&first);
	assert_int_equal(sp_unix_connect(path, 1000, &second, &err), -ECONNREFUSED);
	(void)snprintf(words, sizeof(words), "%s: Connection refused", path);
	assert_string_equal(err.message, words);
	assert_int_equal(sp_unix_listen(path, 0600, &first, NULL), 0);
	assert_int_equal(sp_unix_connect(path, 1000, &second, NULL), 0);
	sp_fd_close(&first);
	sp_fd_close(&second);
	assert_int_equal(count_entries(), 1);
	assert_int_equal(unlink(path), 0);
}

static void a_stale_socket_is_replaced_a_living_one_not(void **state)
{
	char name[201];

	(void)state;
	stale_and_living("s");
	memset(name, 'n', 200);
	name[200] = '\0';
	stale_and_living(name);
}

static void what_is_no_socket_is_left_alone(void **state)
{
	struct sp_err err = {0};
	int fd = -1;

	(void)state;
	assert_int_equal(close(open("f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(symlink("s", "link"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	static const char *const names[] = {"f", "d", "link", "fifo"};
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		char words[64];
		assert_int_equal(sp_unix_listen(names[i], 0600, &fd, &err), -EEXIST);
		(void)snprintf(
		    words, sizeof(words), "%s: there is something that is no socket", names[i]);
		assert_string_equal(err.message, words);
	}
	assert_int_equal(count_entries(), 4);
}

static void a_datagram_socket_is_left_alone(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "dgram"};
	sp_auto_fd int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int fd = -1;

	(void)state;
	assert_int_equal(bind(other, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(sp_unix_listen("dgram", 0600, &fd, NULL), -EPROTOTYPE);
	assert_int_equal(sp_unix_connect("dgram", 1000, &fd, NULL), -EPROTOTYPE);
	assert_int_equal(access("dgram", F_OK), 0);
}

static void where_nothing_is_the_error_says_so(void **state)
{
	char name[300];
	struct sp_err err = {0};
	int fd = -77;

	(void)state;
	assert_int_equal(sp_unix_connect("absent", 1000, &fd, &err), -ENOENT);
	assert_string_equal(err.message, "absent: No such file or directory");
	assert_int_equal(sp_unix_connect("", 1000, &fd, &err), -EINVAL);
	assert_int_equal(sp_unix_listen("", 0600, &fd, &err), -EINVAL);
	assert_int_equal(sp_unix_listen("absent/s", 0600, &fd, &err), -ENOENT);
	memset(name, 'n', 200);
	name[200] = '\0';
	assert_int_equal(sp_unix_connect(name, 1000, &fd, &err), -ENOENT);
	(void)strcpy(name + 200, "/s");
	assert_int_equal(sp_unix_listen(name, 0600, &fd, &err), -ENOENT);
	memset(name, 'n', 256);
	name[256] = '\0';
	assert_int_equal(sp_unix_connect(name, 1000, &fd, &err), -ENAMETOOLONG);
	assert_int_equal(sp_unix_listen(name, 0600, &fd, &err), -ENAMETOOLONG);
	assert_int_equal(fd, -77);
	assert_int_equal(count_entries(), 0);
}

static void a_backlog_that_stays_full_is_a_time_out(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "s"};
	sp_auto_fd int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fds[8], used = 0, bad = 0;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(listener, 1), 0);
	while (used < 8 && (bad = sp_unix_connect("s", 10, &fds[used], NULL)) == 0)
		used++;
	assert_int_equal(bad, SP_E_TIMEOUT);
	/* Alive all the same. */
	assert_int_equal(sp_unix_listen("s", 0600, &fds[used], NULL), -EADDRINUSE);
	while (used > 0)
		(void)close(fds[--used]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(paths_of_every_length_work),
	    TEST(a_stale_socket_is_replaced_a_living_one_not),
	    TEST(what_is_no_socket_is_left_alone),
	    TEST(a_datagram_socket_is_left_alone),
	    TEST(where_nothing_is_the_error_says_so),
	    TEST(a_backlog_that_stays_full_is_a_time_out),
	};

	return cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
