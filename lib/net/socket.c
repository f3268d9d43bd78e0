/* Ending connections at once. */
#include "net/socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

void sp_socket_abort(int fd)
{
	struct linger none = {.l_onoff = 1, .l_linger = 0};
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	int protocol = 0;
	socklen_t size = sizeof(protocol);

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) < 0)
		return;
	if (protocol == IPPROTO_TCP) {
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		(void)connect(fd, &nowhere, sizeof(nowhere));
	} else {
		(void)shutdown(fd, SHUT_RDWR);
	}
}
