/* A TCP connection of this process with itself. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include "base/io.h"
#include "base/util.h"
#include "net/tcp.h"
#include "net/tls_private.h"

/* Keep-alive tells of an end that was closed after its direction had ended: no other sign comes. */
static int set_up(int fd)
{
	const int yes = 1, size = SP_TLS_SOCKET, idle = 5;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) < 0)
		return -errno;
	return 0;
}

static int listen_once(struct sockaddr_in *ret_at)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	sp_auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0)
		sp_tcp_prepare(fd);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		return -errno;
	*ret_at = at;
	return sp_steal_fd(&fd);
}

static int connect_to(const struct sockaddr_in *at)
{
	const struct timeval limit = {.tv_usec = SP_TLS_PAIR_MS * 1000L};
	sp_auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		sp_tcp_prepare(fd);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
	    connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return sp_steal_fd(&fd);
}

/* Somebody else on this machine may have found the port in time. */
static bool is_peer(int accepted, int ours)
{
	struct sockaddr_in peer = {.sin_family = AF_INET}, self = {.sin_family = AF_INET};
	socklen_t peer_size = sizeof(peer), self_size = sizeof(self);

	return getpeername(accepted, (struct sockaddr *)&peer, &peer_size) == 0 &&
	       getsockname(ours, (struct sockaddr *)&self, &self_size) == 0 &&
	       peer.sin_port == self.sin_port && peer.sin_addr.s_addr == self.sin_addr.s_addr;
}

int sp_tls_pair(int ret_ends[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	sp_auto_fd int listener = listen_once(&at);
	sp_auto_fd int one = -1, other = -1;

	if (listener < 0)
		return sp_steal_fd(&listener);
	one = connect_to(&at);
	if (one < 0)
		return sp_steal_fd(&one);
	if (sp_poll_one(listener, POLLIN, SP_TLS_PAIR_MS) < 0)
		return -ETIMEDOUT;
	other = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (other < 0)
		return -errno;
	if (!is_peer(other, one) || set_up(one) < 0 || set_up(other) < 0)
		return -ECONNREFUSED;
	ret_ends[0] = sp_steal_fd(&one);
	ret_ends[1] = sp_steal_fd(&other);
	return 0;
}
