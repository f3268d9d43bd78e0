/*
 * Service ports: an admitted port.connect goes to the gateway of its sandbox, which verifies all of
 * it again and uses the capability up. What listens there is looked at before it is told anything.
 *
 *   {"id":"NUMBER","cap":TOKEN,"port":N,"protocol":P,"framed":true}    manager to gateway
 *   a done record, or {"id":"NUMBER","status":"open",...}              gateway to manager
 */
#include "spacebridge/forward.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "bridge/answer.h"
#include "net/unix.h"
#include "record/lines.h"
#include "spacebridge/gateway.h"

struct handover {
	struct request *request;
	int fd;
	bool sent;
	struct sp_line_reader reader;
	ev_io readable;
};

bool forward_port_denied(const struct request *request)
{
	return request->op->purpose == SP_PURPOSE_SERVICE_PORT &&
	       gateway_port_denied(request->client->forward->config,
		   (uint16_t)json_integer_value(json_object_get(request->args, "port")));
}

enum sp_reason forward_gateway_check(
    const struct forward *forward, int fd, struct sp_report *report)
{
	const struct sp_config *config = forward->config;
	struct sp_uid_list own = {1, {geteuid()}};
	const struct sp_uid_list *list = config->gateway_uid.count ? &config->gateway_uid : &own;

	return sp_attest_client(fd, list->uids, list->count,
	    config->gateway_exe[0] ? config->gateway_exe : "/proc/self/exe", report);
}

static void handover_free(struct handover *handover)
{
	handover->request->handover = NULL;
	ev_io_stop(handover->request->client->forward->loop, &handover->readable);
	if (handover->reader.buffer)
		sp_line_reader_done(&handover->reader);
	sp_fd_close(&handover->fd);
	free(handover);
}

bool handover_drop(struct request *request)
{
	bool sent = request->handover->sent;

	handover_free(request->handover);
	return sent;
}

static void fail(struct handover *handover, enum sp_error_kind error, const char *words)
{
	struct request *request = handover->request;

	request_fail(request, error, handover_drop(request), words);
}

/* The descriptor, and what was read behind the line, become the stream's. */
static void give_stream(struct handover *handover)
{
	struct request *request = handover->request;
	const struct sp_line_reader *reader = &handover->reader;
	size_t size = reader->end - reader->start;
	char *rest = size > 0 ? malloc(size) : NULL;
	int fd;

	if (size > 0 && !rest) {
		fail(handover, SP_ERROR_INTERNAL, "out of memory");
		return;
	}
	if (size > 0)
		memcpy(rest, reader->buffer + reader->start, size);
	fd = sp_steal_fd(&handover->fd);
	handover_free(handover);
	forward_stream_gateway(request, fd, rest, size);
}

static void pass_on(struct handover *handover, const struct sp_answer *answer)
{
	struct request *request = handover->request;
	size_t size;
	sp_auto_free char *text = sp_answer_under(answer, request->id_json, &size);

	if (!text) {
		fail(handover, SP_ERROR_INTERNAL, "out of memory");
		return;
	}
	client_put(request->client, text, size);
	request_done(request);
}

static void take_answer(struct handover *handover, const char *line, size_t size)
{
	struct sp_answer answer = {0};
	struct sp_err err = {0};

	if (sp_answer_read(line, size, &answer, &err)) {
		fail(handover, SP_ERROR_TRANSPORT, "the gateway's answer is none");
		return;
	}
	if (answer.number != handover->request->item.number)
		fail(handover, SP_ERROR_TRANSPORT, "the gateway answers something else");
	else if (sp_answer_is_open(&answer))
		give_stream(handover);
	else if (sp_answer_of_manager(&answer, &err))
		fail(handover, SP_ERROR_TRANSPORT, "the gateway's answer is none");
	else
		pass_on(handover, &answer);
	sp_answer_done(&answer);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct handover *handover = watcher->data;
	char *line;
	size_t size;
	int got = sp_line_next(&handover->reader, &line, &size);

	(void)loop;
	(void)events;
	if (got == 1)
		take_answer(handover, line, size);
	else if (got != -EAGAIN)
		fail(handover, SP_ERROR_TRANSPORT, "the gateway ended without an answer");
}

static void hand_over(struct handover *handover)
{
	struct request *request = handover->request;
	const struct sp_claims *claims = &request->claims;
	sp_auto_free char *line = NULL;
	int size = asprintf(&line,
	    "{\"id\":\"%llu\",\"cap\":\"%s\",\"port\":%u,\"protocol\":\"%s\",\"framed\":true}\n",
	    (unsigned long long)request->item.number, request->cap, claims->port,
	    sp_protocol_name(claims->protocol));
	ssize_t n;

	if (size < 0) {
		line = NULL;
		fail(handover, SP_ERROR_INTERNAL, "out of memory");
		return;
	}
	n = sp_write_some(handover->fd, line, (size_t)size);
	handover->sent = n > 0;
	if (n != size) {
		fail(handover, SP_ERROR_TRANSPORT, "the gateway takes no request");
		return;
	}
	request_audit(request, SP_REASON_NONE, NULL, "to the gateway");
	ev_io_init(&handover->readable, on_readable, handover->fd, EV_READ);
	handover->readable.data = handover;
	ev_io_start(request->client->forward->loop, &handover->readable);
}

static void check(struct handover *handover)
{
	struct request *request = handover->request;
	struct sp_report report = {.failed_only = true};
	enum sp_reason reason =
	    forward_gateway_check(request->client->forward, handover->fd, &report);
	char words[SP_ERR_MAX] = "";

	sp_report_words(&report, words, sizeof(words));
	sp_report_done(&report);
	if (reason)
		request_refuse(request, reason, SP_BEHIND_NONE, FORWARD_ROLE, words);
	else
		hand_over(handover);
}

static int connect_to(struct handover *handover, struct sp_err *err)
{
	const struct request *request = handover->request;
	char path[PATH_MAX + SP_ID_MAX + 16];
	int bad;

	(void)snprintf(path, sizeof(path), "%s/gateway/%s.sock",
	    request->client->forward->config->run_dir, request->sandbox);
	bad = sp_unix_connect(path, 0, &handover->fd, err);
	return bad ? bad : sp_line_reader_init(&handover->reader, handover->fd, SP_LINE_MAX);
}

void forward_port(struct request *request)
{
	struct handover *handover = calloc(1, sizeof(*handover));
	struct sp_err err = {0};
	int bad;

	if (!handover) {
		request_fail(request, SP_ERROR_INTERNAL, false, "out of memory");
		return;
	}
	handover->request = request;
	handover->fd = -1;
	request->handover = handover;
	bad = connect_to(handover, &err);
	if (bad == SP_E_TIMEOUT)
		fail(handover, SP_ERROR_OVERLOADED, "the gateway's backlog is full");
	else if (bad)
		fail(handover, SP_ERROR_TRANSPORT,
		    "no gateway of this sandbox listens on this worker");
	else
		check(handover);
}
