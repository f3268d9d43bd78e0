/* k4.public, k4.secret and k4.pid: a header and base64url, checked to the last bit. */
#include "token/paserk.h"

#include <sodium.h>
#include <string.h>
#include "base/text.h"

#define PUBLIC "k4.public."
#define SECRET "k4.secret."
#define ID     "k4.pid."

#define ID_BYTES 33

static int write_key(const char *header, const void *key, size_t size, size_t wanted, char *ret,
    size_t room, struct sp_err *err)
{
	size_t length = strlen(header);

	if (size != wanted)
		return sp_fail(
		    err, SP_E_BAD_KEY, "a %skey has %zu bytes, not %zu", header, wanted, size);
	memcpy(ret, header, length + 1);
	sp_base64_encode(key, size, true, ret + length, room - length);
	return 0;
}

int sp_paserk_public_write(
    const void *key, size_t size, char ret[SP_PASERK_PUBLIC_SIZE], struct sp_err *err)
{
	return write_key(PUBLIC, key, size, SP_PUBLIC_KEY_SIZE, ret, SP_PASERK_PUBLIC_SIZE, err);
}

int sp_paserk_secret_write(
    const void *key, size_t size, char ret[SP_PASERK_SECRET_SIZE], struct sp_err *err)
{
	return write_key(SECRET, key, size, SP_SECRET_KEY_SIZE, ret, SP_PASERK_SECRET_SIZE, err);
}

int sp_paserk_id(const void *public_key, size_t size, char ret[SP_KID_SIZE], struct sp_err *err)
{
	char text[SP_PASERK_PUBLIC_SIZE];
	unsigned char digest[ID_BYTES];
	crypto_generichash_state state;
	int bad = sp_paserk_public_write(public_key, size, text, err);

	if (bad)
		return bad;
	(void)crypto_generichash_init(&state, NULL, 0, sizeof(digest));
	(void)crypto_generichash_update(&state, (const unsigned char *)ID, sizeof(ID) - 1);
	(void)crypto_generichash_update(&state, (const unsigned char *)text, strlen(text));
	(void)crypto_generichash_final(&state, digest, sizeof(digest));
	memcpy(ret, ID, sizeof(ID) - 1);
	sp_base64_encode(
	    digest, sizeof(digest), true, ret + sizeof(ID) - 1, SP_KID_SIZE - (sizeof(ID) - 1));
	return 0;
}

/* Never quotes the text: it may be a secret. */
static int read_key(
    const char *header, const char *text, size_t wanted, unsigned char *ret, struct sp_err *err)
{
	size_t length = strlen(header), size;

	if (strncmp(text, header, length) != 0)
		return sp_fail(err, SP_E_BAD_KEY, "not a %s key", header);
	text += length;
	if (!sp_base64_decode(text, strlen(text), true, ret, wanted, &size) || size != wanted)
		return sp_fail(err, SP_E_BAD_KEY, "a %s key that is not %zu bytes of base64url",
		    header, wanted);
	return 0;
}

int sp_paserk_public_read(
    const char *text, unsigned char ret[SP_PUBLIC_KEY_SIZE], struct sp_err *err)
{
	return read_key(PUBLIC, text, SP_PUBLIC_KEY_SIZE, ret, err);
}

int sp_paserk_secret_read(
    const char *text, unsigned char ret[SP_SECRET_KEY_SIZE], struct sp_err *err)
{
	unsigned char public[SP_PUBLIC_KEY_SIZE], whole[SP_SECRET_KEY_SIZE];
	int bad = read_key(SECRET, text, SP_SECRET_KEY_SIZE, ret, err);

	if (!bad) {
		(void)crypto_sign_seed_keypair(public, whole, ret);
		if (sodium_memcmp(whole, ret, sizeof(whole)) != 0)
			bad = sp_fail(err, SP_E_BAD_KEY,
			    "a k4.secret. key whose public half belongs to another seed");
		sodium_memzero(whole, sizeof(whole));
	}
	if (bad)
		sodium_memzero(ret, SP_SECRET_KEY_SIZE);
	return bad;
}
