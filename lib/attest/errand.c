/* The thread that goes there. */
#include "attest/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#include "attest/sockdiag.h"
#include "base/util.h"

struct sent {
	struct sp_errand *errand;
	int code;
};

static int make_clients(struct sp_errand *errand)
{
	for (; errand->count < errand->wanted; errand->count++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return errand->count ? 0 : -errno;
		errand->clients[errand->count] = fd;
	}
	return 0;
}

static int enter(struct sp_errand *errand)
{
	if (errand->namespace_fd >= 0)
		return setns(errand->namespace_fd, CLONE_NEWNET) < 0 ? -errno : 0;
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	errand->namespace_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return errand->namespace_fd < 0 ? -errno : 0;
}

static void *run(void *argument)
{
	struct sent *sent = argument;

	sent->code = enter(sent->errand);
	if (!sent->code && sent->errand->netlink < 0)
		sent->code = sp_sockdiag_open(&sent->errand->netlink);
	if (!sent->code)
		sent->code = make_clients(sent->errand);
	return NULL;
}

int sp_errand_run(struct sp_errand *errand)
{
	struct sent sent = {.errand = errand};
	pthread_attr_t attributes;
	pthread_t thread;
	int bad = pthread_attr_init(&attributes);

	if (bad)
		return -bad;
	(void)pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 64 * 1024);
	bad = pthread_create(&thread, &attributes, run, &sent);
	(void)pthread_attr_destroy(&attributes);
	if (bad)
		return -bad;
	bad = pthread_join(thread, NULL);
	return bad ? -bad : sent.code;
}
