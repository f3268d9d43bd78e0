/* The installer's side of the slots: who is in an old move, and waiting until they have left it. */
#include "store/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "store/inner.h"

#define CHUNK       1024 /* slots read at once */
#define WAIT_MIN_US 20
#define WAIT_MAX_US 2000
#define NAMED_MAX   4

int sp_slots_open(struct sp_store *store, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	struct stat info;
	int bad;

	if (store->slots_fd >= 0 && fstat(store->slots_fd, &info) == 0 && info.st_nlink > 0)
		return 0;
	sp_fd_close(&store->slots_fd);
	bad = sp_store_file(store, SP_SLOTS_FILE, 0660, &fd, err);
	if (bad)
		return bad;
	if (fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s/" SP_SLOTS_FILE, store->path);
	if (info.st_size == 0) {
		bad = posix_fallocate(fd, 0, SP_SLOTS_FIRST * SP_SLOT_SIZE);
		if (bad)
			return sp_fail(
			    err, -bad, "%s/" SP_SLOTS_FILE ": %s", store->path, strerror(bad));
	}
	store->slots_fd = sp_steal_fd(&fd);
	store->slots_inode = info.st_ino;
	return 0;
}

/* One holder in a move that must end. */
struct busy {
	off_t slot;
	uint64_t mark, pid;
};

struct waiting {
	int fd;
	uint32_t index;
	uint64_t floor;
	struct busy *busy;
	size_t count, room;
};

static bool is_old(const struct waiting *waiting, const struct sp_slot *slot)
{
	uint32_t index = (uint32_t)slot->mark;

	return index != 0 && (index == waiting->index + 1 || waiting->index == SP_SLOTS_ANY) &&
	       slot->version < waiting->floor;
}

static int add(struct waiting *waiting, off_t at, const struct sp_slot *slot)
{
	if (waiting->count == waiting->room) {
		size_t room = waiting->room ? waiting->room * 2 : 16;
		struct busy *larger = realloc(waiting->busy, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		waiting->busy = larger;
		waiting->room = room;
	}
	waiting->busy[waiting->count++] = (struct busy){at, slot->mark, slot->pid};
	return 0;
}

static int collect(struct waiting *waiting)
{
	struct sp_slot slots[CHUNK];

	for (off_t first = 0; first < SP_STORE_SLOTS_MAX; first += CHUNK) {
		ssize_t size = pread(waiting->fd, slots, sizeof(slots), first * SP_SLOT_SIZE);
		if (size < 0)
			return -errno;
		for (off_t i = 0; i < size / SP_SLOT_SIZE; i++) {
			int bad =
			    is_old(waiting, &slots[i]) ? add(waiting, first + i, &slots[i]) : 0;
			if (bad)
				return bad;
		}
		if ((size_t)size < sizeof(slots))
			break;
	}
	return 0;
}

static bool still_moving(const struct waiting *waiting, const struct busy *busy)
{
	struct flock lock = sp_slot_lock(busy->slot);
	struct sp_slot slot;

	if (pread(waiting->fd, &slot, sizeof(slot), busy->slot * SP_SLOT_SIZE) == sizeof(slot) &&
	    slot.mark != busy->mark)
		return false;
	/* When the kernel will not say, the holder counts as alive. */
	return fcntl(waiting->fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

static void drop_those_that_left(struct waiting *waiting)
{
	size_t kept = 0;

	for (size_t i = 0; i < waiting->count; i++)
		if (still_moving(waiting, &waiting->busy[i]))
			waiting->busy[kept++] = waiting->busy[i];
	waiting->count = kept;
}

static int name_them(
    const struct sp_store *store, const struct waiting *waiting, int timeout_ms, struct sp_err *err)
{
	char pids[NAMED_MAX * 24] = "";
	const char *more = waiting->count > NAMED_MAX ? " and others" : "";
	size_t used = 0;

	for (size_t i = 0; i < waiting->count && i < NAMED_MAX; i++)
		used += (size_t)snprintf(pids + used, sizeof(pids) - used, "%s%llu", i ? ", " : "",
		    (unsigned long long)waiting->busy[i].pid);
	if (waiting->index == SP_SLOTS_ANY)
		return sp_fail(err, SP_E_TIMEOUT,
		    "%s/" SP_PAGE_FILE
		    ": must be made anew, but pid %s%s has been in the middle of a move for %d ms",
		    store->path, pids, more, timeout_ms);
	return sp_fail(err, SP_E_TIMEOUT,
	    "%s: pid %s%s still in the middle of an old move after %d ms (stopped?); the new "
	    "record is "
	    "in force; the same command again waits again",
	    store->writable->entries[waiting->index].sandbox, pids, more, timeout_ms);
}

static int wait_for(
    struct sp_store *store, struct waiting *waiting, int timeout_ms, struct sp_err *err)
{
	int64_t until = sp_monotonic_ms() + timeout_ms;
	long pause_us = WAIT_MIN_US;
	int bad = collect(waiting);

	if (bad)
		return sp_fail(err, bad, "%s/" SP_SLOTS_FILE ": %s", store->path, strerror(-bad));
	for (;;) {
		drop_those_that_left(waiting);
		if (waiting->count == 0)
			return 0;
		if (sp_monotonic_ms() >= until)
			return name_them(store, waiting, timeout_ms, err);
		(void)clock_nanosleep(
		    CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = pause_us * 1000}, NULL);
		pause_us = pause_us * 2 < WAIT_MAX_US ? pause_us * 2 : WAIT_MAX_US;
	}
}

int sp_slots_wait(
    struct sp_store *store, uint32_t index, uint64_t floor, int timeout_ms, struct sp_err *err)
{
	struct waiting waiting = {.fd = store->slots_fd, .index = index, .floor = floor};
	int bad;

	atomic_thread_fence(memory_order_seq_cst);
	bad = wait_for(store, &waiting, timeout_ms, err);
	free(waiting.busy);
	return bad;
}
