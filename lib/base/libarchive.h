/*
 * libarchive as a table of the functions that are used. It is loaded at first use, because it and
 * what it needs are slow to load; a program that is linked statically has a sp_libarchive_load of
 * its own, with the same table (src/spaced-guest/libarchive.c).
 */
#ifndef SP_BASE_LIBARCHIVE_H
#define SP_BASE_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>
#include "base/err.h"

/* Every function that is used, by the name that dlsym looks up. */
#define SP_LIBARCHIVE_FUNCTIONS(F)                                                                 \
	F(archive_entry_clear)                                                                     \
	F(archive_entry_filetype)                                                                  \
	F(archive_entry_free)                                                                      \
	F(archive_entry_hardlink)                                                                  \
	F(archive_entry_new)                                                                       \
	F(archive_entry_pathname)                                                                  \
	F(archive_entry_set_filetype)                                                              \
	F(archive_entry_set_mtime)                                                                 \
	F(archive_entry_set_pathname)                                                              \
	F(archive_entry_set_perm)                                                                  \
	F(archive_entry_set_size)                                                                  \
	F(archive_error_string)                                                                    \
	F(archive_read_free)                                                                       \
	F(archive_read_new)                                                                        \
	F(archive_read_next_header)                                                                \
	F(archive_read_support_format_tar)                                                         \
	F(archive_write_close)                                                                     \
	F(archive_write_data)                                                                      \
	F(archive_write_free)                                                                      \
	F(archive_write_header)                                                                    \
	F(archive_write_new)                                                                       \
	F(archive_write_open)                                                                      \
	F(archive_write_set_bytes_in_last_block)                                                   \
	F(archive_write_set_format_pax_restricted)

/* Besides, for archives in memory (base/archive.h). */
#define SP_LIBARCHIVE_MEMORY_FUNCTIONS(F)                                                          \
	F(archive_read_data)                                                                       \
	F(archive_read_open_memory)                                                                \
	F(archive_read_support_filter_zstd)                                                        \
	F(archive_write_add_filter_zstd)

/* Besides, for trees (guest/tree.h). */
#define SP_LIBARCHIVE_TREE_FUNCTIONS(F)                                                            \
	F(archive_entry_gid)                                                                       \
	F(archive_entry_mtime)                                                                     \
	F(archive_entry_mtime_nsec)                                                                \
	F(archive_entry_perm)                                                                      \
	F(archive_entry_set_gid)                                                                   \
	F(archive_entry_set_hardlink)                                                              \
	F(archive_entry_set_symlink)                                                               \
	F(archive_entry_set_uid)                                                                   \
	F(archive_entry_size)                                                                      \
	F(archive_entry_sparse_add_entry)                                                          \
	F(archive_entry_symlink)                                                                   \
	F(archive_entry_uid)                                                                       \
	F(archive_entry_xattr_add_entry)                                                           \
	F(archive_entry_xattr_next)                                                                \
	F(archive_entry_xattr_reset)                                                               \
	F(archive_read_data_block)                                                                 \
	F(archive_read_open)                                                                       \
	F(archive_read_support_format_empty)                                                       \
	F(archive_write_set_options)

#define SP_LIBARCHIVE_POINTER(name) __typeof__(&name) name;
struct sp_libarchive {
	SP_LIBARCHIVE_FUNCTIONS(SP_LIBARCHIVE_POINTER)
	SP_LIBARCHIVE_MEMORY_FUNCTIONS(SP_LIBARCHIVE_POINTER)
	SP_LIBARCHIVE_TREE_FUNCTIONS(SP_LIBARCHIVE_POINTER)
};

/* SP_E_UNAVAILABLE: there is no libarchive. */
int sp_libarchive_load(const struct sp_libarchive **ret, struct sp_err *err);

#endif
