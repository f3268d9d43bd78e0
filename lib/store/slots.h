/*
 * Holders' slots (03-identity, The store). A holder marks its slot, then looks at the page; an
 * installer publishes in the page, then reads the slots: one of the two sees the other.
 *
 * A slot is claimed by an OFD lock on its first byte, which the kernel drops when its holder dies,
 * in whatever pid namespace it lived: that, not what is written in the slot, is what alive means.
 * Inside lib/store only.
 */
#ifndef SP_STORE_SLOTS_H
#define SP_STORE_SLOTS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include "store/page.h"
#include "store/store.h"

#define SP_SLOTS_FILE  ".slots"
#define SP_SLOT_SIZE   64
#define SP_SLOTS_FIRST 256 /* how many a new file has; it doubles when all are taken */

struct sp_slot {
	sp_word mark;    /* number of the move << 32 | index of the entry + 1; 0: moving nothing */
	sp_word version; /* under which the move was begun */
	sp_word pid, inode; /* for messages */
} __attribute__((aligned(SP_SLOT_SIZE)));

static inline struct flock sp_slot_lock(off_t slot)
{
	return (struct flock){
	    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot * SP_SLOT_SIZE, .l_len = 1};
}

/* Opens, and makes if missing, the slots file for reading by an installer. Under the store's lock.
 */
int sp_slots_open(struct sp_store *store, struct sp_err *err);

#define SP_SLOTS_ANY UINT32_MAX /* moves of every entry */

/*
 * Waits until every live holder that is in a move of this entry, begun under a version below
 * `floor`, has left that move. SP_E_TIMEOUT after `timeout_ms`, naming them.
 */
int sp_slots_wait(
    struct sp_store *store, uint32_t index, uint64_t floor, int timeout_ms, struct sp_err *err);

#endif
