/* OpenSSL's libssl as a table of the functions that are used, loaded by the first TLS server: other
 * programs start without it. Not for others than net/tls.h's files. */
#ifndef SP_NET_OPENSSL_H
#define SP_NET_OPENSSL_H

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include "base/err.h"

/* Every function that is used, by the name that dlsym looks up. */
#define SP_OPENSSL_FUNCTIONS(F)                                                                    \
	F(BIO_free)                                                                                \
	F(BIO_new_mem_buf)                                                                         \
	F(ERR_clear_error)                                                                         \
	F(ERR_peek_last_error)                                                                     \
	F(ERR_reason_error_string)                                                                 \
	F(EVP_PKEY_free)                                                                           \
	F(PEM_read_bio_PrivateKey)                                                                 \
	F(SSL_accept)                                                                              \
	F(SSL_CTX_ctrl)                                                                            \
	F(SSL_CTX_free)                                                                            \
	F(SSL_CTX_new)                                                                             \
	F(SSL_CTX_set_alpn_select_cb)                                                              \
	F(SSL_CTX_set_options)                                                                     \
	F(SSL_CTX_use_certificate_chain_file)                                                      \
	F(SSL_CTX_use_PrivateKey)                                                                  \
	F(SSL_free)                                                                                \
	F(SSL_get_error)                                                                           \
	F(SSL_new)                                                                                 \
	F(SSL_read)                                                                                \
	F(SSL_select_next_proto)                                                                   \
	F(SSL_set_fd)                                                                              \
	F(SSL_shutdown)                                                                            \
	F(SSL_write)                                                                               \
	F(TLS_server_method)

#define SP_OPENSSL_POINTER(name) __typeof__(&name) name;
struct sp_openssl {
	SP_OPENSSL_FUNCTIONS(SP_OPENSSL_POINTER)
};
#undef SP_OPENSSL_POINTER

/* sp_openssl.SSL_new() is SSL_new(), once sp_openssl_load has returned 0. */
extern struct sp_openssl sp_openssl;

/* SP_E_UNAVAILABLE. */
int sp_openssl_load(struct sp_err *err);

#endif
