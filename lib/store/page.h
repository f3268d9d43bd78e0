/*
 * The page: what every process of a store maps (03-identity, The store). Written under the store's
 * lock by its uid, read by anyone without a lock. Inside lib/store only.
 *
 * Valid for one boot: it lives in the page cache, never synced; records are what is durable. Every
 * shared word is read and written sequentially consistent.
 */
#ifndef SP_STORE_PAGE_H
#define SP_STORE_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/limits.h"
#include "store/store.h"

#define SP_PAGE_FILE    ".page"
#define SP_PAGE_MAGIC   UINT64_C(0x3165676170737073) /* "spspage1" */
#define SP_PAGE_BUCKETS 65536u
#define SP_PAGE_EVENTS  1024u

typedef _Atomic uint64_t sp_word;
typedef _Atomic uint32_t sp_half;

/* `word` of an entry: the number of publications << 8 | SP_PAGE_PENDING | enum sp_page_state. */
#define SP_PAGE_STATE   UINT64_C(3)
#define SP_PAGE_PENDING UINT64_C(4)
#define SP_PAGE_STEP    UINT64_C(256)

struct sp_page_entry {
	sp_word generation; /* grows with every sandbox that this entry is given to; 0: to none */
	sp_word word;
	sp_word epoch, version;
	sp_word floor; /* moves begun under a lower version are old: whoever cuts waits for them */
	sp_half next;  /* index + 1 of the next entry of this bucket */
	char sandbox[SP_ID_MAX + 1];
} __attribute__((aligned(64)));

struct sp_page_event {
	sp_word number; /* counts from 1; 0 while it is written */
	sp_word epoch, version, state, effect;
	char sandbox[SP_ID_MAX + 1];
} __attribute__((aligned(64)));

struct sp_page {
	union {
		struct {
			sp_word magic;
			sp_word sizes; /* sizeof(entry) << 32 | offset of the entries: a layout is
					  known by them */
			sp_word boot;  /* sp_page_boot of the boot it is valid in; 0: not valid */
			sp_word count, capacity; /* entries ever used; entries with room */
			sp_word blank,
			    absent; /* of the used ones: to be given away; without a record */
			sp_word generation; /* the last one given */
			sp_word hint;       /* no blank entry below */
			sp_word floor;      /* highest version of any sandbox dropped */
			sp_word links;      /* odd while chains are being relinked */
			/* The change under way; 0: none. Set before the entry is marked, cleared
			 * after it is published. */
			sp_word under_change; /* index + 1 */
			sp_word writer_pid, writer_inode;
			sp_word slots; /* inode of the slots file that installers read */
		};
		char head[2048];
	};
	/* Kept apart from the above: these words move with every change. */
	union {
		struct {
			sp_word moves;  /* marks and publications: sp_page_counter */
			sp_word events; /* publications: the last event's number */
			sp_half bell;   /* futex: rung after each move */
			/* The store's lock: futex, how many wait for it, was it let go for them? */
			sp_half unlocked, waiting, handed;
		};
		char tail[2048];
	};
	sp_half buckets[SP_PAGE_BUCKETS]; /* index + 1 of a chain's first entry */
	struct sp_page_event ring[SP_PAGE_EVENTS];
	struct sp_page_entry entries[];
};

/* Address space of a mapping; the file ends before and grows under it. */
#define SP_PAGE_SIZE(entries)                                                                      \
	(sizeof(struct sp_page) + (size_t)(entries) * sizeof(struct sp_page_entry))
#define SP_PAGE_SIZES                                                                              \
	((uint64_t)sizeof(struct sp_page_entry) << 32 | offsetof(struct sp_page, entries))

/* What names this boot, never 0; 0 when the kernel does not tell. */
uint64_t sp_page_boot(void);

uint32_t sp_page_bucket(const char *sandbox);

/* Maps it for reading unless that is done; SP_E_UNAVAILABLE with words when it cannot be believed.
 */
int sp_page_attach(struct sp_store *store, struct sp_err *err);
void sp_page_detach(struct sp_store *store);

/* Why it cannot be believed now: SP_E_UNAVAILABLE with words, or 0. */
int sp_page_words(struct sp_store *store, struct sp_err *err);

/* Has the writer of the change under way ended? */
bool sp_page_writer_gone(const struct sp_page *page);

/*
 * From here on under the store's lock.
 *
 * Opens, makes or repairs it: afterwards store->writable is a page of this boot whose chains are
 * whole. The slots must be open.
 */
int sp_page_open(struct sp_store *store, struct sp_err *err);
void sp_page_close(struct sp_store *store);

/* The entry of a sandbox, given one (without a record, on the store's version floor) if it has
 * none. */
int sp_page_give(
    struct sp_store *store, const char *sandbox, uint32_t *ret_index, struct sp_err *err);
int sp_page_search(const struct sp_page *page, const char *sandbox, uint32_t *ret_index);

/* Announces a change of this entry; `pends`: holders are to pause. */
void sp_page_mark(struct sp_store *store, uint32_t index, bool pends);

/* Ends it: what is in force from now on. `floor`: the entry's new floor. */
void sp_page_publish(struct sp_store *store, uint32_t index, enum sp_effect effect,
    enum sp_page_state state, uint64_t epoch, uint64_t version, uint64_t floor);

#endif
