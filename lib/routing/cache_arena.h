/*
 * Memory for the many small values of a cache, in steps of 16 bytes, from pieces that the kernel
 * may back with large pages: among a million values each page more is a walk through the page
 * tables more. What is given back is first used for the same size, and by the span for every other.
 * Not for others than the cache.
 */
#ifndef SP_ROUTING_CACHE_ARENA_H
#define SP_ROUTING_CACHE_ARENA_H

#include <stddef.h>
#include <sys/queue.h>

#define SP_CACHE_ARENA_STEP 16u
#define SP_CACHE_ARENA_MAX  512u /* the largest value */

struct sp_cache_region;
struct sp_cache_span;
LIST_HEAD(sp_cache_spans, sp_cache_span);

struct sp_cache_arena {
	struct sp_cache_region *regions; /* the newest first; it may not be used up yet */
	struct sp_cache_spans idle;      /* of no size now */
	struct sp_cache_spans
	    open[SP_CACHE_ARENA_MAX / SP_CACHE_ARENA_STEP]; /* with room, by size */
};

/* Starts zeroed. Values that are still held go with it. */
void sp_cache_arena_done(struct sp_cache_arena *arena);

/* What a value of this size may grow to where it is. */
static inline size_t sp_cache_arena_room(size_t size)
{
	return (size + SP_CACHE_ARENA_STEP - 1) / SP_CACHE_ARENA_STEP * SP_CACHE_ARENA_STEP;
}

/* Not zeroed; `size` from 1 to SP_CACHE_ARENA_MAX. NULL: out of memory. */
void *sp_cache_arena_get(struct sp_cache_arena *arena, size_t size);
void sp_cache_arena_put(void *value);

#endif
