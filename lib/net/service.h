/*
 * The life of a server: a libev loop, sockets of its own or from LISTEN_FDS, sd_notify with its
 * watchdog, a clean stop on SIGTERM and SIGINT, reload on SIGHUP and when watched files change.
 */
#ifndef SP_NET_SERVICE_H
#define SP_NET_SERVICE_H

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

/* Peers whose uid may not ask: time for one line, to be told so, and few places, so that they keep
 * nobody else out. */
#define SP_STRANGERS_MAX  64 /* at once */
#define SP_STRANGER_LIMIT 1. /* seconds */

struct sp_service;

/* A connection was accepted: `fd` (CLOEXEC, non-blocking) is the callee's. */
typedef void sp_service_accept_fn(void *context, int fd);
typedef void sp_service_event_fn(void *context);

/* Uses the default loop; SIGPIPE is ignored from here on. SP_E_CONFIG: LISTEN_FDS is not what it
 * must be. */
int sp_service_new(struct sp_service **ret, struct sp_err *err);
void sp_service_free(struct sp_service *service);
struct ev_loop *sp_service_loop(struct sp_service *service);

/*
 * Listens on `path`, unless LISTEN_FDS hands a listening socket over: the first one inherited
 * serves the first call, and so on. An inherited socket is listened on again, so that SO_PEERCRED
 * names this process. A socket made here is unlinked at the end (if it is still ours). Above `max`
 * connections accepted and not yet sp_service_released, accepting pauses.
 */
int sp_service_listen(struct sp_service *service, const char *path, mode_t mode, unsigned max,
    sp_service_accept_fn *accepted, void *context, struct sp_err *err);

/* The same with a socket that listens already, such as an AF_VSOCK one: non-blocking, CLOEXEC;
 * taken in any case. */
int sp_service_adopt(struct sp_service *service, int fd, unsigned max,
    sp_service_accept_fn *accepted, void *context, struct sp_err *err);

/* Has LISTEN_FDS handed over a socket that no call has taken yet? */
bool sp_service_inherits(const struct sp_service *service);

/* The listening socket of the first of these calls. */
int sp_service_listener(const struct sp_service *service);

/* One accepted connection has ended: accepting may go on. */
void sp_service_release(struct sp_service *service);

/* Called on SIGHUP and within 100 ms after anything in `path` changed (net/watch.h). NULL path:
 * SIGHUP only. */
int sp_service_on_change(struct sp_service *service, const char *path, sp_service_event_fn *changed,
    void *context, struct sp_err *err);

/* Called once at SIGTERM or SIGINT: stop taking work; call sp_service_exit when what is in flight
 * has ended (5 s at most). */
void sp_service_on_stop(struct sp_service *service, sp_service_event_fn *stopping, void *context);
void sp_service_exit(struct sp_service *service);

/* Says READY=1 and runs until stopped, with WATCHDOG=1 as often as is asked for; each reload is
 * told as well. 0 or a negative code. */
int sp_service_run(struct sp_service *service, struct sp_err *err);

#endif
