/* Reading the page: finding a sandbox's entry, one consistent look at it, following changes. */
#include "store/page.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "store/inner.h"

#define BOOT_FILE   "/proc/sys/kernel/random/boot_id"
#define CHECK_MS    100  /* how long a page that was taken away can go unnoticed */
#define LOOKS_MAX   1000 /* of an entry that keeps changing under the reader */
#define RELINK_WAIT 200  /* ms */

uint64_t sp_page_boot(void)
{
	sp_auto_fd int fd = open(BOOT_FILE, O_RDONLY | O_CLOEXEC);
	char text[64] = {0};
	uint64_t boot = 0;
	unsigned digits = 0;

	if (fd < 0 || sp_read_some(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	for (const char *at = text; *at && digits < 16; at++)
		if (isxdigit((unsigned char)*at)) {
			boot = boot << 4 |
			       (uint64_t)(isdigit((unsigned char)*at) ? *at - '0' : *at - 'a' + 10);
			digits++;
		}
	return digits == 16 ? boot | 1 : 0;
}

uint32_t sp_page_bucket(const char *sandbox)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

	for (const unsigned char *at = (const unsigned char *)sandbox; *at; at++)
		hash = (hash ^ *at) * UINT64_C(1099511628211);
	return (uint32_t)(hash ^ hash >> 32) % SP_PAGE_BUCKETS;
}

static int64_t coarse_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sp_page_detach(struct sp_store *store)
{
	if (store->page)
		(void)munmap((void *)(uintptr_t)store->page, SP_PAGE_SIZE(SP_STORE_ENTRIES_MAX));
	store->page = NULL;
	sp_fd_close(&store->page_fd);
}

/* Only its store's uid may have written it, and its count must lie within the file. */
static int believe(
    const struct sp_store *store, int fd, const struct sp_page *page, struct sp_err *err)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s/" SP_PAGE_FILE, store->path);
	if (!S_ISREG(info.st_mode) || (info.st_uid != store->uid && info.st_uid != 0) ||
	    (info.st_mode & 022))
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "%s/" SP_PAGE_FILE ": others than the store's uid %u can write it", store->path,
		    (unsigned)store->uid);
	if ((size_t)info.st_size < sizeof(struct sp_page) || page->magic != SP_PAGE_MAGIC ||
	    page->sizes != SP_PAGE_SIZES || page->capacity > SP_STORE_ENTRIES_MAX ||
	    page->count > page->capacity || SP_PAGE_SIZE(page->capacity) > (size_t)info.st_size)
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "%s/" SP_PAGE_FILE
		    ": damaged; the next change by the store's uid %u makes it anew",
		    store->path, (unsigned)store->uid);
	return 0;
}

int sp_page_attach(struct sp_store *store, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	void *page;
	int bad;

	if (store->page)
		return 0;
	fd = openat(store->directory, SP_PAGE_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "%s/" SP_PAGE_FILE ": missing; the next change by the store's uid %u makes it",
		    store->path, (unsigned)store->uid);
	if (fd < 0)
		return sp_fail_errno(err, "%s/" SP_PAGE_FILE, store->path);
	page = mmap(
	    NULL, SP_PAGE_SIZE(SP_STORE_ENTRIES_MAX), PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (page == MAP_FAILED)
		return sp_fail_errno(err, "%s/" SP_PAGE_FILE, store->path);
	bad = believe(store, fd, page, err);
	if (bad) {
		(void)munmap(page, SP_PAGE_SIZE(SP_STORE_ENTRIES_MAX));
		return bad;
	}
	store->page = page;
	store->page_fd = sp_steal_fd(&fd);
	store->checked = coarse_ms();
	return 0;
}

/* A page whose file was removed gets no more news: notice, and map the one that took its place. */
static void check_linked(struct sp_store *store)
{
	int64_t now = coarse_ms();
	struct stat info;

	if (now - store->checked < CHECK_MS && now >= store->checked)
		return;
	store->checked = now;
	if (fstat(store->page_fd, &info) < 0 || info.st_nlink == 0)
		sp_page_detach(store);
}

static const struct sp_page *believed(struct sp_store *store)
{
	if (store->page)
		check_linked(store);
	if (!store->page && sp_page_attach(store, NULL) < 0)
		return NULL;
	return store->boot && store->page->boot == store->boot ? store->page : NULL;
}

int sp_page_search(const struct sp_page *page, const char *sandbox, uint32_t *ret_index)
{
	uint32_t at = page->buckets[sp_page_bucket(sandbox)];

	/* A chain cannot be longer than what is in use; damage must not make it endless. */
	for (uint64_t hops = 0; at != 0 && at <= page->count && hops < SP_STORE_ENTRIES_MAX;
	     hops++) {
		const struct sp_page_entry *entry = &page->entries[at - 1];
		if (strcmp(entry->sandbox, sandbox) == 0) {
			*ret_index = at - 1;
			return 0;
		}
		at = entry->next;
	}
	return SP_E_ABSENT;
}

int sp_page_find(struct sp_store *store, const char *sandbox, struct sp_page_ref *ret)
{
	const struct sp_page *page = believed(store);
	int64_t until = 0;

	if (!page)
		return SP_E_UNAVAILABLE;
	for (;;) {
		uint64_t links = page->links;
		struct sp_page_ref found = {0};
		int bad = sp_page_search(page, sandbox, &found.index);
		if (!bad)
			found.generation = page->entries[found.index].generation;
		if (links % 2 == 0 && links == page->links) {
			if (!bad && found.generation)
				*ret = found;
			return bad || found.generation ? bad : SP_E_ABSENT;
		}
		/* Chains are being relinked: rare, and over in milliseconds unless the writer died.
		 */
		if (until == 0)
			until = sp_monotonic_ms() + RELINK_WAIT;
		else if (sp_monotonic_ms() > until)
			return SP_E_UNAVAILABLE;
		(void)clock_nanosleep(
		    CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 100000}, NULL);
	}
}

int sp_page_words(struct sp_store *store, struct sp_err *err)
{
	int bad = sp_page_attach(store, err);

	if (bad)
		return bad;
	if (!store->boot)
		return sp_fail(err, SP_E_UNAVAILABLE, BOOT_FILE ": cannot be read");
	if (store->page->boot != store->boot)
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "%s/" SP_PAGE_FILE
		    ": of another boot; the next change by the store's uid %u makes "
		    "it anew",
		    store->path, (unsigned)store->uid);
	if (store->page->under_change && sp_page_writer_gone(store->page))
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "%s: a writer died in the middle of a change; the next change by the store's "
		    "uid %u "
		    "settles it",
		    store->path, (unsigned)store->uid);
	return 0;
}

bool sp_page_writer_gone(const struct sp_page *page)
{
	struct sp_process writer = {page->writer_pid, page->writer_inode};

	return sp_process_gone(&writer);
}

int sp_page_look(struct sp_store *store, struct sp_page_ref ref, struct sp_page_view *ret)
{
	const struct sp_page *page = believed(store);
	const struct sp_page_entry *entry;
	struct sp_page_view view = {0};
	uint64_t word = 0;
	int looks = 0;

	if (!page)
		return SP_E_UNAVAILABLE;
	if (ref.index >= page->count)
		return SP_E_ABSENT;
	entry = &page->entries[ref.index];
	do {
		word = entry->word;
		view.epoch = entry->epoch;
		view.version = entry->version;
		view.floor = entry->floor;
		if (entry->generation != ref.generation)
			return SP_E_ABSENT;
	} while (entry->word != word && ++looks < LOOKS_MAX);
	view.state = (enum sp_page_state)(word & SP_PAGE_STATE);
	view.pending = word & SP_PAGE_PENDING || looks == LOOKS_MAX;
	view.writer_dead = view.pending && sp_page_writer_gone(page);
	*ret = view;
	return 0;
}

uint64_t sp_page_counter(struct sp_store *store)
{
	const struct sp_page *page = believed(store);

	return page ? page->moves : 0;
}

int sp_page_wait(struct sp_store *store, uint64_t seen, int timeout_ms)
{
	int64_t until = sp_monotonic_ms() + timeout_ms;

	for (;;) {
		const struct sp_page *page = believed(store);
		uint32_t bell = page ? page->bell : 0;
		if (sp_page_counter(store) != seen)
			return 0;
		int64_t left = until - sp_monotonic_ms();
		if (left <= 0)
			return SP_E_TIMEOUT;
		/* A writer may die between a move and the bell, and the page may be taken away. */
		left = left < CHECK_MS ? left : CHECK_MS;
		struct timespec wait = {.tv_nsec = (long)left * 1000000};
		if (page)
			(void)syscall(SYS_futex, &page->bell, FUTEX_WAIT, bell, &wait, NULL, 0);
		else
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
	}
}

uint64_t sp_page_cursor(struct sp_store *store)
{
	const struct sp_page *page = believed(store);

	return page ? page->events : 0;
}

static bool read_event(const struct sp_page *page, uint64_t number, struct sp_page_change *ret)
{
	const struct sp_page_event *event = &page->ring[number % SP_PAGE_EVENTS];
	struct sp_page_change change;

	if (event->number != number)
		return false;
	memcpy(change.sandbox, event->sandbox, sizeof(change.sandbox));
	change.sandbox[SP_ID_MAX] = '\0';
	change.effect = (enum sp_effect)event->effect;
	change.state = (enum sp_page_state)event->state;
	change.epoch = event->epoch;
	change.version = event->version;
	if (event->number != number)
		return false;
	*ret = change;
	return true;
}

int sp_page_next(struct sp_store *store, uint64_t *cursor, struct sp_page_change *ret)
{
	const struct sp_page *page = believed(store);
	uint64_t last;

	if (!page)
		return SP_E_UNAVAILABLE;
	last = page->events;
	if (*cursor == last)
		return 0;
	/* Below the cursor: a page made anew counts from the start. */
	if (last > *cursor && last - *cursor < SP_PAGE_EVENTS &&
	    read_event(page, *cursor + 1, ret)) {
		++*cursor;
		return 1;
	}
	*cursor = last;
	return SP_E_ABSENT;
}
