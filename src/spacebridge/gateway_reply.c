/* What a request is told by the gateway itself: a whole answer, and the end of its connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "spacebridge/gateway_web.h"

void web_audit(const struct web *web, enum sp_reason reason, const char *error, const char *action,
    const char *note)
{
	const struct front *front = &web->front;

	gateway_audit(front->gateway, NULL, &web->claims, front->port ? front->port->epoch : 0,
	    &(struct gateway_outcome){reason, error, action, note}, front->started_us);
}

static const char *phrase(int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized\r\nWWW-Authenticate: Bearer";
	case 403:
		return "Forbidden";
	case 408:
		return "Request Timeout";
	case 409:
		return "Conflict";
	case 502:
		return "Bad Gateway";
	case 504:
		return "Gateway Timeout";
	default:
		return "Service Unavailable";
	}
}

/* A whole answer, in one write: nothing of another has gone. */
static void answer(struct web *web, int status, json_t *record /* stolen */)
{
	sp_auto_free char *body = record ? json_dumps(record, JSON_COMPACT) : NULL;
	sp_auto_free char *text = NULL;
	int size = asprintf(&text,
	    "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
	    "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s\n",
	    status, phrase(status), body ? strlen(body) + 1 : 1,
	    body && web->method != HTTP_HEAD ? body : "");

	if (size < 0)
		text = NULL;
	else
		(void)sp_write_all(web->front.client, text, (size_t)size, 0);
	json_decref(record);
	web_part(web, "refused");
}

/* As 06-streams has it. */
static int status_of(enum sp_reason reason)
{
	switch (reason) {
	case SP_REASON_MALFORMED:
	case SP_REASON_UNKNOWN_KEY:
	case SP_REASON_REVOKED_KEY:
	case SP_REASON_SIGNATURE:
	case SP_REASON_NOT_YET_VALID:
	case SP_REASON_EXPIRED:
	case SP_REASON_LIFETIME:
		return 401;
	default:
		return sp_reason_decision(reason) == SP_REFRESH_ROUTE ? 409 : 403;
	}
}

void web_refuse(struct web *web, enum sp_reason reason, enum sp_behind behind, const char *note)
{
	web_audit(web, reason, NULL, NULL, note);
	answer(web, status_of(reason), sp_result_refused(NULL, reason, behind, GATEWAY_ROLE));
}

void web_fail(struct web *web, int status, enum sp_error_kind error, bool sent, const char *words)
{
	web_audit(web, SP_REASON_NONE, sp_error_name(error), NULL, words);
	if (web->answered)
		web_end(web, words);
	else
		answer(web, status, sp_result_error(NULL, error, sent, words));
}
