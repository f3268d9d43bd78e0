/*
 * A durable change (03-identity, The store): written aside, announced in the page, renamed, made
 * durable, published; then the wait for those who were moving bytes of what it replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "store/history.h"
#include "store/inner.h"
#include "store/slots.h"

#define RECORD_MODE 0640

/* Whose moves must end before the change is over. */
struct cut {
	bool wait;
	uint32_t index;
	uint64_t floor;
};

static enum sp_page_state state_of(const struct sp_record *record)
{
	return !record ? SP_PAGE_ABSENT : record->retired ? SP_PAGE_RETIRED : SP_PAGE_ACTIVE;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int sync_directory(struct sp_store *store, struct sp_err *err)
{
	return fsync(store->directory) < 0 ? sp_fail_errno(err, "%s: sync", store->path) : 0;
}

/* Lets the entry say what the record says; `record` is NULL where there is none to believe. Neither
 * number goes back. */
static void follow(struct sp_store *store, uint32_t index, const struct sp_record *record)
{
	const struct sp_page_entry *entry = &store->writable->entries[index];
	enum sp_page_state had = (enum sp_page_state)(entry->word & SP_PAGE_STATE);
	uint64_t epoch = entry->epoch, version = entry->version, floor = entry->floor;
	/* Owner and evidence leave moves alone, and do not pend. */
	bool cuts = entry->word & SP_PAGE_PENDING || had == SP_PAGE_ABSENT;

	if (record) {
		/* The first record after a prune starts at epoch 1 again. */
		epoch = larger(had == SP_PAGE_ABSENT ? 0 : epoch, (uint64_t)record->epoch);
		version = larger(version, (uint64_t)record->version);
	} else if (had != SP_PAGE_ABSENT) {
		version++;
		cuts = true;
	}
	/* Also where the version is the new one already: its writer may have died between the two.
	 */
	if (cuts)
		floor = version;
	sp_page_publish(store, index, SP_EFFECT_SETTLED, state_of(record), epoch, version, floor);
}

/* 0 with *ret_has. A record that cannot be read counts as none, or it would keep the whole store
 * from changing; what may be better in a moment is a failure. */
static int read_for_settling(struct sp_store *store, const char *sandbox, struct sp_record *ret,
    bool *ret_has, struct sp_err *err)
{
	int bad = sp_store_read(store, sandbox, ret, err);

	if (bad == -ENOMEM || bad == -EMFILE || bad == -ENFILE)
		return bad;
	*ret_has = !bad;
	return 0;
}

int sp_store_settle(struct sp_store *store, struct sp_err *err)
{
	struct sp_page *page = store->writable;
	uint64_t at = page->under_change;
	struct sp_record record;
	bool has;
	int bad;

	if (at == 0)
		return 0;
	if (at > page->count) {
		page->under_change = 0;
		return 0;
	}
	/* What is published must not be lost with the power. */
	bad = sync_directory(store, err);
	if (!bad)
		bad = read_for_settling(store, page->entries[at - 1].sandbox, &record, &has, err);
	if (bad)
		return bad;
	follow(store, (uint32_t)at - 1, has ? &record : NULL);
	if (has)
		sp_record_done(&record);
	return 0;
}

/* The record as it will be in its file; of its history as much as there is room for. */
static int compose(struct sp_record *record, char **ret_text, size_t *ret_size, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	size_t size;

	do {
		free(text);
		text = sp_record_text(record);
		if (!text)
			return sp_fail(err, -ENOMEM, "out of memory");
		size = strlen(text);
	} while (size >= SP_RECORD_FILE_MAX && sp_history_shorten(record));
	if (size >= SP_RECORD_FILE_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "the record would be longer than %u bytes",
		    SP_RECORD_FILE_MAX);
	*ret_text = sp_steal(&text);
	*ret_size = size;
	return 0;
}

static int write_aside(struct sp_store *store, struct sp_record *record, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	sp_auto_fd int fd = -1;
	size_t size = 0;
	int bad = compose(record, &text, &size, err);

	if (bad)
		return bad;
	text[size] = '\n'; /* in the place of the NUL */
	bad = sp_store_file(store, SP_ASIDE_FILE, RECORD_MODE, &fd, err);
	if (bad)
		return bad;
	bad = ftruncate(fd, 0) < 0 ? -errno : sp_write_all(fd, text, size + 1, -1);
	if (!bad && fsync(fd) < 0)
		bad = -errno;
	if (bad)
		return sp_fail(
		    err, bad, "%s/" SP_ASIDE_FILE ": %s", store->path, sp_code_text(bad));
	return 0;
}

static int put_in_place(
    struct sp_store *store, const char *sandbox, bool remove, struct sp_err *err)
{
	char name[SP_RECORD_NAME_SIZE];

	(void)sp_record_name(sandbox, name);
	if (remove ? unlinkat(store->directory, name, 0) < 0
		   : renameat(store->directory, SP_ASIDE_FILE, store->directory, name) < 0)
		return sp_fail_errno(err, "%s/%s", store->path, name);
	return sync_directory(store, err);
}

/* `record` NULL: taken away. What fails is settled at once where it can be, else by the next one.
 */
static int carry_out(struct sp_store *store, const char *sandbox, enum sp_effect effect,
    struct sp_record *record, struct cut *cut, struct sp_err *err)
{
	const struct sp_page_entry *entry;
	bool pends = sp_effect_pends(effect);
	uint64_t version, floor;
	uint32_t index;
	int bad = record ? write_aside(store, record, err) : 0;

	if (!bad)
		bad = sp_page_give(store, sandbox, &index, err);
	if (bad)
		return bad;
	entry = &store->writable->entries[index];
	version = record ? (uint64_t)record->version : entry->version + 1;
	floor = pends ? version : entry->floor;
	sp_page_mark(store, index, pends);
	bad = put_in_place(store, sandbox, !record, err);
	if (bad) {
		(void)sp_store_settle(store, NULL);
		return bad;
	}
	sp_page_publish(store, index, effect, state_of(record),
	    record ? (uint64_t)record->epoch : entry->epoch, version, floor);
	/* Evidence cuts nothing; but an install that returns says that no old move is left,
	 * whatever made it old. */
	*cut = (struct cut){pends || effect == SP_EFFECT_EVIDENCE, index, floor};
	return 0;
}

/* After a prune the epoch starts anew; the version never does. */
static bool goes_back(const struct sp_record *record, const struct sp_page_entry *entry)
{
	bool absent = (entry->word & SP_PAGE_STATE) == SP_PAGE_ABSENT;

	return (uint64_t)record->version < entry->version ||
	       (!absent && (uint64_t)record->epoch < entry->epoch);
}

/*
 * The page must say what the record says before a change is decided on it: it may not know a record
 * that was put there by hand, and a record that was taken away by hand is gone. One that was put
 * back is refused: numbers would go back.
 */
static int reconcile(struct sp_store *store, const char *sandbox, const struct sp_record *record,
    uint64_t *ret_floor, struct sp_err *err)
{
	const struct sp_page_entry *entry;
	uint32_t index;
	int bad = sp_page_search(store->writable, sandbox, &index);

	if (bad && !record) {
		*ret_floor = store->writable->floor;
		return 0;
	}
	if (bad)
		bad = sp_page_give(store, sandbox, &index, err);
	if (bad)
		return bad;
	entry = &store->writable->entries[index];
	if (record && goes_back(record, entry))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "%s/%s.json: version %lld was put back by hand, %llu has been in force; move "
		    "it away and install anew",
		    store->path, sandbox, (long long)record->version,
		    (unsigned long long)entry->version);
	if ((entry->word & SP_PAGE_STATE) != state_of(record) ||
	    (record && ((uint64_t)record->version != entry->version ||
			   (uint64_t)record->epoch != entry->epoch)))
		follow(store, index, record);
	*ret_floor = entry->version;
	return 0;
}

/* *ret_installed is for sp_record_done where *ret_has. */
static int read_installed(struct sp_store *store, const char *sandbox, struct sp_record *ret,
    bool *ret_has, uint64_t *ret_floor, struct sp_err *err)
{
	struct sp_record record;
	int bad = sp_store_read(store, sandbox, &record, err);
	bool has = !bad;

	if (bad && bad != SP_E_ABSENT)
		return bad;
	bad = reconcile(store, sandbox, has ? &record : NULL, ret_floor, err);
	if (bad) {
		if (has)
			sp_record_done(&record);
		return bad;
	}
	if (has)
		*ret = record;
	*ret_has = has;
	return 0;
}

/* Nothing is to be done, but a holder may still be in the middle of what an earlier change cut. */
static struct cut cut_again(const struct sp_store *store, const char *sandbox)
{
	struct cut cut = {0};

	cut.wait = sp_page_search(store->writable, sandbox, &cut.index) == 0;
	if (cut.wait)
		cut.floor = store->writable->entries[cut.index].floor;
	return cut;
}

static int change_locked(struct sp_store *store, const struct sp_change *change,
    struct sp_outcome *outcome, struct cut *cut, struct sp_err *err)
{
	struct sp_record installed, record;
	uint64_t floor;
	bool has;
	int bad = read_installed(store, change->sandbox, &installed, &has, &floor, err);

	if (bad)
		return bad;
	*outcome = sp_change_decide(has ? &installed : NULL, change, (int64_t)floor, &record);
	if (outcome->effect == SP_EFFECT_NONE) {
		*cut = cut_again(store, change->sandbox);
	} else if (outcome->effect != SP_EFFECT_CONFLICT) {
		bad =
		    sp_history_add(&record, has ? &installed : NULL, outcome->effect, change->now);
		bad = bad ? sp_fail(err, bad, "out of memory")
			  : carry_out(store, change->sandbox, outcome->effect, &record, cut, err);
		sp_record_done(&record);
	}
	if (has)
		sp_record_done(&installed);
	return bad;
}

static int remove_locked(struct sp_store *store, const char *sandbox, int64_t before,
    struct sp_outcome *outcome, struct cut *cut, struct sp_err *err)
{
	char name[SP_RECORD_NAME_SIZE];
	struct sp_record installed;
	struct stat info;
	uint64_t floor;
	bool has;
	int bad = read_installed(store, sandbox, &installed, &has, &floor, err);

	if (bad)
		return bad;
	*outcome = (struct sp_outcome){.effect = SP_EFFECT_CONFLICT, .conflict = "no record"};
	if (!has)
		return 0;
	outcome->epoch = installed.epoch;
	(void)sp_record_name(sandbox, name);
	if (fstatat(store->directory, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		bad = sp_fail_errno(err, "%s/%s", store->path, name);
	else if (!installed.retired)
		outcome->conflict = "the record is active";
	else if (info.st_mtime >= before)
		outcome->conflict = "the tombstone is too young";
	else
		bad = carry_out(store, sandbox, outcome->effect = SP_EFFECT_PRUNED, NULL, cut, err);
	sp_record_done(&installed);
	return bad;
}

static int finish(struct sp_store *store, int bad, const struct cut *cut, int cut_timeout_ms,
    const struct sp_outcome *outcome, struct sp_outcome *ret, struct sp_err *err)
{
	sp_store_unlock(store);
	if (bad)
		return bad;
	*ret = *outcome;
	return cut->wait ? sp_slots_wait(store, cut->index, cut->floor, cut_timeout_ms, err) : 0;
}

int sp_store_change(struct sp_store *store, const struct sp_change *change, int cut_timeout_ms,
    struct sp_outcome *ret, struct sp_err *err)
{
	struct sp_outcome outcome;
	struct cut cut = {0};
	int bad = sp_store_lock(store, true, err);

	if (bad)
		return bad;
	bad = change_locked(store, change, &outcome, &cut, err);
	return finish(store, bad, &cut, cut_timeout_ms, &outcome, ret, err);
}

int sp_store_remove(struct sp_store *store, const char *sandbox, int64_t before, int cut_timeout_ms,
    struct sp_outcome *ret, struct sp_err *err)
{
	struct sp_outcome outcome;
	struct cut cut = {0};
	int bad = sp_store_lock(store, true, err);

	if (bad)
		return bad;
	bad = remove_locked(store, sandbox, before, &outcome, &cut, err);
	return finish(store, bad, &cut, cut_timeout_ms, &outcome, ret, err);
}
