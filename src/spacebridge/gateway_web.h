/* A connection of HTTP/1, each request of which is admitted by itself: what gateway_http.c,
 * gateway_head.c, gateway_way.c, gateway_reply.c and gateway_web.c share. */
#ifndef SP_SPACEBRIDGE_GATEWAY_WEB_H
#define SP_SPACEBRIDGE_GATEWAY_WEB_H

#include "spacebridge/gateway.h"
#include "stream/body.h"
#include "stream/head.h"

enum web_phase {
	WEB_HEAD,     /* a request's head is awaited */
	WEB_OPENING,  /* its port is on the way */
	WEB_EXCHANGE, /* bodies and answer */
	WEB_TUNNEL,   /* it has become a stream */
	WEB_PARTING,  /* has been told no */
};

struct web {
	struct front front; /* `started_us` is of the request */
	TAILQ_ENTRY(web) entry;
	enum web_phase phase;
	struct sp_claims claims;      /* of the request */
	struct sp_claims port_claims; /* of the guest's connection */
	char *head;                   /* what goes on, until it has; heap */
	size_t head_size;
	unsigned method;
	bool chunked, websocket, keep_alive;
	struct sp_body request;
	http_parser response;
	bool request_done, response_done;
	bool answered; /* something of the answer has gone */
	bool broken;   /* the guest's answer is none */
	bool started;  /* the port's frames are read */
	bool shut;
	char *out; /* to the client, who is slow; heap */
	size_t out_start, out_end;
	ev_io writable;
};

/* --- gateway_http.c --- */

/* Out of its exchange: on to the next request, or to its end. */
void web_next(struct web *web);

/* All has been said; the client may still read it. */
void web_part(struct web *web, const char *words);

void web_free(struct web *web, const char *words);

/* --- gateway_head.c --- */

/* `in` begins with a head of this size: refused, or on its way. */
void web_take_head(struct web *web, size_t size);

/* --- gateway_way.c --- */

/* The head is admitted: the guest's connection that is there may serve it, or another is opened. */
void web_find_port(struct web *web);

/* --- gateway_reply.c --- */

/* An error, as a whole answer; the connection ends behind it. If some of another answer has gone:
 * with a reset. */
void web_fail(struct web *web, int status, enum sp_error_kind error, bool sent, const char *words);

void web_refuse(struct web *web, enum sp_reason reason, enum sp_behind behind, const char *note);
void web_audit(const struct web *web, enum sp_reason reason, const char *error, const char *action,
    const char *note);

/* --- gateway_web.c --- */

/* The port is open, or open still: the head goes, and bodies both ways. */
void web_exchange(struct web *web);

/* Looks at what came and went (port_handlers). */
void web_changed(void *context);
size_t web_data(const char *bytes, size_t size, void *context);
void web_watch(struct web *web);

/* Is there room, or something: of the client's socket, in an exchange. */
void web_client_readable(struct web *web);
void web_client_writable(struct web *web);

/* Sets the parser of a request's body: `head` is what was admitted. */
void web_request_begin(struct web *web, const char *head, size_t size);

#endif
