/* Whole files: bounded reads of regular files only, and replacement that survives kill -9 and power
 * loss. */
#ifndef SP_BASE_FILE_H
#define SP_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/err.h"

/* What must be true of a file that is read. */
enum sp_file_flags {
	SP_FILE_SECRET = 1,   /* refused unless it grants group and others nothing, and belongs to
				 us or root, or we are root; no symlink at the end */
	SP_FILE_NOFOLLOW = 2, /* no symlink at the end */
};

/*
 * Opens a regular file for reading, CLOEXEC. A FIFO, device, directory or socket is refused without
 * blocking on it. `at` is a directory descriptor or AT_FDCWD. *ret_fd is the caller's.
 */
int sp_file_open(int at, const char *path, int flags, int *ret_fd, struct sp_err *err);

/*
 * Reads a whole regular file of at most `max` bytes. *ret_data has a NUL after *ret_size bytes and
 * is freed by the caller (for SP_FILE_SECRET: with sp_secret_free). Errors: -errno, SP_E_TOO_LARGE,
 * SP_E_BAD_KEY (wrong mode or owner of a secret).
 */
int sp_file_read(int at, const char *path, int flags, size_t max, char **ret_data, size_t *ret_size,
    struct sp_err *err);

/* Wipes and frees what sp_file_read gave for a secret, or any heap text that was one. Takes NULL.
 */
void sp_secret_free(char *data, size_t size);

/* Creates a new file (O_EXCL, O_NOFOLLOW), writes, fsyncs it and its directory. -EEXIST when there
 * is one. */
int sp_file_create(
    int at, const char *path, mode_t mode, const void *data, size_t size, struct sp_err *err);

/* Writes `<path>.new` aside, fsyncs, renames over path, fsyncs the directory. Callers serialize
 * themselves. */
int sp_file_replace(
    int at, const char *path, mode_t mode, const void *data, size_t size, struct sp_err *err);

/* fsync of the directory that holds `path` (as far as `at`). */
int sp_file_sync_directory(int at, const char *path, struct sp_err *err);

/* mkdir -p, each new level with `mode` (no umask applied to the last). An existing directory stays
 * as it is. */
int sp_directory_make(const char *path, mode_t mode, struct sp_err *err);

/* The same, and its name survives a loss of power, those of the levels above it that are made here
 * too; also when it was there and whoever made it was killed before he had synced it. */
int sp_directory_make_lasting(const char *path, mode_t mode, struct sp_err *err);

#endif
