/* Shared libraries that are loaded only where they are used, because they are slow to load. */
#ifndef SP_BASE_LIBRARY_H
#define SP_BASE_LIBRARY_H

#include <stddef.h>
#include "base/err.h"

/* One function that is used: its name, and where its pointer belongs in the caller's table. */
struct sp_library_symbol {
	const char *name;
	size_t offset;
};

/*
 * Loads `library` ("libarchive.so.13", of a Debian package that the message names) and fills
 * ret_table, which stays untouched on failure. It is never unloaded. SP_E_UNAVAILABLE.
 */
int sp_library_load(const char *library, const char *package,
    const struct sp_library_symbol *symbols, size_t count, void *ret_table, struct sp_err *err);

#endif
