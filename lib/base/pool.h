/*
 * Threads that work on pieces handed to them one at a time, and give them back in the order in
 * which they were handed in. The owner's thread alone calls what stands here; a piece belongs to
 * the owner, then to one worker, then to the owner again, and is never looked at by two.
 */
#ifndef SP_BASE_POOL_H
#define SP_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"

struct sp_pool;

/* One piece, with what this worker alone has. Runs in a thread whose signals are all blocked. */
typedef void sp_pool_fn(void *worker, void *piece);

struct sp_pool_options {
	unsigned workers; /* 1 to SP_JOBS_MAX */
	unsigned room;    /* pieces handed in and not yet taken back, at least 1 */
	sp_pool_fn *work;
	void *const *contexts; /* one a worker, borrowed, or NULL */
	/* Called from a worker when the oldest piece is done, for owners that wait elsewhere than
	 * in sp_pool_take. May be NULL. */
	void (*done)(void *context);
	void *context;
};

/* SP_E_CONFIG for numbers out of range, -ENOMEM, -EAGAIN (no more threads), or 0. */
int sp_pool_new(const struct sp_pool_options *options, struct sp_pool **ret);

/* Waits for what is being worked on; what nobody has begun is left to its owner as it is. */
void sp_pool_free(struct sp_pool *pool);

/* Pieces handed in and not yet taken back. At `room` there is no place for another. */
unsigned sp_pool_open(const struct sp_pool *pool);
bool sp_pool_full(const struct sp_pool *pool);

/* Hands a piece in; not while the pool is full. */
void sp_pool_put(struct sp_pool *pool, void *piece);

/* The oldest piece, once it is done: `wait` waits for it, else NULL says not yet. NULL when none is
 * open. */
void *sp_pool_take(struct sp_pool *pool, bool wait);

/* How many workers suit a number that was asked for: the processors this process may use, where it
 * is 0. */
unsigned sp_pool_size(unsigned asked);

#endif
