/* The record in force: parsed once, believed as long as the page says that nothing changed. */
#include <errno.h>
#include <sodium/crypto_generichash.h>
#include <string.h>
#include "base/util.h"
#include "store/inner.h"

#define DIGEST    32
#define READS_MAX 4 /* of a record that is replaced while it is read */

struct sp_cached {
	uint64_t generation;    /* of the entry it was read under */
	uint8_t digest[DIGEST]; /* of the file */
	struct sp_record record;
};

void sp_cached_free(struct sp_store *store)
{
	for (size_t i = 0; i < store->cached_room; i++)
		if (store->cached[i]) {
			sp_record_done(&store->cached[i]->record);
			free(store->cached[i]);
		}
	free(store->cached);
	store->cached = NULL;
	store->cached_room = 0;
}

static bool agrees(const struct sp_record *record, const struct sp_page_view *view)
{
	return (uint64_t)record->version == view->version &&
	       (uint64_t)record->epoch == view->epoch &&
	       record->retired == (view->state == SP_PAGE_RETIRED);
}

/* The place for this entry's record; NULL when out of memory. */
static struct sp_cached **cached_at(struct sp_store *store, uint32_t index)
{
	if (index >= store->cached_room) {
		size_t room = store->cached_room * 2 > index ? store->cached_room * 2 : index + 64u;
		struct sp_cached **larger =
		    realloc(store->cached, room * sizeof(struct sp_cached *));
		if (!larger)
			return NULL;
		memset(larger + store->cached_room, 0,
		    (room - store->cached_room) * sizeof(struct sp_cached *));
		store->cached = larger;
		store->cached_room = room;
	}
	return &store->cached[index];
}

/* The file's bytes, heap, and what tells them from others. */
static int read_file(struct sp_store *store, const char *sandbox, char **ret_text, size_t *ret_size,
    uint8_t ret_digest[DIGEST], struct sp_err *err)
{
	int bad = sp_store_raw(store, sandbox, ret_text, ret_size, err);

	if (bad)
		return bad == SP_E_TOO_LARGE ? SP_E_BAD_RECORD : bad;
	(void)crypto_generichash(
	    ret_digest, DIGEST, (const unsigned char *)*ret_text, *ret_size, NULL, 0);
	return 0;
}

/* Takes `record`. */
static int keep(struct sp_cached **at, struct sp_page_ref ref, struct sp_record *record,
    const uint8_t digest[DIGEST], struct sp_err *err)
{
	if (*at)
		sp_record_done(&(*at)->record);
	else
		*at = malloc(sizeof(**at));
	if (!*at) {
		sp_record_done(record);
		return sp_fail(err, -ENOMEM, "out of memory");
	}
	/* Nothing is decided by it, and a server may keep many records. */
	free(record->history);
	record->history = NULL;
	**at = (struct sp_cached){.generation = ref.generation, .record = *record};
	memcpy((*at)->digest, digest, DIGEST);
	return 0;
}

static int take(struct sp_store *store, const char *sandbox, struct sp_cached **at,
    struct sp_page_ref ref, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	uint8_t digest[DIGEST];
	struct sp_record record;
	size_t size;
	int bad = read_file(store, sandbox, &text, &size, digest, err);

	if (!bad)
		bad = sp_store_parse(store, sandbox, text, size, &record, err);
	return bad ? bad : keep(at, ref, &record, digest, err);
}

/* Lets the page follow after a writer died in between, or makes one; whoever may not write must
 * wait for one who does. */
static int heal(struct sp_store *store, struct sp_err *err)
{
	int bad;

	if (!store->writer)
		return sp_page_words(store, err);
	bad = sp_store_lock(store, false, err);
	if (bad)
		return bad == -EBUSY ? -EAGAIN : bad;
	sp_store_unlock(store);
	return 0;
}

int sp_page_ready(struct sp_store *store, struct sp_err *err)
{
	int bad = sp_page_words(store, err);

	if (!bad || !store->writer)
		return bad;
	bad = sp_store_lock(store, true, err);
	if (bad)
		return bad;
	sp_store_unlock(store);
	return sp_page_words(store, err);
}

/* Where it is and what the page says, made to say it if this process may. -EAGAIN, SP_E_ABSENT,
 * SP_E_UNAVAILABLE. */
static int find(struct sp_store *store, const char *sandbox, struct sp_page_ref *ref,
    struct sp_page_view *view, struct sp_err *err)
{
	int bad = sp_page_find(store, sandbox, ref);

	if (bad == SP_E_UNAVAILABLE) {
		bad = heal(store, err);
		if (!bad)
			bad = sp_page_find(store, sandbox, ref);
	}
	if (bad)
		return bad;
	bad = sp_page_look(store, *ref, view);
	return bad == SP_E_ABSENT ? -EAGAIN : bad; /* given to another since it was found */
}

static int look(struct sp_store *store, const char *sandbox, struct sp_page_ref *ref,
    struct sp_page_view *view, struct sp_err *err)
{
	int bad = find(store, sandbox, ref, view, err);

	if (!bad && view->pending && view->writer_dead) {
		bad = heal(store, err);
		if (!bad)
			bad = find(store, sandbox, ref, view, err);
	}
	if (!bad && view->pending)
		return -EAGAIN;
	if (!bad && view->state == SP_PAGE_ABSENT)
		bad = SP_E_ABSENT;
	return bad == SP_E_ABSENT ? sp_fail(err, bad, "%s: no record in %s", sandbox, store->path)
				  : bad;
}

/*
 * The record was read under `view`, and does not agree with it. 0: look again. A change marks the
 * page before it renames: when none is under way after the read, the record that was read has been
 * published, unless it never was.
 */
static int disagree(struct sp_store *store, const char *sandbox, struct sp_page_ref ref,
    const struct sp_page_view *view, struct sp_err *err)
{
	uint64_t under_change = store->page ? store->page->under_change : 1;
	struct sp_page_view now;

	if (under_change)
		return store->page && sp_page_writer_gone(store->page) ? heal(store, err) : -EAGAIN;
	if (sp_page_look(store, ref, &now) < 0 || now.pending || now.version != view->version)
		return 0;
	return sp_fail(err, SP_E_UNAVAILABLE,
	    "%s: the record in %s is not the one that was installed (changed by hand?); install it "
	    "anew",
	    sandbox, store->path);
}

static int current(
    struct sp_store *store, const char *sandbox, struct sp_cached **ret, struct sp_err *err)
{
	for (int reads = 0; reads < READS_MAX; reads++) {
		struct sp_page_ref ref;
		struct sp_page_view view;
		struct sp_cached **at;
		int bad = look(store, sandbox, &ref, &view, err);
		if (bad)
			return bad;
		at = cached_at(store, ref.index);
		if (!at)
			return sp_fail(err, -ENOMEM, "out of memory");
		if (*at && (*at)->generation == ref.generation && agrees(&(*at)->record, &view)) {
			*ret = *at;
			return 0;
		}
		bad = take(store, sandbox, at, ref, err);
		if (bad && bad != SP_E_ABSENT)
			return bad;
		if (bad || !agrees(&(*at)->record, &view))
			bad = disagree(store, sandbox, ref, &view, err);
		if (bad)
			return bad;
	}
	return -EAGAIN;
}

int sp_store_current(
    struct sp_store *store, const char *sandbox, const struct sp_record **ret, struct sp_err *err)
{
	struct sp_cached *cached;
	int bad = current(store, sandbox, &cached, err);

	if (!bad)
		*ret = &cached->record;
	return bad;
}

int sp_store_reread(
    struct sp_store *store, const char *sandbox, const struct sp_record **ret, struct sp_err *err)
{
	for (int reads = 0; reads < READS_MAX; reads++) {
		sp_auto_free char *text = NULL;
		struct sp_cached *cached;
		uint8_t digest[DIGEST];
		size_t size;
		int bad = current(store, sandbox, &cached, err);
		if (!bad)
			bad = read_file(store, sandbox, &text, &size, digest, err);
		if (bad)
			return bad;
		if (memcmp(cached->digest, digest, DIGEST) == 0) {
			*ret = &cached->record;
			return 0;
		}
		cached->generation = 0; /* of no entry: it is parsed anew */
	}
	return -EAGAIN;
}
