/* PASETO v4.public: the official vectors, sign and verify, and that nothing else is taken apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "vectors.h"
#include "base/util.h"
#include "token/paseto.h"

static struct sp_bytes text_of(const json_t *vector, const char *name)
{
	const char *text = vector_text(vector, name);

	return (struct sp_bytes){text ? text : "", text ? strlen(text) : 0};
}

static void check_vector(const json_t *vector)
{
	unsigned char secret[SP_SECRET_KEY_SIZE], public[SP_PUBLIC_KEY_SIZE];
	struct sp_bytes payload = text_of(vector, "payload"), token = text_of(vector, "token");
	struct sp_bytes footer = text_of(vector, "footer"),
			implicit = text_of(vector, "implicit-assertion");
	char made[SP_TOKEN_MAX + 1];
	struct sp_paseto parts;
	size_t size;

	assert_int_equal(vector_bytes(vector, "secret-key", secret, sizeof(secret)), 64);
	assert_int_equal(vector_bytes(vector, "public-key", public, sizeof(public)), 32);
	assert_int_equal(sp_paseto_sign(secret, payload, footer, implicit, made, &size, NULL), 0);
	assert_int_equal(size, token.size);
	assert_string_equal(made, token.data);
	assert_true(sp_paseto_split(token.data, token.size, &parts));
	assert_int_equal(parts.message_size, payload.size);
	assert_memory_equal(parts.message, payload.data, payload.size);
	assert_int_equal(parts.footer_size, footer.size);
	assert_memory_equal(parts.footer, footer.data, footer.size);
	assert_true(sp_paseto_verify(&parts, public, implicit));
	assert_false(sp_paseto_verify(&parts, public, (struct sp_bytes){"another", 7}));
}

static void official_vectors_pass(void **state)
{
	sp_auto_json json_t *file = NULL;
	json_t *tests = vectors_load("v4.json", &file), *vector;
	size_t index, signed_ones = 0, failing = 0;

	(void)state;
	json_array_foreach(tests, index, vector)
	{
		struct sp_paseto parts;
		struct sp_bytes token = text_of(vector, "token");
		if (strncmp(vector_text(vector, "name"), "4-S-", 4) == 0) {
			check_vector(vector);
			signed_ones++;
		} else if (json_is_true(json_object_get(vector, "expect-fail"))) {
			unsigned char public[SP_PUBLIC_KEY_SIZE] = {0};
			(void)vector_bytes(vector, "public-key", public, sizeof(public));
			assert_false(sp_paseto_split(token.data, token.size, &parts) &&
				     sp_paseto_verify(
					 &parts, public, text_of(vector, "implicit-assertion")));
			failing++;
		} else {
			/* v4.local: of another purpose, whatever its key. */
			assert_false(sp_paseto_split(token.data, token.size, &parts));
		}
	}
	assert_int_equal(signed_ones, 3);
	assert_int_equal(failing, 5);
}

struct fixture {
	unsigned char secret[SP_SECRET_KEY_SIZE], public[SP_PUBLIC_KEY_SIZE];
	char token[SP_TOKEN_MAX + 1];
	size_t size;
};

static struct fixture make(size_t message_size, const char *footer)
{
	static char message[SP_TOKEN_MAX];
	struct fixture fixture;

	memset(message, 'm', sizeof(message));
	(void)crypto_sign_keypair(fixture.public, fixture.secret);
	assert_int_equal(sp_paseto_sign(fixture.secret, (struct sp_bytes){message, message_size},
			     (struct sp_bytes){footer, strlen(footer)}, (struct sp_bytes){"i", 1},
			     fixture.token, &fixture.size, NULL),
	    0);
	assert_int_equal(fixture.size, strlen(fixture.token));
	return fixture;
}

static void a_token_with_any_character_changed_does_not_verify(void **state)
{
	struct fixture fixture = make(40, "footer");

	(void)state;
	for (size_t i = 0; i < fixture.size; i++) {
		struct sp_paseto parts;
		char kept = fixture.token[i];
		fixture.token[i] = kept == 'A' ? 'B' : 'A';
		assert_false(sp_paseto_split(fixture.token, fixture.size, &parts) &&
			     sp_paseto_verify(&parts, fixture.public, (struct sp_bytes){"i", 1}));
		fixture.token[i] = kept;
	}
}

static void every_shorter_token_is_refused(void **state)
{
	struct fixture fixture = make(40, "footer");

	(void)state;
	for (size_t size = 0; size < fixture.size; size++) {
		struct sp_paseto parts;
		assert_false(sp_paseto_split(fixture.token, size, &parts) &&
			     sp_paseto_verify(&parts, fixture.public, (struct sp_bytes){"i", 1}));
	}
}

static void an_empty_footer_has_one_spelling(void **state)
{
	struct fixture fixture = make(40, "");
	struct sp_paseto parts;

	(void)state;
	assert_true(sp_paseto_split(fixture.token, fixture.size, &parts));
	assert_int_equal(parts.footer_size, 0);
	memcpy(fixture.token + fixture.size, ".", 2);
	assert_false(sp_paseto_split(fixture.token, fixture.size + 1, &parts));
}

static void the_largest_token_fits_and_one_byte_more_does_not(void **state)
{
	struct fixture fixture = make(3000, "");
	char token[SP_TOKEN_MAX + 1];
	struct sp_paseto parts;
	size_t size;

	(void)state;
	assert_int_equal(fixture.size, 4096);
	assert_true(sp_paseto_split(fixture.token, fixture.size, &parts));
	assert_true(sp_paseto_verify(&parts, fixture.public, (struct sp_bytes){"i", 1}));
	assert_int_equal(
	    sp_paseto_sign(fixture.secret, (struct sp_bytes){parts.message, 3001},
		(struct sp_bytes){"", 0}, (struct sp_bytes){"i", 1}, token, &size, NULL),
	    SP_E_TOO_LARGE);
	assert_int_equal(
	    sp_paseto_sign(fixture.secret, (struct sp_bytes){parts.message, 10},
		(struct sp_bytes){"", 0},
		(struct sp_bytes){parts.message, SP_PASETO_IMPLICIT_MAX + 1}, token, &size, NULL),
	    SP_E_TOO_LARGE);
}

/* Message, footer and assertion are told apart by their lengths, not only by their order. */
static void bytes_moved_between_the_parts_do_not_verify(void **state)
{
	struct fixture fixture = make(40, "footer");
	struct sp_paseto parts;

	(void)state;
	assert_true(sp_paseto_split(fixture.token, fixture.size, &parts));
	parts.footer_size--;
	assert_false(sp_paseto_verify(&parts, fixture.public, (struct sp_bytes){"ri", 2}));
	parts.footer_size++;
	assert_true(sp_paseto_verify(&parts, fixture.public, (struct sp_bytes){"i", 1}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(official_vectors_pass),
	    cmocka_unit_test(a_token_with_any_character_changed_does_not_verify),
	    cmocka_unit_test(every_shorter_token_is_refused),
	    cmocka_unit_test(an_empty_footer_has_one_spelling),
	    cmocka_unit_test(the_largest_token_fits_and_one_byte_more_does_not),
	    cmocka_unit_test(bytes_moved_between_the_parts_do_not_verify),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
