/* What an entry of a tree may be called, and where a link may lead. */
#include <errno.h>
#include <string.h>
#include "base/util.h"
#include "guest/tree.h"

int sp_tree_name(const char *name, char ret_name[PATH_MAX])
{
	size_t used = 0;

	if (name[0] == '\0' || name[0] == '/')
		return -EINVAL;
	if (strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	while (*name) {
		size_t length = strcspn(name, "/");
		if (length == 2 && name[0] == '.' && name[1] == '.')
			return -EINVAL;
		if (length > 0 && (length != 1 || name[0] != '.')) {
			if (used > 0)
				ret_name[used++] = '/';
			memcpy(ret_name + used, name, length);
			used += length;
		}
		name += length;
		name += strspn(name, "/");
	}
	if (used == 0)
		ret_name[used++] = '.';
	ret_name[used] = '\0';
	return 0;
}

bool sp_tree_target(const char *name, const char *target)
{
	unsigned above = 0;
	bool front = true;

	if (target[0] == '\0' || target[0] == '/')
		return false;
	for (; *name; name++)
		above += *name == '/';
	while (*target) {
		size_t length = strcspn(target, "/");
		bool up = length == 2 && target[0] == '.' && target[1] == '.';
		if (up && (!front || above == 0))
			return false;
		above -= up;
		front &= up || length == 0 || (length == 1 && target[0] == '.');
		target += length;
		target += strspn(target, "/");
	}
	return true;
}

bool sp_tree_attribute(const char *name)
{
	static const char *const others[] = {
	    "security.capability", "system.posix_acl_access", "system.posix_acl_default"};

	for (size_t i = 0; i < SP_COUNT(others); i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	return strncmp(name, "user.", 5) == 0;
}
