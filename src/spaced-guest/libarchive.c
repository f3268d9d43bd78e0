/* libarchive linked in: taken in the place of the library's sp_libarchive_load. What would need
 * other libraries, and the agent does not use, stays out. */
#include "base/libarchive.h"

int sp_libarchive_load(const struct sp_libarchive **ret, struct sp_err *err)
{
	static const struct sp_libarchive linked = {
#define FUNCTION(name) .name = name,
	    SP_LIBARCHIVE_FUNCTIONS(FUNCTION) SP_LIBARCHIVE_TREE_FUNCTIONS(FUNCTION)};

	(void)err;
	*ret = &linked;
	return 0;
}
