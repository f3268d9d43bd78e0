/* Regions of address space, cut into spans of one size of value each. */
#include "routing/cache_arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SPAN       ((size_t)64 << 10) /* as it is aligned: a value's span is found by its address */
#define LARGE_PAGE ((size_t)2 << 20)
#define FEW        ((size_t)1 << 20)  /* the first region: a small cache stays small */
#define MANY       ((size_t)32 << 20) /* each later one; touched as it is used */

struct sp_cache_region {
	struct sp_cache_region *next;
	char *start, *at, *end; /* at: where it is not used yet */
};

struct sp_cache_span {
	LIST_ENTRY(sp_cache_span) link; /* in idle or open; a full one is in neither */
	struct sp_cache_arena *arena;
	void *returned;             /* each holds the address of the next */
	uint32_t size, fresh, used; /* fresh: where nothing was given out yet */
};

_Static_assert(sizeof(struct sp_cache_span) <= 64, "values start at a line of their own");

#ifdef __SANITIZE_ADDRESS__ /* sees into what it gives out itself */

void *sp_cache_arena_get(struct sp_cache_arena *arena, size_t size)
{
	(void)arena;
	return malloc(sp_cache_arena_room(size));
}

void sp_cache_arena_put(void *value)
{
	free(value);
}

void sp_cache_arena_done(struct sp_cache_arena *arena)
{
	(void)arena;
}

#else

/* Aligned to large pages, and without them where the kernel has none. */
static char *map(size_t size)
{
	char *all = mmap(NULL, size + LARGE_PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (all == MAP_FAILED)
		return NULL;
	before = (LARGE_PAGE - (uintptr_t)all % LARGE_PAGE) % LARGE_PAGE;
	if (before > 0)
		(void)munmap(all, before);
	(void)munmap(all + before + size, LARGE_PAGE - before);
	if (size >= LARGE_PAGE)
		(void)madvise(all + before, size, MADV_HUGEPAGE);
	return all + before;
}

static struct sp_cache_region *new_region(struct sp_cache_arena *arena)
{
	struct sp_cache_region *region = malloc(sizeof(*region));
	size_t size = arena->regions ? MANY : FEW;

	if (!region)
		return NULL;
	*region = (struct sp_cache_region){.next = arena->regions, .start = map(size)};
	if (!region->start) {
		free(region);
		return NULL;
	}
	region->at = region->start;
	region->end = region->start + size;
	arena->regions = region;
	return region;
}

static struct sp_cache_span *new_span(struct sp_cache_arena *arena)
{
	struct sp_cache_span *span = LIST_FIRST(&arena->idle);
	struct sp_cache_region *region = arena->regions;

	if (span) {
		LIST_REMOVE(span, link);
		return span;
	}
	if (!region || region->at == region->end)
		region = new_region(arena);
	if (!region)
		return NULL;
	span = (struct sp_cache_span *)(void *)region->at;
	region->at += SPAN;
	return span;
}

static bool is_full(const struct sp_cache_span *span)
{
	return !span->returned && span->fresh + span->size > SPAN;
}

static struct sp_cache_spans *spans_of(struct sp_cache_arena *arena, size_t size)
{
	return &arena->open[(size - 1) / SP_CACHE_ARENA_STEP];
}

/* With room for one of this size. */
static struct sp_cache_span *span_for(struct sp_cache_arena *arena, size_t size)
{
	struct sp_cache_span *span = LIST_FIRST(spans_of(arena, size));

	if (span)
		return span;
	span = new_span(arena);
	if (!span)
		return NULL;
	*span = (struct sp_cache_span){
	    .arena = arena, .size = (uint32_t)sp_cache_arena_room(size), .fresh = 64};
	LIST_INSERT_HEAD(spans_of(arena, size), span, link);
	return span;
}

void *sp_cache_arena_get(struct sp_cache_arena *arena, size_t size)
{
	struct sp_cache_span *span = span_for(arena, size);
	void *value;

	if (!span)
		return NULL;
	value = span->returned;
	if (value) {
		span->returned = *(void **)value;
	} else {
		value = (char *)span + span->fresh;
		span->fresh += span->size;
	}
	span->used++;
	if (is_full(span))
		LIST_REMOVE(span, link);
	return value;
}

void sp_cache_arena_put(void *value)
{
	struct sp_cache_span *span =
	    (struct sp_cache_span *)(void *)((char *)value - (uintptr_t)value % SPAN);

	if (is_full(span))
		LIST_INSERT_HEAD(spans_of(span->arena, span->size), span, link);
	*(void **)value = span->returned;
	span->returned = value;
	if (--span->used > 0)
		return;
	LIST_REMOVE(span, link);
	LIST_INSERT_HEAD(&span->arena->idle, span, link);
}

void sp_cache_arena_done(struct sp_cache_arena *arena)
{
	struct sp_cache_region *region;

	while ((region = arena->regions)) {
		arena->regions = region->next;
		(void)munmap(region->start, (size_t)(region->end - region->start));
		free(region);
	}
}

#endif
