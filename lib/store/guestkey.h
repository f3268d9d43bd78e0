/*
 * Guest keys: the secret that the bridge shares with one guest (04-bridge, Record). Never in a
 * record: each lies in its own 0600 file, named by the guest id, in guest-keys/ beside the records.
 * The directory is 0711, so that a bridge of another uid than the store's reaches its own file and
 * lists nobody's.
 */
#ifndef SP_STORE_GUESTKEY_H
#define SP_STORE_GUESTKEY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

#define SP_GUEST_KEY_SIZE  32 /* for keyed BLAKE2b */
#define SP_GUEST_KEYS_PATH "guest-keys"

/*
 * Writes a new key file, durably; -EEXIST when that guest has one. `records` is the store's
 * directory; `reader` is the bridge's uid, (uid_t)-1 for this process's (another needs root). An id
 * that is none is SP_E_USAGE.
 */
int sp_guest_key_create(const char *records, const char *guest_id, uid_t reader,
    const uint8_t key[SP_GUEST_KEY_SIZE], struct sp_err *err);

/* SP_E_ABSENT: no such key. SP_E_BAD_KEY: others can read it, or it is no key. Wipe it after use.
 */
int sp_guest_key_read(const char *records, const char *guest_id, uint8_t ret_key[SP_GUEST_KEY_SIZE],
    struct sp_err *err);

/* The same from any file: a predecessor's key that came with its snapshot. */
int sp_guest_key_load(const char *path, uint8_t ret_key[SP_GUEST_KEY_SIZE], struct sp_err *err);

/*
 * Which guest ids were handed to a sandbox's guest since it was last known to have one, the newest
 * first: an enrollment that did not come to its end leaves the guest with one of their keys. Kept
 * beside the keys. Reading gives 0 ids when there is nothing; writing is durable.
 */
#define SP_GUEST_TRIED_MAX 8
int sp_guest_tried_read(const char *records, const char *sandbox,
    char ret_ids[SP_GUEST_TRIED_MAX][SP_ID_MAX + 1], unsigned *ret_count, struct sp_err *err);
int sp_guest_tried_write(const char *records, const char *sandbox, char (*ids)[SP_ID_MAX + 1],
    unsigned count, struct sp_err *err);

/* SP_E_ABSENT: there was none. */
int sp_guest_key_remove(const char *records, const char *guest_id, struct sp_err *err);

/* Takes away every key that this sandbox's guests may have had: `guest_id` (NULL: none known),
 * those that were tried, and the list of them. What is not ours to remove stays. */
void sp_guest_forget(const char *records, const char *sandbox, const char *guest_id);

#endif
