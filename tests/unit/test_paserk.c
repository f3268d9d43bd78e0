/* PASERK: the official vectors of all four types, then the spellings that must not pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "vectors.h"
#include "base/util.h"
#include "token/paserk.h"

static bool must_fail(const json_t *vector)
{
	return json_is_true(json_object_get(vector, "expect-fail"));
}

static void public_vectors_pass(void **state)
{
	sp_auto_json json_t *file = NULL;
	json_t *tests = vectors_load("k4.public.json", &file), *vector;
	size_t index;

	(void)state;
	json_array_foreach(tests, index, vector)
	{
		unsigned char key[64], back[SP_PUBLIC_KEY_SIZE];
		char text[SP_PASERK_PUBLIC_SIZE];
		size_t size = vector_bytes(vector, "key", key, sizeof(key));
		int bad = sp_paserk_public_write(key, size, text, NULL);
		if (must_fail(vector)) {
			assert_int_equal(bad, SP_E_BAD_KEY);
			continue;
		}
		assert_int_equal(bad, 0);
		assert_string_equal(text, vector_text(vector, "paserk"));
		assert_int_equal(sp_paserk_public_read(text, back, NULL), 0);
		assert_memory_equal(back, key, sizeof(back));
	}
	assert_int_equal(index, 4);
}

static void secret_vectors_pass(void **state)
{
	sp_auto_json json_t *file = NULL;
	json_t *tests = vectors_load("k4.secret.json", &file), *vector;
	size_t index;

	(void)state;
	json_array_foreach(tests, index, vector)
	{
		unsigned char key[128], public[64], back[SP_SECRET_KEY_SIZE];
		char text[SP_PASERK_SECRET_SIZE];
		size_t size = vector_bytes(vector, "key", key, sizeof(key));
		int bad = sp_paserk_secret_write(key, size, text, NULL);
		if (must_fail(vector)) {
			assert_int_equal(bad, SP_E_BAD_KEY);
			continue;
		}
		assert_int_equal(bad, 0);
		assert_string_equal(text, vector_text(vector, "paserk"));
		assert_int_equal(sp_paserk_secret_read(text, back, NULL), 0);
		assert_memory_equal(back, key, sizeof(back));
		assert_int_equal(vector_bytes(vector, "public-key", public, sizeof(public)), 32);
		assert_memory_equal(back + 32, public, 32);
	}
	assert_int_equal(index, 5);
}

static void id_vectors_pass(void **state)
{
	sp_auto_json json_t *file = NULL;
	json_t *tests = vectors_load("k4.pid.json", &file), *vector;
	size_t index;

	(void)state;
	json_array_foreach(tests, index, vector)
	{
		unsigned char key[64];
		char kid[SP_KID_SIZE];
		size_t size = vector_bytes(vector, "key", key, sizeof(key));
		int bad = sp_paserk_id(key, size, kid, NULL);
		assert_int_equal(bad, must_fail(vector) ? SP_E_BAD_KEY : 0);
		if (!bad)
			assert_string_equal(kid, vector_text(vector, "paserk"));
	}
	assert_int_equal(index, 5);
}

static void sealed_vectors_pass(void **state)
{
	sp_auto_json json_t *file = NULL;
	json_t *tests = vectors_load("k4.secret-pw.json", &file), *vector;
	size_t index;

	(void)state;
	json_array_foreach(tests, index, vector)
	{
		unsigned char key[SP_SECRET_KEY_SIZE], expected[SP_SECRET_KEY_SIZE];
		/* The words as they stand, also where they look like hexadecimal. */
		const char *passphrase = vector_text(vector, "password");
		int bad = sp_paserk_secret_open(
		    vector_text(vector, "paserk"), passphrase, strlen(passphrase), key, NULL);
		assert_int_equal(bad, must_fail(vector) ? SP_E_BAD_KEY : 0);
		if (bad)
			continue;
		assert_int_equal(vector_bytes(vector, "unwrapped", expected, sizeof(expected)), 64);
		assert_memory_equal(key, expected, sizeof(key));
	}
	assert_int_equal(index, 6);
}

#define CHEAP_MEMORY (8u * 1024u * 1024u)

static void a_sealed_key_opens_under_its_passphrase_only(void **state)
{
	unsigned char public[SP_PUBLIC_KEY_SIZE], key[SP_SECRET_KEY_SIZE], back[SP_SECRET_KEY_SIZE];
	char text[SP_PASERK_SEALED_SIZE], again[SP_PASERK_SEALED_SIZE];
	struct sp_err err = {0};

	(void)state;
	(void)crypto_sign_keypair(public, key);
	assert_int_equal(sp_paserk_secret_seal(key, "open", 4, CHEAP_MEMORY, 1, text, NULL), 0);
	assert_int_equal(strlen(text), SP_PASERK_SEALED_SIZE - 1);
	assert_int_equal(sp_paserk_secret_open(text, "open", 4, back, NULL), 0);
	assert_memory_equal(back, key, sizeof(key));
	assert_int_equal(sp_paserk_secret_open(text, "Open", 4, back, &err), SP_E_BAD_KEY);
	assert_non_null(strstr(err.message, "wrong passphrase"));
	assert_int_equal(sp_paserk_secret_seal(key, "open", 4, CHEAP_MEMORY, 1, again, NULL), 0);
	assert_string_not_equal(text, again);
}

/* Every byte of what is sealed is under the tag, the costs too. */
static void a_sealed_key_with_any_byte_changed_is_refused(void **state)
{
	unsigned char public[SP_PUBLIC_KEY_SIZE], key[SP_SECRET_KEY_SIZE], back[SP_SECRET_KEY_SIZE];
	char text[SP_PASERK_SEALED_SIZE];
	size_t header = strlen("k4.secret-pw.");

	(void)state;
	(void)crypto_sign_keypair(public, key);
	assert_int_equal(sp_paserk_secret_seal(key, "open", 4, CHEAP_MEMORY, 1, text, NULL), 0);
	for (size_t i = header; text[i]; i += 7) {
		char kept = text[i];
		text[i] = kept == 'A' ? 'B' : 'A';
		assert_int_not_equal(sp_paserk_secret_open(text, "open", 4, back, NULL), 0);
		text[i] = kept;
	}
}

/* A hostile key must not make its reader allocate or compute without end. */
static void a_sealed_key_with_excessive_costs_is_refused_before_they_are_paid(void **state)
{
	static const struct {
		size_t at;
		unsigned char byte;
	} changes[] = {
	    {16, 1}, /* memory: 2^56 bytes */
	    {24, 1}, /* passes: 2^24 */
	    {27, 0}, /* passes: 0 */
	    {31, 2}, /* lanes: 2 */
	    {21, 0}, /* memory: 0 (of 8 MiB, 0x800000) */
	};
	unsigned char public[SP_PUBLIC_KEY_SIZE], key[SP_SECRET_KEY_SIZE], back[SP_SECRET_KEY_SIZE];
	char text[SP_PASERK_SEALED_SIZE];

	(void)state;
	(void)crypto_sign_keypair(public, key);
	assert_int_equal(sp_paserk_secret_seal(key, "open", 4, CHEAP_MEMORY, 1, text, NULL), 0);
	for (size_t i = 0; i < SP_COUNT(changes); i++) {
		unsigned char bytes[152];
		char changed[SP_PASERK_SEALED_SIZE];
		struct sp_err err = {0};
		size_t size;
		assert_int_equal(
		    sodium_base642bin(bytes, sizeof(bytes), text + 13, strlen(text) - 13, NULL,
			&size, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING),
		    0);
		bytes[changes[i].at] = changes[i].byte;
		memcpy(changed, text, 13);
		(void)sodium_bin2base64(changed + 13, sizeof(changed) - 13, bytes, size,
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		assert_int_equal(
		    sp_paserk_secret_open(changed, "open", 4, back, &err), SP_E_BAD_KEY);
		assert_non_null(strstr(err.message, "lane"));
	}
}

static void only_one_spelling_of_a_public_key_is_read(void **state)
{
	static const char *const refused[] = {
	    "",
	    "k4.public.",
	    "k4.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",  /* 33 bytes */
	    "k4.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",    /* 31 bytes and stray bits */
	    "k4.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",   /* a stray bit */
	    "k4.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",  /* padding */
	    "k4.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", /* something after it */
	    "k4.public.AAAAAAAAAAAAAAAAAAAAAA AAAAAAAAAAAAAAAAAAAAA",
	    "k4.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/A", /* the other alphabet */
	    "k2.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "k4.Public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "k4.local.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "k4.secret.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	};
	unsigned char key[SP_PUBLIC_KEY_SIZE];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(refused); i++)
		assert_int_equal(sp_paserk_public_read(refused[i], key, NULL), SP_E_BAD_KEY);
}

static void a_secret_key_with_another_public_half_is_refused_and_wiped(void **state)
{
	unsigned char public[SP_PUBLIC_KEY_SIZE], key[SP_SECRET_KEY_SIZE], back[SP_SECRET_KEY_SIZE];
	static const unsigned char zero[SP_SECRET_KEY_SIZE];
	char text[SP_PASERK_SECRET_SIZE];

	(void)state;
	(void)crypto_sign_keypair(public, key);
	key[63] ^= 1;
	assert_int_equal(sp_paserk_secret_write(key, sizeof(key), text, NULL), 0);
	assert_int_equal(sp_paserk_secret_read(text, back, NULL), SP_E_BAD_KEY);
	assert_memory_equal(back, zero, sizeof(back));
}

/* What is wrong with a secret is said without any of it. */
static void errors_never_quote_a_secret(void **state)
{
	unsigned char key[SP_SECRET_KEY_SIZE];
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(
	    sp_paserk_secret_read("k4.secret.Zm9vYmFyZm9vYmFy", key, &err), SP_E_BAD_KEY);
	assert_null(strstr(err.message, "Zm9v"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(public_vectors_pass),
	    cmocka_unit_test(secret_vectors_pass),
	    cmocka_unit_test(id_vectors_pass),
	    cmocka_unit_test(sealed_vectors_pass),
	    cmocka_unit_test(a_sealed_key_opens_under_its_passphrase_only),
	    cmocka_unit_test(a_sealed_key_with_any_byte_changed_is_refused),
	    cmocka_unit_test(a_sealed_key_with_excessive_costs_is_refused_before_they_are_paid),
	    cmocka_unit_test(only_one_spelling_of_a_public_key_is_read),
	    cmocka_unit_test(a_secret_key_with_another_public_half_is_refused_and_wiped),
	    cmocka_unit_test(errors_never_quote_a_secret),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
