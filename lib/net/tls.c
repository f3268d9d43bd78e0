/* Certificate, key and settings of a TLS server. */
#include "net/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/util.h"
#include "net/tls_private.h"

static const char *reason(void)
{
	const char *text = sp_openssl.ERR_reason_error_string(sp_openssl.ERR_peek_last_error());

	return text ? text : "not what it must be";
}

/* Nobody sits at a terminal of a server. */
static int no_password(char *buffer, int size, int writing, void *context)
{
	(void)buffer;
	(void)size;
	(void)writing;
	(void)context;
	return -1;
}

/* Whoever offers protocols, but not ours, is refused (RFC 7301, 3.2). */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
    const unsigned char *offered, unsigned size, void *context)
{
	static const unsigned char OURS[] = "\x08http/1.1";
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)context;
	if (sp_openssl.SSL_select_next_proto(
		&chosen, ret_size, OURS, sizeof(OURS) - 1, offered, size) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int use_key(SSL_CTX *shared, const char *path, struct sp_err *err)
{
	char *text = NULL;
	size_t size = 0;
	BIO *bio;
	EVP_PKEY *key = NULL;
	int bad = sp_file_read(AT_FDCWD, path, SP_FILE_SECRET, SP_TLS_PEM_MAX, &text, &size, err);

	if (bad)
		return bad;
	bio = sp_openssl.BIO_new_mem_buf(text, (int)size);
	if (bio)
		key = sp_openssl.PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	if (!key || sp_openssl.SSL_CTX_use_PrivateKey(shared, key) != 1)
		bad = sp_fail(
		    err, SP_E_CONFIG, "%.300s: no key of the certificate: %.100s", path, reason());
	sp_openssl.EVP_PKEY_free(key);
	(void)sp_openssl.BIO_free(bio);
	sp_secret_free(text, size);
	return bad;
}

/* Opened here first: OpenSSL would wait on a FIFO. */
static int use_chain(SSL_CTX *shared, const char *path, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	int bad = sp_file_open(AT_FDCWD, path, 0, &fd, err);

	if (bad)
		return bad;
	if (sp_openssl.SSL_CTX_use_certificate_chain_file(shared, path) != 1)
		return sp_fail(err, SP_E_CONFIG, "%.300s: no certificate chain in PEM: %.100s",
		    path, reason());
	return 0;
}

static int set_up(SSL_CTX *shared)
{
	long mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
		    SSL_MODE_RELEASE_BUFFERS;

	if (sp_openssl.SSL_CTX_ctrl(shared, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) !=
	    1)
		return -EINVAL;
	(void)sp_openssl.SSL_CTX_ctrl(shared, SSL_CTRL_MODE, mode, NULL);
	(void)sp_openssl.SSL_CTX_ctrl(
	    shared, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	(void)sp_openssl.SSL_CTX_set_options(
	    shared, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	sp_openssl.SSL_CTX_set_alpn_select_cb(shared, choose_protocol, NULL);
	return 0;
}

int sp_tls_load(struct sp_tls *tls, const char *cert, const char *key, struct sp_err *err)
{
	SSL_CTX *shared = sp_openssl.SSL_CTX_new(sp_openssl.TLS_server_method());
	int bad;

	sp_openssl.ERR_clear_error();
	if (!shared || set_up(shared) < 0)
		bad = sp_fail(err, SP_E_UNAVAILABLE, "OpenSSL: no TLS 1.2");
	else
		bad = use_chain(shared, cert, err);
	if (!bad)
		bad = use_key(shared, key, err);
	if (bad) {
		sp_openssl.SSL_CTX_free(shared);
		return bad;
	}
	sp_openssl.SSL_CTX_free(tls->shared);
	tls->shared = shared;
	return 0;
}

int sp_tls_new(const char *cert, const char *key, struct ev_loop *loop,
    const struct sp_tls_handlers *handlers, void *context, struct sp_tls **ret, struct sp_err *err)
{
	int bad = sp_openssl_load(err);
	struct sp_tls *tls;

	if (bad)
		return bad;
	tls = calloc(1, sizeof(*tls));
	if (!tls)
		return sp_fail(err, -ENOMEM, "out of memory");
	tls->loop = loop;
	tls->handlers = handlers;
	tls->context = context;
	TAILQ_INIT(&tls->shaking);
	TAILQ_INIT(&tls->sessions);
	bad = sp_tls_load(tls, cert, key, err);
	if (bad)
		free(tls);
	else
		*ret = tls;
	return bad;
}

void sp_tls_free(struct sp_tls *tls)
{
	if (!tls)
		return;
	while (!TAILQ_EMPTY(&tls->shaking))
		sp_tls_session_cut(TAILQ_FIRST(&tls->shaking));
	while (!TAILQ_EMPTY(&tls->sessions))
		sp_tls_session_cut(TAILQ_FIRST(&tls->sessions));
	sp_openssl.SSL_CTX_free(tls->shared);
	free(tls);
}
