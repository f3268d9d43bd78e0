/* What a client in line mode is told, and what the audit log is told of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "net/socket.h"
#include "record/json.h"
#include "record/result.h"
#include "spacebridge/gateway.h"

static void audit(const struct visit *visit, enum sp_reason reason, const char *error,
    const char *action, const char *note)
{
	const struct front *front = &visit->front;

	gateway_audit(front->gateway, visit->id, &visit->claims,
	    front->port ? front->port->epoch : 0,
	    &(struct gateway_outcome){reason, error, action, note}, front->started_us);
}

void visit_audit_lease(const struct visit *visit, enum sp_reason reason, const char *error,
    const char *what, const char *words)
{
	const struct port *port = visit->front.port;
	const struct sp_lease *lease = port ? port->lease : NULL;
	char note[SP_ERR_MAX];

	(void)snprintf(note, sizeof(note), "lease %s %s%s%s",
	    lease ? sp_lease_id(lease) : visit->lease, what, words && *words ? ": " : "",
	    words ? words : "");
	audit(visit, reason, error, strcmp(what, "open") == 0 ? "opened" : what, note);
}

static void part(struct visit *visit)
{
	visit->phase = VISIT_PARTING;
	front_part(&visit->front, "refused");
}

/* One write: nothing was written before, the buffer is empty. */
static void say(struct visit *visit, char *text /* stolen */)
{
	size_t size = text ? strlen(text) : 0;

	if (text) {
		text[size] = '\n'; /* in the place of the NUL */
		(void)sp_write_all(visit->front.client, text, size + 1, 0);
	}
	free(text);
}

static void say_json(struct visit *visit, json_t *answer /* stolen */)
{
	say(visit, answer ? json_dumps(answer, JSON_COMPACT) : NULL);
	json_decref(answer);
}

void visit_refuse(
    struct visit *visit, enum sp_reason reason, enum sp_behind behind, const char *note)
{
	audit(visit, reason, NULL, NULL, note);
	say_json(visit, sp_result_refused(visit->id, reason, behind, GATEWAY_ROLE));
	part(visit);
}

void visit_fail(struct visit *visit, enum sp_error_kind error, bool sent, const char *words)
{
	audit(visit, SP_REASON_NONE, sp_error_name(error), NULL, words);
	say_json(visit, sp_result_error(visit->id, error, sent, words));
	part(visit);
}

void visit_refused(const struct port_refusal *refusal, void *context)
{
	struct visit *visit = context;
	size_t size;

	if (refusal->answer) {
		audit(visit, SP_REASON_NONE, sp_error_name(SP_ERROR_OP), NULL, NULL);
		say(visit, sp_answer_under(refusal->answer, visit->id_json, &size));
		part(visit);
	} else if (refusal->reason) {
		visit_refuse(visit, refusal->reason, refusal->behind, refusal->words);
	} else {
		visit_fail(visit, refusal->error, refusal->sent, refusal->words);
	}
}

/* After `open` there is no line any more: frames have a status, raw bytes a reset. */
void visit_deny_protocol(struct visit *visit)
{
	static const char words[] = "denied: the first bytes are not of the capability's protocol";
	struct sp_status status = sp_status_of_error(-EPROTO, words);
	char text[SP_FRAME_CONTROL_MAX];
	unsigned char header[SP_FRAME_HEADER];
	size_t size = sp_status_print(&status, text);

	if (visit->phase != VISIT_FIRST) {
		visit_refuse(visit, SP_REASON_PROTOCOL, SP_BEHIND_NONE, NULL);
		return;
	}
	visit_audit_lease(visit, SP_REASON_PROTOCOL, NULL, "closed", NULL);
	if (visit->framed) {
		sp_frame_header(SP_FRAME_STATUS, size, header);
		(void)sp_write_all(visit->front.client, header, sizeof(header), 0);
		(void)sp_write_all(visit->front.client, text, size, 0);
		part(visit);
	} else {
		sp_socket_abort(visit->front.client);
		visit_free(visit, "protocol");
	}
}

int visit_say_open(struct visit *visit)
{
	const struct sp_lease *lease = visit->front.port->lease;
	char *line = NULL;
	int n = asprintf(&line, "{%s%s%s\"status\":\"open\",\"lease\":\"%s\",\"epoch\":%lld}",
	    visit->id_json ? "\"id\":" : "", visit->id_json ? visit->id_json : "",
	    visit->id_json ? "," : "", sp_lease_id(lease), (long long)sp_lease_terms(lease)->epoch);

	if (n < 0)
		return -ENOMEM;
	(void)snprintf(visit->lease, sizeof(visit->lease), "%s", sp_lease_id(lease));
	say(visit, line);
	visit_audit_lease(visit, SP_REASON_NONE, NULL, "open", NULL);
	return 0;
}
