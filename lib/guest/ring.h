/*
 * The last SP_RING_SIZE bytes of a session's output, each with its origin (stdout or stderr), in
 * the order in which they were read. Positions count all bytes of the output from 0. Pure.
 */
#ifndef SP_GUEST_RING_H
#define SP_GUEST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_RING_SIZE (64u * 1024u)

struct sp_ring {
	uint64_t start, end; /* the oldest byte that is kept, and the one to come */
	bool mixed;          /* some byte that is kept may be of stderr */
	char bytes[SP_RING_SIZE];
	uint8_t errors[SP_RING_SIZE / 8]; /* a bit a byte: of stderr */
};

void sp_ring_init(struct sp_ring *ring);

/* Where the next bytes of output go, and how many fit there in one piece; never 0. Writing there
 * overwrites the oldest: no more than SP_RING_SIZE - (end - P) bytes may come, when those from
 * position P on are still needed. */
char *sp_ring_space(struct sp_ring *ring, size_t *ret_size);

/* `size` bytes have been written there. */
void sp_ring_add(struct sp_ring *ring, size_t size, bool of_error);

/* Bytes from `position` (start <= position <= end) that lie in one piece and have one origin; 0 at
 * the end. */
size_t sp_ring_piece(
    const struct sp_ring *ring, uint64_t position, const char **ret_bytes, bool *ret_of_error);

#endif
