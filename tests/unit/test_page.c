/* The page: finding entries among many, growth, reuse, rebuilding, and following changes. */
#include "store_fixture.h"

#include "base/io.h"

static void sandbox_name(unsigned i, char name[16])
{
	(void)snprintf(name, 16, "s-%u", i);
}

/* Gives entries without writing records: this is about the page. */
static void give(struct sp_store *store, unsigned from, unsigned to, enum sp_page_state as)
{
	assert_int_equal(sp_store_lock(store, true, NULL), 0);
	for (unsigned i = from; i < to; i++) {
		char name[16];
		uint32_t index;
		sandbox_name(i, name);
		assert_int_equal(sp_page_give(store, name, &index, NULL), 0);
		sp_page_publish(store, index, SP_EFFECT_INSTALLED, as, 1, i + 1, 0);
	}
	sp_store_unlock(store);
}

static void every_sandbox_is_found_among_thousands(void **state)
{
	struct scratch *s = *state;
	struct sp_page_ref ref;
	struct sp_store *reader;

	/* A reader that mapped the page when it was small sees it grow. */
	assert_int_equal(sp_store_open(s->path, 0, &reader, NULL), 0);
	assert_int_equal(sp_page_find(reader, "s-0", &ref), SP_E_ABSENT);
	give(s->store, 0, 100000, SP_PAGE_ACTIVE);
	for (unsigned i = 0; i < 100000; i += 7) {
		char name[16];
		sandbox_name(i, name);
		assert_int_equal(view_of(reader, name).version, i + 1);
	}
	assert_int_equal(sp_page_find(reader, "s-100000", &ref), SP_E_ABSENT);
	sp_store_close(reader);
}

static void entries_without_a_record_are_reused_under_a_new_generation(void **state)
{
	struct scratch *s = *state;
	struct sp_page_ref dropped, kept;
	struct sp_page_view view;

	give(s->store, 0, 200, SP_PAGE_ABSENT);
	give(s->store, 200, 256, SP_PAGE_ACTIVE); /* the first room is used up */
	dropped = ref_of(s->store, "s-10");
	kept = ref_of(s->store, "s-210");
	give(s->store, 1000, 1200, SP_PAGE_ACTIVE);
	assert_int_equal(s->store->writable->capacity, 256);
	assert_int_equal(s->store->writable->count, 256);
	assert_int_equal(sp_page_look(s->store, dropped, &view), SP_E_ABSENT);
	assert_int_equal(sp_page_find(s->store, "s-10", &dropped), SP_E_ABSENT);
	assert_int_equal(sp_page_look(s->store, kept, &view), 0);
	assert_int_equal(view.version, 211);
	assert_int_equal(view_of(s->store, "s-1000").version, 1001);
	/* Who comes back goes on above every version that was dropped. */
	assert_int_equal(installed(s->store, "s-10", 1), SP_EFFECT_INSTALLED);
	check_in_force(s->store, "s-10", 1, 201, SP_PAGE_ACTIVE);
}

static void relinking_cut_short_is_done_again(void **state)
{
	struct scratch *s = *state;
	struct sp_page *page;

	give(s->store, 0, 100, SP_PAGE_ACTIVE);
	page = s->store->writable;
	page->links++;
	for (unsigned i = 0; i < SP_PAGE_BUCKETS / 2; i++)
		page->buckets[i] = 0;
	assert_int_equal(sp_page_find(s->store, "s-5", &(struct sp_page_ref){0}), SP_E_UNAVAILABLE);
	installed(s->store, "s-42", 1);
	for (unsigned i = 0; i < 100; i++) {
		char name[16];
		sandbox_name(i, name);
		(void)ref_of(s->store, name);
	}
}

static void check_rebuilt(struct scratch *s, int64_t execution)
{
	struct sp_page_view view = {0};

	assert_int_not_equal(installed(s->store, "s-99", execution), SP_EFFECT_CONFLICT);
	check_in_force(s->store, "s-1", 1, 1, SP_PAGE_ACTIVE);
	check_in_force(s->store, "s-2", 2, 2, SP_PAGE_RETIRED);
	view = view_of(s->store, "s-99");
	assert_int_equal(view.state, SP_PAGE_ACTIVE);
}

static void two_records(struct scratch *s)
{
	installed(s->store, "s-1", 1);
	installed(s->store, "s-2", 1);
	retired(s->store, "s-2", 1);
}

static void a_page_of_another_boot_is_made_anew_from_the_records(void **state)
{
	struct scratch *s = *state;
	struct sp_store *reader;
	const struct sp_record *record;
	struct sp_page_ref old;
	struct sp_page_view view;
	struct sp_err err;

	two_records(s);
	assert_int_equal(sp_store_open(s->path, 0, &reader, NULL), 0);
	reader->writer = false;
	old = ref_of(reader, "s-1");
	s->store->writable->boot ^= 2;
	assert_int_equal(sp_page_look(reader, old, &view), SP_E_UNAVAILABLE);
	assert_int_equal(sp_store_current(reader, "s-1", &record, &err), SP_E_UNAVAILABLE);
	assert_non_null(strstr(err.message, "of another boot"));
	check_rebuilt(s, 1);
	/* In place: the reader has it mapped still; its old place means nothing any more. */
	assert_int_equal(sp_page_look(reader, old, &view), SP_E_ABSENT);
	assert_int_equal(sp_store_current(reader, "s-1", &record, NULL), 0);
	sp_store_close(reader);
}

static void a_damaged_page_is_made_anew(void **state)
{
	struct scratch *s = *state;
	struct sp_store *reader;
	struct sp_page_ref ref;

	two_records(s);
	s->store->writable->magic = 0;
	assert_int_equal(sp_store_open(s->path, 0, &reader, NULL), 0);
	assert_int_equal(sp_page_find(reader, "s-1", &ref), SP_E_UNAVAILABLE);
	sp_store_close(reader);
	check_rebuilt(s, 1);
	s->store->writable->count = UINT64_MAX;
	check_rebuilt(s, 2);
}

static void a_missing_page_is_made_anew_and_noticed(void **state)
{
	struct scratch *s = *state;
	struct sp_store *reader;
	const struct sp_record *record;

	two_records(s);
	assert_int_equal(sp_store_open(s->path, 0, &reader, NULL), 0);
	reader->writer = false;
	assert_int_equal(sp_store_current(reader, "s-1", &record, NULL), 0);
	assert_int_equal(unlinkat(s->store->directory, SP_PAGE_FILE, 0), 0);
	reader->checked = 0; /* as after 100 ms */
	assert_int_equal(sp_store_current(reader, "s-1", &record, NULL), SP_E_UNAVAILABLE);
	check_rebuilt(s, 1);
	assert_int_equal(installed(s->store, "s-1", 2), SP_EFFECT_REPLACED);
	assert_int_equal(sp_store_current(reader, "s-1", &record, NULL), 0);
	assert_int_equal(record->identity.route.execution, 2);
	sp_store_close(reader);
}

static void a_page_that_others_can_write_is_not_believed(void **state)
{
	struct scratch *s = *state;
	struct sp_store *reader;
	struct sp_page_ref ref;

	two_records(s);
	assert_int_equal(fchmodat(s->store->directory, SP_PAGE_FILE, 0664, 0), 0);
	assert_int_equal(sp_store_open(s->path, 0, &reader, NULL), 0);
	assert_int_equal(sp_page_find(reader, "s-1", &ref), SP_E_UNAVAILABLE);
	sp_store_close(reader);
}

static void the_counter_moves_with_marks_and_publications(void **state)
{
	struct scratch *s = *state;
	uint64_t before;

	installed(s->store, "s-42", 7);
	before = sp_page_counter(s->store);
	assert_int_equal(sp_page_wait(s->store, before, 0), SP_E_TIMEOUT);
	installed(s->store, "s-42", 7); /* none */
	assert_int_equal(sp_page_counter(s->store), before);
	handed_off(s->store, "s-42", "op-7", "op-8");
	assert_int_equal(sp_page_counter(s->store), before + 1);
	installed(s->store, "s-42", 8);
	assert_int_equal(sp_page_counter(s->store), before + 3);
	assert_int_equal(sp_page_wait(s->store, before, 10000), 0);
}

static void change_once(struct scratch *s)
{
	struct sp_store *writer;

	if (sp_store_open(s->path, 0, &writer, NULL) < 0)
		_exit(1);
	(void)installed(writer, "s-42", 8);
	sp_store_close(writer);
}

static void waiting_ends_with_the_change(void **state)
{
	struct scratch *s = *state;
	uint64_t before;
	int status;
	pid_t pid;

	installed(s->store, "s-42", 7);
	before = sp_page_counter(s->store);
	pid = fork();
	if (pid == 0) {
		change_once(s);
		_exit(0);
	}
	assert_int_equal(sp_page_wait(s->store, before, 30000), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void every_change_is_seen_singly(void **state)
{
	static const enum sp_effect effects[] = {SP_EFFECT_INSTALLED, SP_EFFECT_HANDOFF,
	    SP_EFFECT_FENCED, SP_EFFECT_REPLACED, SP_EFFECT_RETIRED};
	static const uint64_t epochs[] = {1, 1, 1, 2, 3};
	struct scratch *s = *state;
	uint64_t cursor = sp_page_cursor(s->store);
	struct sp_page_change change;

	assert_int_equal(sp_page_next(s->store, &cursor, &change), 0);
	installed(s->store, "s-42", 7);
	handed_off(s->store, "s-42", "op-7", "op-8");
	fenced(s->store, "s-42", false);
	installed(s->store, "s-42", 8);
	retired(s->store, "s-42", 8);
	for (unsigned i = 0; i < SP_COUNT(effects); i++) {
		assert_int_equal(sp_page_next(s->store, &cursor, &change), 1);
		assert_string_equal(change.sandbox, "s-42");
		assert_int_equal(change.effect, effects[i]);
		assert_int_equal(change.epoch, epochs[i]);
		assert_int_equal(change.version, i + 1);
	}
	assert_int_equal(change.state, SP_PAGE_RETIRED);
	assert_int_equal(sp_page_next(s->store, &cursor, &change), 0);
}

static void too_many_changes_at_once_are_a_gap(void **state)
{
	struct scratch *s = *state;
	uint64_t cursor = sp_page_cursor(s->store);
	struct sp_page_change change;

	give(s->store, 0, SP_PAGE_EVENTS + 10, SP_PAGE_ACTIVE);
	assert_int_equal(sp_page_next(s->store, &cursor, &change), SP_E_ABSENT);
	assert_int_equal(sp_page_next(s->store, &cursor, &change), 0);
	give(s->store, 0, SP_PAGE_EVENTS - 1, SP_PAGE_ACTIVE);
	for (unsigned i = 0; i < SP_PAGE_EVENTS - 1; i++)
		assert_int_equal(sp_page_next(s->store, &cursor, &change), 1);
	assert_int_equal(sp_page_next(s->store, &cursor, &change), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(every_sandbox_is_found_among_thousands),
	    T(entries_without_a_record_are_reused_under_a_new_generation),
	    T(relinking_cut_short_is_done_again),
	    T(a_page_of_another_boot_is_made_anew_from_the_records),
	    T(a_damaged_page_is_made_anew),
	    T(a_missing_page_is_made_anew_and_noticed),
	    T(a_page_that_others_can_write_is_not_believed),
	    T(the_counter_moves_with_marks_and_publications),
	    T(waiting_ends_with_the_change),
	    T(every_change_is_seen_singly),
	    T(too_many_changes_at_once_are_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
