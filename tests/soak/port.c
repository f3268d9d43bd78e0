/* A service on a port: sends back what it gets. A client has little out at once, so that what comes
 * in always goes out again at once. */
#include "soak.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/io.h"

static ev_io accepting;

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	char bytes[16384];
	ssize_t n = sp_read_some(watcher->fd, bytes, sizeof(bytes));

	(void)events;
	if (n == -EAGAIN || (n > 0 && sp_write_all(watcher->fd, bytes, (size_t)n, 1000) == 0))
		return;
	ev_io_stop(loop, watcher);
	(void)close(watcher->fd);
	free(watcher);
}

static void on_accept(struct ev_loop *loop, ev_io *watcher, int events)
{
	int fd = accept4(watcher->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ev_io *readable = fd >= 0 ? calloc(1, sizeof(*readable)) : NULL;

	(void)events;
	if (!readable)
		return;
	ev_io_init(readable, on_readable, fd, EV_READ);
	ev_io_start(loop, readable);
}

void port_start(void)
{
	struct sockaddr_in name = {
	    .sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, size) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&name, &size) < 0)
		die("port", strerror(errno));
	soak.port = ntohs(name.sin_port);
	ev_io_init(&accepting, on_accept, fd, EV_READ);
	ev_io_start(soak.loop, &accepting);
}
