/*
 * The server's side of TLS 1.2 and 1.3 (RFC 8446), for code that serves plain TCP: behind each
 * connection stands a second one, over loopback, of which that code has one end. It is TCP and no
 * socket pair because a reset shall stay a reset, both ways: what was cut must not look complete.
 */
#ifndef SP_NET_TLS_H
#define SP_NET_TLS_H

#include <ev.h>
#include <stdint.h>
#include "base/err.h"

#define SP_TLS_BUFFER       16384u /* bytes held each way: one TLS record */
#define SP_TLS_SOCKET       32768 /* what the kernel holds of them each way, before it doubles it */
#define SP_TLS_PEM_MAX      (64u * 1024u) /* the key's file */
#define SP_TLS_SESSIONS_MAX 4096          /* connections at once, those on their way out counted */
#define SP_TLS_PAIR_MS      100           /* for a connection over loopback to stand */

struct sp_tls;

/* Called from the loop. */
struct sp_tls_handlers {
	/* The handshake is done: `fd` (CLOEXEC, non-blocking TCP) is the callee's. Its end of input
	 * is the client's close_notify, ours is shutdown(2). Closing it ends the client. */
	void (*accepted)(void *context, int fd);
	/* There is no connection: no handshake within its time, or an error. */
	void (*failed)(void *context);
};

/*
 * A certificate chain, own certificate first, and its key: PEM, not encrypted, the key a secret
 * (base/file.h). SP_E_UNAVAILABLE: no OpenSSL here; SP_E_BAD_KEY, SP_E_CONFIG: the key is no
 * secret, or they are no such files, or not of each other; -errno.
 */
int sp_tls_new(const char *cert, const char *key, struct ev_loop *loop,
    const struct sp_tls_handlers *handlers, void *context, struct sp_tls **ret, struct sp_err *err);

/* Other files, or the same read again: for connections from now on. As sp_tls_new; on failure what
 * was stays in use. */
int sp_tls_load(struct sp_tls *tls, const char *cert, const char *key, struct sp_err *err);

/* Takes the connection `fd` in any case; exactly one handler is called for it, `failed` perhaps at
 * once, unless sp_tls_free comes before. The handshake has `limit_ms`. */
void sp_tls_serve(struct sp_tls *tls, int fd, int limit_ms);

/* How many are not through with their handshake, and since when the oldest of these: by
 * sp_monotonic_ms. */
unsigned sp_tls_shaking(const struct sp_tls *tls);
int64_t sp_tls_shaking_since(const struct sp_tls *tls);

/* Gives up the oldest of these, of which there is one: `failed` is called. */
void sp_tls_give_up(struct sp_tls *tls);

/* Resets what is open. NULL is fine. */
void sp_tls_free(struct sp_tls *tls);

#endif
