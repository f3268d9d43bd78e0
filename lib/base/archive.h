/*
 * Small archives in memory: tar and tar.zst by libarchive, which is loaded at first use, so that
 * only the verbs that need it pay for it. Bounds and refusals are ours, not libarchive's.
 *
 * An archive holds plain files with relative names and nothing else.
 */
#ifndef SP_BASE_ARCHIVE_H
#define SP_BASE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

#define SP_ARCHIVE_NAME_MAX 255

struct sp_archive_member {
	char *name;
	char *data; /* a NUL follows the `size` bytes when it was unpacked */
	size_t size;
};

enum sp_archive_kind { SP_ARCHIVE_TAR, SP_ARCHIVE_TAR_ZSTD };

/*
 * Packs `count` members. Modes are 0644, owners 0, every time is `mtime`: the same input gives the
 * same bytes. *ret is heap. Errors: SP_E_BAD_ARCHIVE (a name that unpacking would refuse),
 * SP_E_UNAVAILABLE (no libarchive), -ENOMEM.
 */
int sp_archive_pack(const struct sp_archive_member *members, size_t count,
    enum sp_archive_kind kind, int64_t mtime, char **ret, size_t *ret_size, struct sp_err *err);

struct sp_archive_limits {
	size_t bytes;             /* of all members together */
	size_t members;           /* how many */
	const char *const *names; /* NULL-terminated: these and no others; NULL: any */
	bool (*allowed)(const char *name, void *context); /* a filter on top; NULL: none */
	void *context;
};

struct sp_archive {
	size_t count;
	struct sp_archive_member *members;
};

/*
 * Unpacks tar, plain or zstd-compressed. Refused with SP_E_BAD_ARCHIVE, as a whole: a link, device,
 * directory or FIFO; an absolute name, one with `.`, `..` or an empty component, one that is not
 * printable ASCII; a duplicate; a name that the limits do not allow; more members or bytes than
 * they allow; an end in the middle; anything else that is no tar. SP_E_UNAVAILABLE: no libarchive.
 */
int sp_archive_unpack(const void *data, size_t size, const struct sp_archive_limits *limits,
    struct sp_archive *ret, struct sp_err *err);
void sp_archive_done(struct sp_archive *archive);

/* NULL: no such member. */
const struct sp_archive_member *sp_archive_find(const struct sp_archive *archive, const char *name);

/* A relative path of plain components in printable ASCII (what it is does not depend on a locale),
 * at most SP_ARCHIVE_NAME_MAX bytes. Pure. */
bool sp_archive_name_valid(const char *name);

#endif
