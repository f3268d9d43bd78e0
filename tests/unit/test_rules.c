/* Every row of the tables of install, retire, handoff and fence (03-identity): exact effect, epoch,
 * version, evidence, fence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/util.h"
#include "store/rules.h"

enum { NOW = 2000, BEFORE = 1000, FENCED = 900 };

/* The record that every case starts from, unless it starts from none. */
static struct sp_record installed(void)
{
	struct sp_record record = {
	    .identity = {.sandbox = "s-42",
		.route = {.execution = 7,
		    .attempt = 3,
		    .substrate = SP_SUBSTRATE_KUBERNETES,
		    .worker = "worker-a",
		    .pod_uid = "0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b",
		    .activation = "act-19"}},
	    .epoch = 9,
	    .version = 14,
	    .owner = "op-7",
	    .fenced_at = FENCED,
	    .cut_version = 13,
	    .installed_at = BEFORE,
	};

	record.bridge = json_pack("{si}", "pid", 10);
	return record;
}

static struct sp_change install_of(const struct sp_record *record)
{
	return (struct sp_change){.kind = SP_CHANGE_INSTALL,
	    .sandbox = "s-42",
	    .route = record->identity.route,
	    .owner = "op-7",
	    .now = NOW};
}

struct install_case {
	const char *name;
	bool absent, retired;                                  /* what is installed */
	int execution, attempt;                                /* 0: as installed */
	const char *worker, *activation, *owner, *this_worker; /* NULL: as installed; not set */
	int if_epoch;                                          /* -1: not given */
	const char *bridge, *vmm; /* given evidence as JSON; NULL: not given */
	enum sp_effect effect;
	int epoch, version; /* of the outcome; version 0: nothing changed */
	bool keeps_bridge, keeps_fence;
};

#define SAME  "{\"pid\":10}"
#define OTHER "{\"pid\":11}"

static const struct install_case INSTALLS[] = {
    {"1: epoch is not N", .execution = 8, .if_epoch = 8, .effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"1: 0 wants no record", .execution = 8, .if_epoch = 0, .effect = SP_EFFECT_CONFLICT,
	.epoch = 9},
    {"1: N wants a record", .absent = true, .if_epoch = 9, .effect = SP_EFFECT_CONFLICT},
    {"1: comes before 2", .this_worker = "worker-b", .if_epoch = 8, .effect = SP_EFFECT_CONFLICT,
	.epoch = 9},
    {"2: another worker", .this_worker = "worker-b", .execution = 8, .if_epoch = -1,
	.effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"2: another worker, no record", .absent = true, .this_worker = "worker-b", .if_epoch = -1,
	.effect = SP_EFFECT_CONFLICT},
    {"2: another worker, despite --if-epoch", .this_worker = "worker-b", .execution = 8,
	.if_epoch = 9, .effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"2: this worker", .this_worker = "worker-a", .execution = 8, .if_epoch = -1,
	.effect = SP_EFFECT_REPLACED, .epoch = 10, .version = 21},
    {"2: worker not set", .this_worker = "", .execution = 8, .if_epoch = -1,
	.effect = SP_EFFECT_REPLACED, .epoch = 10, .version = 21},
    {"3: no record", .absent = true, .if_epoch = -1, .effect = SP_EFFECT_INSTALLED, .epoch = 1,
	.version = 21},
    {"3: no record, and 0 was expected", .absent = true, .if_epoch = 0, .bridge = OTHER,
	.effect = SP_EFFECT_INSTALLED, .epoch = 1, .version = 21},
    {"4: lower execution", .execution = 6, .if_epoch = -1, .effect = SP_EFFECT_CONFLICT,
	.epoch = 9},
    {"4: lower execution, despite --if-epoch", .execution = 6, .if_epoch = 9,
	.effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"4: equal and retired", .retired = true, .if_epoch = -1, .effect = SP_EFFECT_CONFLICT,
	.epoch = 9},
    {"4: equal and retired, higher attempt, despite --if-epoch", .retired = true, .attempt = 4,
	.if_epoch = 9, .effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"5: higher execution", .execution = 8, .if_epoch = -1, .effect = SP_EFFECT_REPLACED,
	.epoch = 10, .version = 21},
    {"5: higher than a retired one", .retired = true, .execution = 8, .if_epoch = -1,
	.effect = SP_EFFECT_REPLACED, .epoch = 10, .version = 21},
    {"5: with evidence of its own", .execution = 8, .bridge = OTHER, .if_epoch = 9,
	.effect = SP_EFFECT_REPLACED, .epoch = 10, .version = 21},
    {"5: another owner", .execution = 8, .owner = "op-8", .if_epoch = -1,
	.effect = SP_EFFECT_REPLACED, .epoch = 10, .version = 21},
    {"6: same route, other owner", .owner = "op-8", .if_epoch = -1, .effect = SP_EFFECT_CONFLICT,
	.epoch = 9},
    {"6: other owner, despite --if-epoch", .owner = "op-8", .if_epoch = 9,
	.effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"6: comes before 7", .owner = "op-8", .vmm = OTHER, .if_epoch = -1,
	.effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"7: evidence where there was none", .vmm = OTHER, .if_epoch = -1, .effect = SP_EFFECT_EVIDENCE,
	.epoch = 9, .version = 21, .keeps_bridge = true, .keeps_fence = true},
    {"7: new beside the recorded one", .bridge = SAME, .vmm = OTHER, .if_epoch = -1,
	.effect = SP_EFFECT_EVIDENCE, .epoch = 9, .version = 21, .keeps_bridge = true,
	.keeps_fence = true},
    {"8: other evidence", .bridge = OTHER, .if_epoch = -1, .effect = SP_EFFECT_CONFLICT,
	.epoch = 9},
    {"8: other evidence, despite --if-epoch", .bridge = OTHER, .if_epoch = 9,
	.effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"8: other evidence beside new", .bridge = OTHER, .vmm = OTHER, .if_epoch = -1,
	.effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"9: same route", .if_epoch = -1, .effect = SP_EFFECT_NONE, .epoch = 9},
    {"9: same route and evidence", .bridge = SAME, .if_epoch = 9, .effect = SP_EFFECT_NONE,
	.epoch = 9},
    {"10: higher attempt", .attempt = 4, .if_epoch = -1, .effect = SP_EFFECT_ATTEMPT_ONLY,
	.epoch = 10, .version = 21, .keeps_fence = true},
    {"10: lower attempt with --if-epoch", .attempt = 2, .if_epoch = 9,
	.effect = SP_EFFECT_ATTEMPT_ONLY, .epoch = 10, .version = 21, .keeps_fence = true},
    {"10: evidence given anew", .attempt = 4, .bridge = OTHER, .if_epoch = -1,
	.effect = SP_EFFECT_ATTEMPT_ONLY, .epoch = 10, .version = 21, .keeps_fence = true},
    {"11: other activation with --if-epoch", .activation = "act-20", .if_epoch = 9,
	.effect = SP_EFFECT_REPLACED, .epoch = 10, .version = 21, .keeps_fence = true},
    {"11: other worker and attempt with --if-epoch", .worker = "worker-b", .attempt = 4,
	.if_epoch = 9, .effect = SP_EFFECT_REPLACED, .epoch = 10, .version = 21,
	.keeps_fence = true},
    {"12: lower attempt", .attempt = 2, .if_epoch = -1, .effect = SP_EFFECT_CONFLICT, .epoch = 9},
    {"12: other activation", .activation = "act-20", .if_epoch = -1, .effect = SP_EFFECT_CONFLICT,
	.epoch = 9},
    {"12: other activation, higher attempt", .activation = "act-20", .attempt = 4, .if_epoch = -1,
	.effect = SP_EFFECT_CONFLICT, .epoch = 9},
};

static struct sp_change change_of(const struct install_case *c, const struct sp_record *old)
{
	struct sp_change change = install_of(old);

	if (c->execution)
		change.route.execution = c->execution;
	if (c->attempt)
		change.route.attempt = c->attempt;
	if (c->worker)
		strcpy(change.route.worker, c->worker);
	if (c->activation)
		strcpy(change.route.activation, c->activation);
	if (c->owner)
		change.owner = c->owner;
	change.worker = c->this_worker;
	change.has_if_epoch = c->if_epoch >= 0;
	change.if_epoch = c->if_epoch;
	change.bridge = c->bridge ? json_loads(c->bridge, 0, NULL) : NULL;
	change.vmm = c->vmm ? json_loads(c->vmm, 0, NULL) : NULL;
	return change;
}

static void check_record(const struct install_case *c, const struct sp_change *change,
    const struct sp_record *old, const struct sp_record *new)
{
	assert_string_equal(new->identity.sandbox, "s-42");
	assert_true(sp_route_equal(&new->identity.route, &change->route));
	assert_string_equal(new->owner, change->owner);
	assert_false(new->retired);
	assert_int_equal(new->epoch, c->epoch);
	assert_int_equal(new->version, c->version);
	assert_ptr_equal(new->bridge, c->keeps_bridge ? old->bridge : change->bridge);
	assert_ptr_equal(new->vmm, change->vmm);
	assert_null(new->guest);
	assert_int_equal(new->fenced_at, c->keeps_fence ? FENCED : 0);
	assert_int_equal(new->cut_version, c->keeps_fence ? 13 : 0);
	assert_int_equal(new->installed_at, c->effect == SP_EFFECT_EVIDENCE ? BEFORE : NOW);
}

static void install_follows_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(INSTALLS); i++) {
		const struct install_case *c = &INSTALLS[i];
		struct sp_record old = installed(), new = {.epoch = -1};
		struct sp_change change = change_of(c, &old);
		old.retired = c->retired;
		/* A floor above the record's version: the sandbox had higher ones before. */
		struct sp_outcome out =
		    sp_change_decide(c->absent ? NULL : &old, &change, 20, &new);
		if (out.effect != c->effect || out.epoch != c->epoch)
			fail_msg("row %s: effect %d at epoch %lld", c->name, (int)out.effect,
			    (long long)out.epoch);
		assert_int_equal(out.conflict != NULL, c->effect == SP_EFFECT_CONFLICT);
		if (c->version)
			check_record(c, &change, &old, &new);
		else
			assert_int_equal(new.epoch, -1);
		if (c->version)
			sp_record_done(&new);
		json_decref(change.bridge);
		json_decref(change.vmm);
		sp_record_done(&old);
	}
}

static struct sp_outcome decide(
    const struct sp_record *old, struct sp_change change, struct sp_record *ret)
{
	change.sandbox = "s-42";
	change.now = NOW;
	return sp_change_decide(old, &change, 3, ret);
}

static void retire_takes_down_only_the_execution_it_names(void **state)
{
	struct sp_record old = installed(), new;
	struct sp_change seven = {.kind = SP_CHANGE_RETIRE, .execution = 7};
	struct sp_change six = {.kind = SP_CHANGE_RETIRE, .execution = 6};
	struct sp_change eight = {.kind = SP_CHANGE_RETIRE, .execution = 8};
	struct sp_outcome out = decide(&old, seven, &new);

	(void)state;
	assert_int_equal(out.effect, SP_EFFECT_RETIRED);
	assert_int_equal(out.epoch, 10);
	assert_int_equal(new.epoch, 10);
	assert_int_equal(new.version, 15);
	assert_true(new.retired);
	assert_true(sp_route_equal(&new.identity.route, &old.identity.route));
	sp_record_done(&new);
	assert_int_equal(decide(&old, six, &new).effect, SP_EFFECT_CONFLICT);
	assert_int_equal(decide(&old, eight, &new).effect, SP_EFFECT_CONFLICT);
	assert_int_equal(decide(NULL, seven, &new).effect, SP_EFFECT_CONFLICT);
	assert_int_equal(decide(NULL, seven, &new).epoch, 0);
	old.retired = true;
	out = decide(&old, seven, &new);
	assert_int_equal(out.effect, SP_EFFECT_NONE);
	assert_int_equal(out.epoch, 9);
	assert_int_equal(decide(&old, six, &new).effect, SP_EFFECT_CONFLICT);
	sp_record_done(&old);
}

static void handoff_changes_the_owner_and_nothing_else(void **state)
{
	struct sp_record old = installed(), new;
	struct sp_change change = {.kind = SP_CHANGE_HANDOFF, .from = "op-7", .to = "op-8"};
	struct sp_change late = {.kind = SP_CHANGE_HANDOFF, .from = "op-6", .to = "op-8"};
	struct sp_change same = {.kind = SP_CHANGE_HANDOFF, .from = "op-7", .to = "op-7"};
	struct sp_outcome out = decide(&old, change, &new);

	(void)state;
	assert_int_equal(out.effect, SP_EFFECT_HANDOFF);
	assert_int_equal(out.epoch, 9);
	assert_int_equal(new.epoch, 9);
	assert_int_equal(new.version, 15);
	assert_string_equal(new.owner, "op-8");
	assert_true(sp_route_equal(&new.identity.route, &old.identity.route));
	assert_ptr_equal(new.bridge, old.bridge);
	assert_int_equal(new.fenced_at, FENCED);
	assert_int_equal(new.cut_version, 13);
	assert_int_equal(new.installed_at, BEFORE);
	sp_record_done(&new);
	assert_int_equal(decide(&old, same, &new).effect, SP_EFFECT_NONE);
	assert_int_equal(decide(&old, late, &new).effect, SP_EFFECT_CONFLICT);
	assert_int_equal(decide(NULL, change, &new).effect, SP_EFFECT_CONFLICT);
	old.identity.route.substrate = SP_SUBSTRATE_HOST;
	assert_int_equal(decide(&old, change, &new).effect, SP_EFFECT_CONFLICT);
	old.identity.route.substrate = SP_SUBSTRATE_KUBERNETES;
	old.retired = true;
	assert_int_equal(decide(&old, change, &new).effect, SP_EFFECT_CONFLICT);
	sp_record_done(&old);
}

static void fence_marks_the_time_and_on_request_the_cut(void **state)
{
	struct sp_record old = installed(), new;
	struct sp_change fence = {.kind = SP_CHANGE_FENCE};
	struct sp_change cut = {.kind = SP_CHANGE_FENCE, .cut = true};
	struct sp_outcome out = decide(&old, fence, &new);

	(void)state;
	assert_int_equal(out.effect, SP_EFFECT_FENCED);
	assert_int_equal(out.epoch, 9);
	assert_int_equal(new.epoch, 9);
	assert_int_equal(new.version, 15);
	assert_int_equal(new.fenced_at, NOW);
	assert_int_equal(new.cut_version, 13);
	assert_ptr_equal(new.bridge, old.bridge);
	sp_record_done(&new);
	assert_int_equal(decide(&old, cut, &new).effect, SP_EFFECT_FENCED);
	assert_int_equal(new.cut_version, 15);
	assert_int_equal(new.version, 15);
	sp_record_done(&new);
	old.fenced_at = NOW + 100; /* the clock was set back */
	assert_int_equal(decide(&old, fence, &new).effect, SP_EFFECT_FENCED);
	assert_int_equal(new.fenced_at, NOW + 100);
	sp_record_done(&new);
	assert_int_equal(decide(NULL, fence, &new).effect, SP_EFFECT_CONFLICT);
	old.retired = true;
	assert_int_equal(decide(&old, cut, &new).effect, SP_EFFECT_CONFLICT);
	sp_record_done(&old);
}

static void owner_and_evidence_let_holders_go_on(void **state)
{
	(void)state;
	assert_false(sp_effect_pends(SP_EFFECT_NONE));
	assert_false(sp_effect_pends(SP_EFFECT_CONFLICT));
	assert_false(sp_effect_pends(SP_EFFECT_HANDOFF));
	assert_false(sp_effect_pends(SP_EFFECT_EVIDENCE));
	assert_true(sp_effect_pends(SP_EFFECT_INSTALLED));
	assert_true(sp_effect_pends(SP_EFFECT_REPLACED));
	assert_true(sp_effect_pends(SP_EFFECT_ATTEMPT_ONLY));
	assert_true(sp_effect_pends(SP_EFFECT_RETIRED));
	assert_true(sp_effect_pends(SP_EFFECT_FENCED));
	assert_true(sp_effect_pends(SP_EFFECT_PRUNED));
}

static void effects_have_the_words_of_the_specification(void **state)
{
	static const char *const words[] = {NULL, "none", "installed", "replaced", "attempt-only",
	    "evidence", "handoff", "retired", "fenced", "pruned", "settled"};

	(void)state;
	assert_null(sp_effect_name(SP_EFFECT_CONFLICT));
	for (size_t i = 1; i < SP_COUNT(words); i++)
		assert_string_equal(sp_effect_name((enum sp_effect)i), words[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(install_follows_every_row),
	    cmocka_unit_test(retire_takes_down_only_the_execution_it_names),
	    cmocka_unit_test(handoff_changes_the_owner_and_nothing_else),
	    cmocka_unit_test(fence_marks_the_time_and_on_request_the_cut),
	    cmocka_unit_test(owner_and_evidence_let_holders_go_on),
	    cmocka_unit_test(effects_have_the_words_of_the_specification),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
