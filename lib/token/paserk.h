/*
 * PASERK for version 4 keys: k4.public, k4.secret, k4.pid and k4.secret-pw
 * (https://github.com/paseto-standard/paserk). Every reader takes exactly one spelling of a key.
 * Pure; libsodium must have been initialized.
 */
#ifndef SP_TOKEN_PASERK_H
#define SP_TOKEN_PASERK_H

#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "token/keyring.h"

#define SP_PUBLIC_KEY_SIZE 32
#define SP_SECRET_KEY_SIZE 64 /* seed and public key, as libsodium and PASERK have it */

/* Texts with their NUL. */
#define SP_PASERK_PUBLIC_SIZE 54
#define SP_PASERK_SECRET_SIZE 97
#define SP_PASERK_SEALED_SIZE 217

/* `key` must have the size of its type, else SP_E_BAD_KEY. */
int sp_paserk_public_write(
    const void *key, size_t size, char ret[SP_PASERK_PUBLIC_SIZE], struct sp_err *err);
int sp_paserk_secret_write(
    const void *key, size_t size, char ret[SP_PASERK_SECRET_SIZE], struct sp_err *err);

/* The key id k4.pid of a public key. */
int sp_paserk_id(const void *public_key, size_t size, char ret[SP_KID_SIZE], struct sp_err *err);

/* SP_E_BAD_KEY: another type or version, a wrong length, stray bits, anything after it. */
int sp_paserk_public_read(
    const char *text, unsigned char ret[SP_PUBLIC_KEY_SIZE], struct sp_err *err);

/* Also refuses a secret key whose public half is not that of its seed. `ret` is guarded memory. */
int sp_paserk_secret_read(
    const char *text, unsigned char ret[SP_SECRET_KEY_SIZE], struct sp_err *err);

/* Cost of Argon2id for new k4.secret-pw: libsodium's "moderate". */
#define SP_SEAL_MEMORY (256u * 1024u * 1024u) /* bytes */
#define SP_SEAL_PASSES 3u
/* What a sealed key may demand of its reader. */
#define SP_SEAL_MEMORY_MAX (1024u * 1024u * 1024u)
#define SP_SEAL_PASSES_MAX 16u

/* k4.secret-pw of a key under a passphrase. -ENOMEM when `memory` bytes cannot be had. */
int sp_paserk_secret_seal(const unsigned char key[SP_SECRET_KEY_SIZE], const char *passphrase,
    size_t size, uint64_t memory, uint32_t passes, char ret[SP_PASERK_SEALED_SIZE],
    struct sp_err *err);

/* The reverse, as strict as sp_paserk_secret_read. SP_E_BAD_KEY says "wrong passphrase" when the
 * tag does not fit. */
int sp_paserk_secret_open(const char *text, const char *passphrase, size_t size,
    unsigned char ret[SP_SECRET_KEY_SIZE], struct sp_err *err);

#endif
