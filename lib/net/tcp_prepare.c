/* TCP for streams whose buffers are bounded. By itself: the agent of a guest, which is linked
 * statically, has no use for names. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include "net/tcp.h"

void sp_tcp_prepare(int fd)
{
	const int yes = 1, segment = SP_TCP_SEGMENT;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
}
