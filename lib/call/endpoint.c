/* Calls, their time limits, and the connections they share or have for themselves. */
#include "call/endpoint_inner.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "net/heldup.h"
#include "record/lines.h"

#define ENDPOINTS_MAX 64
#define RETRY         0.005 /* seconds between tries while a backlog is full */

void endpoint_take_out(struct sp_endpoint_call *call)
{
	struct sp_endpoint *endpoint = call->endpoint;

	endpoint->set->numbers[call->number % SP_WINDOW_MAX] = NULL;
	TAILQ_REMOVE(&endpoint->set->due, call, due);
	if (call->written == call->size)
		TAILQ_REMOVE(&endpoint->sent, call, entry);
	else
		TAILQ_REMOVE(&endpoint->waiting, call, entry);
}

void endpoint_fail(struct sp_endpoint_call *call, enum sp_error_kind kind, const char *words)
{
	struct sp_endpoint_set *set = call->endpoint->set;

	endpoint_take_out(call);
	set->handlers->failed(
	    call, kind, call->written > 0 && !call->endpoint->turned_away, words, set->context);
}

static void stop_watchers(struct sp_endpoint *endpoint)
{
	struct ev_loop *loop = endpoint->set->options.loop;

	ev_io_stop(loop, &endpoint->readable);
	ev_io_stop(loop, &endpoint->writable);
	ev_timer_stop(loop, &endpoint->retry);
	(void)ev_clear_pending(loop, &endpoint->pump);
}

/* Nothing goes on here; a later call opens a connection of its own. */
void endpoint_lose(struct sp_endpoint *endpoint, const char *format, ...)
{
	va_list list;

	if (endpoint->broken)
		return;
	va_start(list, format);
	(void)vsnprintf(endpoint->words, sizeof(endpoint->words), format, list);
	va_end(list);
	endpoint->broken = true;
	stop_watchers(endpoint);
	ev_feed_event(endpoint->set->options.loop, &endpoint->finish, EV_CUSTOM);
}

static void release(struct sp_endpoint *endpoint)
{
	stop_watchers(endpoint);
	(void)ev_clear_pending(endpoint->set->options.loop, &endpoint->finish);
	TAILQ_REMOVE(&endpoint->set->endpoints, endpoint, entry);
	endpoint->set->count--;
	if (endpoint->reader.buffer)
		sp_line_reader_done(&endpoint->reader);
	sp_fd_close(&endpoint->fd);
	free(endpoint);
}

static void on_finish(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_endpoint *endpoint = watcher->data;

	(void)loop;
	(void)events;
	while (!TAILQ_EMPTY(&endpoint->sent))
		endpoint_fail(TAILQ_FIRST(&endpoint->sent), SP_ERROR_TRANSPORT, endpoint->words);
	while (!TAILQ_EMPTY(&endpoint->waiting))
		endpoint_fail(TAILQ_FIRST(&endpoint->waiting), SP_ERROR_TRANSPORT, endpoint->words);
	release(endpoint);
}

static struct sp_endpoint *make(struct sp_endpoint_set *set, const char *path)
{
	struct sp_endpoint *endpoint = calloc(1, sizeof(*endpoint) + strlen(path) + 1);

	if (!endpoint)
		return NULL;
	memcpy(endpoint->path, path, strlen(path) + 1);
	endpoint->set = set;
	endpoint->fd = -1;
	TAILQ_INIT(&endpoint->waiting);
	TAILQ_INIT(&endpoint->sent);
	ev_init(&endpoint->readable, endpoint_on_readable);
	ev_init(&endpoint->writable, endpoint_on_writable);
	ev_timer_init(&endpoint->retry, endpoint_on_retry, 0., RETRY);
	ev_prepare_init(&endpoint->pump, endpoint_on_pump);
	ev_prepare_init(&endpoint->finish, on_finish);
	/* After all records of a turn were taken: many calls make one write. */
	ev_set_priority(&endpoint->pump, EV_MINPRI);
	ev_set_priority(&endpoint->finish, EV_MINPRI);
	endpoint->readable.data = endpoint->writable.data = endpoint->retry.data = endpoint;
	endpoint->pump.data = endpoint->finish.data = endpoint;
	TAILQ_INSERT_HEAD(&set->endpoints, endpoint, entry);
	set->count++;
	return endpoint;
}

static bool is_idle(const struct sp_endpoint *endpoint)
{
	return TAILQ_EMPTY(&endpoint->waiting) && TAILQ_EMPTY(&endpoint->sent);
}

/* Room for one more connection: one that carries nothing goes. With none such the bound is
 * exceeded by the calls in flight, which have their own. */
static void make_way(struct sp_endpoint_set *set)
{
	struct sp_endpoint *endpoint;

	if (set->count < ENDPOINTS_MAX)
		return;
	for (endpoint = TAILQ_FIRST(&set->endpoints); endpoint;
	     endpoint = TAILQ_NEXT(endpoint, entry))
		if (is_idle(endpoint)) {
			release(endpoint);
			return;
		}
}

static struct sp_endpoint *obtain(struct sp_endpoint_set *set, const char *path, bool alone)
{
	struct sp_endpoint *endpoint;

	for (endpoint = TAILQ_FIRST(&set->endpoints); endpoint && !alone;
	     endpoint = TAILQ_NEXT(endpoint, entry))
		if (!endpoint->broken && !endpoint->alone && strcmp(endpoint->path, path) == 0)
			return endpoint;
	make_way(set);
	endpoint = make(set, path);
	if (endpoint)
		endpoint->alone = alone;
	return endpoint;
}

static void look_at_due(struct sp_endpoint_set *set, int64_t in_ms)
{
	set->look_at = sp_monotonic_ms() + in_ms;
	ev_timer_set(&set->due_timer, (double)in_ms / 1000., 0.);
	ev_timer_start(set->options.loop, &set->due_timer);
}

int sp_endpoint_ask(struct sp_endpoint_set *set, struct sp_endpoint_call *call, const char *path)
{
	struct sp_endpoint *endpoint = obtain(set, path, call->stream);

	if (!endpoint)
		return -ENOMEM;
	call->endpoint = endpoint;
	call->started_ms = sp_monotonic_ms();
	set->numbers[call->number % SP_WINDOW_MAX] = call;
	TAILQ_INSERT_TAIL(&endpoint->waiting, call, entry);
	TAILQ_INSERT_TAIL(&set->due, call, due);
	if (!ev_is_active(&set->due_timer))
		look_at_due(set, set->options.timeout_ms);
	if (endpoint->fd >= 0)
		ev_feed_event(set->options.loop, &endpoint->pump, EV_CUSTOM);
	else if (!ev_is_active(&endpoint->retry))
		endpoint_connect(endpoint);
	return 0;
}

void sp_endpoint_forget(struct sp_endpoint_call *call)
{
	struct sp_endpoint *endpoint = call->endpoint;

	/* A torn line would make the next one unreadable. */
	if (endpoint->alone || (call->written > 0 && call->written < call->size))
		endpoint_lose(endpoint, "%s: a call was given up", endpoint->path);
	endpoint_take_out(call);
}

static void begin_anew(struct sp_endpoint_set *set, int64_t now)
{
	struct sp_endpoint_call *call;

	for (call = TAILQ_FIRST(&set->due); call; call = TAILQ_NEXT(call, due))
		call->started_ms = now;
}

static void on_due(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_endpoint_set *set = watcher->data;
	struct sp_endpoint_call *call;
	int64_t now = sp_monotonic_ms();

	(void)loop;
	(void)events;
	if (sp_held_up(set->look_at, now))
		begin_anew(set, now);
	while ((call = TAILQ_FIRST(&set->due))) {
		struct sp_endpoint *endpoint = call->endpoint;
		int64_t left = call->started_ms + set->options.timeout_ms - now;
		if (left > 0) {
			look_at_due(set, left);
			return;
		}
		/* A torn line would make the next one unreadable. */
		if (call->written > 0 && call->written < call->size)
			endpoint_lose(endpoint, "%s: the manager does not read", endpoint->path);
		if (endpoint->alone)
			endpoint_lose(
			    endpoint, "%s: the stream was not opened in time", endpoint->path);
		endpoint_fail(call, SP_ERROR_TIMEOUT, "the manager did not answer in time");
	}
}

int sp_endpoint_compose(struct sp_endpoint_call *call, const struct sp_request *request,
    const char *args, size_t args_size, const char *cap, size_t cap_size)
{
	int n = asprintf(&call->line,
	    "{\"id\":\"%llu\",\"op\":\"%s\",\"sandbox\":\"%s\",\"args\":%.*s,\"cap\":%.*s}\n",
	    (unsigned long long)call->number, request->op->name, request->sandbox, (int)args_size,
	    args, (int)cap_size, cap);

	if (n < 0) {
		call->line = NULL;
		return -ENOMEM;
	}
	call->size = (size_t)n;
	return 0;
}

uint64_t sp_endpoint_number(struct sp_endpoint_set *set)
{
	/* A call that is tried once more takes a second number, so a slow one's place may be met
	 * again: it is passed over. */
	do
		set->last_number++;
	while (set->numbers[set->last_number % SP_WINDOW_MAX]);
	return set->last_number;
}

int sp_endpoint_set_new(const struct sp_endpoint_options *options,
    const struct sp_endpoint_handlers *handlers, void *context, struct sp_endpoint_set **ret)
{
	struct sp_endpoint_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->options = *options;
	set->handlers = handlers;
	set->context = context;
	TAILQ_INIT(&set->endpoints);
	TAILQ_INIT(&set->due);
	ev_timer_init(&set->due_timer, on_due, 0., 0.);
	ev_set_priority(&set->due_timer, EV_MINPRI);
	set->due_timer.data = set;
	*ret = set;
	return 0;
}

void sp_endpoint_set_limits(
    struct sp_endpoint_set *set, const uid_t *uids, unsigned uid_count, int timeout_ms)
{
	set->options.uids = uids;
	set->options.uid_count = uid_count;
	set->options.timeout_ms = timeout_ms;
}

void sp_endpoint_set_free(struct sp_endpoint_set *set)
{
	struct sp_endpoint *endpoint, *next;

	if (!set)
		return;
	while (!TAILQ_EMPTY(&set->due)) {
		struct sp_endpoint_call *call = TAILQ_FIRST(&set->due);
		endpoint_take_out(call);
		set->handlers->forgotten(call, set->context);
	}
	for (endpoint = TAILQ_FIRST(&set->endpoints); endpoint; endpoint = next) {
		next = TAILQ_NEXT(endpoint, entry);
		release(endpoint);
	}
	ev_timer_stop(set->options.loop, &set->due_timer);
	free(set);
}
