/* Bodies of requests: whole or refused, wherever the bytes are divided. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "stream/body.h"

#define HEAD    "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
	const char *head, *bytes, *body; /* body NULL: refused */
	size_t left;                     /* bytes behind it */
} BODIES[] = {
    {HEAD "\r\n", "GET", "", 3},
    {HEAD "Content-Length: 0\r\n\r\n", "", "", 0},
    {HEAD "Content-Length: 4\r\n\r\n", "wordGET", "word", 3},
    {CHUNKED, "0\r\n\r\n", "", 0},
    {CHUNKED, "4\r\nword\r\n0\r\n\r\nGET", "word", 3},
    {CHUNKED, "1\r\nw\r\n003\r\nord\r\n0\r\n\r\n", "word", 0},
    {CHUNKED, "4;a=b\r\nword\r\n0\r\nTrailer: x\r\n\r\nGET", "word", 3},
    {CHUNKED, "g\r\n", NULL, 0},
    {CHUNKED, "4\rXword\r\n0\r\n\r\n", NULL, 0},
    {CHUNKED, "4\r\nwordX\n0\r\n\r\n", NULL, 0},
    {CHUNKED, "4\r\nword\rX0\r\n\r\n", NULL, 0},
    {CHUNKED, "4\r\nwordXX0\r\n\r\n", NULL, 0},
    {CHUNKED, "4\r\nword\r\n0\rX\r\n", NULL, 0},
    {CHUNKED, "4\r\nword\r\n0\r\n\rX", NULL, 0},
    {CHUNKED, "fffffffffffffffff\r\n", NULL, 0},
};

struct seen {
	char bytes[64];
	size_t size, most;
};

static bool take(void *context, const char *bytes, size_t size)
{
	struct seen *seen = context;

	if (seen->size + size > seen->most)
		return false;
	memcpy(seen->bytes + seen->size, bytes, size);
	seen->size += size;
	return true;
}

/* In two pieces. What was read of both. */
static size_t read_in_two(struct sp_body *body, const char *bytes, size_t size, size_t at)
{
	size_t used = sp_body_read(body, bytes, at);

	if (used < at || body->done || body->bad)
		return used;
	return used + sp_body_read(body, bytes + used, size - used);
}

static void test_bodies(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(BODIES); i++) {
		size_t size = strlen(BODIES[i].bytes);
		for (size_t at = 0; at <= size; at++) {
			struct seen seen = {.most = sizeof(seen.bytes)};
			struct sp_body body;
			size_t used;
			sp_body_begin(&body, BODIES[i].head, strlen(BODIES[i].head), take, &seen);
			used = read_in_two(&body, BODIES[i].bytes, size, at);
			if (!BODIES[i].body) {
				if (!body.bad)
					fail_msg("body %zu, divided at %zu: taken", i, at);
				continue;
			}
			if (body.bad || !body.done)
				fail_msg("body %zu, divided at %zu: not taken", i, at);
			assert_int_equal(size - used, BODIES[i].left);
			assert_int_equal(seen.size, strlen(BODIES[i].body));
			assert_memory_equal(seen.bytes, BODIES[i].body, seen.size);
		}
	}
}

static void test_unfinished(void **state)
{
	static const char bytes[] = "4\r\nword\r\n0\r\n\r\n";

	(void)state;
	for (size_t size = 0; size < sizeof(bytes) - 1; size++) {
		struct seen seen = {.most = sizeof(seen.bytes)};
		struct sp_body body;
		sp_body_begin(&body, CHUNKED, sizeof(CHUNKED) - 1, take, &seen);
		assert_int_equal(sp_body_read(&body, bytes, size), size);
		assert_false(body.done || body.bad);
	}
}

static void test_too_much(void **state)
{
	struct seen seen = {.most = 3};
	struct sp_body body;

	(void)state;
	sp_body_begin(&body, CHUNKED, sizeof(CHUNKED) - 1, take, &seen);
	(void)sp_body_read(&body, "4\r\nword\r\n", 9);
	assert_true(body.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bodies),
	    cmocka_unit_test(test_unfinished),
	    cmocka_unit_test(test_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
