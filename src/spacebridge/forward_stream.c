/*
 * Streams: a request whose answer was `open`. From here on its connection carries bytes under a
 * lease, opened on the record as it is now, right before the first of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "spacebridge/audited.h"
#include "net/socket.h"
#include "record/json.h"
#include "relay/relay.h"
#include "spacebridge/forward_stream.h"

#define RETRY 0.001 /* seconds between looks at a record that is changing */

static void enlist(struct stream *stream, struct streams *list)
{
	stream->list = list;
	TAILQ_INSERT_TAIL(list, stream, entry);
}

static void stream_free(struct stream *stream)
{
	struct forward *forward = stream->forward;

	TAILQ_REMOVE(stream->list, stream, entry);
	if (stream->lease)
		sp_lease_close(stream->lease, "the manager ends it");
	sp_relay_free(stream->relay);
	stream_leave(stream);
	if (!stream->attestation)
		sp_fd_close(&stream->behind);
	sp_attest_close(stream->attestation);
	sp_fd_close(&stream->client);
	free(stream->rest[SP_LEASE_IN]);
	free(stream->rest[SP_LEASE_OUT]);
	free(stream->caller);
	free(stream->id_json);
	free(stream);
	forward->stream_count--;
	forward_try_exit(forward);
}

static void audit(const struct stream *stream, enum sp_reason reason, const char *error,
    const char *action, const char *note)
{
	const struct sp_lease_terms *terms =
	    stream->lease ? sp_lease_terms(stream->lease) : &stream->asked.terms;
	const char *sandbox = terms->identity.sandbox;
	struct sp_audit_installed installed;
	struct sp_audit_line line = {
	    .role = FORWARD_ROLE,
	    .id = stream->id,
	    .caller = stream->caller,
	    .sandbox = sandbox,
	    .op = stream->asked.op,
	    .reason = reason,
	    .error = error,
	    .action = action,
	    .kid = stream->kid,
	    .jti = stream->jti,
	    .selected = &terms->identity.route,
	    .installed = audited_installed(stream->forward->store, sandbox, reason, &installed),
	    .epoch = terms->epoch,
	    .microseconds = sp_monotonic_us() - stream->received_us,
	    .note = note,
	};

	sp_audit_write(stream->forward->audit, &line);
}

static void audit_lease(const struct stream *stream, enum sp_reason reason, const char *error,
    const char *what, const char *words)
{
	char note[SP_ERR_MAX];

	(void)snprintf(note, sizeof(note), "lease %s %s%s%s", sp_lease_id(stream->lease), what,
	    words ? ": " : "", words ? words : "");
	audit(stream, reason, error, strcmp(what, "open") == 0 ? "opened" : what, note);
}

static void on_cut(struct sp_lease *lease, void *context)
{
	struct stream *stream = context;

	(void)lease;
	sp_relay_stop(stream->relay);
	sp_socket_abort(stream->client);
	sp_socket_abort(stream->behind);
}

static void on_lease_ended(struct sp_lease *lease, const struct sp_lease_end *end, void *context)
{
	struct stream *stream = context;

	(void)lease;
	if (end->ending == SP_LEASE_CANCELLED)
		audit_lease(stream, SP_REASON_NONE, NULL, "cancelled", NULL);
	else
		audit_lease(stream, end->reason,
		    end->reason ? NULL : sp_error_name(SP_ERROR_TRANSPORT), "cut", end->words);
	stream->lease = NULL;
	stream_free(stream);
}

static void on_resume(struct sp_lease *lease, void *context)
{
	struct stream *stream = context;

	(void)lease;
	sp_relay_resume(stream->relay);
}

static void on_ended(struct sp_relay *relay, int code, void *context)
{
	struct stream *stream = context;

	(void)relay;
	audit_lease(
	    stream, SP_REASON_NONE, NULL, "closed", code ? sp_code_text(code) : "one side ended");
	stream_free(stream);
}

/* The answer goes first, then what the guest said behind its own. */
static int compose_open(struct stream *stream, char **ret_line, size_t *ret_size)
{
	size_t rest = stream->rest_size[SP_LEASE_OUT];
	char from[32] = "", *line = NULL, *all;
	int n;

	if (stream->from >= 0)
		(void)snprintf(from, sizeof(from), ",\"from\":%lld", (long long)stream->from);
	n = asprintf(&line, "{\"id\":%s,\"status\":\"open\",\"lease\":\"%s\",\"epoch\":%lld%s}\n",
	    stream->id_json, sp_lease_id(stream->lease),
	    (long long)sp_lease_terms(stream->lease)->epoch, from);
	all = n < 0 ? NULL : realloc(line, (size_t)n + rest);

	if (!all) {
		free(n < 0 ? NULL : line);
		return -ENOMEM;
	}
	if (rest > 0)
		memcpy(all + n, stream->rest[SP_LEASE_OUT], rest);
	*ret_line = all;
	*ret_size = (size_t)n + rest;
	return 0;
}

static int make_relay(struct stream *stream)
{
	static const struct sp_relay_handlers handlers = {.ended = on_ended};
	const struct forward *forward = stream->forward;
	struct sp_relay_options options = {
	    .loop = forward->loop,
	    .lease = stream->lease,
	    .a = {stream->client, stream->client},
	    .b = {stream->behind, stream->behind},
	    .limit_ms = (int)forward->config->half_close_timeout * 1000,
	};
	char *line;
	size_t size;
	int bad = sp_relay_new(&options, &handlers, stream, &stream->relay);

	if (!bad)
		bad = compose_open(stream, &line, &size);
	if (bad)
		return bad;
	sp_relay_prime(stream->relay, SP_LEASE_OUT, line, size);
	sp_relay_prime(stream->relay, SP_LEASE_IN, sp_steal(&stream->rest[SP_LEASE_IN]),
	    stream->rest_size[SP_LEASE_IN]);
	return 0;
}

static void start(struct stream *stream)
{
	struct forward *forward = stream->forward;
	int bad = make_relay(stream);

	TAILQ_REMOVE(stream->list, stream, entry);
	enlist(stream, &forward->streams);
	if (!bad)
		bad = stream_join(stream);
	if (bad) {
		audit_lease(stream, SP_REASON_NONE, sp_error_name(SP_ERROR_TRANSPORT), "closed",
		    bad == -ESRCH ? "the bridge has exited" : "out of memory");
		stream_free(stream);
		return;
	}
	audit_lease(stream, SP_REASON_NONE, NULL, "open", NULL);
	if (!ev_is_active(&forward->stream_timer))
		ev_timer_again(forward->loop, &forward->stream_timer);
	sp_relay_start(stream->relay);
}

/* The operation has been passed on, but what came of it may not be passed back. */
static void give_up(struct stream *stream, const char *words)
{
	sp_auto_json json_t *answer = sp_result_error(stream->id, SP_ERROR_TRANSPORT, true, words);
	sp_auto_free char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	size_t size = text ? strlen(text) : 0;

	audit(stream, SP_REASON_NONE, sp_error_name(SP_ERROR_TRANSPORT), NULL, words);
	if (text) {
		text[size] = '\n'; /* in the place of the NUL */
		(void)sp_write_all(stream->client, text, size + 1, 0);
	}
	stream_free(stream);
}

static void try_open(struct stream *stream)
{
	static const struct sp_lease_handlers handlers = {on_cut, on_lease_ended, on_resume};
	struct forward *forward = stream->forward;
	enum sp_reason reason = SP_REASON_NONE;
	struct sp_lease *lease = NULL;
	struct sp_err err = {0};
	int bad;

	if (forward->stopping) {
		give_up(stream, "the manager stops");
		return;
	}
	bad = sp_lease_open(
	    forward->leases, &stream->asked, &handlers, stream, &lease, &reason, &err);
	if (bad == -EAGAIN &&
	    sp_monotonic_ms() - stream->opened_ms <= forward->config->cut_timeout_ms) {
		ev_timer_start(forward->loop, &forward->opening_timer);
		return;
	}
	if (bad) {
		give_up(stream, bad == SP_E_CONFLICT
				    ? "the execution was replaced or retired meanwhile"
				: bad == -EAGAIN ? "a change of the runtime record does not settle"
						 : err.message);
		return;
	}
	stream->lease = lease;
	/* It is found in the other list from here on. */
	start(stream);
}

static void open_all(struct forward *forward)
{
	struct stream *stream, *next;

	for (stream = TAILQ_FIRST(&forward->opening); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		try_open(stream);
	}
}

static void on_opened(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	open_all(watcher->data);
}

static void on_opening(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	open_all(watcher->data);
}

/* NULL: out of memory. */
static struct stream *make(const struct request *request)
{
	const struct sp_claims *claims = &request->claims;
	bool port = request->op->purpose == SP_PURPOSE_SERVICE_PORT;
	size_t id_size = strlen(request->id) + 1;
	struct stream *stream = calloc(1, sizeof(*stream) + id_size);

	if (!stream)
		return NULL;
	memcpy(stream->id, request->id, id_size);
	stream->forward = request->client->forward;
	stream->client = stream->behind = -1;
	stream->from = -1;
	stream->caller = strdup(claims->caller);
	stream->id_json = strdup(request->id_json);
	memcpy(stream->kid, claims->kid, sizeof(stream->kid));
	memcpy(stream->jti, claims->jti, sizeof(stream->jti));
	stream->received_us = request->received_us;
	stream->opened_ms = sp_monotonic_ms();
	stream->asked =
	    (struct sp_lease_asked){.terms = {port ? SP_LEASE_GATEWAY : SP_LEASE_CONTROL,
					claims->identity, request->epoch, request->version},
		.caller = stream->caller,
		.op = request->op->name};
	stream->turn = stream->forward->stream_number++ % STREAM_TURNS;
	return stream;
}

/* It has what is behind it: takes the client's connection. */
static void begin(struct stream *stream, struct request *request)
{
	struct forward *forward = stream->forward;

	forward->stream_count++;
	enlist(stream, &forward->opening);
	stream->client =
	    client_take(request, &stream->rest[SP_LEASE_IN], &stream->rest_size[SP_LEASE_IN]);
	if (stream->client < 0)
		request_fail(request, SP_ERROR_INTERNAL, true, "out of memory");
	if (stream->client < 0 || !stream->caller || !stream->id_json) {
		stream_free(stream);
		return;
	}
	/* Not now: the link that gave it is in the middle of a move. */
	ev_feed_event(forward->loop, &forward->opened, EV_CUSTOM);
}

void forward_stream_opened(struct link_item *item, const struct link_stream *opened, void *context)
{
	struct request *request = (struct request *)item;
	struct stream *stream = make(request);

	(void)context;
	if (!stream) {
		sp_attest_close(opened->attestation);
		free(opened->rest);
		request_fail(request, SP_ERROR_INTERNAL, true, "out of memory");
		return;
	}
	stream->attestation = opened->attestation;
	stream->behind = sp_attest_fd(opened->attestation);
	stream->rest[SP_LEASE_OUT] = opened->rest;
	stream->rest_size[SP_LEASE_OUT] = opened->rest_size;
	stream->from = opened->from;
	begin(stream, request);
}

void forward_stream_gateway(struct request *request, int fd, char *rest, size_t rest_size)
{
	struct stream *stream = make(request);

	if (!stream) {
		(void)close(fd);
		free(rest);
		request_fail(request, SP_ERROR_INTERNAL, true, "out of memory");
		return;
	}
	stream->behind = fd;
	stream->rest[SP_LEASE_OUT] = rest;
	stream->rest_size[SP_LEASE_OUT] = rest_size;
	begin(stream, request);
}

void forward_streams_init(struct forward *forward)
{
	TAILQ_INIT(&forward->opening);
	TAILQ_INIT(&forward->streams);
	ev_prepare_init(&forward->opened, on_opened);
	ev_set_priority(&forward->opened, EV_MINPRI);
	ev_timer_init(&forward->opening_timer, on_opening, RETRY, 0.);
	ev_timer_init(&forward->stream_timer, forward_bridges_check, 0., 1.);
	LIST_INIT(&forward->bridges);
	forward->opened.data = forward->opening_timer.data = forward->stream_timer.data = forward;
}

int forward_leases_open(struct forward *forward, struct sp_err *err)
{
	struct sp_lease_options options = {.loop = forward->loop,
	    .store = forward->store,
	    .holder = forward->holder,
	    .cut_timeout_ms = (int)forward->config->cut_timeout_ms,
	    .role = FORWARD_ROLE,
	    .remember = SP_LEASES_ENDED};

	if (sp_lease_set_new(&options, &forward->leases) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	return sp_lease_live_open(forward->leases, forward->config->run_dir, &forward->live, err);
}

void forward_streams_cut(struct forward *forward, const char *words)
{
	struct stream *stream, *next;

	for (stream = TAILQ_FIRST(&forward->streams); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		sp_lease_cut(stream->lease, SP_REASON_NONE, words);
	}
}

void forward_leases_close(struct forward *forward)
{
	while (!TAILQ_EMPTY(&forward->opening))
		stream_free(TAILQ_FIRST(&forward->opening));
	sp_lease_live_close(forward->live);
	sp_lease_set_free(forward->leases, "the manager ends");
}
