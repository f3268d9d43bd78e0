/* The journal of used jtis: nothing that was acknowledged is ever forgotten, whatever ends the
 * process and wherever a write is torn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/text.h"
#include "base/util.h"
#include "scratch.h"
#include "token/capability.h"
#include "token/journal.h"

#define NOW  1796000000
#define SLOT 64

/* The n-th of endlessly many jtis. */
static const char *jti(unsigned n)
{
	static char text[SP_JTI_SIZE];
	unsigned char bytes[16] = "journal test";

	memcpy(bytes + 12, &n, sizeof(n));
	sp_base64_encode(bytes, sizeof(bytes), true, text, sizeof(text));
	return text;
}

static struct sp_journal *open_journal(void)
{
	struct sp_journal *journal = NULL;
	struct sp_err err = {0};

	if (sp_journal_open(scratch_path("used"), &journal, &err) < 0)
		fail_msg("%s", err.message);
	return journal;
}

static int use(struct sp_journal *journal, unsigned n, int64_t expires_at, int64_t now)
{
	return sp_journal_use(journal, jti(n), expires_at, now, NULL);
}

static void a_jti_is_used_once(void **state)
{
	struct sp_journal *journal = open_journal();
	struct sp_err err = {0};

	(void)state;
	assert_false(sp_journal_used(journal, jti(1)));
	assert_int_equal(use(journal, 1, NOW + 120, NOW), 0);
	assert_true(sp_journal_used(journal, jti(1)));
	assert_false(sp_journal_used(journal, jti(2)));
	assert_int_equal(sp_journal_use(journal, jti(1), NOW + 120, NOW, &err), SP_E_CONFLICT);
	assert_non_null(strstr(err.message, "used before"));
	sp_journal_close(journal);
}

static void what_is_no_jti_counts_as_used_and_is_not_taken(void **state)
{
	static const char *const texts[] = {
	    "", "x", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAAAA=="};
	struct sp_journal *journal = open_journal();

	(void)state;
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		assert_true(sp_journal_used(journal, texts[i]));
		assert_int_equal(
		    sp_journal_use(journal, texts[i], NOW + 120, NOW, NULL), SP_E_BAD_RECORD);
	}
	assert_int_equal(use(journal, 1, 0, NOW), SP_E_BAD_RECORD);
	sp_journal_close(journal);
}

static void it_survives_being_opened_again(void **state)
{
	struct sp_journal *journal = open_journal();

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(use(journal, i, NOW + 120, NOW + i), 0);
	sp_journal_close(journal);
	journal = open_journal();
	for (unsigned i = 0; i < 100; i++)
		assert_true(sp_journal_used(journal, jti(i)));
	assert_false(sp_journal_used(journal, jti(100)));
	assert_int_equal(sp_journal_floor(journal), NOW + 99);
	sp_journal_close(journal);
}

static void two_processes_cannot_hold_it(void **state)
{
	struct sp_journal *journal = open_journal(), *second = NULL;
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(sp_journal_open(scratch_path("used"), &second, &err), SP_E_CONFLICT);
	assert_non_null(strstr(err.message, "another process"));
	assert_null(second);
	sp_journal_close(journal);
	journal = open_journal();
	sp_journal_close(journal);
}

/* A clock set back does not lower the time of acceptance. */
static void the_floor_never_falls(void **state)
{
	struct sp_journal *journal = open_journal();

	(void)state;
	assert_int_equal(sp_journal_floor(journal), 0);
	assert_int_equal(use(journal, 1, NOW + 120, NOW), 0);
	assert_int_equal(use(journal, 2, NOW + 120, NOW - 3600), 0);
	assert_int_equal(sp_journal_floor(journal), NOW);
	sp_journal_close(journal);
	journal = open_journal();
	assert_int_equal(sp_journal_floor(journal), NOW);
	sp_journal_close(journal);
}

static off_t file_size(void)
{
	struct stat info;

	assert_int_equal(stat(scratch_path("used/journal"), &info), 0);
	return info.st_size;
}

/* Entries go only once they have expired with the skew, and the floor is then above them for good,
 * also after a restart. */
static void compaction_drops_only_what_has_expired(void **state)
{
	struct sp_journal *journal = open_journal();
	unsigned slots = (unsigned)(file_size() / SLOT), n = 0;
	int64_t later = NOW + 120 + SP_SKEW_MAX;

	(void)state;
	/* Fill the file, one entry of it long-lived; then need one slot more. */
	assert_int_equal(use(journal, n++, NOW + 500, NOW), 0);
	while (n < slots - 1)
		assert_int_equal(sp_journal_put(journal, jti(n++), NOW + 120, NOW, NULL), 0);
	assert_int_equal(sp_journal_commit(journal, NULL), 0);
	assert_int_equal(use(journal, n, NOW + 500, later - 1), 0);
	assert_true(file_size() > slots * SLOT);
	assert_true(sp_journal_used(journal, jti(1)));
	unsigned grown = (unsigned)(file_size() / SLOT);
	for (n++; n < grown - 1; n++)
		assert_int_equal(sp_journal_put(journal, jti(n), NOW + 500, later, NULL), 0);
	assert_int_equal(use(journal, n, NOW + 500, later), 0);
	assert_false(sp_journal_used(journal, jti(1)));
	assert_true(sp_journal_used(journal, jti(0)));
	assert_true(sp_journal_used(journal, jti(n)));
	assert_int_equal(sp_journal_floor(journal), later);
	sp_journal_close(journal);
	journal = open_journal();
	assert_true(sp_journal_used(journal, jti(0)));
	assert_true(sp_journal_used(journal, jti(n)));
	assert_false(sp_journal_used(journal, jti(1)));
	assert_int_equal(sp_journal_floor(journal), later);
	sp_journal_close(journal);
}

/* Runs `work` in a child that is killed as it enters its n-th system call from there on. True when
 * it was killed, false when it had ended before. */
static bool killed_at(unsigned n, void (*work)(int acknowledge), int acknowledge)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		work(acknowledge);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	/* A stop at entry and one at exit of each call. */
	for (unsigned stop = 0; stop < 2 * n + 1; stop++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status))
			return false;
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	return true;
}

static void acknowledge_use(struct sp_journal *journal, unsigned n, int64_t now, int acknowledge)
{
	if (use(journal, n, now + 120, now) == 0 && write(acknowledge, &n, sizeof(n)) != sizeof(n))
		_exit(1);
}

static void use_three(int acknowledge)
{
	struct sp_journal *journal = open_journal();

	for (unsigned i = 0; i < 3; i++)
		acknowledge_use(journal, i, NOW, acknowledge);
}

/* The file is full of what has expired: the first or second use finds no slot and writes the file
 * anew. */
static void use_over_compaction(int acknowledge)
{
	struct sp_journal *journal = open_journal();

	acknowledge_use(journal, 1000000, NOW + 300, acknowledge);
	acknowledge_use(journal, 1000001, NOW + 300, acknowledge);
	acknowledge_use(journal, 1000002, NOW + 300, acknowledge);
}

static void fill(unsigned leave)
{
	struct sp_journal *journal = open_journal();
	unsigned slots = (unsigned)(file_size() / SLOT);

	for (unsigned i = 0; i < slots - 1 - leave; i++)
		assert_int_equal(sp_journal_put(journal, jti(i), NOW + 120, NOW, NULL), 0);
	assert_int_equal(sp_journal_commit(journal, NULL), 0);
	sp_journal_close(journal);
}

/* What was acknowledged is in; and the journal of a dead process opens, whose lock is void. */
static unsigned check_acknowledged(int from, bool full)
{
	struct sp_journal *journal = open_journal();
	unsigned number, count = 0;

	for (; read(from, &number, sizeof(number)) == sizeof(number); count++)
		assert_true(sp_journal_used(journal, jti(number)));
	/* Where the entries that had expired are gone, nothing from before their end is believed.
	 */
	if (full && !sp_journal_used(journal, jti(0)))
		assert_true(sp_journal_floor(journal) >= NOW + 120 + SP_SKEW_MAX);
	sp_journal_close(journal);
	return count;
}

/* `leave` free slots in a file full of what has expired; -1: an empty file. */
static unsigned kill_everywhere(void (*work)(int acknowledge), int leave)
{
	unsigned most = 0;

	for (unsigned n = 0;; n++) {
		int ends[2];
		assert_int_equal(pipe(ends), 0);
		(void)unlink(scratch_path("used/journal"));
		(void)unlink(scratch_path("used/journal.new"));
		if (leave >= 0)
			fill((unsigned)leave);
		bool killed = killed_at(n, work, ends[1]);
		(void)close(ends[1]);
		unsigned count = check_acknowledged(ends[0], leave >= 0);
		(void)close(ends[0]);
		most = count > most ? count : most;
		if (!killed)
			return most;
	}
}

static void kill_9_at_any_system_call_forgets_nothing_that_was_acknowledged(void **state)
{
	(void)state;
	assert_int_equal(kill_everywhere(use_three, -1), 3);
}

static void kill_9_at_any_system_call_of_a_compaction_forgets_nothing(void **state)
{
	(void)state;
	assert_int_equal(kill_everywhere(use_over_compaction, 0), 3);
	assert_int_equal(kill_everywhere(use_over_compaction, 1), 3);
}

static void write_file(const char *data, size_t size)
{
	int fd = open(scratch_path("used/journal"), O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(close(fd), 0);
}

static char *read_file(size_t *ret_size)
{
	int fd = open(scratch_path("used/journal"), O_RDONLY);
	char *data;

	*ret_size = (size_t)file_size();
	data = malloc(*ret_size);
	assert_true(fd >= 0);
	assert_non_null(data);
	assert_int_equal(read(fd, data, *ret_size), *ret_size);
	assert_int_equal(close(fd), 0);
	return data;
}

/* Every length of the last slot's write, in a file that ends there and in one that goes on with
 * zeros: what came before is in, the torn one is not, and the place is used again. */
static void a_torn_tail_of_every_length_is_ignored(void **state)
{
	struct sp_journal *journal = open_journal();
	sp_auto_free char *whole = NULL;
	size_t size;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(use(journal, i, NOW + 120, NOW), 0);
	sp_journal_close(journal);
	whole = read_file(&size);
	for (size_t torn = 0; torn < SLOT; torn++)
		for (int short_file = 0; short_file < 2; short_file++) {
			sp_auto_free char *copy = malloc(size);
			size_t end = 5 * SLOT + torn;
			memcpy(copy, whole, size);
			memset(copy + end, 0, size - end);
			/* Torn within zeros at its end, it is whole. */
			if (memcmp(copy, whole, size) == 0)
				continue;
			write_file(copy, short_file ? end : size);
			journal = open_journal();
			for (unsigned i = 0; i < 4; i++)
				assert_true(sp_journal_used(journal, jti(i)));
			assert_false(sp_journal_used(journal, jti(4)));
			assert_int_equal(use(journal, 4, NOW + 120, NOW), 0);
			sp_journal_close(journal);
			journal = open_journal();
			for (unsigned i = 0; i < 5; i++)
				assert_true(sp_journal_used(journal, jti(i)));
			sp_journal_close(journal);
		}
}

/* Any byte of a slot changed: that slot is gone, its neighbours are not. */
static void a_damaged_slot_takes_no_other_along(void **state)
{
	struct sp_journal *journal = open_journal();
	sp_auto_free char *whole = NULL;
	size_t size;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(use(journal, i, NOW + 120, NOW), 0);
	sp_journal_close(journal);
	whole = read_file(&size);
	for (size_t at = 0; at < SLOT; at++) {
		whole[2 * SLOT + at] ^= 1;
		write_file(whole, size);
		whole[2 * SLOT + at] ^= 1;
		journal = open_journal();
		assert_true(sp_journal_used(journal, jti(0)));
		assert_false(sp_journal_used(journal, jti(1)));
		assert_true(sp_journal_used(journal, jti(2)));
		sp_journal_close(journal);
	}
}

/* A slot counts at its own place only. */
static void a_slot_copied_elsewhere_does_not_count(void **state)
{
	struct sp_journal *journal = open_journal();
	sp_auto_free char *whole = NULL;
	size_t size;

	(void)state;
	assert_int_equal(use(journal, 0, NOW + 120, NOW), 0);
	sp_journal_close(journal);
	whole = read_file(&size);
	memcpy(whole + 7 * SLOT, whole + SLOT, SLOT);
	memset(whole + SLOT, 0, SLOT);
	write_file(whole, size);
	journal = open_journal();
	assert_false(sp_journal_used(journal, jti(0)));
	sp_journal_close(journal);
}

static void a_damaged_header_is_refused_with_what_to_do(void **state)
{
	struct sp_journal *journal = open_journal(), *none = NULL;
	sp_auto_free char *whole = NULL;
	struct sp_err err = {0};
	size_t size;

	(void)state;
	sp_journal_close(journal);
	whole = read_file(&size);
	for (size_t at = 0; at < SLOT; at++) {
		whole[at] ^= 1;
		write_file(whole, size);
		whole[at] ^= 1;
		assert_int_equal(
		    sp_journal_open(scratch_path("used"), &none, &err), SP_E_UNAVAILABLE);
		assert_non_null(strstr(err.message, "135 s"));
	}
	for (size_t length = 0; length < SLOT; length += 9) {
		write_file(whole, length);
		assert_int_equal(
		    sp_journal_open(scratch_path("used"), &none, &err), SP_E_UNAVAILABLE);
	}
	assert_null(none);
}

/* A file-size limit stands for a full disk: EFBIG where ENOSPC would be. */
static void a_journal_that_cannot_grow_passes_nothing_and_forgets_nothing(void **state)
{
	struct sp_journal *journal = open_journal();
	unsigned slots = (unsigned)(file_size() / SLOT);
	struct rlimit before, limit;
	int bad;

	(void)state;
	for (unsigned i = 0; i < slots - 1; i++)
		assert_int_equal(sp_journal_put(journal, jti(i), NOW + 120, NOW, NULL), 0);
	assert_int_equal(sp_journal_commit(journal, NULL), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = slots * SLOT + 100, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	bad = use(journal, slots, NOW + 120, NOW);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(bad, -EFBIG);
	assert_false(sp_journal_used(journal, jti(slots)));
	assert_int_equal(file_size(), slots * SLOT);
	/* With room again it goes on. */
	assert_int_equal(use(journal, slots, NOW + 120, NOW), 0);
	sp_journal_close(journal);
	journal = open_journal();
	for (unsigned i = 0; i < slots - 1; i++)
		assert_true(sp_journal_used(journal, jti(i)));
	assert_true(sp_journal_used(journal, jti(slots)));
	sp_journal_close(journal);
}

/* After a failed write nobody knows what is on the disk. */
static void a_failed_write_is_final(void **state)
{
	struct sp_journal *journal = open_journal();
	struct rlimit before, limit;
	int bad;

	(void)state;
	assert_int_equal(use(journal, 0, NOW + 120, NOW), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = SLOT, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	bad = use(journal, 1, NOW + 120, NOW);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(bad, -EFBIG);
	assert_true(sp_journal_used(journal, jti(1)));
	assert_int_equal(use(journal, 2, NOW + 120, NOW), SP_E_UNAVAILABLE);
	assert_int_equal(sp_journal_commit(journal, NULL), SP_E_UNAVAILABLE);
	sp_journal_close(journal);
	journal = open_journal();
	assert_true(sp_journal_used(journal, jti(0)));
	assert_int_equal(use(journal, 2, NOW + 120, NOW), 0);
	sp_journal_close(journal);
}

static void a_fifo_or_a_link_in_its_place_is_refused(void **state)
{
	struct sp_journal *none = NULL;
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(mkdir(scratch_path("used"), 0700), 0);
	assert_int_equal(mkfifo(scratch_path("used/journal"), 0600), 0);
	assert_int_equal(sp_journal_open(scratch_path("used"), &none, &err), -EINVAL);
	assert_int_equal(unlink(scratch_path("used/journal")), 0);
	assert_int_equal(symlink("/etc/passwd", scratch_path("used/journal")), 0);
	assert_int_equal(sp_journal_open(scratch_path("used"), &none, &err), -ELOOP);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    test_in_scratch(a_jti_is_used_once),
	    test_in_scratch(what_is_no_jti_counts_as_used_and_is_not_taken),
	    test_in_scratch(it_survives_being_opened_again),
	    test_in_scratch(two_processes_cannot_hold_it),
	    test_in_scratch(the_floor_never_falls),
	    test_in_scratch(compaction_drops_only_what_has_expired),
	    test_in_scratch(kill_9_at_any_system_call_forgets_nothing_that_was_acknowledged),
	    test_in_scratch(kill_9_at_any_system_call_of_a_compaction_forgets_nothing),
	    test_in_scratch(a_torn_tail_of_every_length_is_ignored),
	    test_in_scratch(a_damaged_slot_takes_no_other_along),
	    test_in_scratch(a_slot_copied_elsewhere_does_not_count),
	    test_in_scratch(a_damaged_header_is_refused_with_what_to_do),
	    test_in_scratch(a_journal_that_cannot_grow_passes_nothing_and_forgets_nothing),
	    test_in_scratch(a_failed_write_is_final),
	    test_in_scratch(a_fifo_or_a_link_in_its_place_is_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
