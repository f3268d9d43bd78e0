/* A disk that is said to be written and is not: fsync and fdatasync do nothing to what $SP_NOSYNC
 * names, "file" or "directory". */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int sync_by(const char *name, int fd)
{
	const char *what = getenv("SP_NOSYNC");
	struct stat info;
	int (*real)(int);

	*(void **)&real = dlsym(RTLD_NEXT, name);
	if (what && fstat(fd, &info) == 0 &&
	    strcmp(what, S_ISDIR(info.st_mode) ? "directory" : "file") == 0)
		return 0;
	return real(fd);
}

int fsync(int fd)
{
	return sync_by("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_by("fdatasync", fd);
}
