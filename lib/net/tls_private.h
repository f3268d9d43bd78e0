/* What the files of net/tls.h share. */
#ifndef SP_NET_TLS_PRIVATE_H
#define SP_NET_TLS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include "net/openssl.h"
#include "net/tls.h"

struct sp_tls_session;

struct sp_tls {
	SSL_CTX *shared; /* certificate, key and settings */
	struct ev_loop *loop;
	const struct sp_tls_handlers *handlers;
	void *context;
	TAILQ_HEAD(sp_tls_sessions, sp_tls_session)
	shaking, sessions; /* shaking: the oldest first */
	unsigned count, shaking_count;
};

/* Bytes on their way. */
struct sp_tls_buffer {
	char bytes[SP_TLS_BUFFER];
	size_t start, end;
};

struct sp_tls_session {
	TAILQ_ENTRY(sp_tls_session) entry;
	struct sp_tls *tls;
	SSL *ssl;
	int client, plain; /* plain: -1 until the handshake is done */
	int64_t since_ms;
	ev_io client_io, plain_io;
	ev_timer timer; /* the handshake's limit, then a look at `plain` every second */
	int wants;      /* EV_READ, EV_WRITE: what TLS waits for */
	bool client_ended, plain_ended;
	bool shut, notified; /* each end, passed on */
	struct sp_tls_buffer in, out;
};

/* Resets what is open of both connections, and frees it. */
void sp_tls_session_cut(struct sp_tls_session *session);

/* A TCP connection over loopback, both ends CLOEXEC and non-blocking. Waits SP_TLS_PAIR_MS at the
 * most. 0 or a negative code. */
int sp_tls_pair(int ret_ends[2]);

#endif
