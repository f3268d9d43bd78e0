/* Preloaded: names in the file $SP_LOOKS each directory that is gone through by getdents64(3), a
 * line a call. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void tell(int fd)
{
	const char *file = getenv("SP_LOOKS");
	char link[64], path[4096];
	int out = file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	ssize_t size;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (out < 0 || size < 0)
		abort();
	path[size++] = '\n';
	if (write(out, path, (size_t)size) != size)
		abort();
	(void)close(out);
}

ssize_t getdents64(int fd, void *buffer, size_t size)
{
	ssize_t (*original)(int, void *, size_t) = NULL;

	*(void **)&original = dlsym(RTLD_NEXT, "getdents64");
	tell(fd);
	return original(fd, buffer, size);
}
