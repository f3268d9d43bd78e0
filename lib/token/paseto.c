/* v4.public on libsodium. */
#include "token/paseto.h"

#include <sodium.h>
#include <string.h>
#include "base/base64.h"
#include "base/text.h"

#define HEADER_SIZE (sizeof(SP_PASETO_HEADER) - 1)
#define PIECES      4
/* Message and footer share one token, so that together they are below SP_TOKEN_MAX. */
#define PAE_MAX (8 * (PIECES + 1) + HEADER_SIZE + SP_TOKEN_MAX + SP_PASETO_IMPLICIT_MAX)

static size_t put_length(unsigned char *at, size_t length)
{
	for (size_t i = 0; i < 8; i++)
		at[i] = (unsigned char)(length >> (8 * i));
	return 8;
}

/* PAE(header, message, footer, assertion); the caller has checked that it fits into PAE_MAX. */
static size_t encode(
    struct sp_bytes message, struct sp_bytes footer, struct sp_bytes implicit, unsigned char *pae)
{
	const struct sp_bytes pieces[PIECES] = {
	    {SP_PASETO_HEADER, HEADER_SIZE}, message, footer, implicit};
	size_t used = put_length(pae, PIECES);

	for (size_t i = 0; i < PIECES; i++) {
		used += put_length(pae + used, pieces[i].size);
		if (pieces[i].size > 0)
			memcpy(pae + used, pieces[i].data, pieces[i].size);
		used += pieces[i].size;
	}
	return used;
}

static size_t base64_length(size_t size)
{
	return sp_base64_room(size, true) - 1;
}

int sp_paseto_sign(const unsigned char secret_key[SP_SECRET_KEY_SIZE], struct sp_bytes message,
    struct sp_bytes footer, struct sp_bytes implicit, char *ret_token, size_t *ret_size,
    struct sp_err *err)
{
	unsigned char pae[PAE_MAX], body[SP_PASETO_MESSAGE_MAX];
	size_t used, length;

	if (message.size > SP_TOKEN_MAX || footer.size > SP_TOKEN_MAX ||
	    implicit.size > SP_PASETO_IMPLICIT_MAX)
		return sp_fail(err, SP_E_TOO_LARGE, "a token of more than %d bytes", SP_TOKEN_MAX);
	length = HEADER_SIZE + base64_length(message.size + SP_PASETO_SIGNATURE) +
		 (footer.size ? 1 + base64_length(footer.size) : 0);
	if (length > SP_TOKEN_MAX)
		return sp_fail(err, SP_E_TOO_LARGE, "a token of %zu bytes: more than %d", length,
		    SP_TOKEN_MAX);
	used = encode(message, footer, implicit, pae);
	memcpy(body, message.data, message.size);
	(void)crypto_sign_detached(body + message.size, NULL, pae, used, secret_key);
	memcpy(ret_token, SP_PASETO_HEADER, HEADER_SIZE);
	used = HEADER_SIZE;
	sp_base64_encode_public(body, message.size + SP_PASETO_SIGNATURE, true, ret_token + used,
	    SP_TOKEN_MAX + 1 - used);
	used += base64_length(message.size + SP_PASETO_SIGNATURE);
	if (footer.size) {
		ret_token[used++] = '.';
		sp_base64_encode_public(
		    footer.data, footer.size, true, ret_token + used, SP_TOKEN_MAX + 1 - used);
	}
	*ret_size = length;
	return 0;
}

bool sp_paseto_split(const char *token, size_t size, struct sp_paseto *ret)
{
	const char *body = token + HEADER_SIZE, *end = token + size, *dot;
	size_t decoded;

	if (size > SP_TOKEN_MAX || size <= HEADER_SIZE ||
	    memcmp(token, SP_PASETO_HEADER, HEADER_SIZE) != 0)
		return false;
	dot = memchr(body, '.', (size_t)(end - body));
	if (!sp_base64_decode_public(body, (size_t)((dot ? dot : end) - body), true, ret->message,
		sizeof(ret->message), &decoded) ||
	    decoded < SP_PASETO_SIGNATURE)
		return false;
	ret->message_size = decoded - SP_PASETO_SIGNATURE;
	memcpy(ret->signature, ret->message + ret->message_size, SP_PASETO_SIGNATURE);
	ret->message[ret->message_size] = '\0';
	ret->footer_size = 0;
	/* A second dot is no base64; a dot with nothing behind it is a second spelling of no
	 * footer. */
	if (dot && (!sp_base64_decode_public(dot + 1, (size_t)(end - dot - 1), true, ret->footer,
			sizeof(ret->footer) - 1, &ret->footer_size) ||
		       ret->footer_size == 0))
		return false;
	ret->footer[ret->footer_size] = '\0';
	return true;
}

bool sp_paseto_verify(const struct sp_paseto *token,
    const unsigned char public_key[SP_PUBLIC_KEY_SIZE], struct sp_bytes implicit)
{
	unsigned char pae[PAE_MAX];
	struct sp_bytes message = {token->message, token->message_size};
	struct sp_bytes footer = {token->footer, token->footer_size};

	if (implicit.size > SP_PASETO_IMPLICIT_MAX)
		return false;
	return crypto_sign_verify_detached(
		   token->signature, pae, encode(message, footer, implicit, pae), public_key) == 0;
}
