/* A scratch store and the changes that the store's tests make in it. */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/util.h"
#include "store/inner.h"
#include "store/slots.h"
#include "store/store.h"

struct scratch {
	char path[64];
	struct sp_store *store;
};

static inline int scratch_open(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));

	strcpy(scratch->path, "/tmp/space-store-XXXXXX");
	if (!mkdtemp(scratch->path))
		return -1;
	*state = scratch;
	return sp_store_open(scratch->path, SP_STORE_CREATE, &scratch->store, NULL);
}

static inline int scratch_remove(
    const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)info;
	(void)type;
	(void)at;
	return remove(path);
}

static inline int scratch_close(void **state)
{
	struct scratch *scratch = *state;

	sp_store_close(scratch->store);
	(void)nftw(scratch->path, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
	free(scratch);
	return 0;
}

static inline struct sp_change an_install(const char *sandbox, int64_t execution)
{
	return (struct sp_change){.kind = SP_CHANGE_INSTALL,
	    .sandbox = sandbox,
	    .route = {.execution = execution,
		.attempt = 1,
		.substrate = SP_SUBSTRATE_KUBERNETES,
		.worker = "worker-a",
		.pod_uid = "0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b",
		.activation = "act-19"},
	    .owner = "op-7",
	    .now = 1000};
}

/* Carries one out that must succeed, and gives its effect. */
static inline enum sp_effect changed(struct sp_store *store, struct sp_change change)
{
	struct sp_outcome outcome;
	struct sp_err err = {0};
	int bad = sp_store_change(store, &change, 2000, &outcome, &err);

	if (bad)
		fail_msg("%d: %s", bad, err.message);
	return outcome.effect;
}

static inline enum sp_effect installed(
    struct sp_store *store, const char *sandbox, int64_t execution)
{
	return changed(store, an_install(sandbox, execution));
}

static inline enum sp_effect retired(struct sp_store *store, const char *sandbox, int64_t execution)
{
	return changed(
	    store, (struct sp_change){
		       .kind = SP_CHANGE_RETIRE, .sandbox = sandbox, .execution = execution});
}

static inline enum sp_effect fenced(struct sp_store *store, const char *sandbox, bool cut)
{
	return changed(
	    store, (struct sp_change){
		       .kind = SP_CHANGE_FENCE, .sandbox = sandbox, .cut = cut, .now = 2000});
}

static inline enum sp_effect handed_off(
    struct sp_store *store, const char *sandbox, const char *from, const char *to)
{
	return changed(
	    store, (struct sp_change){
		       .kind = SP_CHANGE_HANDOFF, .sandbox = sandbox, .from = from, .to = to});
}

static inline struct sp_page_ref ref_of(struct sp_store *store, const char *sandbox)
{
	struct sp_page_ref ref = {0};

	assert_int_equal(sp_page_find(store, sandbox, &ref), 0);
	return ref;
}

static inline struct sp_page_view view_of(struct sp_store *store, const char *sandbox)
{
	struct sp_page_view view = {0};

	assert_int_equal(sp_page_look(store, ref_of(store, sandbox), &view), 0);
	return view;
}

/* The page and the record on disk must agree, and be this. */
static inline void check_in_force(struct sp_store *store, const char *sandbox, uint64_t epoch,
    uint64_t version, enum sp_page_state state)
{
	struct sp_page_view view = view_of(store, sandbox);
	struct sp_record record;

	assert_int_equal(view.epoch, epoch);
	assert_int_equal(view.version, version);
	assert_int_equal(view.state, state);
	assert_false(view.pending);
	assert_int_equal(sp_store_read(store, sandbox, &record, NULL), 0);
	assert_int_equal(record.epoch, epoch);
	assert_int_equal(record.version, version);
	assert_int_equal(record.retired, state == SP_PAGE_RETIRED);
	sp_record_done(&record);
}

/* Runs `act` in a child that has ended when this returns: what it left under change has no writer.
 */
static inline void in_a_child(void (*act)(struct scratch *), struct scratch *scratch)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		act(scratch);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#endif
