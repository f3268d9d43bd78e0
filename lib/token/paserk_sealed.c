/* k4.secret-pw: Argon2id, XChaCha20 and keyed BLAKE2b (PASERK, operations/PBKW, versions 2 and 4).
 */
#include "token/paserk.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include "base/text.h"

#define HEADER "k4.secret-pw."

/* The layout of what is base64url-encoded. Every member is bytes: no padding. */
struct sealed {
	unsigned char salt[16], memory[8], passes[4], lanes[4], nonce[24];
	unsigned char key[SP_SECRET_KEY_SIZE];
	unsigned char tag[32];
};

/* What the passphrase gives; wiped by its user. */
struct derived {
	unsigned char root[32], encrypt[32], authenticate[32];
};

static void put_number(unsigned char *at, size_t size, uint64_t number)
{
	for (size_t i = size; i-- > 0; number >>= 8)
		at[i] = (unsigned char)number;
}

static uint64_t get_number(const unsigned char *at, size_t size)
{
	uint64_t number = 0;

	for (size_t i = 0; i < size; i++)
		number = number << 8 | at[i];
	return number;
}

static void split(unsigned char domain, const unsigned char root[32], unsigned char ret[32])
{
	unsigned char input[33];

	input[0] = domain;
	memcpy(input + 1, root, 32);
	(void)crypto_generichash(ret, 32, input, sizeof(input), NULL, 0);
	sodium_memzero(input, sizeof(input));
}

static int derive(const struct sealed *sealed, const char *passphrase, size_t size,
    struct derived *ret, struct sp_err *err)
{
	if (crypto_pwhash(ret->root, sizeof(ret->root), passphrase, size, sealed->salt,
		get_number(sealed->passes, 4), (size_t)get_number(sealed->memory, 8),
		crypto_pwhash_ALG_ARGON2ID13) != 0)
		return sp_fail(err, -ENOMEM, "k4.secret-pw.: no %llu bytes of memory for Argon2id",
		    (unsigned long long)get_number(sealed->memory, 8));
	split(0xff, ret->root, ret->encrypt);
	split(0xfe, ret->root, ret->authenticate);
	return 0;
}

static void make_tag(
    const struct sealed *sealed, const unsigned char key[32], unsigned char ret[32])
{
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, key, 32, 32);
	(void)crypto_generichash_update(&state, (const unsigned char *)HEADER, sizeof(HEADER) - 1);
	(void)crypto_generichash_update(
	    &state, (const unsigned char *)sealed, offsetof(struct sealed, tag));
	(void)crypto_generichash_final(&state, ret, 32);
}

int sp_paserk_secret_seal(const unsigned char key[SP_SECRET_KEY_SIZE], const char *passphrase,
    size_t size, uint64_t memory, uint32_t passes, char ret[SP_PASERK_SEALED_SIZE],
    struct sp_err *err)
{
	struct sealed sealed;
	struct derived derived;
	int bad;

	randombytes_buf(sealed.salt, sizeof(sealed.salt));
	randombytes_buf(sealed.nonce, sizeof(sealed.nonce));
	put_number(sealed.memory, sizeof(sealed.memory), memory);
	put_number(sealed.passes, sizeof(sealed.passes), passes);
	put_number(sealed.lanes, sizeof(sealed.lanes), 1);
	bad = derive(&sealed, passphrase, size, &derived, err);
	if (!bad) {
		(void)crypto_stream_xchacha20_xor(
		    sealed.key, key, SP_SECRET_KEY_SIZE, sealed.nonce, derived.encrypt);
		make_tag(&sealed, derived.authenticate, sealed.tag);
		memcpy(ret, HEADER, sizeof(HEADER) - 1);
		sp_base64_encode(&sealed, sizeof(sealed), true, ret + sizeof(HEADER) - 1,
		    SP_PASERK_SEALED_SIZE - (sizeof(HEADER) - 1));
	}
	sodium_memzero(&derived, sizeof(derived));
	return bad;
}

/* The costs are the writer's word until the tag is checked, and checking it costs them: bound them
 * first. */
static int read_sealed(const char *text, struct sealed *ret, struct sp_err *err)
{
	size_t size;

	if (strncmp(text, HEADER, sizeof(HEADER) - 1) != 0)
		return sp_fail(err, SP_E_BAD_KEY, "not a %s key", HEADER);
	text += sizeof(HEADER) - 1;
	if (!sp_base64_decode(text, strlen(text), true, ret, sizeof(*ret), &size) ||
	    size != sizeof(*ret))
		return sp_fail(err, SP_E_BAD_KEY, "a %s key that is not %zu bytes of base64url",
		    HEADER, sizeof(*ret));
	if (get_number(ret->lanes, 4) != 1 || get_number(ret->passes, 4) > SP_SEAL_PASSES_MAX ||
	    get_number(ret->passes, 4) < crypto_pwhash_OPSLIMIT_MIN ||
	    get_number(ret->memory, 8) > SP_SEAL_MEMORY_MAX ||
	    get_number(ret->memory, 8) < crypto_pwhash_MEMLIMIT_MIN)
		return sp_fail(err, SP_E_BAD_KEY,
		    "a %s key with other than 1 lane, 1 to %u passes and up to %u bytes of memory",
		    HEADER, SP_SEAL_PASSES_MAX, SP_SEAL_MEMORY_MAX);
	return 0;
}

int sp_paserk_secret_open(const char *text, const char *passphrase, size_t size,
    unsigned char ret[SP_SECRET_KEY_SIZE], struct sp_err *err)
{
	struct sealed sealed;
	struct derived derived;
	unsigned char tag[32], public[SP_PUBLIC_KEY_SIZE], whole[SP_SECRET_KEY_SIZE];
	int bad = read_sealed(text, &sealed, err);

	if (!bad)
		bad = derive(&sealed, passphrase, size, &derived, err);
	if (bad)
		return bad;
	make_tag(&sealed, derived.authenticate, tag);
	if (sodium_memcmp(tag, sealed.tag, sizeof(tag)) != 0) {
		bad = sp_fail(err, SP_E_BAD_KEY, "wrong passphrase for this %s key", HEADER);
	} else {
		(void)crypto_stream_xchacha20_xor(
		    ret, sealed.key, SP_SECRET_KEY_SIZE, sealed.nonce, derived.encrypt);
		(void)crypto_sign_seed_keypair(public, whole, ret);
		if (sodium_memcmp(whole, ret, sizeof(whole)) != 0) {
			sodium_memzero(ret, SP_SECRET_KEY_SIZE);
			bad = sp_fail(err, SP_E_BAD_KEY,
			    "a %s key whose public half belongs to another seed", HEADER);
		}
		sodium_memzero(whole, sizeof(whole));
	}
	sodium_memzero(&derived, sizeof(derived));
	return bad;
}
