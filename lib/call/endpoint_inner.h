/* What the files of an endpoint set share. */
#ifndef SP_CALL_ENDPOINT_INNER_H
#define SP_CALL_ENDPOINT_INNER_H

#include "call/endpoint.h"
#include "record/lines.h"

struct sp_endpoint {
	struct sp_endpoint_set *set;
	TAILQ_ENTRY(sp_endpoint) entry;
	int fd;                   /* -1: not connected */
	bool broken, turned_away; /* turned away: nothing of what was written was read */
	bool alone;               /* of one call only, which may become a stream */
	ev_io readable, writable;
	ev_timer retry;
	ev_prepare pump, finish; /* never started: fed to the loop as events */
	struct sp_line_reader reader;
	struct sp_endpoint_calls waiting, sent;
	char words[SP_ERR_MAX];
	char path[];
};

struct sp_endpoint_set {
	struct sp_endpoint_options options;
	const struct sp_endpoint_handlers *handlers;
	void *context;
	TAILQ_HEAD(endpoints, sp_endpoint) endpoints;
	unsigned count;
	struct sp_endpoint_calls due;
	ev_timer due_timer;
	int64_t look_at; /* when it fires */
	uint64_t last_number;
	struct sp_endpoint_call *numbers[SP_WINDOW_MAX];
};

/* Out of every list. */
void endpoint_take_out(struct sp_endpoint_call *call);
void endpoint_fail(struct sp_endpoint_call *call, enum sp_error_kind kind, const char *words);

/* Nothing goes on here; a later call opens a connection of its own. */
void endpoint_lose(struct sp_endpoint *endpoint, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void endpoint_connect(struct sp_endpoint *endpoint);

/* Watchers. */
void endpoint_on_retry(struct ev_loop *loop, ev_timer *watcher, int events);
void endpoint_on_readable(struct ev_loop *loop, ev_io *watcher, int events);
void endpoint_on_writable(struct ev_loop *loop, ev_io *watcher, int events);
void endpoint_on_pump(struct ev_loop *loop, ev_prepare *watcher, int events);

#endif
