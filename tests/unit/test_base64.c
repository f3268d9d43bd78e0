/* The fast base64 against libsodium's: every length, every tail, every character in every place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <string.h>
#include "base/base64.h"
#include "base/text.h"

static void both_write_the_same(void **state)
{
	unsigned char bytes[100];

	(void)state;
	for (size_t size = 0; size <= sizeof(bytes); size++)
		for (int url = 0; url < 2; url++) {
			char ours[200], theirs[200];
			randombytes_buf(bytes, size);
			sp_base64_encode_public(bytes, size, url, ours, sizeof(ours));
			sp_base64_encode(bytes, size, url, theirs, sizeof(theirs));
			assert_string_equal(ours, theirs);
		}
}

static void compare(const char *text, size_t length, int url)
{
	unsigned char ours[64], theirs[64];
	size_t our_size = 0, their_size = 0;
	bool we = sp_base64_decode_public(text, length, url, ours, sizeof(ours), &our_size);
	bool they = sp_base64_decode(text, length, url, theirs, sizeof(theirs), &their_size);

	if (we != they)
		fail_msg("`%.*s` url %d: %d, libsodium %d", (int)length, text, url, we, they);
	assert_int_equal(our_size, their_size);
	if (we)
		assert_memory_equal(ours, theirs, our_size);
}

static void both_read_and_refuse_the_same(void **state)
{
	static const char *const texts[] = {"", "=", "==", "====", "A", "A=", "A==", "A===", "AA",
	    "AA=", "AA==", "AA===", "AAA", "AAA=", "AAA==", "AAAA",
	    "AAAA=", "AAAA==", "AAAA====", "AAAAA", "AA==AAAA", "A=AA", "=AAA", "AB", "AB==", "AAB",
	    "AAB=", "AAAB", "AAA\n", "AAAA\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (int url = 0; url < 2; url++)
			compare(texts[i], strlen(texts[i]), url);
	for (size_t length = 1; length <= 12; length++)
		for (size_t at = 0; at < length; at++)
			for (int c = 0; c < 256; c++)
				for (int url = 0; url < 2; url++) {
					char text[13];
					memset(text, 'Q', sizeof(text));
					text[at] = (char)c;
					compare(text, length, url);
				}
}

static void what_does_not_fit_is_refused(void **state)
{
	unsigned char bytes[4] = {0, 0, 0, 0x77};
	size_t size;

	(void)state;
	assert_false(sp_base64_decode_public("QUJDRA", 6, true, bytes, 3, &size));
	assert_true(sp_base64_decode_public("QUJD", 4, true, bytes, 3, &size));
	assert_int_equal(size, 3);
	assert_int_equal(bytes[3], 0x77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_write_the_same),
	    cmocka_unit_test(both_read_and_refuse_the_same),
	    cmocka_unit_test(what_does_not_fit_is_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
