/* A request's head: read, admitted by its own capability, and written anew without it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "spacebridge/gateway_web.h"

/* What a capability is for, against what the request is. */
static bool protocol_fits(const struct sp_claims *claims, const struct sp_head *head)
{
	switch (claims->protocol) {
	case SP_PROTOCOL_HTTP:
	case SP_PROTOCOL_TCP:
		return true;
	case SP_PROTOCOL_WEBSOCKET:
		return head->websocket;
	default:
		return false;
	}
}

static enum sp_reason admit(struct web *web, const struct sp_head *head)
{
	char token[SP_TOKEN_MAX + 1];
	struct gateway_asked asked = {.token = token, .protocol = -1};
	enum sp_reason reason;

	if (!head->token || head->token_size > SP_TOKEN_MAX)
		return SP_REASON_MALFORMED;
	memcpy(token, head->token, head->token_size);
	token[head->token_size] = '\0';
	reason = gateway_verify(web->front.gateway, &asked, &web->claims);
	if (!reason && !protocol_fits(&web->claims, head))
		reason = SP_REASON_PROTOCOL;
	return reason;
}

/* Only what is a WebSocket's capability, or anybody's, lets a request become a stream. */
static int rewrite(struct web *web, const struct sp_head *head, size_t size)
{
	web->websocket = head->websocket && web->claims.protocol != SP_PROTOCOL_HTTP;
	web->head = malloc(size + SP_HEAD_ADDED);
	if (!web->head)
		return -ENOMEM;
	web->head_size = sp_head_print(head, web->websocket, web->head, size + SP_HEAD_ADDED);
	return web->head_size <= size + SP_HEAD_ADDED ? 0 : SP_E_TOO_LARGE;
}

void web_take_head(struct web *web, size_t size)
{
	struct sp_head head;
	struct sp_err err = {0};
	enum sp_reason reason;
	int bad = sp_head_parse(web->front.in, size, &head, &err);

	if (bad) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, false, err.message);
		return;
	}
	web->method = head.method;
	web->chunked = head.chunked;
	web->keep_alive = head.keep_alive && !head.old;
	reason = admit(web, &head);
	if (reason) {
		web_refuse(web, reason, SP_BEHIND_NONE, NULL);
		return;
	}
	bad = rewrite(web, &head, size);
	if (bad) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, false, sp_code_text(bad));
		return;
	}
	web_request_begin(web, web->front.in, size);
	front_used(&web->front, size);
	ev_timer_stop(web->front.gateway->loop, &web->front.limit);
	ev_io_stop(web->front.gateway->loop, &web->front.readable);
	web_find_port(web);
}
