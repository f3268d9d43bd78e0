/* host:port and listening there. */
#include "net/tcp.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include "base/text.h"
#include "base/util.h"

#define BACKLOG 1024

bool sp_tcp_split(const char *text, char ret_host[SP_HOST_MAX + 1], const char **ret_port)
{
	const char *colon = strrchr(text, ':');
	bool bracket = text[0] == '[';
	size_t size = colon ? (size_t)(colon - text) : 0;
	int64_t port;

	if (bracket && (size < 3 || text[size - 1] != ']'))
		return false;
	text += bracket;
	size -= bracket ? 2 : 0;
	if (size == 0 || size > SP_HOST_MAX || (!bracket && memchr(text, ':', size)) ||
	    !sp_number_parse(colon + 1, 1, 65535, &port))
		return false;
	memcpy(ret_host, text, size);
	ret_host[size] = '\0';
	*ret_port = colon + 1;
	return true;
}

static int listen_on(const struct addrinfo *at, int *ret_fd)
{
	sp_auto_fd int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    bind(fd, at->ai_addr, at->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	sp_tcp_prepare(fd);
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

int sp_tcp_listen(const char *text, int *ret_fd, struct sp_err *err)
{
	const struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *list;
	char host[SP_HOST_MAX + 1];
	const char *port;
	int bad;

	if (!sp_tcp_split(text, host, &port) || getaddrinfo(host, port, &hints, &list))
		return sp_fail(err, SP_E_USAGE, "%.300s: not a numeric HOST:PORT", text);
	bad = listen_on(list, ret_fd);
	freeaddrinfo(list);
	return bad ? sp_fail(err, bad, "%.300s: %s", text, sp_code_text(bad)) : 0;
}

static bool is_local6(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

bool sp_tcp_is_local(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
		struct sockaddr_storage room;
	} at = {.any = {.sa_family = AF_UNSPEC}};
	socklen_t size = sizeof(at);

	if (getsockname(fd, &at.any, &size) < 0)
		return false;
	switch (at.any.sa_family) {
	case AF_UNIX:
		return true;
	case AF_INET:
		return ntohl(at.four.sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return is_local6(&at.six.sin6_addr);
	default:
		return false;
	}
}
