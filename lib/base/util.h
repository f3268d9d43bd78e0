/* Ownership by scope: cleanup attributes and stealing, as bubblewrap and systemd do it. */
#ifndef SP_BASE_UTIL_H
#define SP_BASE_UTIL_H

#include <stdlib.h>
#include <unistd.h>
#include <errno.h>

#define sp_cleanup(function) __attribute__((cleanup(function)))
#define SP_COUNT(array)      (sizeof(array) / sizeof(*(array)))

/* Takes a pointer or descriptor out of its variable, so that the scope's end leaves it alone. */
#define sp_steal(pointer)                                                                          \
	({                                                                                         \
		__auto_type sp_steal_at = (pointer);                                               \
		__auto_type sp_stolen = *sp_steal_at;                                              \
		*sp_steal_at = NULL;                                                               \
		sp_stolen;                                                                         \
	})

static inline int sp_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

/* Closes and sets to -1; errno stays as it was. A descriptor of -1 is none. */
static inline void sp_fd_close(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		(void)close(*fd);
		errno = saved;
	}
	*fd = -1;
}

static inline void sp_free_pointer(void *pointer_to_pointer)
{
	void **at = pointer_to_pointer;

	free(*at);
	*at = NULL;
}

#define sp_auto_free sp_cleanup(sp_free_pointer)
#define sp_auto_fd   sp_cleanup(sp_fd_close)

#endif
