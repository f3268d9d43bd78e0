/* The secret key in libsodium's guarded memory: locked, surrounded by guard pages, read-only, wiped
 * when freed. */
#ifndef SP_TOKEN_SIGNING_KEY_H
#define SP_TOKEN_SIGNING_KEY_H

#include <stddef.h>
#include "base/err.h"
#include "base/util.h"
#include "token/paserk.h"

struct sp_signing_key;

#define SP_PASSPHRASE_MAX 1024 /* bytes */

/* A fresh one. */
int sp_signing_key_new(struct sp_signing_key **ret, struct sp_err *err);

/*
 * Out of a key's text, k4.secret. or k4.secret-pw. (white space around it is fine).
 * `passphrase_file` is a secret file whose first line is the passphrase; NULL: none, and a sealed
 * key is SP_E_BAD_KEY.
 */
int sp_signing_key_parse(
    const char *text, const char *passphrase_file, struct sp_signing_key **ret, struct sp_err *err);

/* Out of a secret file (0600) that holds such a text. */
int sp_signing_key_load(
    const char *path, const char *passphrase_file, struct sp_signing_key **ret, struct sp_err *err);

/* Takes NULL. */
void sp_signing_key_free(struct sp_signing_key *key);

static inline void sp_signing_key_release(struct sp_signing_key **key)
{
	sp_signing_key_free(*key);
	*key = NULL;
}
#define sp_auto_signing_key sp_cleanup(sp_signing_key_release)

/* Into a new 0600 file, k4.secret., or k4.secret-pw. when there is a passphrase file. -EEXIST:
 * never over another. */
int sp_signing_key_save(const struct sp_signing_key *key, const char *path,
    const char *passphrase_file, struct sp_err *err);

/* All borrowed. */
const unsigned char *sp_signing_key_secret(const struct sp_signing_key *key);
const unsigned char *sp_signing_key_public(const struct sp_signing_key *key);
const char *sp_signing_key_id(const struct sp_signing_key *key); /* k4.pid. */

/* The public key of a text or file that holds a public or a secret key. */
int sp_public_key_parse(const char *text, const char *passphrase_file,
    unsigned char ret[SP_PUBLIC_KEY_SIZE], struct sp_err *err);
int sp_public_key_load(const char *path, const char *passphrase_file,
    unsigned char ret[SP_PUBLIC_KEY_SIZE], struct sp_err *err);

#endif
