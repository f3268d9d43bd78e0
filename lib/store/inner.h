/* The store from inside: what its files share. Inside lib/store only. */
#ifndef SP_STORE_INNER_H
#define SP_STORE_INNER_H

#include <sys/types.h>
#include "base/process.h"
#include "store/page.h"
#include "store/store.h"

#define SP_LOCK_FILE  ".lock"
#define SP_ASIDE_FILE ".aside"

struct sp_cached; /* a parsed record (current.c) */

struct sp_store {
	int directory;
	char *path;
	uid_t uid; /* the directory's owner: whose the store is */
	gid_t gid;
	bool writer; /* may this process change it? */
	uint64_t boot;
	/* for reading */
	int page_fd;
	const struct sp_page *page; /* NULL: not attached */
	int64_t checked;            /* when the page was last seen to be the directory's */
	struct sp_cached **cached;  /* by entry */
	size_t cached_room;
	/* for writing, opened at the first change */
	int lock_fd, writable_fd, slots_fd;
	uint64_t slots_inode;
	struct sp_page *writable;
	struct sp_process self;
};

/* "<sandbox>.json"; false when it is no id. */
#define SP_RECORD_NAME_SIZE (SP_ID_MAX + 6)
bool sp_record_name(const char *sandbox, char name[SP_RECORD_NAME_SIZE]);

/* The record that a file of the store has in it, which is this sandbox's. As sp_record_read. */
int sp_store_parse(const struct sp_store *store, const char *sandbox, char *text, size_t size,
    struct sp_record *ret, struct sp_err *err);

/* Creates or opens a file of the store for reading and writing, with this mode, owned as the
 * directory is. */
int sp_store_file(
    struct sp_store *store, const char *name, mode_t mode, int *ret_fd, struct sp_err *err);

/* The store's lock, SP_STORE_LOCK_MS at most; afterwards page and slots are open for writing and
 * nothing is unsettled. `wait` false: -EBUSY at once when another holds it. */
int sp_store_lock(struct sp_store *store, bool wait, struct sp_err *err);
void sp_store_unlock(struct sp_store *store);

/* Under the lock: lets the page follow the record after a writer died, or failed, in between. */
int sp_store_settle(struct sp_store *store, struct sp_err *err);

void sp_cached_free(struct sp_store *store);

#endif
