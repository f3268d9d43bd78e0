/*
 * The store of runtime records (03-identity): durable files, the page of epochs, the holders'
 * slots, the promise that nothing old moves once a change has returned.
 */
#ifndef SP_STORE_STORE_H
#define SP_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "store/record.h"
#include "store/rules.h"

struct sp_store;

enum sp_store_flags { SP_STORE_CREATE = 1 /* make directory, page, slots, lock when missing */ };

/*
 * Any process may open for reading; changes need the store's uid (the directory's owner) or root.
 * -ENOENT: no such directory. Used by one thread at a time, as everything below.
 */
int sp_store_open(const char *directory, int flags, struct sp_store **ret, struct sp_err *err);
void sp_store_close(struct sp_store *store);
const char *sp_store_path(const struct sp_store *store); /* as given */

/* The record on disk now; SP_E_ABSENT without one; SP_E_BAD_RECORD when it cannot be trusted. *ret
 * is for sp_record_done. */
int sp_store_read(
    struct sp_store *store, const char *sandbox, struct sp_record *ret, struct sp_err *err);

/* The record's file as it is, whatever it is: for taking it away. *ret_text is heap. */
int sp_store_raw(struct sp_store *store, const char *sandbox, char **ret_text, size_t *ret_size,
    struct sp_err *err);

/*
 * The record in force, kept parsed and checked against the page: no system call when nothing
 * changed (but for one look in 100 ms whether the page still is the store's). Without its history.
 * *ret is borrowed until the next call with this sandbox or sp_store_close. -EAGAIN: a change is
 * under way, ask again shortly (1 ms). SP_E_ABSENT; SP_E_UNAVAILABLE: no page, or its writer died
 * and has not been followed yet; SP_E_BAD_RECORD.
 */
int sp_store_current(
    struct sp_store *store, const char *sandbox, const struct sp_record **ret, struct sp_err *err);

/*
 * The same, and the record's file has been read again: what was kept is believed because its bytes
 * are still those. For what must stand on the durable record, at less than half of what parsing it
 * costs.
 */
int sp_store_reread(
    struct sp_store *store, const char *sandbox, const struct sp_record **ret, struct sp_err *err);

/*
 * Decides and carries out one change, waits until no holder moves bytes of the old epoch
 * (`cut_timeout_ms`). On return 0 the outcome is durable and the promise of 06-streams holds.
 * SP_E_TIMEOUT: durable and in force, but the holder named in err has not left its move; *ret is
 * set all the same, and the same change again (then SP_EFFECT_NONE) waits again. -EBUSY: other
 * writers kept the store's lock for SP_STORE_LOCK_MS, nothing was changed. A conflict is an
 * outcome, no error.
 */
#define SP_STORE_LOCK_MS 30000
int sp_store_change(struct sp_store *store, const struct sp_change *change, int cut_timeout_ms,
    struct sp_outcome *ret, struct sp_err *err);

/* Calls `each` for every record in the order of sandbox names; a negative return of `each` ends the
 * walk and is returned. A record that cannot be read is given as NULL with its name. */
typedef int sp_store_each_fn(void *context, const char *sandbox, const struct sp_record *record);
int sp_store_walk(
    struct sp_store *store, sp_store_each_fn *each, void *context, struct sp_err *err);

/* Takes away a tombstone last changed before `before` (seconds): SP_EFFECT_PRUNED. A conflict: no
 * record, an active one, a younger one. Waits and errors as sp_store_change. */
int sp_store_remove(struct sp_store *store, const char *sandbox, int64_t before, int cut_timeout_ms,
    struct sp_outcome *ret, struct sp_err *err);

/* --- the page, for holders of leases --- */

/* Is there a page to be believed? A missing, damaged or unsettled one is made good where this
 * process may write it; else SP_E_UNAVAILABLE with words. */
int sp_page_ready(struct sp_store *store, struct sp_err *err);

/* Where a sandbox stands in the page; stays valid until sp_page_look says SP_E_ABSENT. SP_E_ABSENT:
 * not installed here. SP_E_UNAVAILABLE: no page. */
struct sp_page_ref {
	uint32_t index;
	uint64_t generation;
};
int sp_page_find(struct sp_store *store, const char *sandbox, struct sp_page_ref *ret);

enum sp_page_state { SP_PAGE_ABSENT, SP_PAGE_ACTIVE, SP_PAGE_RETIRED };
struct sp_page_view {
	uint64_t epoch, version;
	uint64_t floor; /* version of the last change but of owner or evidence */
	enum sp_page_state state;
	bool pending;     /* a change is under way: move nothing, look again */
	bool writer_dead; /* pending, and its writer is gone: cut */
};
/* One consistent look, no system call unless pending. SP_E_ABSENT: the entry was given to another
 * sandbox, find it anew. SP_E_UNAVAILABLE: the page is being rebuilt or gone. */
int sp_page_look(struct sp_store *store, struct sp_page_ref ref, struct sp_page_view *ret);

/* Moves of any entry since the page was made: when it is the same, no sp_page_look has changed. 0:
 * no page. */
uint64_t sp_page_counter(struct sp_store *store);

/* Waits until the counter is not `seen` any more, `timeout_ms` at most. 0 or SP_E_TIMEOUT. */
int sp_page_wait(struct sp_store *store, uint64_t seen, int timeout_ms);

/* One change, as it was published. */
struct sp_page_change {
	char sandbox[SP_ID_MAX + 1];
	enum sp_effect effect;
	enum sp_page_state state;
	uint64_t epoch, version;
};

/* Where sp_page_next goes on from to give changes from now on. 0: no page. */
uint64_t sp_page_cursor(struct sp_store *store);

/*
 * The change that follows *cursor, which moves on. 1 with a change; 0:
 * none yet; SP_E_ABSENT: the next ones have been overwritten by newer, *cursor jumps over them.
 */
int sp_page_next(struct sp_store *store, uint64_t *cursor, struct sp_page_change *ret);

/* --- holders' slots --- */

struct sp_holder;

/* Claims a slot for this thread. -ENOSPC when all are taken. Needs write access to the slots file
 * (the group's). */
int sp_holder_open(struct sp_store *store, struct sp_holder **ret, struct sp_err *err);
void sp_holder_close(struct sp_holder *holder);

/*
 * Brackets one synchronous move of bytes: marks the slot, then looks at the page. `seen` is what
 * sp_page_look gave when the lease was last compared with the record. 0: move now, then
 * sp_holder_leave. Otherwise nothing is marked: -EAGAIN: pending, try again within 10 ms (and cut
 * after cut_timeout). SP_E_CONFLICT: the version moved on, the record retired or went, or its
 * writer died in the middle: look again, compare again (established-...), cut unless it matches. No
 * system call on the way unless pending.
 */
int sp_holder_enter(
    struct sp_holder *holder, struct sp_page_ref ref, const struct sp_page_view *seen);
void sp_holder_leave(struct sp_holder *holder);

#endif
