/* What a key bundle says: manifest.json of 02-capability (Bundle), closed. Pure. */
#ifndef SP_TOKEN_MANIFEST_H
#define SP_TOKEN_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "token/paserk.h"

struct sp_bundle_key {
	char kid[SP_KID_SIZE];
	unsigned char public[SP_PUBLIC_KEY_SIZE];
	bool revoked;
	int64_t not_before,
	    not_after; /* seconds; the key counts while not_before <= now < not_after */
};

struct sp_manifest {
	char realm[SP_ID_MAX + 1];
	int64_t serial;                /* from 1 */
	int64_t issued_at, expires_at; /* seconds, issued_at < expires_at */
	unsigned count;                /* 1 to SP_BUNDLE_KEYS_MAX */
	struct sp_bundle_key keys[SP_BUNDLE_KEYS_MAX];
};

/* SP_E_BAD_ARCHIVE names the first thing wrong: also a kid that is not its key's, and a key that is
 * in it twice. */
int sp_manifest_parse(const char *text, size_t size, struct sp_manifest *ret, struct sp_err *err);

/* SP_E_BAD_RECORD: sp_manifest_parse would refuse it. */
int sp_manifest_check(const struct sp_manifest *manifest, struct sp_err *err);

/* A new reference, NULL when out of memory. */
json_t *sp_manifest_json(const struct sp_manifest *manifest);

#endif
