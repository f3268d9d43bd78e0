/* One server's frame around a libev loop. What a role does with its connections is its own affair.
 */
#include "net/service.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/text.h"
#include "base/util.h"
#include "net/notify.h"
#include "net/unix.h"
#include "net/watch.h"

#define ACCEPTS_A_TURN 64
#define BACKOFF        0.1 /* seconds without accepting after EMFILE and its like */
#define STOP_LIMIT     5.0
#define WATCHDOG_TURNS 3 /* pings in the time within which one is wanted */
#define LISTENERS_MAX  4
#define WATCHES_MAX    4
#define FIRST_FD       3

struct listener {
	struct sp_service *service;
	ev_io accepting;
	ev_timer backoff;
	int fd;
	bool ours;
	dev_t device;
	ino_t inode;
	char path[PATH_MAX];
	unsigned max;
	sp_service_accept_fn *accepted;
	void *context;
};

struct watch {
	struct sp_service *service;
	struct sp_watch *files; /* NULL: SIGHUP only */
	sp_service_event_fn *changed;
	void *context;
};

struct sp_service {
	struct ev_loop *loop;
	ev_signal term, interrupt, hangup;
	ev_timer stop_limit, watchdog;
	unsigned live, listener_count, watch_count;
	int inherited, inherited_used;
	struct listener listeners[LISTENERS_MAX];
	struct watch watches[WATCHES_MAX];
	sp_service_event_fn *stopping;
	void *stopping_context;
	bool stopped;
};

static void update_accepting(struct sp_service *service)
{
	for (unsigned i = 0; i < service->listener_count; i++) {
		struct listener *listener = &service->listeners[i];
		if (service->stopped || listener->fd < 0 || service->live >= listener->max ||
		    ev_is_active(&listener->backoff))
			ev_io_stop(service->loop, &listener->accepting);
		else
			ev_io_start(service->loop, &listener->accepting);
	}
}

static void on_backoff(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct listener *listener = watcher->data;

	(void)loop;
	(void)events;
	update_accepting(listener->service);
}

static void on_accept(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct listener *listener = watcher->data;
	struct sp_service *service = listener->service;

	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN && service->live < listener->max; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			/* Out of descriptors or memory: the connection stays in the backlog; try
			 * again in a while. */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM) {
				ev_timer_set(&listener->backoff, BACKOFF, 0.);
				ev_timer_start(loop, &listener->backoff);
			}
			break;
		}
		service->live++;
		listener->accepted(listener->context, fd);
	}
	update_accepting(service);
}

void sp_service_release(struct sp_service *service)
{
	if (service->live > 0)
		service->live--;
	update_accepting(service);
}

static void close_listeners(struct sp_service *service)
{
	for (unsigned i = 0; i < service->listener_count; i++) {
		struct listener *listener = &service->listeners[i];
		struct stat info;
		ev_io_stop(service->loop, &listener->accepting);
		ev_timer_stop(service->loop, &listener->backoff);
		/* Somebody may have put a successor at our path: that one stays. */
		if (listener->fd >= 0 && listener->ours && lstat(listener->path, &info) == 0 &&
		    info.st_dev == listener->device && info.st_ino == listener->inode)
			(void)unlink(listener->path);
		sp_fd_close(&listener->fd);
	}
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct sp_service *service = watcher->data;

	(void)events;
	if (service->stopped)
		return;
	service->stopped = true;
	sp_notify("STOPPING=1");
	close_listeners(service);
	if (!service->stopping) {
		ev_break(loop, EVBREAK_ALL);
		return;
	}
	ev_timer_start(loop, &service->stop_limit);
	service->stopping(service->stopping_context);
}

static void on_stop_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)watcher;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

/* Once it has been told to stop, READY=1 would be untrue. */
static void reload_begins(const struct sp_service *service)
{
	if (!service->stopped)
		sp_notify_reloading();
}

static void reload_ends(const struct sp_service *service)
{
	if (!service->stopped)
		sp_notify("READY=1");
}

static void on_hangup(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct sp_service *service = watcher->data;

	(void)loop;
	(void)events;
	reload_begins(service);
	for (unsigned i = 0; i < service->watch_count; i++)
		service->watches[i].changed(service->watches[i].context);
	reload_ends(service);
}

static void on_files_changed(void *context)
{
	const struct watch *watch = context;

	reload_begins(watch->service);
	watch->changed(watch->context);
	reload_ends(watch->service);
}

/* From the loop itself: one that hangs says nothing. */
static void on_watchdog(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)watcher;
	(void)events;
	sp_notify("WATCHDOG=1");
}

static void start_watchdog(struct sp_service *service)
{
	double period = sp_notify_watchdog() / WATCHDOG_TURNS;

	ev_timer_init(&service->watchdog, on_watchdog, period, period);
	if (period > 0.)
		ev_timer_start(service->loop, &service->watchdog);
}

/* LISTEN_PID names the process that the sockets are for; a child that inherited the environment
 * must not take them. */
static int inherited_sockets(int *ret_count, struct sp_err *err)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int64_t number = 0, fds = 0;
	bool ours = pid && count && sp_number_parse(pid, 1, INT_MAX, &number) && number == getpid();

	if (ours && !sp_number_parse(count, 0, LISTENERS_MAX, &fds))
		return sp_fail(err, SP_E_CONFIG, "LISTEN_FDS: `%.32s` is not a number from 0 to %d",
		    count, LISTENERS_MAX);
	for (int i = 0; i < fds; i++)
		if (fcntl(FIRST_FD + i, F_SETFD, FD_CLOEXEC) < 0)
			return sp_fail_errno(err, "LISTEN_FDS: descriptor %d", FIRST_FD + i);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	*ret_count = (int)fds;
	return 0;
}

int sp_service_new(struct sp_service **ret, struct sp_err *err)
{
	struct sp_service *service;
	int inherited = 0;
	int bad = inherited_sockets(&inherited, err);

	if (bad)
		return bad;
	service = calloc(1, sizeof(*service));
	if (!service)
		return sp_fail(err, -ENOMEM, "out of memory");
	(void)signal(SIGPIPE, SIG_IGN);
	service->loop = ev_default_loop(EVFLAG_AUTO);
	if (!service->loop) {
		free(service);
		return sp_fail(err, SP_E_UNAVAILABLE, "no event loop on this system");
	}
	service->inherited = inherited;
	ev_signal_init(&service->term, on_stop_signal, SIGTERM);
	ev_signal_init(&service->interrupt, on_stop_signal, SIGINT);
	ev_signal_init(&service->hangup, on_hangup, SIGHUP);
	ev_timer_init(&service->stop_limit, on_stop_limit, STOP_LIMIT, 0.);
	service->term.data = service->interrupt.data = service->hangup.data = service;
	ev_signal_start(service->loop, &service->term);
	ev_signal_start(service->loop, &service->interrupt);
	ev_signal_start(service->loop, &service->hangup);
	start_watchdog(service);
	*ret = service;
	return 0;
}

void sp_service_free(struct sp_service *service)
{
	if (!service)
		return;
	close_listeners(service);
	for (unsigned i = 0; i < service->watch_count; i++)
		sp_watch_free(service->watches[i].files);
	ev_signal_stop(service->loop, &service->term);
	ev_signal_stop(service->loop, &service->interrupt);
	ev_signal_stop(service->loop, &service->hangup);
	ev_timer_stop(service->loop, &service->stop_limit);
	ev_timer_stop(service->loop, &service->watchdog);
	free(service);
}

struct ev_loop *sp_service_loop(struct sp_service *service)
{
	return service->loop;
}

/* listen() again: SO_PEERCRED names whoever called it last, and that must be this process. */
static int take_inherited(struct sp_service *service, int *ret_fd, struct sp_err *err)
{
	int fd = FIRST_FD + service->inherited_used;
	int listening = 0;
	socklen_t size = sizeof(listening);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 || !listening)
		return sp_fail(
		    err, SP_E_CONFIG, "LISTEN_FDS: descriptor %d is no listening socket", fd);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || listen(fd, SOMAXCONN) < 0)
		return sp_fail_errno(err, "LISTEN_FDS: descriptor %d", fd);
	service->inherited_used++;
	*ret_fd = fd;
	return 0;
}

static int make_own(struct listener *listener, const char *path, mode_t mode, struct sp_err *err)
{
	struct stat info;
	int bad = sp_unix_listen(path, mode, &listener->fd, err);

	if (bad)
		return bad;
	(void)snprintf(listener->path, sizeof(listener->path), "%s", path);
	if (lstat(path, &info) == 0) {
		listener->device = info.st_dev;
		listener->inode = info.st_ino;
		listener->ours = true;
	}
	return 0;
}

static struct listener *new_listener(struct sp_service *service, unsigned max,
    sp_service_accept_fn *accepted, void *context, struct sp_err *err)
{
	struct listener *listener = &service->listeners[service->listener_count];

	if (service->listener_count == LISTENERS_MAX) {
		(void)sp_fail(err, -ENOSPC, "more than %d listening sockets", LISTENERS_MAX);
		return NULL;
	}
	*listener = (struct listener){
	    .service = service, .fd = -1, .max = max, .accepted = accepted, .context = context};
	return listener;
}

static void start_accepting(struct listener *listener)
{
	ev_io_init(&listener->accepting, on_accept, listener->fd, EV_READ);
	ev_timer_init(&listener->backoff, on_backoff, BACKOFF, 0.);
	listener->accepting.data = listener->backoff.data = listener;
	listener->service->listener_count++;
	update_accepting(listener->service);
}

int sp_service_listen(struct sp_service *service, const char *path, mode_t mode, unsigned max,
    sp_service_accept_fn *accepted, void *context, struct sp_err *err)
{
	struct listener *listener = new_listener(service, max, accepted, context, err);
	int bad;

	if (!listener)
		return -ENOSPC;
	if (service->inherited_used < service->inherited)
		bad = take_inherited(service, &listener->fd, err);
	else
		bad = make_own(listener, path, mode, err);
	if (bad)
		return bad;
	start_accepting(listener);
	return 0;
}

int sp_service_adopt(struct sp_service *service, int fd, unsigned max,
    sp_service_accept_fn *accepted, void *context, struct sp_err *err)
{
	struct listener *listener = new_listener(service, max, accepted, context, err);

	if (!listener) {
		(void)close(fd);
		return -ENOSPC;
	}
	listener->fd = fd;
	start_accepting(listener);
	return 0;
}

int sp_service_listener(const struct sp_service *service)
{
	return service->listener_count > 0 ? service->listeners[0].fd : -1;
}

bool sp_service_inherits(const struct sp_service *service)
{
	return service->inherited_used < service->inherited;
}

int sp_service_on_change(struct sp_service *service, const char *path, sp_service_event_fn *changed,
    void *context, struct sp_err *err)
{
	struct watch *watch = &service->watches[service->watch_count];
	int bad;

	if (service->watch_count == WATCHES_MAX)
		return sp_fail(err, -ENOSPC, "more than %d watched files", WATCHES_MAX);
	*watch = (struct watch){.service = service, .changed = changed, .context = context};
	bad = path ? sp_watch_new(service->loop, path, on_files_changed, watch, &watch->files, err)
		   : 0;
	if (!bad)
		service->watch_count++;
	return bad;
}

void sp_service_on_stop(struct sp_service *service, sp_service_event_fn *stopping, void *context)
{
	service->stopping = stopping;
	service->stopping_context = context;
}

void sp_service_exit(struct sp_service *service)
{
	ev_break(service->loop, EVBREAK_ALL);
}

int sp_service_run(struct sp_service *service, struct sp_err *err)
{
	(void)err;
	sp_notify("READY=1");
	(void)ev_run(service->loop, 0);
	close_listeners(service);
	return 0;
}
