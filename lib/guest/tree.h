/*
 * Trees (07-operations, tree.get and tree.put): a directory or file to a tar stream, and a tar
 * stream into a directory, by libarchive. Both block, and so run in processes of their own
 * (guest/worker.h).
 *
 * What goes in stays below its directory: names are relative and without `..`, no entry lies behind
 * a symlink, a symlink's `..` only leads up to the directory, and there are no devices. The first
 * entry that is not so ends it; those before it stay. Each file appears whole or not at all.
 */
#ifndef SP_GUEST_TREE_H
#define SP_GUEST_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct sp_tree_limits {
	int64_t bytes;   /* of all files together, holes counted */
	int64_t entries; /* of the archive */
};

struct sp_tree_counts {
	int64_t entries, bytes;
};

/*
 * Unpacks what `in` gives until its end into `directory`; both borrowed. Kept are modes, owners
 * where we may, times, and extended attributes of sp_tree_attribute. Codes are -errno or
 * SP_E_UNAVAILABLE, with words that name the entry: -EINVAL for a name or archive that is none,
 * -EXDEV for one that leads out, -EPERM for a device, -ELOOP for an entry behind a symlink, -EFBIG
 * over the limits. *ret counts what was unpacked, also then.
 */
int sp_tree_unpack(int directory, int in, const struct sp_tree_limits *limits,
    struct sp_tree_counts *ret, struct sp_err *err);

/* Packs what `source`, a directory or a file of the name `name`, holds to `out`. Sockets and
 * devices are left out, and what procfs and sysfs hold. -EPIPE: nobody reads it. */
int sp_tree_pack(
    int source, const char *name, int out, struct sp_tree_counts *ret, struct sp_err *err);

/* Is this extended attribute kept: of users, of capabilities, of POSIX ACLs? */
bool sp_tree_attribute(const char *name);

/* An entry's name without `.` and empty components, "." for the directory itself. -EINVAL:
 * absolute, empty, or with `..`; -ENAMETOOLONG. Pure. */
int sp_tree_name(const char *name, char ret_name[PATH_MAX]);

/* May a symlink of this name (of sp_tree_name) have this target? Relative, and `..` only at its
 * front, no more of them than directories that the link lies in: so it leads no higher than the
 * tree, whatever else is a symlink. Pure. */
bool sp_tree_target(const char *name, const char *target);

#endif
