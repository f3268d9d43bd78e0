/*
 * The opening of a WebSocket at a server (RFC 6455, section 4.2): what the head of a request must
 * say beyond being an upgrade, whose page may ask, and the answer. Pure.
 *
 * A browser can say no more than an URL and subprotocols, so these may carry the caller's token:
 * the item `bearer.` with the token in base64url, beside the one that is spoken,
 * SP_UPGRADE_PROTOCOL.
 */
#ifndef SP_STREAM_UPGRADE_H
#define SP_STREAM_UPGRADE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "stream/head.h"

#define SP_UPGRADE_PROTOCOL   "space.v1"
#define SP_UPGRADE_BEARER     "bearer."
#define SP_UPGRADE_VERSION    "13"
#define SP_UPGRADE_TOKEN_MAX  512 /* bytes of a token that came as a subprotocol */
#define SP_UPGRADE_ANSWER_MAX 256

struct sp_upgrade {
	char accept[29];                      /* Sec-WebSocket-Accept */
	bool protocol;                        /* ours was offered, and is answered */
	char token[SP_UPGRADE_TOKEN_MAX + 1]; /* that came as a subprotocol; "": none. Wipe it. */
};

/* What may be wrong. */
enum sp_upgrade_fault {
	SP_UPGRADE_NONE,    /* it is no upgrade to WebSocket */
	SP_UPGRADE_BAD,     /* it says what it may not */
	SP_UPGRADE_UNKNOWN, /* of another version than 13 */
};

/* Reads a head that sp_head_parse has passed. SP_E_BAD_RECORD, and *ret_fault. */
int sp_upgrade_read(const struct sp_head *head, struct sp_upgrade *ret,
    enum sp_upgrade_fault *ret_fault, struct sp_err *err);

/* Reads the subprotocols alone, of an opening that another server answers: the token, and whether
 * ours is offered. SP_E_BAD_RECORD. */
int sp_upgrade_offers(const struct sp_head *head, struct sp_upgrade *ret, struct sp_err *err);

/* Is this subprotocol a token, or ours? */
bool sp_upgrade_is_bearer(const char *item, size_t size);
bool sp_upgrade_is_ours(const char *item, size_t size);

/* Writes the answer's head, 101. Its size. */
size_t sp_upgrade_print(const struct sp_upgrade *upgrade, char ret_text[SP_UPGRADE_ANSWER_MAX]);

/*
 * May the page that asks be shown what comes? `head` may be of any request. Without an Origin it is
 * no page. Allowed is an origin (scheme://host, and a port that is not the scheme's own) that is in
 * the list `allowed`, with commas between, or NULL; and the one that the request's Host and `tls`
 * make, where Host is an address or localhost: a name may be anybody's, who makes it mean us.
 * SP_E_BAD_RECORD: there is more than one Origin.
 */
int sp_upgrade_origin(const struct sp_head *head, bool tls, const char *allowed, bool *ret_allowed,
    struct sp_err *err);

/* Is it such a list? */
bool sp_upgrade_origins_valid(const char *list);

#endif
