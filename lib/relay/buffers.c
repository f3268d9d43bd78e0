/* The kernel's buffers of a relay's sockets: bounded, and given to the way that is busy. */
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <linux/sockios.h>
#include "relay/inner.h"

/* As the kernel counts them: SP_RELAY_BOUND is twice a chunk and these. */
#define SEND_BYTES        65536
#define TCP_SEND_BYTES    49152
#define TCP_RECEIVE_BYTES 32768
/* What a busy way has whose relay is alone in its stream, and what the other has meanwhile. */
#define BUSY_BYTES  147456
#define QUIET_BYTES 16384

_Static_assert(2 * SP_RELAY_CHUNK + BUSY_BYTES + QUIET_BYTES <= SP_RELAY_BOUND, "within the bound");
_Static_assert(2 * SP_RELAY_CHUNK + 2 * SEND_BYTES <= SP_RELAY_BOUND, "within the bound");

static void set_buffer(int fd, int option, int bytes)
{
	int half = bytes / 2; /* the kernel doubles it */

	(void)setsockopt(fd, SOL_SOCKET, option, &half, sizeof(half));
}

static void limit_buffer(int fd, int option, int bytes)
{
	int now = 0;
	socklen_t size = sizeof(now);

	if (getsockopt(fd, SOL_SOCKET, option, &now, &size) == 0 && now > bytes)
		set_buffer(fd, option, bytes);
}

void sp_relay_bound(int fd)
{
	int protocol = 0;
	socklen_t size = sizeof(protocol);

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) < 0)
		return;
	if (protocol == IPPROTO_TCP)
		limit_buffer(fd, SO_RCVBUF, TCP_RECEIVE_BYTES);
	limit_buffer(fd, SO_SNDBUF, protocol == IPPROTO_TCP ? TCP_SEND_BYTES : SEND_BYTES);
}

static bool is_unix(int fd)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

/* Set down first, and only once no more is queued than that: the bound holds at every moment. A way
 * that was given nothing now is looked at again with its next bulk. */
static void give_buffers(struct sp_way *way, struct sp_way *other, int mine, int others)
{
	int queued = 0;

	if (way->buffer == mine || !is_unix(way->to) || !is_unix(other->to) ||
	    ioctl(other->to, SIOCOUTQ, &queued) < 0 || queued > others)
		return;
	set_buffer(other->to, SO_SNDBUF, others);
	set_buffer(way->to, SO_SNDBUF, mine);
	way->buffer = mine;
	other->buffer = others;
}

void sp_way_share_buffers(struct sp_way *way, struct sp_way *other)
{
	if (other->pipe[0] >= 0)
		give_buffers(way, other, SEND_BYTES, SEND_BYTES);
	else
		give_buffers(way, other, BUSY_BYTES, QUIET_BYTES);
}

/*
 * Whoever has room for a byte may put all that he has at once into a Unix socket, when it is
 * spliced. When it is copied the kernel itself takes half a buffer at the most, so that the next
 * message is there before the first one is read; here it is half a buffer too.
 */
size_t sp_way_splice_most(const struct sp_way *way)
{
	return (size_t)(way->buffer ? way->buffer : SEND_BYTES) / 2;
}
