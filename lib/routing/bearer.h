/* Bearer tokens of token:NAME principals: "space-token:NAME:" and 256 random bits. The registry
 * keeps their BLAKE2b-256 only. */
#ifndef SP_ROUTING_BEARER_H
#define SP_ROUTING_BEARER_H

#include "base/err.h"
#include "base/limits.h"
#include "routing/cache.h"

#define SP_BEARER_SIZE (12 + SP_ID_MAX + 1 + 43 + 1) /* the longest, with its NUL */

/* What a token proves. */
struct sp_bearer {
	char name[SP_ID_MAX + 1];
	unsigned char credential[SP_CREDENTIAL_SIZE]; /* the hash */
};

/* SP_E_BAD_KEY when it is no such token. */
int sp_bearer_parse(const char *text, struct sp_bearer *ret, struct sp_err *err);

/* A fresh one for a valid name. Wipe it. */
void sp_bearer_make(const char *name, char ret_text[SP_BEARER_SIZE]);

/* Reads a file that only its owner may read (one token, one LF at most after it). */
int sp_bearer_read(const char *path, struct sp_bearer *ret, struct sp_err *err);

/* Writes a fresh token into a new file, 0600. -EEXIST. */
int sp_bearer_create(const char *path, const char *name, struct sp_bearer *ret, struct sp_err *err);

#endif
