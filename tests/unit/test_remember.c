/* Remembered tokens: what is asked again of them, what is not, and that they are forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "admit/remember.h"
#include "base/util.h"
#include "record/op.h"
#include "token/paserk.h"
#include "token/signing_key.h"

#define NOW 1800000000

static const struct sp_cap_use READ = {
    .purpose = SP_PURPOSE_CONTROL, .op = "file.read", .protocol = -1};
static const struct sp_cap_use RUN = {
    .purpose = SP_PURPOSE_CONTROL, .op = "exec.run", .protocol = -1};

struct fixture {
	struct sp_signing_key *key;
	struct sp_keyring *keys, *none;
	struct sp_memory *memory;
};

static void mint(const struct fixture *fixture, char token[SP_TOKEN_MAX + 1], size_t *size)
{
	struct sp_claims claims = {.issuer = "cp",
	    .caller = "uid:0",
	    .identity = {"s-42", {.execution = 7,
				     .attempt = 1,
				     .substrate = SP_SUBSTRATE_HOST,
				     .worker = "worker-a",
				     .activation = "act-19"}},
	    .issued_at = NOW,
	    .not_before = NOW,
	    .expires_at = NOW + 120,
	    .purpose = SP_PURPOSE_CONTROL,
	    .access_count = 1,
	    .access = {"file.*"}};

	sp_jti_make(claims.jti);
	assert_int_equal(sp_capability_sign(&claims, "prod", fixture->key, token, size, NULL), 0);
}

static int make(void **state)
{
	static struct fixture fixture;
	char text[SP_PASERK_PUBLIC_SIZE];

	assert_int_equal(sp_signing_key_new(&fixture.key, NULL), 0);
	assert_int_equal(sp_paserk_public_write(
			     sp_signing_key_public(fixture.key), SP_PUBLIC_KEY_SIZE, text, NULL),
	    0);
	assert_int_equal(sp_keyring_load(text, "prod", "", &fixture.keys, NULL), 0);
	assert_int_equal(sp_keyring_empty(&fixture.none), 0);
	assert_int_equal(sp_memory_new(16, &fixture.memory), 0);
	*state = &fixture;
	return 0;
}

static int destroy(void **state)
{
	struct fixture *fixture = *state;

	sp_memory_free(fixture->memory);
	sp_keyring_free(fixture->keys);
	sp_keyring_free(fixture->none);
	sp_signing_key_free(fixture->key);
	return 0;
}

static enum sp_reason ask(struct fixture *fixture, const char *token, size_t size,
    const struct sp_keyring *keys, const char *realm, const struct sp_cap_use *use, int64_t now)
{
	struct sp_claims claims;
	enum sp_reason reason = sp_memory_verify(
	    fixture->memory, token, size, keys, realm, use, now, SP_SKEW_MAX, &claims);

	if (!reason)
		assert_string_equal(claims.identity.sandbox, "s-42");
	return reason;
}

/* The realm is part of what was signed: another one passes only where the signature is not looked
 * at again. That is how these tests see a memory. */
static void a_token_is_remembered_until_all_is_forgotten(void **state)
{
	struct fixture *f = *state;
	char token[SP_TOKEN_MAX + 1];
	size_t size;

	mint(f, token, &size);
	assert_int_equal(ask(f, token, size, f->keys, "other", &READ, NOW), SP_REASON_SIGNATURE);
	assert_int_equal(ask(f, token, size, f->keys, "prod", &READ, NOW), SP_REASON_NONE);
	assert_int_equal(ask(f, token, size, f->keys, "other", &READ, NOW), SP_REASON_NONE);
	sp_memory_forget(f->memory);
	assert_int_equal(ask(f, token, size, f->keys, "other", &READ, NOW), SP_REASON_SIGNATURE);
}

static void key_time_and_access_are_asked_again(void **state)
{
	struct fixture *f = *state;
	char token[SP_TOKEN_MAX + 1];
	size_t size;

	mint(f, token, &size);
	assert_int_equal(ask(f, token, size, f->keys, "prod", &READ, NOW), SP_REASON_NONE);
	assert_int_equal(ask(f, token, size, f->none, "prod", &READ, NOW), SP_REASON_UNKNOWN_KEY);
	assert_int_equal(ask(f, token, size, f->keys, "prod", &READ, NOW + 134), SP_REASON_NONE);
	assert_int_equal(ask(f, token, size, f->keys, "prod", &READ, NOW + 135), SP_REASON_EXPIRED);
	assert_int_equal(
	    ask(f, token, size, f->keys, "prod", &READ, NOW - 16), SP_REASON_NOT_YET_VALID);
	assert_int_equal(ask(f, token, size, f->keys, "prod", &RUN, NOW), SP_REASON_ACCESS);
}

static void another_byte_is_another_token(void **state)
{
	struct fixture *f = *state;
	char token[SP_TOKEN_MAX + 1];
	size_t size;

	mint(f, token, &size);
	assert_int_equal(ask(f, token, size, f->keys, "prod", &READ, NOW), SP_REASON_NONE);
	assert_int_not_equal(ask(f, token, size - 1, f->keys, "prod", &READ, NOW), SP_REASON_NONE);
	for (size_t i = 10; i < size; i += 37) {
		char kept = token[i];
		token[i] = kept == 'A' ? 'B' : 'A';
		assert_int_not_equal(
		    ask(f, token, size, f->keys, "prod", &READ, NOW), SP_REASON_NONE);
		token[i] = kept;
	}
	assert_int_equal(ask(f, token, size, f->keys, "prod", &READ, NOW), SP_REASON_NONE);
}

static void what_failed_is_not_remembered(void **state)
{
	struct fixture *f = *state;
	char token[SP_TOKEN_MAX + 1];
	size_t size;

	mint(f, token, &size);
	assert_int_equal(ask(f, token, size, f->keys, "prod", &RUN, NOW), SP_REASON_ACCESS);
	assert_int_equal(ask(f, token, size, f->keys, "other", &READ, NOW), SP_REASON_SIGNATURE);
}

static void more_tokens_than_room_are_judged_all_the_same(void **state)
{
	struct fixture *f = *state;
	char token[64][SP_TOKEN_MAX + 1];
	size_t size[64];

	for (size_t i = 0; i < 64; i++)
		mint(f, token[i], &size[i]);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < 64; i++)
			assert_int_equal(
			    ask(f, token[i], size[i], f->keys, "prod", &READ, NOW), SP_REASON_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		a_token_is_remembered_until_all_is_forgotten, make, destroy),
	    cmocka_unit_test_setup_teardown(key_time_and_access_are_asked_again, make, destroy),
	    cmocka_unit_test_setup_teardown(another_byte_is_another_token, make, destroy),
	    cmocka_unit_test_setup_teardown(what_failed_is_not_remembered, make, destroy),
	    cmocka_unit_test_setup_teardown(
		more_tokens_than_room_are_judged_all_the_same, make, destroy),
	};

	return cmocka_run_group_tests_name("remember", tests, NULL, NULL);
}
