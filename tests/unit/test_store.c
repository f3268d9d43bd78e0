/* The store: durable changes, what readers see of them, what happens when a writer dies or hands
 * have been at the files. */
#include "store_fixture.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <utime.h>
#include "base/text.h"

static void a_change_is_in_record_and_page(void **state)
{
	struct scratch *s = *state;

	assert_int_equal(installed(s->store, "s-42", 7), SP_EFFECT_INSTALLED);
	check_in_force(s->store, "s-42", 1, 1, SP_PAGE_ACTIVE);
	assert_int_equal(installed(s->store, "s-42", 7), SP_EFFECT_NONE);
	check_in_force(s->store, "s-42", 1, 1, SP_PAGE_ACTIVE);
	assert_int_equal(handed_off(s->store, "s-42", "op-7", "op-8"), SP_EFFECT_HANDOFF);
	check_in_force(s->store, "s-42", 1, 2, SP_PAGE_ACTIVE);
	assert_int_equal(fenced(s->store, "s-42", true), SP_EFFECT_FENCED);
	check_in_force(s->store, "s-42", 1, 3, SP_PAGE_ACTIVE);
	assert_int_equal(installed(s->store, "s-42", 8), SP_EFFECT_REPLACED);
	check_in_force(s->store, "s-42", 2, 4, SP_PAGE_ACTIVE);
	assert_int_equal(retired(s->store, "s-42", 8), SP_EFFECT_RETIRED);
	check_in_force(s->store, "s-42", 3, 5, SP_PAGE_RETIRED);
	assert_int_equal(retired(s->store, "s-42", 7), SP_EFFECT_CONFLICT);
	check_in_force(s->store, "s-42", 3, 5, SP_PAGE_RETIRED);
}

static void files_have_their_modes(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} files[] = {{".lock", 0600}, {".page", 0644}, {".slots", 0660}, {"s-42.json", 0640}};
	struct scratch *s = *state;
	mode_t old = umask(077);
	struct stat info;

	assert_int_equal(installed(s->store, "s-42", 7), SP_EFFECT_INSTALLED);
	(void)umask(old);
	for (size_t i = 0; i < SP_COUNT(files); i++) {
		assert_int_equal(fstatat(s->store->directory, files[i].name, &info, 0), 0);
		assert_int_equal(info.st_mode & 07777, files[i].mode);
	}
	assert_int_equal(fstatat(s->store->directory, SP_ASIDE_FILE, &info, 0), -1);
}

static void current_is_the_same_record_until_something_changes(void **state)
{
	struct scratch *s = *state;
	const struct sp_record *first, *again;

	assert_int_equal(sp_store_current(s->store, "s-42", &first, NULL), SP_E_ABSENT);
	installed(s->store, "s-42", 7);
	assert_int_equal(sp_store_current(s->store, "s-42", &first, NULL), 0);
	json_t *mark = json_true();
	((struct sp_record *)(uintptr_t)first)->vmm = mark; /* on disk there is none */
	assert_int_equal(sp_store_current(s->store, "s-42", &again, NULL), 0);
	assert_ptr_equal(again->vmm, mark);
	handed_off(s->store, "s-42", "op-7", "op-8");
	assert_int_equal(sp_store_current(s->store, "s-42", &again, NULL), 0);
	assert_null(again->vmm);
	assert_string_equal(again->owner, "op-8");
	assert_int_equal(again->version, 2);
	retired(s->store, "s-42", 7);
	assert_int_equal(sp_store_current(s->store, "s-42", &again, NULL), 0);
	assert_true(again->retired);
}

/* From here on any system call but the clock's (which mostly is none) and the end kills this
 * process. */
static int allow_none(void)
{
	static struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	static const struct sock_fprog program = {SP_COUNT(filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#define SANDBOXES 200

static void name_of(int number, char name[16])
{
	(void)snprintf(name, 16, "s-%d", number);
}

static int look_at_all(struct sp_store *store)
{
	for (int i = 0; i < SANDBOXES; i++) {
		const struct sp_record *record;
		char name[16];
		name_of(i, name);
		if (sp_store_current(store, name, &record, NULL) ||
		    record->identity.route.execution != i + 1)
			return 1;
	}
	return 0;
}

/* How a process ends that makes no system call, or one, once it has looked at all of them. */
static int end_of(struct sp_store *store, bool one)
{
	pid_t pid = fork();
	int status, bad;

	if (pid == 0) {
		bad = look_at_all(store);
		if (allow_none())
			_exit(2);
		for (int i = 0; i < 100 && !bad; i++)
			bad = look_at_all(store);
		if (one)
			(void)syscall(SYS_getppid);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void looking_costs_no_system_call_while_nothing_changes(void **state)
{
	struct scratch *s = *state;
	struct sp_store *reader;
	char name[16];
	int status = 0;

	for (int i = 0; i < SANDBOXES; i++) {
		name_of(i, name);
		installed(s->store, name, i + 1);
	}
	assert_int_equal(sp_store_open(s->path, 0, &reader, NULL), 0);
	/* But for one look in 100 ms, which a busy machine may let come due. */
	for (int tries = 0; tries < 50; tries++) {
		status = end_of(reader, false);
		if (WIFEXITED(status))
			break;
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	status = end_of(reader, true);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
	sp_store_close(reader);
}

/* By hand, behind the store's back: the page knows nothing of it. */
static void write_by_hand(struct sp_store *store, const char *from, const char *to)
{
	sp_auto_free char *text = NULL;
	size_t size;
	char *at;
	int fd;

	assert_int_equal(sp_store_raw(store, "s-42", &text, &size, NULL), 0);
	at = strstr(text, from);
	assert_non_null(at);
	memcpy(at, to, strlen(to));
	fd = openat(store->directory, "s-42.json", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(close(fd), 0);
}

static void reread_believes_the_file(void **state)
{
	struct scratch *s = *state;
	const struct sp_record *record;
	json_t *mark = json_true();

	assert_int_equal(sp_store_reread(s->store, "s-42", &record, NULL), SP_E_ABSENT);
	installed(s->store, "s-42", 7);
	assert_int_equal(sp_store_reread(s->store, "s-42", &record, NULL), 0);
	/* The same bytes are not parsed again ... */
	((struct sp_record *)(uintptr_t)record)->vmm = mark;
	assert_int_equal(sp_store_reread(s->store, "s-42", &record, NULL), 0);
	assert_ptr_equal(record->vmm, mark);
	/* ... others are, though nobody has told of them. */
	write_by_hand(s->store, "op-7", "op-9");
	assert_int_equal(sp_store_current(s->store, "s-42", &record, NULL), 0);
	assert_string_equal(record->owner, "op-7");
	assert_int_equal(sp_store_reread(s->store, "s-42", &record, NULL), 0);
	assert_string_equal(record->owner, "op-9");
	assert_null(record->vmm);
	assert_int_equal(unlinkat(s->store->directory, "s-42.json", 0), 0);
	assert_int_equal(sp_store_reread(s->store, "s-42", &record, NULL), SP_E_ABSENT);
}

static void another_process_sees_the_change(void **state)
{
	struct scratch *s = *state;
	struct sp_store *reader;
	const struct sp_record *record;

	assert_int_equal(sp_store_open(s->path, 0, &reader, NULL), 0);
	installed(s->store, "s-42", 7);
	assert_int_equal(sp_store_current(reader, "s-42", &record, NULL), 0);
	assert_int_equal(record->identity.route.execution, 7);
	installed(s->store, "s-42", 8);
	assert_int_equal(sp_store_current(reader, "s-42", &record, NULL), 0);
	assert_int_equal(record->identity.route.execution, 8);
	sp_store_close(reader);
}

static void change_all_the_time(const char *path)
{
	struct sp_store *store;

	if (sp_store_open(path, 0, &store, NULL) < 0)
		_exit(1);
	for (int64_t i = 2; i < 400; i += 2) {
		(void)installed(store, "s-42", i);
		(void)handed_off(store, "s-42", "op-7", "op-8");
		(void)retired(store, "s-42", i);
	}
	_exit(0);
}

/* Whatever happens meanwhile, a reader gets a record that was in force, or is told to ask again. */
static void a_reader_of_a_busy_store_never_gets_an_error(void **state)
{
	struct scratch *s = *state;
	int64_t version = 0, seen = 0;
	pid_t pid;
	int status;

	installed(s->store, "s-42", 1);
	pid = fork();
	if (pid == 0)
		change_all_the_time(s->path);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		const struct sp_record *record;
		int bad = sp_store_current(s->store, "s-42", &record, NULL);
		if (bad == -EAGAIN)
			continue;
		assert_int_equal(bad, 0);
		assert_true(record->version >= version);
		seen += record->version != version;
		version = record->version;
	}
	assert_int_equal(status, 0);
	assert_true(seen > 10);
}

/* Leaves s-42 as a writer does that dies right before, or right after, the rename. */
static void die_before_rename(struct scratch *s)
{
	assert_int_equal(sp_store_lock(s->store, true, NULL), 0);
	s->store->self.pid = (uint64_t)getpid();
	sp_page_mark(s->store, ref_of(s->store, "s-42").index, true);
}

static void put_record(struct scratch *s, const char *text)
{
	int fd = openat(s->store->directory, "s-42.json", O_WRONLY | O_TRUNC | O_CREAT, 0640);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

#define RECORD(execution, epoch, version)                                                          \
	"{\"v\":1,\"sandbox\":\"s-42\",\"route\":{\"execution\":" #execution                       \
	",\"worker\":\"worker-a\",\"substrate\":\"host\",\"activation\":\"a\",\"attempt\":1},"     \
	"\"epoch\":" #epoch ",\"version\":" #version                                               \
	",\"state\":\"active\",\"owner\":\"op-7\",\"installed_at\":\"2026-11-29T15:36:07Z\"}\n"

static void die_after_rename(struct scratch *s)
{
	die_before_rename(s);
	put_record(s, RECORD(8, 2, 2));
}

static void die_after_rename_of_an_owner(struct scratch *s)
{
	assert_int_equal(sp_store_lock(s->store, true, NULL), 0);
	s->store->self.pid = (uint64_t)getpid();
	sp_page_mark(s->store, ref_of(s->store, "s-42").index, false);
	put_record(s, RECORD(7, 1, 2));
}

static void die_after_unlink(struct scratch *s)
{
	die_before_rename(s);
	assert_int_equal(unlinkat(s->store->directory, "s-42.json", 0), 0);
}

static void a_dead_writer_is_told_from_a_slow_one(void **state)
{
	struct scratch *s = *state;
	struct sp_page_view view;

	installed(s->store, "s-42", 7);
	in_a_child(die_before_rename, s);
	view = view_of(s->store, "s-42");
	assert_true(view.pending);
	assert_true(view.writer_dead);
	s->store->writable->writer_pid = s->store->self.pid;
	s->store->writable->writer_inode = s->store->self.inode;
	view = view_of(s->store, "s-42");
	assert_true(view.pending);
	assert_false(view.writer_dead);
}

static void the_next_change_settles_what_a_dead_writer_left(void **state)
{
	static void (*const deaths[])(struct scratch *) = {
	    die_before_rename, die_after_rename, die_after_rename_of_an_owner};
	static const uint64_t epochs[] = {1, 2, 1}, versions[] = {1, 2, 2};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(deaths); i++) {
		void *own = NULL;
		assert_int_equal(scratch_open(&own), 0);
		struct scratch *s = own;
		installed(s->store, "s-42", 7);
		in_a_child(deaths[i], s);
		installed(s->store, "s-43", 1); /* any change of any sandbox */
		check_in_force(s->store, "s-42", epochs[i], versions[i], SP_PAGE_ACTIVE);
		assert_int_equal(s->store->writable->under_change, 0);
		scratch_close(&own);
	}
}

static void a_removal_cut_short_is_a_removal(void **state)
{
	struct scratch *s = *state;

	installed(s->store, "s-42", 7);
	in_a_child(die_after_unlink, s);
	installed(s->store, "s-43", 1);
	assert_int_equal(view_of(s->store, "s-42").state, SP_PAGE_ABSENT);
	assert_int_equal(installed(s->store, "s-42", 7), SP_EFFECT_INSTALLED);
	check_in_force(s->store, "s-42", 1, 3, SP_PAGE_ACTIVE);
}

static void install_and_die(struct scratch *s)
{
	assert_int_equal(sp_store_lock(s->store, true, NULL), 0);
	s->store->self.pid = (uint64_t)getpid();
	sp_page_mark(s->store, ref_of(s->store, "s-42").index, true);
	put_record(s, RECORD(8, 1, 4));
}

/* After a prune epochs start at 1 again, below what the page has: that is no step back. */
static void an_install_after_a_prune_is_settled_at_its_own_epoch(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;

	installed(s->store, "s-42", 7);
	retired(s->store, "s-42", 7);
	assert_int_equal(sp_store_remove(s->store, "s-42", INT64_MAX, 2000, &outcome, NULL), 0);
	in_a_child(install_and_die, s);
	assert_int_equal(installed(s->store, "s-42", 7), SP_EFFECT_CONFLICT);
	check_in_force(s->store, "s-42", 1, 4, SP_PAGE_ACTIVE);
}

static void a_reader_with_the_stores_uid_settles_too(void **state)
{
	struct scratch *s = *state;
	const struct sp_record *record;

	installed(s->store, "s-42", 7);
	in_a_child(die_after_rename, s);
	assert_int_equal(sp_store_current(s->store, "s-42", &record, NULL), 0);
	assert_int_equal(record->identity.route.execution, 8);
	check_in_force(s->store, "s-42", 2, 2, SP_PAGE_ACTIVE);
}

static void a_reader_of_another_uid_fails_closed_until_it_is_settled(void **state)
{
	struct scratch *s = *state;
	const struct sp_record *record;
	struct sp_err err;

	installed(s->store, "s-42", 7);
	in_a_child(die_after_rename, s);
	s->store->writer = false;
	assert_int_equal(sp_store_current(s->store, "s-42", &record, &err), SP_E_UNAVAILABLE);
	s->store->writer = true;
	installed(s->store, "s-43", 1);
	s->store->writer = false;
	assert_int_equal(sp_store_current(s->store, "s-42", &record, NULL), 0);
}

static void only_the_stores_uid_changes_it(void **state)
{
	struct scratch *s = *state;
	struct sp_change change = an_install("s-42", 7);
	struct sp_outcome outcome;

	s->store->writer = false;
	assert_int_equal(sp_store_change(s->store, &change, 2000, &outcome, NULL), -EPERM);
	assert_int_equal(faccessat(s->store->directory, "s-42.json", F_OK, 0), -1);
}

static void a_record_put_back_by_hand_is_refused(void **state)
{
	struct scratch *s = *state;
	struct sp_change change = an_install("s-42", 9);
	const struct sp_record *record;
	struct sp_outcome outcome;
	struct sp_err err;

	installed(s->store, "s-42", 7);
	installed(s->store, "s-42", 8);
	put_record(s, RECORD(7, 1, 1));
	assert_int_equal(sp_store_current(s->store, "s-42", &record, &err), SP_E_UNAVAILABLE);
	assert_int_equal(sp_store_change(s->store, &change, 2000, &outcome, &err), SP_E_BAD_RECORD);
	assert_non_null(strstr(err.message, "version 1 was put back by hand, 2 has been in force"));
	/* What the message says to do helps, and the version goes on. */
	assert_int_equal(unlinkat(s->store->directory, "s-42.json", 0), 0);
	assert_int_equal(installed(s->store, "s-42", 9), SP_EFFECT_INSTALLED);
	check_in_force(s->store, "s-42", 1, 4, SP_PAGE_ACTIVE);
}

static void a_record_that_is_damaged_is_refused_and_kept(void **state)
{
	struct scratch *s = *state;
	struct sp_change change = an_install("s-42", 9);
	struct sp_outcome outcome;
	struct sp_record record;

	put_record(s, "{\"v\":1,\"sandbox\":");
	assert_int_equal(sp_store_read(s->store, "s-42", &record, NULL), SP_E_BAD_RECORD);
	assert_int_equal(sp_store_change(s->store, &change, 2000, &outcome, NULL), SP_E_BAD_RECORD);
	put_record(s, "");
	assert_int_equal(sp_store_change(s->store, &change, 2000, &outcome, NULL), SP_E_BAD_RECORD);
	assert_int_equal(
	    renameat(s->store->directory, "s-42.json", s->store->directory, "s-43.json"), 0);
	put_record(s, RECORD(7, 1, 1));
	assert_int_equal(
	    renameat(s->store->directory, "s-42.json", s->store->directory, "s-43.json"), 0);
	assert_int_equal(sp_store_read(s->store, "s-43", &record, NULL), SP_E_BAD_RECORD);
}

static void a_record_too_large_to_be_read_back_is_not_written(void **state)
{
	struct scratch *s = *state;
	struct sp_change change = an_install("s-42", 7);
	struct sp_outcome outcome;
	char *long_text = malloc(SP_RECORD_FILE_MAX + 1);

	memset(long_text, 'x', SP_RECORD_FILE_MAX);
	long_text[SP_RECORD_FILE_MAX] = '\0';
	change.bridge = json_pack("{ss}", "path", long_text);
	assert_int_equal(sp_store_change(s->store, &change, 2000, &outcome, NULL), SP_E_BAD_RECORD);
	json_decref(change.bridge);
	free(long_text);
	assert_int_equal(installed(s->store, "s-42", 7), SP_EFFECT_INSTALLED);
}

static void pruning_takes_old_tombstones_only(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	int64_t later = sp_time_now() + 100;

	assert_int_equal(sp_store_remove(s->store, "s-42", later, 2000, &outcome, NULL), 0);
	assert_int_equal(outcome.effect, SP_EFFECT_CONFLICT);
	installed(s->store, "s-42", 7);
	assert_int_equal(sp_store_remove(s->store, "s-42", later, 2000, &outcome, NULL), 0);
	assert_string_equal(outcome.conflict, "the record is active");
	retired(s->store, "s-42", 7);
	assert_int_equal(sp_store_remove(s->store, "s-42", later - 200, 2000, &outcome, NULL), 0);
	assert_string_equal(outcome.conflict, "the tombstone is too young");
	check_in_force(s->store, "s-42", 2, 2, SP_PAGE_RETIRED);
	assert_int_equal(sp_store_remove(s->store, "s-42", later, 2000, &outcome, NULL), 0);
	assert_int_equal(outcome.effect, SP_EFFECT_PRUNED);
	assert_int_equal(outcome.epoch, 2);
	assert_int_equal(faccessat(s->store->directory, "s-42.json", F_OK, 0), -1);
	assert_int_equal(view_of(s->store, "s-42").state, SP_PAGE_ABSENT);
	/* The version goes on where it was. */
	installed(s->store, "s-42", 8);
	check_in_force(s->store, "s-42", 1, 4, SP_PAGE_ACTIVE);
}

static int collect(void *context, const char *sandbox, const struct sp_record *record)
{
	strcat(context, sandbox);
	strcat(context, record ? " " : "! ");
	return strcmp(sandbox, "stop") == 0 ? SP_E_CLOSED : 0;
}

static void a_walk_gives_every_record_in_order(void **state)
{
	struct scratch *s = *state;
	char seen[64] = "";

	installed(s->store, "b", 1);
	installed(s->store, "a.json", 1);
	installed(s->store, "c", 1);
	put_record(s, "damaged");
	assert_int_equal(sp_store_walk(s->store, collect, seen, NULL), 0);
	assert_string_equal(seen, "a.json b c s-42! ");
	installed(s->store, "stop", 1);
	installed(s->store, "zz", 1);
	seen[0] = '\0';
	assert_int_equal(sp_store_walk(s->store, collect, seen, NULL), SP_E_CLOSED);
	assert_string_equal(seen, "a.json b c s-42! stop ");
}

static void names_that_are_no_ids_reach_no_file(void **state)
{
	static const char *const names[] = {"", ".lock", "../x", "a/b", "-"};
	struct scratch *s = *state;
	struct sp_record record;
	const struct sp_record *current;

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		assert_int_equal(sp_store_read(s->store, names[i], &record, NULL), SP_E_BAD_RECORD);
		assert_int_equal(sp_store_current(s->store, names[i], &current, NULL), SP_E_ABSENT);
	}
}

static void a_lock_file_taken_away_locks_nobody_out(void **state)
{
	struct scratch *s = *state;
	struct sp_store *other;

	installed(s->store, "s-42", 7);
	assert_int_equal(unlinkat(s->store->directory, SP_LOCK_FILE, 0), 0);
	assert_int_equal(sp_store_open(s->path, 0, &other, NULL), 0);
	assert_int_equal(sp_store_lock(other, true, NULL), 0);
	/* The first has the removed file open; it must not take that for the lock. */
	assert_int_equal(sp_store_lock(s->store, false, NULL), -EBUSY);
	sp_store_unlock(other);
	assert_int_equal(installed(s->store, "s-42", 8), SP_EFFECT_REPLACED);
	sp_store_close(other);
}

#define T(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_change_is_in_record_and_page),
	    T(files_have_their_modes),
	    T(current_is_the_same_record_until_something_changes),
	    T(looking_costs_no_system_call_while_nothing_changes),
	    T(reread_believes_the_file),
	    T(another_process_sees_the_change),
	    T(a_reader_of_a_busy_store_never_gets_an_error),
	    T(a_dead_writer_is_told_from_a_slow_one),
	    T(the_next_change_settles_what_a_dead_writer_left),
	    T(a_removal_cut_short_is_a_removal),
	    T(an_install_after_a_prune_is_settled_at_its_own_epoch),
	    T(a_reader_with_the_stores_uid_settles_too),
	    T(a_reader_of_another_uid_fails_closed_until_it_is_settled),
	    T(only_the_stores_uid_changes_it),
	    T(a_record_put_back_by_hand_is_refused),
	    T(a_record_that_is_damaged_is_refused_and_kept),
	    T(a_record_too_large_to_be_read_back_is_not_written),
	    T(pruning_takes_old_tombstones_only),
	    T(a_walk_gives_every_record_in_order),
	    T(names_that_are_no_ids_reach_no_file),
	    T(a_lock_file_taken_away_locks_nobody_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
