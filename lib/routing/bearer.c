/* Tokens in and out of their files, and their hash. */
#include "routing/bearer.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"

#define PREFIX       "space-token:"
#define SECRET_SIZE  32
#define SECRET_CHARS 43

int sp_bearer_parse(const char *text, struct sp_bearer *ret, struct sp_err *err)
{
	size_t prefix = strlen(PREFIX), length = strnlen(text, SP_BEARER_SIZE);
	unsigned char secret[SECRET_SIZE];
	struct sp_bearer bearer = {0};
	size_t name, size;

	if (length < prefix + 2 + SECRET_CHARS || length >= SP_BEARER_SIZE ||
	    strncmp(text, PREFIX, prefix) != 0)
		return sp_fail(err, SP_E_BAD_KEY, "no token of the form " PREFIX "NAME:...");
	name = length - prefix - 1 - SECRET_CHARS;
	if (name > SP_ID_MAX || text[prefix + name] != ':')
		return sp_fail(err, SP_E_BAD_KEY, "no token of the form " PREFIX "NAME:...");
	memcpy(bearer.name, text + prefix, name);
	if (!sp_id_valid(bearer.name) ||
	    !sp_base64_decode(
		text + length - SECRET_CHARS, SECRET_CHARS, true, secret, sizeof(secret), &size) ||
	    size != sizeof(secret))
		return sp_fail(err, SP_E_BAD_KEY, "no token of the form " PREFIX "NAME:...");
	sodium_memzero(secret, sizeof(secret));
	(void)crypto_generichash(bearer.credential, sizeof(bearer.credential),
	    (const unsigned char *)text, length, NULL, 0);
	*ret = bearer;
	return 0;
}

void sp_bearer_make(const char *name, char ret_text[SP_BEARER_SIZE])
{
	unsigned char secret[SECRET_SIZE];
	int n = snprintf(ret_text, SP_BEARER_SIZE, PREFIX "%.*s:", SP_ID_MAX, name);

	randombytes_buf(secret, sizeof(secret));
	sp_base64_encode(secret, sizeof(secret), true, ret_text + n, SP_BEARER_SIZE - (size_t)n);
	sodium_memzero(secret, sizeof(secret));
}

int sp_bearer_read(const char *path, struct sp_bearer *ret, struct sp_err *err)
{
	char *text = NULL;
	size_t size = 0;
	int bad = sp_file_read(AT_FDCWD, path, SP_FILE_SECRET, SP_BEARER_SIZE, &text, &size, err);

	if (bad)
		return bad;
	if (size > 0 && text[size - 1] == '\n')
		text[size - 1] = '\0';
	bad = sp_bearer_parse(text, ret, err);
	sp_secret_free(text, size);
	return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
}

int sp_bearer_create(const char *path, const char *name, struct sp_bearer *ret, struct sp_err *err)
{
	char text[SP_BEARER_SIZE];
	size_t size;
	int bad;

	sp_bearer_make(name, text);
	bad = sp_bearer_parse(text, ret, err);
	size = strlen(text);
	text[size++] = '\n'; /* in the place of the NUL */
	if (!bad)
		bad = sp_file_create(AT_FDCWD, path, 0600, text, size, err);
	sodium_memzero(text, sizeof(text));
	return bad;
}
