/* The verification keys a receiver trusts: an installed bundle, a public key file, or one key. */
#ifndef SP_TOKEN_KEYRING_H
#define SP_TOKEN_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "record/reason.h"

#define SP_KID_SIZE 52 /* "k4.pid." and 44 characters, and a NUL */

struct sp_keyring;

/*
 * `source`: an installed bundle's directory (manifest.json and manifest.sig, checked against
 * `roots`, one or two k4.public separated by white space; "" with a directory is SP_E_CONFIG), a
 * file with k4.public. lines, or such a key itself. `realm` must be the bundle's. A missing
 * directory or bundle is SP_E_ABSENT (a receiver then starts with an empty keyring:
 * sp_keyring_empty). *ret is the caller's.
 */
int sp_keyring_load(const char *source, const char *realm, const char *roots,
    struct sp_keyring **ret, struct sp_err *err);
int sp_keyring_empty(struct sp_keyring **ret);
void sp_keyring_free(struct sp_keyring *keys);

/* Step 2: the key for an id at this time, or why not (SP_REASON_UNKNOWN_KEY,
 * SP_REASON_REVOKED_KEY). */
enum sp_reason sp_keyring_find(
    const struct sp_keyring *keys, const char *kid, int64_t now, const unsigned char **ret_public);

int64_t sp_keyring_serial(const struct sp_keyring *keys);     /* 0 when it is no bundle */
int64_t sp_keyring_expires_at(const struct sp_keyring *keys); /* 0: never */
size_t sp_keyring_count(const struct sp_keyring *keys);

/* Has the installed bundle's manifest, or the key file, moved on disk since it was loaded? Cheap
 * (one stat). Also true when it can no longer be looked at, and of an empty keyring: a load is
 * worth a try. A key given as itself never is. */
bool sp_keyring_stale(const struct sp_keyring *keys);

#endif
