/* The ring of a session's output against a plain copy of all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "guest/ring.h"

#define ALL (4u * SP_RING_SIZE)

static char all[ALL], origin[ALL];

/* Puts in as much of the copy as the ring takes at once, up to `size`. */
static size_t add(struct sp_ring *ring, size_t size, bool of_error)
{
	size_t room;
	char *space = sp_ring_space(ring, &room);

	if (size > room)
		size = room;
	memcpy(space, all + ring->end, size);
	memset(origin + ring->end, of_error, size);
	sp_ring_add(ring, size, of_error);
	return size;
}

/* All that is kept is what went in, in pieces as long as they can be. */
static void check(const struct sp_ring *ring)
{
	uint64_t position = ring->start;

	assert_int_equal(
	    ring->end - ring->start, ring->end < SP_RING_SIZE ? ring->end : SP_RING_SIZE);
	while (position < ring->end) {
		const char *bytes;
		bool of_error;
		size_t size = sp_ring_piece(ring, position, &bytes, &of_error);
		assert_true(size > 0 && position + size <= ring->end);
		assert_memory_equal(bytes, all + position, size);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(origin[position + i], of_error);
		position += size;
		if (position < ring->end && position % SP_RING_SIZE != 0)
			assert_int_not_equal(origin[position], of_error);
	}
	assert_int_equal(sp_ring_piece(ring, ring->end, &(const char *){NULL}, &(bool){false}), 0);
}

static void the_last_of_one_origin_is_kept(void **state)
{
	static struct sp_ring ring;

	(void)state;
	sp_ring_init(&ring);
	check(&ring);
	while (ring.end + 10000 < ALL) {
		(void)add(&ring, 9999, false);
		check(&ring);
	}
}

static void each_byte_keeps_its_origin(void **state)
{
	static struct sp_ring ring;

	(void)state;
	sp_ring_init(&ring);
	for (int i = 0; ring.end + 3000 < ALL; i++) {
		(void)add(&ring, (size_t)random() % 3000 + 1, random() % 3 == 0);
		if (i % 7 == 0)
			check(&ring);
	}
	check(&ring);
}

static void every_byte_of_another_origin_is_a_piece(void **state)
{
	static struct sp_ring ring;

	(void)state;
	sp_ring_init(&ring);
	for (size_t i = 0; i < SP_RING_SIZE + 100; i++)
		(void)add(&ring, 1, i % 2 == 1);
	check(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_of_one_origin_is_kept),
	    cmocka_unit_test(each_byte_keeps_its_origin),
	    cmocka_unit_test(every_byte_of_another_origin_is_a_piece),
	};

	for (size_t i = 0; i < ALL; i++)
		all[i] = (char)random();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
