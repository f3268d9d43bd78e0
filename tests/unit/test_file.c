/* Whole files: what is read at all, what is kept whole when a write fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/util.h"

static char directory[64];
static int at = -1;

static int setup(void **state)
{
	(void)state;
	(void)strcpy(directory, "/tmp/test-file-XXXXXX");
	if (!mkdtemp(directory) || chdir(directory) < 0)
		return -1;
	at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return at < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"f", "f.new", "link", "fifo", "sock", "other"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(names); i++)
		(void)unlinkat(at, names[i], 0);
	(void)rmdir("a/b/c");
	(void)rmdir("a/b");
	(void)rmdir("a");
	sp_fd_close(&at);
	return chdir("/") < 0 ? -1 : rmdir(directory);
}

static void put(const char *name, mode_t mode, const char *text)
{
	assert_int_equal(sp_file_create(at, name, mode, text, strlen(text), NULL), 0);
}

static void check(const char *name, const char *text)
{
	sp_auto_free char *data = NULL;
	size_t size = 0;

	assert_int_equal(sp_file_read(at, name, 0, 4096, &data, &size, NULL), 0);
	assert_int_equal(size, strlen(text));
	assert_string_equal(data, text);
}

static mode_t mode_of(const char *name)
{
	struct stat info;

	assert_int_equal(fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW), 0);
	return info.st_mode & 07777;
}

static void a_file_is_read_up_to_its_bound(void **state)
{
	char *data = NULL;
	size_t size = 77;
	struct sp_err err = {0};

	(void)state;
	put("f", 0600, "12345");
	assert_int_equal(sp_file_read(at, "f", 0, 4, &data, &size, &err), SP_E_TOO_LARGE);
	assert_string_equal(err.message, "f: larger than 4 bytes");
	assert_null(data);
	assert_int_equal(size, 77);
	assert_int_equal(sp_file_read(at, "f", 0, 5, &data, &size, &err), 0);
	assert_int_equal(size, 5);
	assert_string_equal(data, "12345");
	sp_secret_free(data, size);
	sp_secret_free(NULL, 0);
}

static void an_empty_file_and_one_of_procfs_are_read(void **state)
{
	sp_auto_free char *data = NULL;
	size_t size = 77;

	(void)state;
	put("f", 0600, "");
	check("f", "");
	assert_int_equal(sp_file_read(AT_FDCWD, "/proc/self/comm", 0, 64, &data, &size, NULL), 0);
	assert_string_equal(data, "test_file\n");
}

static void only_regular_files_are_read(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "sock"};
	sp_auto_fd int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const struct {
		const char *path;
		int code;
	} cases[] = {
	    {"fifo", -EINVAL},
	    {"sock", -ENXIO},
	    {".", -EINVAL},
	    {"/dev/null", -EINVAL},
	    {"/dev/zero", -EINVAL},
	    {"absent", -ENOENT},
	};
	int fd = -77;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		assert_int_equal(sp_file_open(at, cases[i].path, 0, &fd, NULL), cases[i].code);
		assert_int_equal(fd, -77);
	}
}

static void a_secret_is_ours_alone(void **state)
{
	static const mode_t bad[] = {0644, 0640, 0604, 0660, 0610, 0601, 0700 | 077};
	struct sp_err err = {0};
	char words[SP_ERR_MAX];
	int fd = -1;

	(void)state;
	put("f", 0600, "k4.secret.x");
	assert_int_equal(sp_file_open(at, "f", SP_FILE_SECRET, &fd, &err), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	sp_fd_close(&fd);
	for (size_t i = 0; i < SP_COUNT(bad); i++) {
		assert_int_equal(chmod("f", bad[i]), 0);
		assert_int_equal(sp_file_open(at, "f", SP_FILE_SECRET, &fd, &err), SP_E_BAD_KEY);
		(void)snprintf(words, sizeof(words),
		    "f: mode %04o lets others read a secret; run: chmod 600 f", (unsigned)bad[i]);
		assert_string_equal(err.message, words);
	}
	assert_int_equal(sp_file_open(at, "f", 0, &fd, &err), 0);
	sp_fd_close(&fd);
}

/* Who is not root sees another user's secret only with a capability, as a bridge has it. */
static bool become_with_override(uid_t uid)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	data[0].effective = data[0].permitted = 1u << CAP_DAC_OVERRIDE;
	return prctl(PR_SET_KEEPCAPS, 1) == 0 && setresuid(uid, uid, uid) == 0 &&
	       syscall(SYS_capset, &header, data) == 0;
}

static int open_as(uid_t uid)
{
	struct sp_err err = {0};
	int fd = -1;

	if (!become_with_override(uid))
		return 1;
	if (sp_file_open(at, "f", SP_FILE_SECRET, &fd, &err) != SP_E_BAD_KEY)
		return 2;
	return strcmp(err.message, "f: a secret of another user (uid 65534)") == 0 ? 0 : 3;
}

static void a_secret_of_another_user_is_for_root_alone(void **state)
{
	int fd = -1, status = -1;
	pid_t child;

	(void)state;
	put("f", 0600, "k4.secret.x");
	if (chown("f", 65534, 65534) < 0)
		return; /* needs root; then the open itself is what refuses */
	assert_int_equal(sp_file_open(at, "f", SP_FILE_SECRET, &fd, NULL), 0);
	sp_fd_close(&fd);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(open_as(65533));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_symlink_at_the_end_is_followed_only_when_it_may_be(void **state)
{
	int fd = -1;

	(void)state;
	put("f", 0600, "x");
	assert_int_equal(symlink("f", "link"), 0);
	assert_int_equal(sp_file_open(at, "link", 0, &fd, NULL), 0);
	sp_fd_close(&fd);
	assert_int_equal(sp_file_open(at, "link", SP_FILE_NOFOLLOW, &fd, NULL), -ELOOP);
	assert_int_equal(sp_file_open(at, "link", SP_FILE_SECRET, &fd, NULL), -ELOOP);
}

static void a_new_file_replaces_nothing(void **state)
{
	struct sp_err err = {0};
	mode_t mask = umask(077);

	(void)state;
	put("f", 0644, "old");
	(void)umask(mask);
	assert_int_equal(mode_of("f"), 0644);
	assert_int_equal(sp_file_create(at, "f", 0600, "new", 3, &err), -EEXIST);
	check("f", "old");
	assert_int_equal(symlink("other", "link"), 0);
	assert_int_equal(sp_file_create(at, "link", 0600, "new", 3, &err), -EEXIST);
	assert_int_equal(access("other", F_OK), -1);
}

static void a_replacement_is_whole(void **state)
{
	(void)state;
	put("f", 0600, "old");
	assert_int_equal(sp_file_replace(at, "f", 0640, "new", 3, NULL), 0);
	check("f", "new");
	assert_int_equal(mode_of("f"), 0640);
	assert_int_equal(faccessat(at, "f.new", F_OK, 0), -1);
	assert_int_equal(sp_file_replace(at, "other", 0600, "x", 1, NULL), 0);
	check("other", "x");
}

/* What a crash, or somebody else, left aside is no way into another file, and does not block. */
static void what_lies_aside_is_taken_away(void **state)
{
	(void)state;
	put("f", 0600, "old");
	put("other", 0600, "precious");
	assert_int_equal(symlink("other", "f.new"), 0);
	assert_int_equal(sp_file_replace(at, "f", 0600, "1", 1, NULL), 0);
	check("f", "1");
	assert_int_equal(link("other", "f.new"), 0);
	assert_int_equal(sp_file_replace(at, "f", 0600, "2", 1, NULL), 0);
	check("f", "2");
	assert_int_equal(mkfifo("f.new", 0600), 0);
	assert_int_equal(sp_file_replace(at, "f", 0600, "3", 1, NULL), 0);
	check("f", "3");
	assert_int_equal(mode_of("f"), 0600);
	put("f.new", 0666, "torn");
	assert_int_equal(sp_file_replace(at, "f", 0600, "4", 1, NULL), 0);
	assert_int_equal(mode_of("f"), 0600);
	check("other", "precious");
}

/* A full disk, played by the file size limit: the old content stays, nothing lies aside. */
static void a_write_that_fails_leaves_the_old_file(void **state)
{
	struct rlimit before, tight = {2, 2};
	struct sp_err err = {0};
	int replaced, created;

	(void)state;
	put("f", 0600, "old");
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	tight.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	replaced = sp_file_replace(at, "f", 0600, "longer", 6, &err);
	created = sp_file_create(at, "other", 0600, "longer", 6, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(replaced, -EFBIG);
	assert_string_equal(err.message, "f.new: File too large");
	assert_int_equal(created, -EFBIG);
	check("f", "old");
	assert_int_equal(faccessat(at, "f.new", F_OK, 0), -1);
	assert_int_equal(faccessat(at, "other", F_OK, 0), -1);
}

static void directories_are_made_with_their_mode(void **state)
{
	mode_t mask = umask(077);

	(void)state;
	assert_int_equal(sp_directory_make("a/b//c/", 0750, NULL), 0);
	(void)umask(mask);
	assert_int_equal(mode_of("a"), 0750);
	assert_int_equal(mode_of("a/b/c"), 0750);
	assert_int_equal(chmod("a/b/c", 0700), 0);
	assert_int_equal(sp_directory_make("a/b/c", 0750, NULL), 0);
	assert_int_equal(mode_of("a/b/c"), 0700);
	assert_int_equal(sp_directory_make("/", 0750, NULL), 0);
	assert_int_equal(sp_directory_make("", 0750, NULL), -ENAMETOOLONG);
}

static void a_file_is_no_directory(void **state)
{
	struct sp_err err = {0};

	(void)state;
	put("f", 0600, "");
	assert_int_equal(sp_directory_make("f", 0750, &err), -ENOTDIR);
	assert_string_equal(err.message, "f: Not a directory");
	assert_int_equal(sp_directory_make("f/below", 0750, &err), -ENOTDIR);
	assert_int_equal(symlink("absent", "link"), 0);
	assert_int_equal(sp_directory_make("link", 0750, &err), -ENOENT);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(symlink(".", "link"), 0);
	assert_int_equal(sp_directory_make("link", 0750, &err), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_file_is_read_up_to_its_bound),
	    TEST(an_empty_file_and_one_of_procfs_are_read),
	    TEST(only_regular_files_are_read),
	    TEST(a_secret_is_ours_alone),
	    TEST(a_secret_of_another_user_is_for_root_alone),
	    TEST(a_symlink_at_the_end_is_followed_only_when_it_may_be),
	    TEST(a_new_file_replaces_nothing),
	    TEST(a_replacement_is_whole),
	    TEST(what_lies_aside_is_taken_away),
	    TEST(a_write_that_fails_leaves_the_old_file),
	    TEST(directories_are_made_with_their_mode),
	    TEST(a_file_is_no_directory),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
