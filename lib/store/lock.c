/* The store's lock: one writer at a time, waited for without spinning and never without a limit. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "store/inner.h"
#include "store/slots.h"

#define TRY_AGAIN_MS 5   /* a holder of the lock that dies rings no bell */
#define STEP_BACK_US 200 /* at a time, TRY_AGAIN_MS in all */

int sp_store_file(
    struct sp_store *store, const char *name, mode_t mode, int *ret_fd, struct sp_err *err)
{
	sp_auto_fd int fd = openat(
	    store->directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s/%s", store->path, name);
	if (!S_ISREG(info.st_mode))
		return sp_fail(err, -EINVAL, "%s/%s: not a regular file", store->path, name);
	if ((info.st_uid != store->uid || info.st_gid != store->gid) &&
	    fchown(fd, store->uid, store->gid) < 0 && info.st_uid != store->uid)
		return sp_fail_errno(err, "%s/%s: owner", store->path, name);
	if ((info.st_mode & 07777) != mode && fchmod(fd, mode) < 0)
		return sp_fail_errno(err, "%s/%s: mode", store->path, name);
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

/* Sleeps until the lock may be free: rung by its holder, where there is a page to ring on. */
static void doze(struct sp_store *store)
{
	struct timespec wait = {.tv_nsec = TRY_AGAIN_MS * 1000000};
	struct sp_page *page = store->writable;
	uint32_t seen;

	if (!page) {
		wait.tv_nsec = 500000;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
		return;
	}
	seen = page->unlocked;
	page->waiting++;
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0)
		(void)syscall(SYS_futex, &page->unlocked, FUTEX_WAIT, seen, &wait, NULL, 0);
	page->waiting--;
}

/* The lock was let go for one who waits: a process with a thousand changes must not keep others out
 * by being first each time. */
static void step_back(const struct sp_page *page)
{
	const struct timespec wait = {.tv_nsec = STEP_BACK_US * 1000};

	for (int i = 0; i < TRY_AGAIN_MS * 1000 / STEP_BACK_US && page->handed; i++)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
}

static int take(struct sp_store *store, bool wait, struct sp_err *err)
{
	int64_t until = 0;

	if (store->writable && store->writable->handed && wait)
		step_back(store->writable);
	while (flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return sp_fail_errno(err, "%s/" SP_LOCK_FILE, store->path);
		if (!wait)
			return sp_fail(err, -EBUSY, "%s: another change is under way", store->path);
		if (until == 0)
			until = sp_monotonic_ms() + SP_STORE_LOCK_MS;
		else if (sp_monotonic_ms() >= until)
			return sp_fail(err, -EBUSY,
			    "%s/" SP_LOCK_FILE
			    ": another process has kept it for %d s (fuser shows which)",
			    store->path, SP_STORE_LOCK_MS / 1000);
		doze(store);
	}
	if (store->writable)
		store->writable->handed = 0;
	return 0;
}

/* Someone removed the lock file: whoever opens it now locks another one than we have. */
static bool still_linked(const struct sp_store *store)
{
	struct stat info;

	return fstat(store->lock_fd, &info) == 0 && info.st_nlink > 0;
}

static int lock_file(struct sp_store *store, bool wait, struct sp_err *err)
{
	for (int tries = 0; tries < 3; tries++) {
		int bad = store->lock_fd >= 0
			      ? 0
			      : sp_store_file(store, SP_LOCK_FILE, 0600, &store->lock_fd, err);
		if (!bad)
			bad = take(store, wait, err);
		if (bad)
			return bad;
		if (still_linked(store))
			return 0;
		sp_fd_close(&store->lock_fd);
	}
	return sp_fail(
	    err, -EBUSY, "%s/" SP_LOCK_FILE ": is being removed again and again", store->path);
}

int sp_store_lock(struct sp_store *store, bool wait, struct sp_err *err)
{
	int bad;

	if (!store->writer)
		return sp_fail(err, -EPERM, "%s: only uid %u changes records here", store->path,
		    (unsigned)store->uid);
	bad = lock_file(store, wait, err);
	if (bad)
		return bad;
	bad = sp_slots_open(store, err);
	if (!bad)
		bad = sp_page_open(store, err);
	/* Holders with another slots file, one that was removed, mark what nobody reads: stop them.
	 */
	if (!bad)
		store->writable->slots = store->slots_inode;
	if (!bad)
		bad = sp_store_settle(store, err);
	if (bad)
		sp_store_unlock(store);
	return bad;
}

void sp_store_unlock(struct sp_store *store)
{
	struct sp_page *page = store->writable;
	bool waited_for = page && page->waiting > 0;

	if (waited_for) {
		page->handed = 1;
		page->unlocked++;
	}
	(void)flock(store->lock_fd, LOCK_UN);
	if (waited_for)
		(void)syscall(SYS_futex, &page->unlocked, FUTEX_WAKE, 1, NULL, NULL, 0);
}
