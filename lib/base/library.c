/* All functions of a table, or none. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int sp_library_load(const char *library, const char *package,
    const struct sp_library_symbol *symbols, size_t count, void *ret_table, struct sp_err *err)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return sp_fail(
		    err, SP_E_UNAVAILABLE, "needs the Debian package %s: %s", package, dlerror());
	for (size_t i = 0; i < count; i++)
		if (!dlsym(handle, symbols[i].name)) {
			(void)dlclose(handle);
			return sp_fail(err, SP_E_UNAVAILABLE, "%s has no %s: too old", library,
			    symbols[i].name);
		}
	for (size_t i = 0; i < count; i++) {
		void *at = dlsym(handle, symbols[i].name);
		memcpy((char *)ret_table + symbols[i].offset, &at, sizeof(at));
	}
	return 0;
}
