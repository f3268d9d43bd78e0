/*
 * A walk through directories below one another, by descriptor and never through a symlink, as deep
 * as SP_FILE_WALK_DEPTH allows. Codes are 0 or -errno.
 */
#ifndef SP_GUEST_WALK_H
#define SP_GUEST_WALK_H

#include <dirent.h>
#include <limits.h>
#include "guest/file.h"

struct sp_walk_level {
	DIR *directory;
	char *name; /* of this directory in the one above */
};

struct sp_walk {
	unsigned depth; /* 0: at its end, or not begun */
	struct sp_walk_level levels[SP_FILE_WALK_DEPTH];
};

/* Goes into a directory that is open; takes `fd`. -ELOOP: too deep. */
int sp_walk_push(struct sp_walk *walk, int fd, const char *name);

/* Goes into a directory in `parent`. */
int sp_walk_enter(struct sp_walk *walk, int parent, const char *name);

/* Leaves the one at the top. */
void sp_walk_pop(struct sp_walk *walk);
void sp_walk_done(struct sp_walk *walk);

static inline struct sp_walk_level *sp_walk_top(struct sp_walk *walk)
{
	return &walk->levels[walk->depth - 1];
}

/* The next entry but "." and ".."; NULL at the end (*ret 0) or on failure. */
struct dirent *sp_walk_next(DIR *directory, int *ret);

/* The path of an entry of the directory at the top, from the first directory on. -ENAMETOOLONG. */
int sp_walk_name(const struct sp_walk *walk, const char *last, char ret_path[PATH_MAX]);

#endif
