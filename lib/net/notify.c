/* Telling the service manager, if there is one. */
#include "net/notify.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/text.h"
#include "base/util.h"

void sp_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	sp_auto_fd int fd = -1;

	if (length < 2 || length >= sizeof(name.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(name.sun_path, path, length);
	if (path[0] == '@')
		name.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

void sp_notify_reloading(void)
{
	struct timespec now = {0};
	char state[64];

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
	    (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	sp_notify(state);
}

double sp_notify_watchdog(void)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	int64_t microseconds = 0, number = 0;

	/* A child that inherited the environment is not who is watched. */
	if (!period || !sp_number_parse(period, 1, INT64_MAX, &microseconds) ||
	    (pid && (!sp_number_parse(pid, 1, INT_MAX, &number) || number != getpid())))
		return 0.;
	return (double)microseconds / 1e6;
}
