/* Leases on a loop: opened on the durable record, cut or carried on as it changes, remembered. */
#include "store_fixture.h"

#include <ev.h>
#include "base/io.h"
#include "lease/lease.h"

static struct {
	struct ev_loop *loop;
	struct sp_holder *holder;
	struct sp_lease_set *set;
	unsigned cuts, ends, resumes;
	struct sp_lease_end end;
} self;

static void on_cut(struct sp_lease *lease, void *context)
{
	(void)lease;
	(void)context;
	assert_int_equal(self.ends, 0);
	self.cuts++;
}

static void on_ended(struct sp_lease *lease, const struct sp_lease_end *end, void *context)
{
	(void)lease;
	(void)context;
	self.end = *end;
	self.ends++;
}

static void on_resume(struct sp_lease *lease, void *context)
{
	(void)lease;
	(void)context;
	self.resumes++;
}

static const struct sp_lease_handlers HANDLERS = {on_cut, on_ended, on_resume};

static int open_all(void **state)
{
	struct scratch *s;

	if (scratch_open(state) < 0)
		return -1;
	s = *state;
	memset(&self, 0, sizeof(self));
	self.loop = ev_loop_new(0);
	struct sp_lease_options options = {.loop = self.loop,
	    .store = s->store,
	    .cut_timeout_ms = 100,
	    .role = "test",
	    .remember = 2};
	if (sp_holder_open(s->store, &self.holder, NULL) < 0)
		return -1;
	options.holder = self.holder;
	installed(s->store, "s-42", 7);
	return sp_lease_set_new(&options, &self.set);
}

static int close_all(void **state)
{
	self.ends = 0;
	sp_lease_set_free(self.set, "the test ends");
	sp_holder_close(self.holder);
	ev_loop_destroy(self.loop);
	return scratch_close(state);
}

static struct sp_lease_asked asked(enum sp_lease_kind kind)
{
	struct sp_lease_asked ask = {.terms = {.kind = kind, .epoch = 1, .version = 1},
	    .caller = "uid:1000",
	    .op = "tree.get"};

	strcpy(ask.terms.identity.sandbox, "s-42");
	ask.terms.identity.route = an_install("s-42", 7).route;
	return ask;
}

static struct sp_lease *opened(enum sp_lease_kind kind)
{
	struct sp_lease_asked ask = asked(kind);
	struct sp_lease *lease = NULL;
	enum sp_reason reason;
	struct sp_err err = {0};

	assert_int_equal(sp_lease_open(self.set, &ask, &HANDLERS, NULL, &lease, &reason, &err), 0);
	return lease;
}

/* Turns of the loop until `count` leases have ended; a time limit ends what never does. */
static void run_until(const unsigned *what, unsigned count)
{
	int64_t until = sp_monotonic_ms() + 60000;

	while (*what < count && sp_monotonic_ms() < until)
		ev_run(self.loop, EVRUN_ONCE);
	assert_int_equal(*what, count);
}

static enum sp_effect reinstalled(struct sp_store *store, int64_t attempt, int64_t if_epoch)
{
	struct sp_change change = an_install("s-42", 7);

	change.route.attempt = attempt;
	change.has_if_epoch = if_epoch > 0;
	change.if_epoch = if_epoch;
	return changed(store, change);
}

static void a_lease_brackets_moves_and_counts_them(void **state)
{
	struct sp_lease *lease = opened(SP_LEASE_CONTROL);

	(void)state;
	assert_int_equal(sp_lease_enter(lease), 0);
	sp_lease_leave(lease, SP_LEASE_OUT, 100);
	assert_int_equal(sp_lease_enter(lease), 0);
	sp_lease_leave(lease, SP_LEASE_IN, 3);
	assert_int_equal(sp_lease_moved(lease, SP_LEASE_OUT), 100);
	assert_int_equal(sp_lease_moved(lease, SP_LEASE_IN), 3);
	assert_int_equal(strlen(sp_lease_id(lease)), 32);
	sp_lease_close(lease, "done");
	assert_int_equal(sp_lease_set_count(self.set), 0);
}

static void what_was_decided_on_must_still_be_so_when_it_opens(void **state)
{
	struct scratch *s = *state;
	struct sp_lease_asked ask = asked(SP_LEASE_GATEWAY);
	struct sp_lease *lease;
	enum sp_reason reason = SP_REASON_NONE;
	struct sp_err err = {0};
	char file[128];

	/* A new attempt: an open gateway stream would stay, one that opens must know it. */
	assert_int_equal(reinstalled(s->store, 2, 0), SP_EFFECT_ATTEMPT_ONLY);
	assert_int_equal(
	    sp_lease_open(self.set, &ask, &HANDLERS, NULL, &lease, &reason, &err), SP_E_CONFLICT);
	assert_int_equal(reason, SP_REASON_ATTEMPT);
	/* Back again: the same route in another epoch. */
	assert_int_equal(reinstalled(s->store, 1, 2), SP_EFFECT_ATTEMPT_ONLY);
	reason = SP_REASON_NONE;
	assert_int_equal(
	    sp_lease_open(self.set, &ask, &HANDLERS, NULL, &lease, &reason, &err), SP_E_CONFLICT);
	assert_int_equal(reason, SP_REASON_ATTEMPT);
	ask.terms.epoch = 3;
	fenced(s->store, "s-42", true);
	assert_int_equal(
	    sp_lease_open(self.set, &ask, &HANDLERS, NULL, &lease, &reason, &err), SP_E_CONFLICT);
	assert_int_equal(reason, SP_REASON_FENCED);
	/* The page alone is not believed. */
	ask.terms.version = 4;
	snprintf(file, sizeof(file), "%s/s-42.json", s->path);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(
	    sp_lease_open(self.set, &ask, &HANDLERS, NULL, &lease, &reason, &err), SP_E_CONFLICT);
	assert_int_equal(reason, SP_REASON_ABSENT);
}

static void idle_leases_are_cut_by_the_loop_and_told_why(void **state)
{
	struct scratch *s = *state;
	const struct sp_lease *found = NULL;
	char id[SP_LEASE_ID_SIZE];

	strcpy(id, sp_lease_id(opened(SP_LEASE_CONTROL)));
	(void)opened(SP_LEASE_GATEWAY);
	installed(s->store, "s-42", 8);
	/* on_cut checks that both are cut before the first is ended. */
	run_until(&self.ends, 2);
	assert_int_equal(self.cuts, 2);
	assert_int_equal(self.end.ending, SP_LEASE_WAS_CUT);
	assert_int_equal(self.end.reason, SP_REASON_EXECUTION);
	assert_int_equal(sp_lease_find(self.set, "s-42", id, &found), 0);
	json_t *json = sp_lease_json(found);
	assert_string_equal(json_string_value(json_object_get(json, "state")), "cut");
	assert_string_equal(json_string_value(json_object_get(json, "reason")), "execution");
	assert_string_equal(json_string_value(json_object_get(json, "decision")), "refresh-route");
	json_decref(json);
	assert_int_equal(sp_lease_find(self.set, "s-43", id, &found), SP_E_ABSENT);
	assert_int_equal(sp_lease_find(self.set, NULL, "", &found), SP_E_CONFLICT);
}

static void a_move_notices_by_itself(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *lease = opened(SP_LEASE_CONTROL);

	retired(s->store, "s-42", 7);
	assert_int_equal(sp_lease_enter(lease), SP_E_CONFLICT);
	assert_int_equal(sp_lease_enter(lease), SP_E_CONFLICT);
	assert_int_equal(self.cuts, 0);
	run_until(&self.ends, 1);
	assert_int_equal(self.end.reason, SP_REASON_RETIRED);
}

static void a_gateway_lease_goes_on_under_the_new_epoch(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *gateway = opened(SP_LEASE_GATEWAY);

	(void)opened(SP_LEASE_CONTROL);
	assert_int_equal(reinstalled(s->store, 2, 0), SP_EFFECT_ATTEMPT_ONLY);
	assert_int_equal(sp_lease_enter(gateway), 0);
	sp_lease_leave(gateway, SP_LEASE_IN, 1);
	assert_int_equal(sp_lease_terms(gateway)->epoch, 2);
	run_until(&self.ends, 1);
	assert_int_equal(self.end.reason, SP_REASON_ATTEMPT);
	handed_off(s->store, "s-42", "op-7", "op-8");
	fenced(s->store, "s-42", false);
	/* Two more while nobody looked: all of them of the attempt. */
	assert_int_equal(reinstalled(s->store, 2, 2), SP_EFFECT_CONFLICT); /* another owner */
	assert_int_equal(sp_lease_enter(gateway), 0);
	sp_lease_leave(gateway, SP_LEASE_IN, 1);
	assert_int_equal(sp_lease_set_count(self.set), 1);
}

static void an_activation_that_came_and_went_unseen_still_cuts(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *lease = opened(SP_LEASE_GATEWAY);
	struct sp_change other = an_install("s-42", 7);

	strcpy(other.route.activation, "act-20");
	other.has_if_epoch = true;
	other.if_epoch = 1;
	assert_int_equal(changed(s->store, other), SP_EFFECT_REPLACED);
	assert_int_equal(reinstalled(s->store, 1, 2), SP_EFFECT_REPLACED);
	assert_int_equal(sp_lease_enter(lease), SP_E_CONFLICT);
	run_until(&self.ends, 1);
	assert_int_equal(self.end.reason, SP_REASON_ACTIVATION);
}

static void attempts_that_came_and_went_unseen_do_not(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *lease = opened(SP_LEASE_GATEWAY);

	assert_int_equal(reinstalled(s->store, 2, 0), SP_EFFECT_ATTEMPT_ONLY);
	assert_int_equal(reinstalled(s->store, 3, 0), SP_EFFECT_ATTEMPT_ONLY);
	assert_int_equal(sp_lease_enter(lease), 0);
	sp_lease_leave(lease, SP_LEASE_IN, 1);
	assert_int_equal(sp_lease_terms(lease)->epoch, 3);
}

/* More changes than the page remembers, of others. */
static void let_the_page_forget(struct sp_store *store)
{
	installed(store, "s-43", 1);
	for (unsigned i = 0; i < SP_PAGE_EVENTS; i++)
		handed_off(store, "s-43", i % 2 ? "op-8" : "op-7", i % 2 ? "op-7" : "op-8");
}

/* Taken away and installed anew, the record starts at epoch 1 again: route and epoch are those of
 * the lease, and nobody remembers what lay between. */
static void an_execution_that_went_and_came_back_forgotten_still_cuts(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *gateway = opened(SP_LEASE_GATEWAY), *control = opened(SP_LEASE_CONTROL);
	struct sp_outcome outcome;

	retired(s->store, "s-42", 7);
	assert_int_equal(sp_store_remove(s->store, "s-42", INT64_MAX, 2000, &outcome, NULL), 0);
	assert_int_equal(installed(s->store, "s-42", 7), SP_EFFECT_INSTALLED);
	let_the_page_forget(s->store);
	assert_int_equal(sp_lease_enter(gateway), SP_E_CONFLICT);
	assert_int_equal(sp_lease_enter(control), SP_E_CONFLICT);
	run_until(&self.ends, 2);
	assert_int_equal(self.end.reason, SP_REASON_ACTIVATION);
}

/* What is forgotten cuts nobody whose sandbox only changed its owner. */
static void owners_that_changed_forgotten_do_not(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *gateway = opened(SP_LEASE_GATEWAY), *control = opened(SP_LEASE_CONTROL);

	handed_off(s->store, "s-42", "op-7", "op-8");
	handed_off(s->store, "s-42", "op-8", "op-7");
	let_the_page_forget(s->store);
	assert_int_equal(sp_lease_enter(gateway), 0);
	sp_lease_leave(gateway, SP_LEASE_IN, 1);
	assert_int_equal(sp_lease_enter(control), 0);
	sp_lease_leave(control, SP_LEASE_IN, 1);
}

static void while_a_change_is_pending_nothing_moves_and_then_it_goes_on(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *lease = opened(SP_LEASE_CONTROL);
	struct sp_page_ref ref = ref_of(s->store, "s-42");

	sp_page_mark(s->store, ref.index, true);
	assert_int_equal(sp_lease_enter(lease), -EAGAIN);
	ev_run(self.loop, EVRUN_NOWAIT);
	assert_int_equal(self.resumes, 0);
	sp_page_publish(s->store, ref.index, SP_EFFECT_FENCED, SP_PAGE_ACTIVE, 1, 1, 0);
	run_until(&self.resumes, 1);
	assert_int_equal(sp_lease_enter(lease), 0);
	sp_lease_leave(lease, SP_LEASE_IN, 1);
}

static void a_change_that_never_ends_cuts(void **state)
{
	struct scratch *s = *state;
	struct sp_lease *lease = opened(SP_LEASE_CONTROL);
	struct sp_page_ref ref = ref_of(s->store, "s-42");

	sp_page_mark(s->store, ref.index, true);
	assert_int_equal(sp_lease_enter(lease), -EAGAIN);
	run_until(&self.ends, 1);
	assert_int_equal(self.resumes, 0);
	assert_int_equal(self.end.ending, SP_LEASE_WAS_CUT);
	assert_int_equal(self.end.reason, SP_REASON_NONE);
	assert_string_equal(self.end.words, "a change of the record did not come to its end");
	sp_page_publish(s->store, ref.index, SP_EFFECT_FENCED, SP_PAGE_ACTIVE, 1, 1, 0);
}

static void a_record_taken_away_by_hand_cuts(void **state)
{
	struct scratch *s = *state;
	char file[128];

	(void)opened(SP_LEASE_GATEWAY);
	installed(s->store, "s-43", 1);
	snprintf(file, sizeof(file), "%s/s-42.json", s->path);
	assert_int_equal(unlink(file), 0);
	run_until(&self.ends, 1);
	assert_int_equal(self.end.reason, SP_REASON_ABSENT);
}

static void an_operator_cancels_one_or_all_of_a_sandbox(void **state)
{
	struct sp_lease *lease = opened(SP_LEASE_CONTROL);
	const struct sp_lease *found;

	(void)state;
	(void)opened(SP_LEASE_CONTROL);
	(void)opened(SP_LEASE_CONTROL);
	assert_int_equal(sp_lease_find(self.set, NULL, sp_lease_id(lease), &found), 0);
	assert_int_equal(sp_lease_cancel(self.set, "s-43", sp_lease_id(lease)), 0);
	assert_int_equal(sp_lease_cancel(self.set, NULL, sp_lease_id(lease)), 1);
	run_until(&self.ends, 1);
	assert_int_equal(self.end.ending, SP_LEASE_CANCELLED);
	self.ends = 0;
	assert_int_equal(sp_lease_cancel(self.set, "s-42", NULL), 2);
	run_until(&self.ends, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_lease_brackets_moves_and_counts_them),
	    TEST(what_was_decided_on_must_still_be_so_when_it_opens),
	    TEST(idle_leases_are_cut_by_the_loop_and_told_why),
	    TEST(a_move_notices_by_itself),
	    TEST(a_gateway_lease_goes_on_under_the_new_epoch),
	    TEST(an_activation_that_came_and_went_unseen_still_cuts),
	    TEST(attempts_that_came_and_went_unseen_do_not),
	    TEST(an_execution_that_went_and_came_back_forgotten_still_cuts),
	    TEST(owners_that_changed_forgotten_do_not),
	    TEST(while_a_change_is_pending_nothing_moves_and_then_it_goes_on),
	    TEST(a_change_that_never_ends_cuts),
	    TEST(a_record_taken_away_by_hand_cuts),
	    TEST(an_operator_cancels_one_or_all_of_a_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
