/* The table by dlopen. */
#include "base/libarchive.h"

#include <stdbool.h>
#include <stddef.h>
#include "base/library.h"
#include "base/util.h"

#define LIBRARY "libarchive.so.13"

static const struct sp_library_symbol SYMBOLS[] = {
#define SYMBOL(name) {#name, offsetof(struct sp_libarchive, name)},
    SP_LIBARCHIVE_FUNCTIONS(SYMBOL) SP_LIBARCHIVE_MEMORY_FUNCTIONS(SYMBOL)
	SP_LIBARCHIVE_TREE_FUNCTIONS(SYMBOL)};

int sp_libarchive_load(const struct sp_libarchive **ret, struct sp_err *err)
{
	static struct sp_libarchive loaded;
	static bool ready;
	int bad = ready ? 0
			: sp_library_load(
			      LIBRARY, "libarchive13", SYMBOLS, SP_COUNT(SYMBOLS), &loaded, err);

	if (bad)
		return bad;
	ready = true;
	*ret = &loaded;
	return 0;
}
