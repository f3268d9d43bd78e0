/* Directories, one in the other. */
#include "guest/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"

int sp_walk_push(struct sp_walk *walk, int fd, const char *name)
{
	sp_auto_fd int own = fd;
	struct sp_walk_level level;

	if (walk->depth == SP_FILE_WALK_DEPTH)
		return -ELOOP;
	level.name = strdup(name);
	level.directory = level.name ? fdopendir(own) : NULL;
	if (!level.directory) {
		free(level.name);
		return -ENOMEM;
	}
	(void)sp_steal_fd(&own);
	walk->levels[walk->depth++] = level;
	return 0;
}

int sp_walk_enter(struct sp_walk *walk, int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : sp_walk_push(walk, fd, name);
}

void sp_walk_pop(struct sp_walk *walk)
{
	struct sp_walk_level *top = &walk->levels[--walk->depth];

	(void)closedir(top->directory);
	free(top->name);
}

void sp_walk_done(struct sp_walk *walk)
{
	while (walk->depth > 0)
		sp_walk_pop(walk);
}

struct dirent *sp_walk_next(DIR *directory, int *ret)
{
	for (;;) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(directory);
		if (!entry) {
			*ret = -errno;
			return NULL;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry;
	}
}

int sp_walk_name(const struct sp_walk *walk, const char *last, char ret_path[PATH_MAX])
{
	size_t used = 0;

	for (unsigned i = 1; i <= walk->depth; i++) {
		bool above = i < walk->depth;
		int n = snprintf(ret_path + used, PATH_MAX - used, "%s%s",
		    above ? walk->levels[i].name : last, above ? "/" : "");
		if (n < 0 || (size_t)n >= PATH_MAX - used)
			return -ENAMETOOLONG;
		used += (size_t)n;
	}
	return 0;
}
