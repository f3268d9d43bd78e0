/* A directory of its own for each test, under the build directory, gone afterwards. */
#ifndef SP_TESTS_UNIT_SCRATCH_H
#define SP_TESTS_UNIT_SCRATCH_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch[PATH_MAX];

static int scratch_make(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	(void)snprintf(scratch, sizeof(scratch), "%s/space-unit-XXXXXX", base ? base : "/tmp");
	return mkdtemp(scratch) ? 0 : -1;
}

static int scratch_unlink(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	return remove(path);
}

static int scratch_remove(void **state)
{
	(void)state;
	return nftw(scratch, scratch_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* A path in it: of two calls' worth, no more. */
static inline const char *scratch_path(const char *name)
{
	static char paths[4][PATH_MAX + 64];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

#define test_in_scratch(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

#endif
