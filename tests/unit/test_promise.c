/*
 * The promise of 06-streams: once a change has returned 0, not one more byte of an old lease moves.
 * Holders count their moves by epoch in memory shared with the installer; what an epoch has when
 * its end has returned is what it has for ever.
 */
#include "store_fixture.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { HOLDERS = 4, CHANGES = 300 };

struct shared {
	_Atomic uint64_t moved[CHANGES + 2]; /* by epoch */
	_Atomic uint64_t ready, end;
};

/* Moves under whatever is in force, as fast as it can, yielding in the middle of each move, where a
 * race would show. */
static void hold(const char *path, struct shared *shared)
{
	struct sp_store *store;
	struct sp_holder *holder;
	struct sp_page_ref ref;
	struct sp_page_view seen;
	bool counted = false;

	if (sp_store_open(path, 0, &store, NULL) < 0 || sp_holder_open(store, &holder, NULL) < 0 ||
	    sp_page_find(store, "s-42", &ref) < 0 || sp_page_look(store, ref, &seen) < 0)
		_exit(1);
	while (!shared->end) {
		if (sp_holder_enter(holder, ref, &seen) == 0) {
			(void)sched_yield();
			shared->moved[seen.epoch]++;
			sp_holder_leave(holder);
			if (!counted)
				shared->ready++;
			counted = true;
		} else if (sp_page_look(store, ref, &seen) < 0) {
			_exit(2);
		}
	}
	_exit(0);
}

static void nothing_old_moves_after_a_change_has_returned(void **state)
{
	struct scratch *s = *state;
	struct shared *shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t at_return[CHANGES + 2] = {0}, moves = 0;
	pid_t pids[HOLDERS];

	assert_ptr_not_equal(shared, MAP_FAILED);
	installed(s->store, "s-42", 1);
	for (unsigned i = 0; i < HOLDERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			hold(s->path, shared);
	}
	while (shared->ready < HOLDERS)
		(void)sched_yield();
	for (int64_t i = 1; i <= CHANGES; i++) {
		assert_int_equal(installed(s->store, "s-42", i + 1), SP_EFFECT_REPLACED);
		at_return[i] = shared->moved[i];
	}
	shared->end = 1;
	for (unsigned i = 0; i < HOLDERS; i++) {
		int status;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	for (unsigned i = 1; i <= CHANGES; i++) {
		assert_int_equal(shared->moved[i], at_return[i]);
		moves += shared->moved[i];
	}
	/* They did move: this is no test of holders that were kept out all the time. */
	assert_true(moves > CHANGES);
	assert_int_equal(munmap(shared, sizeof(*shared)), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(nothing_old_moves_after_a_change_has_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
