/* Where a secret key comes from, and that no copy of it stays behind. */
#include "token/signing_key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include "base/file.h"
#include "base/util.h"

/* Bytes only, and a multiple of 16: sodium_malloc places the end, not the start, on a page. */
struct sp_signing_key {
	unsigned char secret[SP_SECRET_KEY_SIZE];
	char id[SP_KID_SIZE];
	char padding[12];
};

static void free_guarded(void *pointer_to_pointer)
{
	void **at = pointer_to_pointer;

	sodium_free(*at);
	*at = NULL;
}
#define auto_guarded sp_cleanup(free_guarded)

static int allocate(size_t size, void *ret_pointer, struct sp_err *err)
{
	void *guarded = sodium_init() < 0 ? NULL : sodium_malloc(size);

	if (!guarded)
		return sp_fail(
		    err, -ENOMEM, "no locked memory for a secret (see ulimit -l, LimitMEMLOCK=)");
	memcpy(ret_pointer, &guarded, sizeof(guarded));
	return 0;
}

/* Completes a key whose secret part is set, and makes it read-only. */
static int finish(struct sp_signing_key *key, struct sp_err *err)
{
	int bad = sp_paserk_id(sp_signing_key_public(key), SP_PUBLIC_KEY_SIZE, key->id, err);

	if (!bad && sodium_mprotect_readonly(key) < 0)
		bad = sp_fail_errno(err, "mprotect of a secret");
	return bad;
}

int sp_signing_key_new(struct sp_signing_key **ret, struct sp_err *err)
{
	unsigned char public[SP_PUBLIC_KEY_SIZE];
	auto_guarded struct sp_signing_key *key = NULL;
	int bad = allocate(sizeof(*key), &key, err);

	if (bad)
		return bad;
	(void)crypto_sign_keypair(public, key->secret);
	bad = finish(key, err);
	if (!bad)
		*ret = sp_steal(&key);
	return bad;
}

/* The first line of a secret file in guarded memory. */
static int read_secret_line(
    const char *path, size_t max, char **ret, size_t *ret_size, struct sp_err *err)
{
	auto_guarded char *line = NULL;
	char *data;
	size_t size;
	int bad = sp_file_read(AT_FDCWD, path, SP_FILE_SECRET, max, &data, &size, err);

	if (bad)
		return bad;
	bad = allocate(max + 1, &line, err);
	if (!bad) {
		*ret_size = strcspn(data, "\r\n");
		memcpy(line, data, *ret_size);
		line[*ret_size] = '\0';
		*ret = sp_steal(&line);
	}
	sp_secret_free(data, size);
	return bad;
}

static int read_passphrase(const char *path, char **ret, size_t *ret_size, struct sp_err *err)
{
	int bad = read_secret_line(path, SP_PASSPHRASE_MAX, ret, ret_size, err);

	if (!bad && *ret_size == 0) {
		free_guarded(ret);
		return sp_fail(
		    err, SP_E_BAD_KEY, "%s: its first line is empty: no passphrase", path);
	}
	return bad;
}

static int parse_sealed(
    const char *text, const char *passphrase_file, unsigned char *ret, struct sp_err *err)
{
	auto_guarded char *passphrase = NULL;
	size_t size;
	int bad;

	if (!passphrase_file)
		return sp_fail(err, SP_E_BAD_KEY,
		    "a k4.secret-pw. key: say --passphrase-file FILE to open it");
	bad = read_passphrase(passphrase_file, &passphrase, &size, err);
	return bad ? bad : sp_paserk_secret_open(text, passphrase, size, ret, err);
}

static int parse_word(
    const char *word, const char *passphrase_file, unsigned char *ret, struct sp_err *err)
{
	if (strncmp(word, "k4.secret-pw.", 13) == 0)
		return parse_sealed(word, passphrase_file, ret, err);
	if (strncmp(word, "k4.secret.", 10) == 0)
		return sp_paserk_secret_read(word, ret, err);
	return sp_fail(err, SP_E_BAD_KEY, "no k4.secret. or k4.secret-pw. key");
}

int sp_signing_key_parse(
    const char *text, const char *passphrase_file, struct sp_signing_key **ret, struct sp_err *err)
{
	auto_guarded struct sp_signing_key *key = NULL;
	auto_guarded char *word = NULL;
	size_t before = strspn(text, " \t\r\n");
	size_t length = strcspn(text + before, " \t\r\n");
	const char *after = text + before + length;
	int bad;

	if (after[strspn(after, " \t\r\n")])
		return sp_fail(err, SP_E_BAD_KEY, "more than one key, or words beside it");
	bad = allocate(sizeof(*key), &key, err);
	if (!bad)
		bad = allocate(length + 1, &word, err);
	if (bad)
		return bad;
	memcpy(word, text + before, length);
	word[length] = '\0';
	bad = parse_word(word, passphrase_file, key->secret, err);
	if (!bad)
		bad = finish(key, err);
	if (!bad)
		*ret = sp_steal(&key);
	return bad;
}

int sp_signing_key_load(
    const char *path, const char *passphrase_file, struct sp_signing_key **ret, struct sp_err *err)
{
	char *text;
	size_t size;
	int bad = sp_file_read(AT_FDCWD, path, SP_FILE_SECRET, SP_KEY_FILE_MAX, &text, &size, err);

	if (bad)
		return bad;
	bad = sp_signing_key_parse(text, passphrase_file, ret, err);
	sp_secret_free(text, size);
	return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
}

void sp_signing_key_free(struct sp_signing_key *key)
{
	sodium_free(key);
}

static int write_text(
    const struct sp_signing_key *key, const char *passphrase_file, char *text, struct sp_err *err)
{
	auto_guarded char *passphrase = NULL;
	size_t size;
	int bad;

	if (!passphrase_file)
		return sp_paserk_secret_write(key->secret, sizeof(key->secret), text, err);
	bad = read_passphrase(passphrase_file, &passphrase, &size, err);
	return bad ? bad
		   : sp_paserk_secret_seal(
			 key->secret, passphrase, size, SP_SEAL_MEMORY, SP_SEAL_PASSES, text, err);
}

int sp_signing_key_save(const struct sp_signing_key *key, const char *path,
    const char *passphrase_file, struct sp_err *err)
{
	auto_guarded char *text = NULL;
	int bad = allocate(SP_PASERK_SEALED_SIZE + 1, &text, err);

	if (!bad)
		bad = write_text(key, passphrase_file, text, err);
	if (bad)
		return bad;
	memcpy(text + strlen(text), "\n", 2);
	return sp_file_create(AT_FDCWD, path, 0600, text, strlen(text), err);
}

const unsigned char *sp_signing_key_secret(const struct sp_signing_key *key)
{
	return key->secret;
}

const unsigned char *sp_signing_key_public(const struct sp_signing_key *key)
{
	return key->secret + SP_SECRET_KEY_SIZE - SP_PUBLIC_KEY_SIZE;
}

const char *sp_signing_key_id(const struct sp_signing_key *key)
{
	return key->id;
}

static bool is_secret(const char *text)
{
	return strstr(text, "k4.secret") != NULL;
}

/* The one word of a text as a public key. */
static int read_public(const char *text, unsigned char ret[SP_PUBLIC_KEY_SIZE], struct sp_err *err)
{
	char word[SP_PASERK_PUBLIC_SIZE];
	size_t before = strspn(text, " \t\r\n");
	size_t length = strcspn(text + before, " \t\r\n");
	const char *after = text + before + length;

	if (length >= sizeof(word) || after[strspn(after, " \t\r\n")])
		return sp_fail(err, SP_E_BAD_KEY, "not one k4.public. or k4.secret. key");
	memcpy(word, text + before, length);
	word[length] = '\0';
	return sp_paserk_public_read(word, ret, err);
}

int sp_public_key_parse(const char *text, const char *passphrase_file,
    unsigned char ret[SP_PUBLIC_KEY_SIZE], struct sp_err *err)
{
	sp_auto_signing_key struct sp_signing_key *key = NULL;
	int bad;

	if (!is_secret(text))
		return read_public(text, ret, err);
	bad = sp_signing_key_parse(text, passphrase_file, &key, err);
	if (!bad)
		memcpy(ret, sp_signing_key_public(key), SP_PUBLIC_KEY_SIZE);
	return bad;
}

int sp_public_key_load(const char *path, const char *passphrase_file,
    unsigned char ret[SP_PUBLIC_KEY_SIZE], struct sp_err *err)
{
	sp_auto_signing_key struct sp_signing_key *key = NULL;
	char *text;
	size_t size;
	bool secret;
	int bad = sp_file_read(AT_FDCWD, path, 0, SP_KEY_FILE_MAX, &text, &size, err);

	if (bad)
		return bad;
	secret = is_secret(text);
	if (!secret)
		bad = read_public(text, ret, err);
	sp_secret_free(text, size);
	if (!secret)
		return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
	/* Read again, as a secret: with its mode and owner checked. */
	bad = sp_signing_key_load(path, passphrase_file, &key, err);
	if (!bad)
		memcpy(ret, sp_signing_key_public(key), SP_PUBLIC_KEY_SIZE);
	return bad;
}
