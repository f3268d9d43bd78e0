/* A connection in line mode: one line, one answer, and then bytes as long as a lease allows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "spacebridge/gateway.h"

void visit_free(struct visit *visit, const char *words)
{
	struct gateway *gateway = visit->front.gateway;

	TAILQ_REMOVE(&gateway->visits, visit, entry);
	front_done(&visit->front, words);
	free(visit->first);
	free(visit->id);
	free(visit->id_json);
	free(visit);
}

static void ask(struct visit *visit, const struct gateway_asked *asked)
{
	struct front *front = &visit->front;
	struct gateway *gateway = front->gateway;
	enum sp_reason reason = gateway_verify(gateway, asked, &visit->claims);

	if (reason) {
		visit_refuse(visit, reason, SP_BEHIND_NONE, NULL);
		return;
	}
	if (gateway_is_full(gateway)) {
		visit_fail(visit, SP_ERROR_OVERLOADED, false, GATEWAY_FULL);
		return;
	}
	visit->first = malloc(sizeof(*visit->first));
	if (!visit->first ||
	    port_open(gateway, &visit->claims, true, &visit_port, visit, &front->port)) {
		visit_fail(visit, SP_ERROR_INTERNAL, false, "out of memory");
		return;
	}
	sp_first_init(visit->first, visit->protocol);
	sp_frame_reader_init(&visit->frames, SP_FRAME_FROM_CLIENT);
	visit->phase = VISIT_OPENING;
	ev_io_stop(gateway->loop, &front->readable);
	ev_timer_stop(gateway->loop, &front->limit);
}

static void take_line(struct visit *visit, size_t size)
{
	sp_auto_json json_t *record = NULL;
	struct gateway_asked asked;
	struct sp_err err = {0};
	int bad = visit_line_parse(visit, visit->front.in, size, &record, &asked, &err);

	front_used(&visit->front, size + 1);
	if (bad)
		visit_fail(visit, bad == -ENOMEM ? SP_ERROR_INTERNAL : SP_ERROR_BAD_RECORD, false,
		    err.message);
	else
		ask(visit, &asked);
}

/* Whatever does not begin as a line does is a request's head. */
static void give_to_web(struct visit *visit)
{
	struct front *front = &visit->front;
	struct gateway *gateway = front->gateway;
	int fd = sp_steal_fd(&front->client);
	char *in = sp_steal(&front->in);
	size_t size = front->size;

	visit_free(visit, NULL);
	web_begin(gateway, fd, in, size);
}

static void look_for_line(struct visit *visit)
{
	const struct front *front = &visit->front;
	const char *end = memchr(front->in, '\n', front->size);

	if (end && end - front->in <= GATEWAY_LINE_MAX)
		take_line(visit, (size_t)(end - front->in));
	else if (front->size > GATEWAY_LINE_MAX)
		visit_fail(visit, SP_ERROR_BAD_RECORD, false, "a line longer than a gateway takes");
	else if (visit->client_ended)
		visit_free(visit, NULL);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct visit *visit = watcher->data;
	struct front *front = &visit->front;
	ssize_t n;

	(void)events;
	if (visit->phase == VISIT_PARTING) {
		if (front_throw_away(front))
			visit_free(visit, NULL);
		return;
	}
	n = front_read(front);
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		visit->client_ended = true;
		ev_io_stop(loop, watcher);
	}
	if (visit->phase != VISIT_LINE)
		visit_first(visit);
	else if (front->gateway->http && front->size > 0 && front->in[0] != '{')
		give_to_web(visit);
	else
		look_for_line(visit);
}

/* Too late: for its line, its first bytes, or its end. */
static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct visit *visit = watcher->data;

	(void)loop;
	(void)events;
	if (visit->phase == VISIT_LINE)
		visit_fail(visit, SP_ERROR_TIMEOUT, false,
		    "no line came within [bridge] connect_timeout_ms");
	else if (visit->phase == VISIT_FIRST)
		visit_deny_protocol(visit);
	else
		visit_free(visit, NULL);
}

void visit_accept(void *context, int fd)
{
	struct gateway *gateway = context;
	struct visit *visit = calloc(1, sizeof(*visit));

	if (!visit) {
		(void)close(fd);
		sp_service_release(gateway->service);
		return;
	}
	if (front_init(&visit->front, gateway, fd, NULL, 0, on_readable, on_limit, visit) < 0) {
		free(visit);
		return;
	}
	TAILQ_INSERT_TAIL(&gateway->visits, visit, entry);
}
