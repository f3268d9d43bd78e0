/* Holders and installers: a move is either seen and waited for, or never begun. */
#include "store_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include "base/io.h"

static struct sp_holder *holder_of(struct sp_store *store)
{
	struct sp_holder *holder = NULL;

	assert_int_equal(sp_holder_open(store, &holder, NULL), 0);
	return holder;
}

static void a_move_is_allowed_under_what_was_seen(void **state)
{
	struct scratch *s = *state;
	struct sp_holder *holder = holder_of(s->store);
	struct sp_page_view seen;
	struct sp_page_ref ref;

	installed(s->store, "s-42", 7);
	ref = ref_of(s->store, "s-42");
	seen = view_of(s->store, "s-42");
	assert_int_equal(sp_holder_enter(holder, ref, &seen), 0);
	sp_holder_leave(holder);
	assert_int_equal(sp_holder_enter(holder, ref, &seen), 0);
	sp_holder_leave(holder);
	sp_holder_close(holder);
}

/* Whatever the change, the holder must compare again before it moves another byte. */
static void any_other_version_is_a_conflict(void **state)
{
	struct scratch *s = *state;
	struct sp_holder *holder = holder_of(s->store);
	struct sp_page_view seen;
	struct sp_page_ref ref;

	installed(s->store, "s-42", 7);
	ref = ref_of(s->store, "s-42");
	seen = view_of(s->store, "s-42");
	fenced(s->store, "s-42", true);
	assert_int_equal(sp_holder_enter(holder, ref, &seen), SP_E_CONFLICT);
	seen = view_of(s->store, "s-42");
	assert_int_equal(sp_holder_enter(holder, ref, &seen), 0);
	sp_holder_leave(holder);
	installed(s->store, "s-42", 8);
	assert_int_equal(sp_holder_enter(holder, ref, &seen), SP_E_CONFLICT);
	retired(s->store, "s-42", 8);
	seen = view_of(s->store, "s-42");
	assert_int_equal(sp_holder_enter(holder, ref, &seen), SP_E_CONFLICT);
	sp_holder_close(holder);
}

static void nothing_moves_while_a_change_is_pending(void **state)
{
	struct scratch *s = *state;
	struct sp_holder *holder = holder_of(s->store);
	struct sp_page_view seen;
	struct sp_page_ref ref;

	installed(s->store, "s-42", 7);
	ref = ref_of(s->store, "s-42");
	seen = view_of(s->store, "s-42");
	sp_page_mark(s->store, ref.index, true);
	assert_int_equal(sp_holder_enter(holder, ref, &seen), -EAGAIN);
	s->store->writable->writer_inode++; /* no process has this inode */
	assert_int_equal(sp_holder_enter(holder, ref, &seen), SP_E_CONFLICT);
	installed(s->store, "s-43", 1); /* settles: nothing had changed */
	assert_int_equal(sp_holder_enter(holder, ref, &seen), 0);
	sp_holder_leave(holder);
	sp_holder_close(holder);
}

/* A holder in another process that is in the middle of a move until it is told to leave. */
struct stuck {
	pid_t pid;
	int ready, leave;
};

static void hold(struct scratch *s, int ready, int leave)
{
	struct sp_store *store;
	struct sp_holder *holder;
	struct sp_page_ref ref;
	struct sp_page_view seen;
	char byte = 'r';

	if (sp_store_open(s->path, 0, &store, NULL) < 0 ||
	    sp_holder_open(store, &holder, NULL) < 0 || sp_page_find(store, "s-42", &ref) < 0 ||
	    sp_page_look(store, ref, &seen) < 0 || sp_holder_enter(holder, ref, &seen) < 0)
		_exit(1);
	if (write(ready, &byte, 1) != 1 || read(leave, &byte, 1) != 1)
		_exit(2);
	sp_holder_leave(holder);
	/* Lives on, moving nothing. */
	_exit(read(leave, &byte, 1) < 0);
}

static struct stuck stuck_holder(struct scratch *s)
{
	int ready[2], leave[2];
	struct stuck stuck;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(leave, O_CLOEXEC), 0);
	stuck.pid = fork();
	if (stuck.pid == 0) {
		close(leave[1]);
		hold(s, ready[1], leave[0]);
	}
	close(ready[1]);
	close(leave[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	stuck.ready = ready[0];
	stuck.leave = leave[1];
	return stuck;
}

static void end(struct stuck *stuck)
{
	(void)kill(stuck->pid, SIGKILL);
	assert_int_equal(waitpid(stuck->pid, NULL, 0), stuck->pid);
	close(stuck->ready);
	close(stuck->leave);
}

static int change_within(struct sp_store *store, struct sp_change change, int timeout_ms,
    struct sp_outcome *ret, struct sp_err *err)
{
	*ret = (struct sp_outcome){0};
	return sp_store_change(store, &change, timeout_ms, ret, err);
}

static void a_change_waits_for_a_move_and_names_who_is_in_it(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	struct sp_err err;
	struct stuck stuck;
	char expected[32];

	installed(s->store, "s-42", 7);
	stuck = stuck_holder(s);
	assert_int_equal(
	    change_within(s->store, an_install("s-42", 8), 20, &outcome, &err), SP_E_TIMEOUT);
	assert_int_equal(outcome.effect, SP_EFFECT_REPLACED);
	(void)snprintf(expected, sizeof(expected), "s-42: pid %d still", (int)stuck.pid);
	assert_memory_equal(err.message, expected, strlen(expected));
	check_in_force(s->store, "s-42", 2, 2, SP_PAGE_ACTIVE);
	/* The same again waits again ... */
	assert_int_equal(
	    change_within(s->store, an_install("s-42", 8), 20, &outcome, &err), SP_E_TIMEOUT);
	assert_int_equal(outcome.effect, SP_EFFECT_NONE);
	/* ... also after changes that leave moves alone ... */
	handed_off(s->store, "s-42", "op-7", "op-8");
	struct sp_change same = an_install("s-42", 8);
	same.owner = "op-8";
	assert_int_equal(change_within(s->store, same, 20, &outcome, &err), SP_E_TIMEOUT);
	/* ... until the move has ended. */
	assert_int_equal(write(stuck.leave, "l", 1), 1);
	assert_int_equal(change_within(s->store, same, 30000, &outcome, &err), 0);
	assert_int_equal(outcome.effect, SP_EFFECT_NONE);
	end(&stuck);
}

static void others_are_not_waited_for(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	struct stuck stuck;

	installed(s->store, "s-42", 7);
	stuck = stuck_holder(s);
	/* Another sandbox; then an owner, which leaves moves alone. */
	assert_int_equal(change_within(s->store, an_install("s-43", 8), 0, &outcome, NULL), 0);
	assert_int_equal(
	    change_within(s->store,
		(struct sp_change){
		    .kind = SP_CHANGE_HANDOFF, .sandbox = "s-42", .from = "op-7", .to = "op-8"},
		0, &outcome, NULL),
	    0);
	/* A move begun under the record in force is no old one. */
	struct sp_change same = an_install("s-42", 7);
	same.owner = "op-8";
	assert_int_equal(change_within(s->store, same, 0, &outcome, NULL), 0);
	assert_int_equal(outcome.effect, SP_EFFECT_NONE);
	end(&stuck);
}

static void a_stopped_holder_is_waited_for_and_a_dead_one_is_not(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	struct stuck stuck;

	installed(s->store, "s-42", 7);
	stuck = stuck_holder(s);
	assert_int_equal(kill(stuck.pid, SIGSTOP), 0);
	assert_int_equal(
	    change_within(s->store, an_install("s-42", 8), 20, &outcome, NULL), SP_E_TIMEOUT);
	end(&stuck);
	assert_int_equal(change_within(s->store, an_install("s-42", 8), 0, &outcome, NULL), 0);
	assert_int_equal(change_within(s->store, an_install("s-42", 9), 0, &outcome, NULL), 0);
	assert_int_equal(outcome.effect, SP_EFFECT_REPLACED);
}

static void a_pruned_record_waits_too(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	struct stuck stuck;

	installed(s->store, "s-42", 7);
	stuck = stuck_holder(s);
	assert_int_equal(
	    change_within(s->store,
		(struct sp_change){.kind = SP_CHANGE_RETIRE, .sandbox = "s-42", .execution = 7}, 20,
		&outcome, NULL),
	    SP_E_TIMEOUT);
	assert_int_equal(
	    sp_store_remove(s->store, "s-42", INT64_MAX, 20, &outcome, NULL), SP_E_TIMEOUT);
	assert_int_equal(outcome.effect, SP_EFFECT_PRUNED);
	end(&stuck);
}

/* Evidence cuts nothing, but where it is given, an install returns: with its word that what an
 * earlier one cut has ended. */
static void evidence_waits_for_what_an_earlier_install_cut(void **state)
{
	struct scratch *s = *state;
	struct sp_change change = an_install("s-42", 8);
	struct sp_outcome outcome;
	struct stuck stuck;

	installed(s->store, "s-42", 7);
	stuck = stuck_holder(s);
	assert_int_equal(change_within(s->store, change, 20, &outcome, NULL), SP_E_TIMEOUT);
	change.bridge = json_object();
	assert_int_equal(change_within(s->store, change, 20, &outcome, NULL), SP_E_TIMEOUT);
	assert_int_equal(outcome.effect, SP_EFFECT_EVIDENCE);
	assert_int_equal(write(stuck.leave, "l", 1), 1);
	change.vmm = json_object();
	assert_int_equal(change_within(s->store, change, 30000, &outcome, NULL), 0);
	assert_int_equal(outcome.effect, SP_EFFECT_EVIDENCE);
	json_decref(change.bridge);
	json_decref(change.vmm);
	end(&stuck);
}

/* The writer died between two words of the publication: the version is the new one already, what
 * moves are old is not. */
static void publish_half(struct scratch *s)
{
	struct sp_change change = an_install("s-42", 8);
	struct sp_page_entry *entry;
	struct sp_outcome outcome;
	uint32_t index;

	assert_int_equal(sp_page_search(s->store->writable, "s-42", &index), 0);
	entry = &s->store->writable->entries[index];
	assert_int_equal(change_within(s->store, change, 20, &outcome, NULL), SP_E_TIMEOUT);
	assert_int_equal(sp_process_self(&s->store->self), 0);
	sp_page_mark(s->store, index, true);
	entry->floor = 1;
}

static void settling_waits_for_moves_whatever_was_published(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	struct stuck stuck;

	installed(s->store, "s-42", 7);
	stuck = stuck_holder(s);
	in_a_child(publish_half, s);
	assert_int_equal(
	    change_within(s->store, an_install("s-42", 8), 20, &outcome, NULL), SP_E_TIMEOUT);
	assert_int_equal(outcome.effect, SP_EFFECT_NONE);
	assert_int_equal(write(stuck.leave, "l", 1), 1);
	assert_int_equal(change_within(s->store, an_install("s-42", 8), 30000, &outcome, NULL), 0);
	end(&stuck);
}

/* What a lying holder writes delays, and is otherwise ignored. */
static void a_lie_in_a_slot_only_delays(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	struct sp_slot lie = {.mark = UINT64_C(1) << 32 | 1, .version = 0, .pid = 1};
	int fd = openat(s->store->directory, SP_SLOTS_FILE, O_RDWR | O_CLOEXEC);
	struct flock lock = sp_slot_lock(3);

	installed(s->store, "s-42", 7);
	assert_int_equal(pwrite(fd, &lie, sizeof(lie), 3 * SP_SLOT_SIZE), sizeof(lie));
	/* Nobody holds that slot: void. */
	assert_int_equal(change_within(s->store, an_install("s-42", 8), 0, &outcome, NULL), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	assert_int_equal(
	    change_within(s->store, an_install("s-42", 9), 20, &outcome, NULL), SP_E_TIMEOUT);
	check_in_force(s->store, "s-42", 3, 3, SP_PAGE_ACTIVE);
	close(fd);
}

static void slots_grow_when_all_are_taken(void **state)
{
	enum { MANY = SP_SLOTS_FIRST + 20 };
	struct scratch *s = *state;
	struct sp_holder *holders[MANY];
	struct sp_page_view seen;
	struct sp_page_ref ref;
	struct stat info;

	installed(s->store, "s-42", 7);
	ref = ref_of(s->store, "s-42");
	seen = view_of(s->store, "s-42");
	for (unsigned i = 0; i < MANY; i++)
		holders[i] = holder_of(s->store);
	assert_int_equal(fstatat(s->store->directory, SP_SLOTS_FILE, &info, 0), 0);
	assert_int_equal(info.st_size, 2 * SP_SLOTS_FIRST * SP_SLOT_SIZE);
	/* Each has one of its own, wherever it is: all are waited for. */
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(sp_holder_enter(holders[i], ref, &seen), 0);
	for (unsigned i = 0; i < MANY; i++) {
		struct sp_outcome outcome;
		assert_int_equal(change_within(s->store, an_install("s-42", 8), 0, &outcome, NULL),
		    SP_E_TIMEOUT);
		sp_holder_close(holders[i]);
	}
	installed(s->store, "s-42", 8);
}

static void holders_of_a_removed_slots_file_are_stopped(void **state)
{
	struct scratch *s = *state;
	struct sp_holder *holder = holder_of(s->store);
	struct sp_page_view seen;
	struct sp_page_ref ref;

	installed(s->store, "s-42", 7);
	ref = ref_of(s->store, "s-42");
	seen = view_of(s->store, "s-42");
	assert_int_equal(unlinkat(s->store->directory, SP_SLOTS_FILE, 0), 0);
	installed(s->store, "s-43", 1);
	assert_int_equal(sp_holder_enter(holder, ref, &seen), SP_E_CONFLICT);
	sp_holder_close(holder);
	holder = holder_of(s->store);
	assert_int_equal(sp_holder_enter(holder, ref, &seen), 0);
	sp_holder_leave(holder);
	sp_holder_close(holder);
}

static void a_rebuilt_page_waits_for_every_move(void **state)
{
	struct scratch *s = *state;
	struct sp_outcome outcome;
	struct stuck stuck;

	installed(s->store, "s-42", 7);
	stuck = stuck_holder(s);
	s->store->writable->magic = 0;
	/* Entries will move: the slot's mark would name another sandbox. */
	assert_int_equal(
	    change_within(s->store, an_install("s-43", 1), 0, &outcome, NULL), SP_E_TIMEOUT);
	assert_int_equal(faccessat(s->store->directory, "s-43.json", F_OK, 0), -1);
	assert_int_equal(write(stuck.leave, "l", 1), 1);
	assert_int_equal(change_within(s->store, an_install("s-43", 1), 0, &outcome, NULL), 0);
	end(&stuck);
}

#define T(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_move_is_allowed_under_what_was_seen),
	    T(any_other_version_is_a_conflict),
	    T(nothing_moves_while_a_change_is_pending),
	    T(a_change_waits_for_a_move_and_names_who_is_in_it),
	    T(others_are_not_waited_for),
	    T(a_stopped_holder_is_waited_for_and_a_dead_one_is_not),
	    T(a_pruned_record_waits_too),
	    T(evidence_waits_for_what_an_earlier_install_cut),
	    T(settling_waits_for_moves_whatever_was_published),
	    T(a_lie_in_a_slot_only_delays),
	    T(slots_grow_when_all_are_taken),
	    T(holders_of_a_removed_slots_file_are_stopped),
	    T(a_rebuilt_page_waits_for_every_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
