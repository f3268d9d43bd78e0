/* A ring of bytes beside a ring of bits. */
#include "guest/ring.h"

#include <string.h>

void sp_ring_init(struct sp_ring *ring)
{
	ring->start = ring->end = 0;
	ring->mixed = false;
	memset(ring->errors, 0, sizeof(ring->errors));
}

char *sp_ring_space(struct sp_ring *ring, size_t *ret_size)
{
	size_t at = (size_t)(ring->end % SP_RING_SIZE);

	*ret_size = SP_RING_SIZE - at;
	return ring->bytes + at;
}

static bool bit(const struct sp_ring *ring, size_t at)
{
	return ring->errors[at / 8] >> (at % 8) & 1;
}

static void set_bits(struct sp_ring *ring, size_t at, size_t size, bool value)
{
	for (size_t i = at; i < at + size;) {
		if (i % 8 == 0 && at + size - i >= 8) {
			size_t whole = (at + size - i) / 8;
			memset(ring->errors + i / 8, value ? 0xff : 0, whole);
			i += whole * 8;
			continue;
		}
		ring->errors[i / 8] =
		    (uint8_t)((ring->errors[i / 8] & ~(1u << i % 8)) | (unsigned)value << i % 8);
		i++;
	}
}

void sp_ring_add(struct sp_ring *ring, size_t size, bool of_error)
{
	size_t at = (size_t)(ring->end % SP_RING_SIZE);

	/* Most sessions never write to stderr: then no bit is set, read, or cleared. */
	if (of_error || ring->mixed)
		set_bits(ring, at, size, of_error);
	ring->mixed |= of_error;
	ring->end += size;
	if (ring->end - ring->start > SP_RING_SIZE)
		ring->start = ring->end - SP_RING_SIZE;
}

size_t sp_ring_piece(
    const struct sp_ring *ring, uint64_t position, const char **ret_bytes, bool *ret_of_error)
{
	size_t at = (size_t)(position % SP_RING_SIZE), size = (size_t)(ring->end - position), i = 1;
	bool of_error;

	if (size == 0)
		return 0;
	if (size > SP_RING_SIZE - at)
		size = SP_RING_SIZE - at;
	of_error = ring->mixed && bit(ring, at);
	if (!ring->mixed)
		i = size;
	while (i < size && bit(ring, at + i) == of_error)
		i += (at + i) % 8 == 0 && size - i >= 8 &&
			     ring->errors[(at + i) / 8] == (of_error ? 0xff : 0)
			 ? 8
			 : 1;
	*ret_bytes = ring->bytes + at;
	*ret_of_error = of_error;
	return i;
}
