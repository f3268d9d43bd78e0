/*
 * PASETO v4.public (https://github.com/paseto-standard/paseto-spec): pre-authentication encoding,
 * signing, taking apart, verifying. Pure.
 */
#ifndef SP_TOKEN_PASETO_H
#define SP_TOKEN_PASETO_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "token/paserk.h"

#define SP_PASETO_HEADER       "v4.public."
#define SP_PASETO_SIGNATURE    64
#define SP_PASETO_MESSAGE_MAX  (SP_TOKEN_MAX / 4 * 3) /* bytes of message, and of footer */
#define SP_PASETO_IMPLICIT_MAX 256

/* A span of bytes that somebody else owns. */
struct sp_bytes {
	const void *data;
	size_t size;
};

/*
 * Signs. `ret_token` has SP_TOKEN_MAX + 1 bytes. SP_E_TOO_LARGE when the token does not fit into
 * SP_TOKEN_MAX or the assertion is over SP_PASETO_IMPLICIT_MAX. An empty footer is none.
 */
int sp_paseto_sign(const unsigned char secret_key[SP_SECRET_KEY_SIZE], struct sp_bytes message,
    struct sp_bytes footer, struct sp_bytes implicit, char *ret_token, size_t *ret_size,
    struct sp_err *err);

/* A token taken apart: decoded, not verified. A NUL follows message and footer. */
struct sp_paseto {
	size_t message_size, footer_size;
	unsigned char message[SP_PASETO_MESSAGE_MAX + 1]; /* the signature came behind it */
	unsigned char signature[SP_PASETO_SIGNATURE];
	unsigned char footer[SP_PASETO_MESSAGE_MAX + 1];
};

/* False: over SP_TOKEN_MAX, another header, a part missing or too many, no strict base64url, too
 * short for a signature. */
bool sp_paseto_split(const char *token, size_t size, struct sp_paseto *ret);

/* Ed25519 over header, message, footer and assertion; libsodium refuses S >= L and keys of small
 * order. */
bool sp_paseto_verify(const struct sp_paseto *token,
    const unsigned char public_key[SP_PUBLIC_KEY_SIZE], struct sp_bytes implicit);

#endif
