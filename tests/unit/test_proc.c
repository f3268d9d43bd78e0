/* Pins on live processes, and the parsers of what procfs says. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attest/descriptors.h"
#include "attest/executable.h"
#include "attest/proc.h"
#include "base/util.h"

static void names_cannot_shift_the_fields_of_stat(void **unused)
{
	static const char tail[] =
	    " S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 17 0 12345 9 9 9 9 9 "
	    "140720000000000 0 0\n";
	static const char *const names[] = {"x", "a b", "a) S 9 9", "((", ") R 1 1", "a\nb"};
	struct sp_process_stat stat;
	char text[256];

	(void)unused;
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		(void)snprintf(text, sizeof(text), "77 (%s)%s", names[i], tail);
		assert_int_equal(sp_process_stat_parse(text, &stat), 0);
		assert_int_equal(stat.state, 'S');
		assert_int_equal(stat.flags, 4194560);
		assert_int_equal(stat.threads, 17);
		assert_int_equal(stat.start_time, 12345);
		assert_int_equal(stat.start_stack, 140720000000000);
	}
}

static void half_a_stat_is_refused(void **unused)
{
	static const char *const texts[] = {"", "1 (x", "1 (x)", "1 (x) ", "1 (x) S",
	    "1 (x) S 1 1 1",
	    "1 (x) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 x 0 12345 9 9 9 9 9 1"};
	struct sp_process_stat stat;

	(void)unused;
	for (size_t i = 0; i < SP_COUNT(texts); i++)
		assert_int_equal(sp_process_stat_parse(texts[i], &stat), -EPROTO);
}

static void status_gives_effective_ids_and_the_tracer(void **unused)
{
	struct sp_process_status status;

	(void)unused;
	assert_int_equal(
	    sp_process_status_parse(
		"Name:\tx\nTracerPid:\t12\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n", &status),
	    0);
	assert_int_equal(status.tracer, 12);
	assert_int_equal(status.uid, 2);
	assert_int_equal(status.gid, 6);
	assert_int_equal(
	    sp_process_status_parse("Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n", &status),
	    -EPROTO);
	assert_int_equal(
	    sp_process_status_parse("Name:\tTracerPid:\t0\nUid:\t1\t2\n", &status), -EPROTO);
}

static void only_socket_links_are_sockets(void **unused)
{
	static const struct {
		const char *link;
		uint32_t inode;
	} rows[] = {{"socket:[12]", 12}, {"socket:[4294967295]", UINT32_MAX},
	    {"socket:[4294967296]", 0}, {"socket:[0]", 0}, {"socket:[]", 0}, {"socket:[12", 0},
	    {"socket:[12]x", 0}, {"socket:[-1]", 0}, {"pipe:[12]", 0}, {"/socket:[12]", 0},
	    {"", 0}};

	(void)unused;
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		assert_int_equal(sp_descriptor_socket(rows[i].link), rows[i].inode);
}

/* A child that waits until its standard input ends. `more` may be NULL. */
static pid_t spawn(void (*more)(void), int *ret_release)
{
	int to[2], ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(to) | pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(to[1]);
		(void)dup2(to[0], 0);
		if (write(ready[1], "x", 1) < 0)
			_exit(1);
		(void)close(ready[0]);
		(void)close(ready[1]);
		if (more)
			more();
		if (read(0, &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	(void)close(to[0]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	*ret_release = to[1];
	return pid;
}

static void reap(pid_t pid, int release)
{
	(void)close(release);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void a_pin_tells_exit(void **unused)
{
	struct sp_process process = SP_PROCESS_NONE, again = SP_PROCESS_NONE;
	int release;
	pid_t pid = spawn(NULL, &release);

	(void)unused;
	assert_int_equal(sp_process_pin(pid, -1, &process), 0);
	assert_true(sp_process_alive(&process));
	assert_int_equal(sp_process_same_image(&process), 1);
	reap(pid, release);
	assert_false(sp_process_alive(&process));
	assert_int_equal(sp_process_same_image(&process), 0);
	assert_int_equal(sp_process_pin(pid, -1, &again), -ESRCH);
	assert_int_equal(again.pidfd, -1);
	sp_process_unpin(&process);
}

static void become_true(void)
{
	char byte;

	if (read(0, &byte, 1) < 0)
		_exit(1);
	(void)execl("/bin/sleep", "sleep", "60", NULL);
}

static void a_pin_tells_exec(void **unused)
{
	struct sp_process process = SP_PROCESS_NONE;
	struct sp_process_stat before, after;
	struct sp_executable first, second;
	int release;
	pid_t pid = spawn(become_true, &release);

	(void)unused;
	assert_int_equal(sp_process_pin(pid, -1, &process), 0);
	assert_int_equal(sp_process_read_stat(&process, &before), 0);
	assert_int_equal(sp_executable_read(&process, &first), 0);
	assert_int_equal(write(release, "x", 1), 1);
	/* exec is over when the old image has gone: that is what is tested. */
	for (int i = 0; i < 10000 && sp_process_same_image(&process) == 1; i++)
		(void)poll(NULL, 0, 1);
	assert_int_equal(sp_process_same_image(&process), 0);
	assert_true(sp_process_alive(&process));
	assert_int_equal(sp_process_read_stat(&process, &after), 0);
	assert_int_equal(sp_executable_read(&process, &second), 0);
	assert_int_equal(before.start_time, after.start_time);
	assert_int_not_equal(before.start_stack, after.start_stack);
	assert_false(sp_executable_equal(&first, &second));
	sp_process_unpin(&process);
	reap(pid, release);
}

static void *wait_for_end(void *unused)
{
	char byte;

	if (read(0, &byte, 1) < 0)
		_exit(1);
	_exit(0);
	return unused;
}

static void end_the_leader(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, wait_for_end, NULL);
	(void)syscall(SYS_exit, 0);
}

static void a_dead_leader_leaves_nothing_to_read(void **unused)
{
	struct sp_process process = SP_PROCESS_NONE;
	int release, code = 0;
	pid_t pid = spawn(end_the_leader, &release);

	(void)unused;
	for (int i = 0; i < 10000 && code == 0; i++) {
		code = sp_process_pin(pid, -1, &process);
		if (code == 0)
			sp_process_unpin(&process);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(code, -ENODATA);
	reap(pid, release);
}

/* So much that giving it back takes a while, in which the process is neither here nor gone. */
static void take_memory(void)
{
	size_t size = 64u << 20;
	char *memory = malloc(size);

	if (memory)
		memset(memory, 1, size);
	__asm__ volatile("" : : "r"(memory) : "memory");
	if (write(1, "x", 1) != 1)
		_exit(1);
}

/* What a pin of a process that is being killed comes to, in the end. */
static int end_of_a_killed_one(void)
{
	struct sp_process process = SP_PROCESS_NONE;
	int code = 0, took[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(took), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(took[1], 1);
		take_memory();
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(took[0], &byte, 1), 1);
	(void)kill(pid, SIGKILL);
	while (code == 0) {
		code = sp_process_pin(pid, -1, &process);
		if (code == 0)
			sp_process_unpin(&process);
	}
	(void)waitpid(pid, NULL, 0);
	(void)close(took[0]);
	(void)close(took[1]);
	return code;
}

/* On a machine that is too busy to end it in time once, it is tried again. */
static void one_that_is_ending_has_exited(void **unused)
{
	int code = end_of_a_killed_one();

	(void)unused;
	for (int i = 0; i < 20 && code == -ENODATA; i++)
		code = end_of_a_killed_one();
	assert_int_equal(code, -ESRCH);
}

static void add_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		(void)pthread_create(&thread, NULL, wait_for_end, NULL);
}

static void a_tracer_of_any_thread_is_found(void **unused)
{
	struct sp_process process = SP_PROCESS_NONE;
	struct sp_process_stat stat = {0};
	pid_t tracer = -1, last = 0;
	int release;
	pid_t pid = spawn(add_threads, &release);
	char path[64];

	(void)unused;
	assert_int_equal(sp_process_pin(pid, -1, &process), 0);
	for (int i = 0; i < 10000 && stat.threads != 4; i++) {
		assert_int_equal(sp_process_read_stat(&process, &stat), 0);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(sp_process_tracer(&process, stat.threads, &tracer), 0);
	assert_int_equal(tracer, 0);
	for (last = pid + 1; last < pid + 1000; last++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)last);
		if (access(path, F_OK) == 0)
			break;
	}
	assert_int_equal(ptrace(PTRACE_SEIZE, last, NULL, NULL), 0);
	assert_int_equal(sp_process_tracer(&process, stat.threads, &tracer), 0);
	assert_int_equal(tracer, getpid());
	sp_process_unpin(&process);
	/* The traced thread has to be reaped before its leader can be. */
	(void)kill(pid, SIGKILL);
	(void)waitpid(last, NULL, __WALL);
	reap(pid, release);
}

static void descriptors_are_found_where_they_are(void **unused)
{
	struct sp_process self = SP_PROCESS_NONE;
	int pairs[20][2], number = -1;
	char link[64];
	uint32_t inodes[20];

	(void)unused;
	assert_int_equal(sp_process_pin(getpid(), -1, &self), 0);
	for (int i = 0; i < 20; i++) {
		char path[64];
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", pairs[i][0]);
		ssize_t n = readlink(path, link, sizeof(link) - 1);
		assert_true(n > 0);
		link[n] = '\0';
		inodes[i] = sp_descriptor_socket(link);
		assert_int_not_equal(inodes[i], 0);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 19; i >= 0; i--) {
			assert_int_equal(sp_descriptor_find(&self, inodes[i], round ? 1 : -1,
					     SP_DESCRIPTOR_ACCEPTED, &number),
			    0);
			assert_int_equal(number, pairs[i][0]);
		}
	(void)close(pairs[5][0]);
	assert_int_equal(
	    sp_descriptor_find(&self, inodes[5], pairs[5][0], SP_DESCRIPTOR_ACCEPTED, &number),
	    -ENOENT);
	for (int i = 0; i < 20; i++) {
		(void)close(pairs[i][1]);
		if (i != 5)
			(void)close(pairs[i][0]);
	}
	sp_process_unpin(&self);
}

static uint32_t inode_of(int fd)
{
	struct stat info;

	assert_int_equal(fstat(fd, &info), 0);
	return (uint32_t)info.st_ino;
}

/* A number that was closed is looked at first, and believed only for what is there now. */
static void freed_descriptors_are_found_again(void **unused)
{
	enum { COUNT = 60 };
	struct sp_process self = SP_PROCESS_NONE;
	int fds[COUNT], number = -1;
	uint32_t gone;

	(void)unused;
	assert_int_equal(sp_process_pin(getpid(), -1, &self), 0);
	for (int i = 0; i < COUNT; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(sp_descriptor_find(
				     &self, inode_of(fds[i]), -1, SP_DESCRIPTOR_ACCEPTED, &number),
		    0);
		assert_int_equal(number, fds[i]);
	}
	/* More than are remembered. */
	for (int i = COUNT - 1; i >= 0; i -= 2) {
		gone = inode_of(fds[i]);
		sp_descriptor_freed(&self, fds[i]);
		(void)close(fds[i]);
		assert_int_equal(
		    sp_descriptor_find(&self, gone, fds[i], SP_DESCRIPTOR_ACCEPTED, &number),
		    -ENOENT);
	}
	/* The lowest of them becomes something else than a socket. */
	fds[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 3; i < COUNT; i += 2) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(sp_descriptor_find(
				     &self, inode_of(fds[i]), -1, SP_DESCRIPTOR_ACCEPTED, &number),
		    0);
		assert_int_equal(number, fds[i]);
	}
	assert_int_equal(
	    sp_descriptor_find(&self, 0, fds[1], SP_DESCRIPTOR_ACCEPTED, &number), -ENOENT);
	for (int i = 0; i < COUNT; i++)
		(void)close(fds[i]);
	sp_process_unpin(&self);
}

static void hashes_follow_the_bytes(void **unused)
{
	struct sp_process self = SP_PROCESS_NONE;
	struct sp_executable tuple, moved;
	uint8_t first[SP_EXECUTABLE_HASH], second[SP_EXECUTABLE_HASH];

	(void)unused;
	assert_int_equal(sp_process_pin(getpid(), -1, &self), 0);
	assert_int_equal(sp_executable_read(&self, &tuple), 0);
	assert_int_equal(sp_executable_hash(&self, &tuple, first), 0);
	assert_int_equal(sp_executable_hash(&self, &tuple, second), 0);
	assert_memory_equal(first, second, sizeof(first));
	moved = tuple;
	moved.ctime.nanoseconds ^= 1;
	assert_int_equal(sp_executable_hash(&self, &moved, second), -EAGAIN);
	sp_process_unpin(&self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_cannot_shift_the_fields_of_stat),
	    cmocka_unit_test(half_a_stat_is_refused),
	    cmocka_unit_test(status_gives_effective_ids_and_the_tracer),
	    cmocka_unit_test(only_socket_links_are_sockets),
	    cmocka_unit_test(a_pin_tells_exit),
	    cmocka_unit_test(a_pin_tells_exec),
	    cmocka_unit_test(a_dead_leader_leaves_nothing_to_read),
	    cmocka_unit_test(one_that_is_ending_has_exited),
	    cmocka_unit_test(a_tracer_of_any_thread_is_found),
	    cmocka_unit_test(descriptors_are_found_where_they_are),
	    cmocka_unit_test(freed_descriptors_are_found_again),
	    cmocka_unit_test(hashes_follow_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
