/*
 * Key bundles (02-capability, Bundle): manifest.json and manifest.sig in a tar.zst, and where they
 * lie once installed.
 *
 * An installed bundle is `directory`/current, a symlink to a directory of its own with both files:
 * one rename replaces both at once, and who has opened that directory reads one bundle.
 * manifest.json and manifest.sig in `directory` itself are symlinks through `current`, for people.
 * The highest serial ever installed lies beside the directory, in `directory`.serial.
 */
#ifndef SP_TOKEN_BUNDLE_H
#define SP_TOKEN_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "token/manifest.h"
#include "token/signing_key.h"

#define SP_BUNDLE_SIGNATURE 64
#define SP_BUNDLE_ROOTS_MAX 2

/* The two files. Nothing in the manifest is to be believed before sp_bundle_check. */
struct sp_bundle {
	char *manifest; /* heap, NUL after it */
	size_t size;
	unsigned char signature[SP_BUNDLE_SIGNATURE];
};

void sp_bundle_done(struct sp_bundle *bundle);

/* Writes and signs the manifest. SP_E_BAD_RECORD: sp_manifest_check. */
int sp_bundle_make(const struct sp_manifest *manifest, const struct sp_signing_key *root,
    struct sp_bundle *ret, struct sp_err *err);

/* As an archive: heap. */
int sp_bundle_pack(const struct sp_bundle *bundle, int64_t mtime, char **ret, size_t *ret_size,
    struct sp_err *err);

/* Out of an archive: exactly the two members, within SP_BUNDLE_BYTES_MAX and SP_BUNDLE_MEMBERS_MAX.
 * SP_E_BAD_ARCHIVE. */
int sp_bundle_unpack(const void *data, size_t size, struct sp_bundle *ret, struct sp_err *err);

/* Out of the file of an archive. */
int sp_bundle_read_file(const char *path, struct sp_bundle *ret, struct sp_err *err);

/* Out of an installed bundle's directory, or of any directory with the two files: always both of
 * one bundle. SP_E_ABSENT: nothing is installed there. */
int sp_bundle_read_directory(const char *directory, struct sp_bundle *ret, struct sp_err *err);

/* One or two k4.public separated by white space. SP_E_CONFIG: none, more, or no keys. */
struct sp_roots {
	unsigned count;
	unsigned char keys[SP_BUNDLE_ROOTS_MAX][SP_PUBLIC_KEY_SIZE];
};
int sp_roots_parse(const char *text, struct sp_roots *ret, struct sp_err *err);

/*
 * Signature over the exact bytes by one of the roots, and only then what they say; `realm` must be
 * its realm (NULL: any). SP_E_BAD_ARCHIVE. Expiry is looked at by who knows the time.
 */
int sp_bundle_check(const struct sp_bundle *bundle, const struct sp_roots *roots, const char *realm,
    struct sp_manifest *ret, struct sp_err *err);

/*
 * Puts a checked bundle into force. SP_E_BAD_ARCHIVE: expired. SP_E_CONFLICT: its serial is lower
 * than the highest ever installed there, or equal with other bytes. *ret_changed is false when it
 * is in force already. kill -9 at any instant leaves the old or the new bundle in force. One
 * installer at a time, others wait for 10 s at most (SP_E_TIMEOUT); meanwhile `wait` (may be NULL)
 * is told a hundred times a second.
 */
struct sp_bundle_wait {
	void (*waiting)(void *context);
	void *context;
};
int sp_bundle_install(const struct sp_bundle *bundle, const struct sp_manifest *manifest,
    const char *directory, int64_t now, const struct sp_bundle_wait *wait, bool *ret_changed,
    struct sp_err *err);

#endif
