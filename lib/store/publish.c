/* Writing the page: making and repairing it, giving entries, announcing and ending changes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/util.h"
#include "store/inner.h"
#include "store/slots.h"

#define ROOM_FIRST 256u
#define ROOM_STEP  16384u /* the file doubles up to steps of this many entries */
#define DRAIN_MS   2000

/* Larger than any given before, also when the page that knew them is lost. */
static uint64_t next_generation(struct sp_page *page)
{
	struct timespec now;
	uint64_t clock;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	clock = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	page->generation = clock > page->generation ? clock : page->generation + 1;
	return page->generation;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void ring(struct sp_page *page)
{
	page->moves++;
	page->bell++;
	(void)syscall(SYS_futex, &page->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int set_capacity(struct sp_store *store, uint64_t entries, struct sp_err *err)
{
	off_t had = store->writable->capacity ? (off_t)SP_PAGE_SIZE(store->writable->capacity) : 0;
	int bad = posix_fallocate(store->writable_fd, had, (off_t)SP_PAGE_SIZE(entries) - had);

	if (bad)
		return sp_fail(err, -bad, "%s/" SP_PAGE_FILE ": %s", store->path, strerror(bad));
	store->writable->capacity = entries;
	return 0;
}

static void link_entry(struct sp_page *page, uint32_t index)
{
	sp_half *bucket = &page->buckets[sp_page_bucket(page->entries[index].sandbox)];

	page->entries[index].next = *bucket;
	*bucket = index + 1;
}

/*
 * Links every entry anew and takes the entries without a record out for others to use. Repeatable:
 * after a death in the middle `links` is odd and it is done again.
 */
static void relink(struct sp_page *page)
{
	page->links |= 1;
	for (uint32_t i = 0; i < SP_PAGE_BUCKETS; i++)
		page->buckets[i] = 0;
	page->blank = page->absent = page->hint = 0;
	for (uint32_t i = 0; i < page->count; i++) {
		struct sp_page_entry *entry = &page->entries[i];
		if ((entry->word & SP_PAGE_STATE) == SP_PAGE_ABSENT &&
		    page->under_change != i + 1) {
			page->floor = larger(page->floor, entry->version);
			entry->generation = 0;
			entry->sandbox[0] = '\0';
			page->blank++;
		} else {
			link_entry(page, i);
		}
	}
	page->links++;
}

/* An entry that belongs to nobody: a blank one, else a new one at the end. */
static int find_room(struct sp_store *store, uint32_t *ret_index, struct sp_err *err)
{
	struct sp_page *page = store->writable;
	uint64_t count = page->count;
	int bad = 0;

	if (page->blank == 0 && count == page->capacity) {
		if (page->absent > count / 2 || count == SP_STORE_ENTRIES_MAX)
			relink(page);
		else
			bad = set_capacity(
			    store, count < ROOM_STEP ? count * 2 : count + ROOM_STEP, err);
	}
	/* Blank ones come from relinking only and are used up from the front. */
	for (uint64_t i = page->hint; !bad && page->blank > 0 && i < count; i++)
		if (page->entries[i].generation == 0) {
			page->hint = i + 1;
			page->blank--;
			*ret_index = (uint32_t)i;
			return 0;
		}
	if (!bad && count == SP_STORE_ENTRIES_MAX)
		bad = sp_fail(err, SP_E_TOO_LARGE, "%s: holds %u records, its limit; prune it",
		    store->path, SP_STORE_ENTRIES_MAX);
	if (!bad)
		*ret_index = (uint32_t)count;
	return bad;
}

int sp_page_give(
    struct sp_store *store, const char *sandbox, uint32_t *ret_index, struct sp_err *err)
{
	struct sp_page *page = store->writable;
	/* From before any relinking: what that drops are versions of others. */
	uint64_t floor = page->floor;
	struct sp_page_entry *entry;
	uint32_t index;
	int bad;

	if (sp_page_search(page, sandbox, ret_index) == 0)
		return 0;
	bad = find_room(store, &index, err);
	if (bad)
		return bad;
	entry = &page->entries[index];
	entry->word = SP_PAGE_ABSENT;
	entry->epoch = 0;
	entry->version = entry->floor = floor;
	memcpy(entry->sandbox, sandbox, strlen(sandbox) + 1);
	entry->generation = next_generation(page);
	if (index == page->count)
		page->count = index + 1;
	page->absent++;
	link_entry(page, index);
	*ret_index = index;
	return 0;
}

void sp_page_mark(struct sp_store *store, uint32_t index, bool pends)
{
	struct sp_page *page = store->writable;

	page->writer_pid = store->self.pid;
	page->writer_inode = store->self.inode;
	page->under_change = index + 1;
	if (!pends)
		return;
	page->entries[index].word |= SP_PAGE_PENDING;
	atomic_thread_fence(memory_order_seq_cst);
	page->moves++;
}

static void record_event(struct sp_page *page, const struct sp_page_entry *entry,
    enum sp_effect effect, enum sp_page_state state)
{
	uint64_t number = page->events + 1;
	struct sp_page_event *event = &page->ring[number % SP_PAGE_EVENTS];

	event->number = 0;
	memcpy(event->sandbox, entry->sandbox, sizeof(event->sandbox));
	event->epoch = entry->epoch;
	event->version = entry->version;
	event->state = state;
	event->effect = effect;
	event->number = number;
	page->events = number;
}

/* A new word for the entry: one step on, not pending. The publication itself, as readers see it. */
static void set_word(struct sp_page_entry *entry, enum sp_page_state state)
{
	entry->word = ((entry->word & ~(SP_PAGE_STEP - 1)) + SP_PAGE_STEP) | state;
}

void sp_page_publish(struct sp_store *store, uint32_t index, enum sp_effect effect,
    enum sp_page_state state, uint64_t epoch, uint64_t version, uint64_t floor)
{
	struct sp_page *page = store->writable;
	struct sp_page_entry *entry = &page->entries[index];
	bool was_absent = (entry->word & SP_PAGE_STATE) == SP_PAGE_ABSENT;

	entry->epoch = epoch;
	entry->version = version;
	entry->floor = floor;
	set_word(entry, state);
	if (was_absent && state != SP_PAGE_ABSENT && page->absent > 0)
		page->absent--;
	else if (!was_absent && state == SP_PAGE_ABSENT)
		page->absent++;
	record_event(page, entry, effect, state);
	page->under_change = 0;
	ring(page);
}

static int adopt(void *context, const char *sandbox, const struct sp_record *record)
{
	struct sp_store *store = context;
	struct sp_page *page = store->writable;
	struct sp_page_entry *entry;
	uint32_t index;
	int bad;

	/* One that cannot be read has no place in the page: whoever asks is refused. */
	if (!record)
		return 0;
	bad = sp_page_give(store, sandbox, &index, NULL);
	if (bad)
		return bad;
	entry = &page->entries[index];
	entry->epoch = (uint64_t)record->epoch;
	entry->version = entry->floor = (uint64_t)record->version;
	entry->word = record->retired ? SP_PAGE_RETIRED : SP_PAGE_ACTIVE;
	page->absent--;
	return 0;
}

static bool laid_out(const struct sp_page *page, size_t size)
{
	return page->magic == SP_PAGE_MAGIC && page->sizes == SP_PAGE_SIZES &&
	       page->capacity >= ROOM_FIRST && page->capacity <= SP_STORE_ENTRIES_MAX &&
	       page->count <= page->capacity && SP_PAGE_SIZE(page->capacity) <= size;
}

/* Empty, but for what must not go back. Nobody believes it until `boot` is set. */
static void wipe(struct sp_page *page, size_t size)
{
	uint64_t moves = page->moves, events = page->events, generation = 0, floor = 0;
	uint32_t bell = page->bell;

	if (laid_out(page, size)) {
		generation = page->generation;
		floor = page->floor;
		for (uint64_t i = 0; i < page->count; i++)
			floor = larger(floor, page->entries[i].version);
	}
	memset((void *)page, 0, sizeof(*page));
	page->magic = SP_PAGE_MAGIC;
	page->sizes = SP_PAGE_SIZES;
	page->moves = moves;
	page->events = events;
	page->bell = bell;
	page->generation = generation;
	page->floor = floor;
}

/* In place, since others may have it mapped: they find it not valid until all of it is. Entries
 * move, so whoever is in a move marked by an old one must have left it. */
static int rebuild(struct sp_store *store, size_t size, struct sp_err *err)
{
	struct sp_page *page = store->writable;
	int bad;

	page->boot = 0;
	bad = sp_slots_wait(store, SP_SLOTS_ANY, UINT64_MAX, DRAIN_MS, err);
	if (bad)
		return bad;
	wipe(page, size);
	bad = set_capacity(store, ROOM_FIRST, err);
	if (!bad)
		bad = sp_store_walk(store, adopt, store, err);
	if (bad)
		return bad;
	page->boot = store->boot;
	ring(page);
	return 0;
}

void sp_page_close(struct sp_store *store)
{
	if (store->writable)
		(void)munmap(store->writable, SP_PAGE_SIZE(SP_STORE_ENTRIES_MAX));
	store->writable = NULL;
	sp_fd_close(&store->writable_fd);
}

static int open_writable(struct sp_store *store, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	struct stat info;
	void *page;
	int bad = sp_store_file(store, SP_PAGE_FILE, 0644, &fd, err);

	if (bad)
		return bad;
	if (fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s/" SP_PAGE_FILE, store->path);
	if ((size_t)info.st_size < sizeof(struct sp_page)) {
		bad = posix_fallocate(fd, 0, (off_t)sizeof(struct sp_page));
		if (bad)
			return sp_fail(
			    err, -bad, "%s/" SP_PAGE_FILE ": %s", store->path, strerror(bad));
	}
	page = mmap(NULL, SP_PAGE_SIZE(SP_STORE_ENTRIES_MAX), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (page == MAP_FAILED)
		return sp_fail_errno(err, "%s/" SP_PAGE_FILE, store->path);
	store->writable = page;
	store->writable_fd = sp_steal_fd(&fd);
	return 0;
}

int sp_page_open(struct sp_store *store, struct sp_err *err)
{
	struct stat info;
	int bad = 0;

	if (!store->boot)
		return sp_fail(
		    err, SP_E_UNAVAILABLE, "/proc/sys/kernel/random/boot_id: cannot be read");
	if (store->writable && (fstat(store->writable_fd, &info) < 0 || info.st_nlink == 0))
		sp_page_close(store);
	if (!store->writable)
		bad = open_writable(store, err);
	if (!bad && fstat(store->writable_fd, &info) < 0)
		bad = sp_fail_errno(err, "%s/" SP_PAGE_FILE, store->path);
	if (!bad && (store->writable->boot != store->boot ||
			!laid_out(store->writable, (size_t)info.st_size)))
		bad = rebuild(store, (size_t)info.st_size, err);
	if (!bad && store->writable->links % 2 != 0)
		relink(store->writable);
	return bad;
}
