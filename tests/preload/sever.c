/* A connection that is lost before its first byte: each one that is made to $SP_SEVER ends at once.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int connect(int fd, const struct sockaddr *address, socklen_t size);

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
	const struct sockaddr_un *name = (const struct sockaddr_un *)address;
	const char *path = getenv("SP_SEVER");
	int bad = real(fd, address, size);

	if (!bad && path && address->sa_family == AF_UNIX && strcmp(name->sun_path, path) == 0)
		(void)shutdown(fd, SHUT_RDWR);
	return bad;
}
