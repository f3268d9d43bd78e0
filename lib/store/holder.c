/*
 * The holder's side of the slots: a claimed slot, marked before the page is looked at, cleared
 * after the move.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"
#include "store/inner.h"
#include "store/slots.h"

#define SLOTS_SIZE ((size_t)SP_STORE_SLOTS_MAX * SP_SLOT_SIZE)

struct sp_holder {
	struct sp_store *store;
	int fd;
	struct sp_slot *slots;
	struct sp_slot *slot; /* ours */
	uint64_t inode;       /* of the slots file */
	uint32_t moves;
};

/* The first slot nobody holds; *ret_slot is locked. */
static int claim(int fd, off_t count, off_t start, off_t *ret_slot)
{
	for (off_t i = 0; i < count; i++) {
		off_t slot = (start + i) % count;
		struct flock lock = sp_slot_lock(slot);
		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			*ret_slot = slot;
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
	}
	return -ENOSPC;
}

static int claim_or_grow(int fd, off_t *ret_slot)
{
	struct stat info;

	for (;;) {
		if (fstat(fd, &info) < 0)
			return -errno;
		off_t count = info.st_size / SP_SLOT_SIZE;
		off_t most = count < SP_STORE_SLOTS_MAX ? count : SP_STORE_SLOTS_MAX;
		/* Spread out, so that a claim seldom walks over the slots of others. */
		int bad = most > 0 ? claim(fd, most, getpid() % most, ret_slot) : -ENOSPC;
		if (bad != -ENOSPC || count >= SP_STORE_SLOTS_MAX)
			return bad;
		/* Only ever grows, also when two holders do this at once. */
		off_t more = count > 0 ? count : SP_SLOTS_FIRST;
		bad = posix_fallocate(fd, count * SP_SLOT_SIZE, more * SP_SLOT_SIZE);
		if (bad)
			return -bad;
	}
}

/* Opens the slots, claims one and maps them. What it took is in *holder, also on failure. */
static int take_slot(struct sp_store *store, struct sp_holder *holder, struct sp_err *err)
{
	struct sp_process self;
	struct stat info;
	void *slots;
	off_t at = 0;
	int bad;

	holder->fd =
	    openat(store->directory, SP_SLOTS_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (holder->fd < 0 || fstat(holder->fd, &info) < 0)
		return sp_fail_errno(err,
		    "%s/" SP_SLOTS_FILE ": a holder of leases must be able to write it",
		    store->path);
	bad = sp_process_self(&self);
	if (!bad)
		bad = claim_or_grow(holder->fd, &at);
	if (bad)
		return sp_fail(
		    err, bad, "%s/" SP_SLOTS_FILE ": no slot: %s", store->path, strerror(-bad));
	slots = mmap(NULL, SLOTS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, holder->fd, 0);
	if (slots == MAP_FAILED)
		return sp_fail_errno(err, "%s/" SP_SLOTS_FILE, store->path);
	holder->inode = info.st_ino;
	holder->slots = slots;
	holder->slot = holder->slots + at;
	holder->slot->mark = 0;
	holder->slot->version = 0;
	holder->slot->pid = self.pid;
	holder->slot->inode = self.inode;
	return 0;
}

int sp_holder_open(struct sp_store *store, struct sp_holder **ret, struct sp_err *err)
{
	struct sp_holder *holder = calloc(1, sizeof(*holder));
	int bad;

	if (!holder)
		return sp_fail(err, -ENOMEM, "out of memory");
	holder->store = store;
	bad = take_slot(store, holder, err);
	if (bad) {
		sp_fd_close(&holder->fd);
		free(holder);
		return bad;
	}
	*ret = holder;
	return 0;
}

void sp_holder_close(struct sp_holder *holder)
{
	if (!holder)
		return;
	holder->slot->mark = 0;
	holder->slot->pid = 0;
	(void)munmap(holder->slots, SLOTS_SIZE);
	sp_fd_close(&holder->fd);
	free(holder);
}

static int judge(const struct sp_page_view *now, const struct sp_page_view *seen)
{
	if (now->pending)
		return now->writer_dead ? SP_E_CONFLICT : -EAGAIN;
	return now->state == SP_PAGE_ACTIVE && now->version == seen->version ? 0 : SP_E_CONFLICT;
}

int sp_holder_enter(
    struct sp_holder *holder, struct sp_page_ref ref, const struct sp_page_view *seen)
{
	struct sp_page_view now;
	int bad;

	holder->slot->version = seen->version;
	holder->slot->mark = (uint64_t)++holder->moves << 32 | (ref.index + 1);
	atomic_thread_fence(memory_order_seq_cst);
	bad = sp_page_look(holder->store, ref, &now) < 0 ||
		      holder->store->page->slots != holder->inode
		  ? SP_E_CONFLICT
		  : judge(&now, seen);
	if (bad)
		holder->slot->mark = 0;
	return bad;
}

void sp_holder_leave(struct sp_holder *holder)
{
	holder->slot->mark = 0;
}
