/* A ring of pieces under one lock: begun and taken back in its order, ended in any. */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define STACK (256u * 1024u)

struct place {
	void *piece;
	bool done;
};

struct worker {
	struct sp_pool *pool;
	void *context;
	pthread_t thread;
};

struct sp_pool {
	pthread_mutex_t lock;
	pthread_cond_t handed, ended; /* a piece came in; the oldest is done */
	struct sp_pool_options options;
	bool stops;
	/* By number since the start; a piece's place is its number modulo `room`. */
	unsigned long taken, begun, put;
	struct place *places;
	unsigned started; /* threads */
	struct worker workers[];
};

static struct place *place_of(struct sp_pool *pool, unsigned long number)
{
	return &pool->places[number % pool->options.room];
}

/* The piece whose turn it is, or false: no more. */
static bool begin(struct sp_pool *pool, unsigned long *ret_number)
{
	while (pool->begun == pool->put && !pool->stops)
		(void)pthread_cond_wait(&pool->handed, &pool->lock);
	if (pool->stops)
		return false;
	*ret_number = pool->begun++;
	return true;
}

static void *run(void *argument)
{
	const struct worker *worker = argument;
	struct sp_pool *pool = worker->pool;
	unsigned long number;

	(void)pthread_mutex_lock(&pool->lock);
	while (begin(pool, &number)) {
		void *piece = place_of(pool, number)->piece;
		bool oldest;
		(void)pthread_mutex_unlock(&pool->lock);
		pool->options.work(worker->context, piece);
		(void)pthread_mutex_lock(&pool->lock);
		place_of(pool, number)->done = true;
		oldest = number == pool->taken;
		if (oldest)
			(void)pthread_cond_signal(&pool->ended);
		if (oldest && pool->options.done)
			pool->options.done(pool->options.context);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Signals are the owner's: a worker that took one would not know what to do about it. */
static int start(struct sp_pool *pool, struct worker *worker)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int bad = pthread_attr_init(&attributes);

	if (bad)
		return -bad;
	(void)pthread_attr_setstacksize(&attributes, STACK);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	bad = pthread_create(&worker->thread, &attributes, run, worker);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	pool->started += bad == 0;
	return -bad;
}

static int start_all(struct sp_pool *pool)
{
	for (unsigned i = 0; i < pool->options.workers; i++) {
		struct worker *worker = &pool->workers[i];
		int bad;
		worker->pool = pool;
		worker->context = pool->options.contexts ? pool->options.contexts[i] : NULL;
		bad = start(pool, worker);
		if (bad)
			return bad;
	}
	return 0;
}

int sp_pool_new(const struct sp_pool_options *options, struct sp_pool **ret)
{
	size_t workers = options->workers, room = options->room;
	struct sp_pool *pool;
	int bad;

	if (workers < 1 || workers > SP_JOBS_MAX || room < 1)
		return SP_E_CONFIG;
	pool = calloc(1, sizeof(*pool) + workers * sizeof(struct worker));
	if (!pool)
		return -ENOMEM;
	pool->options = *options;
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->handed, NULL);
	(void)pthread_cond_init(&pool->ended, NULL);
	pool->places = calloc(room, sizeof(*pool->places));
	bad = pool->places ? start_all(pool) : -ENOMEM;
	if (bad)
		sp_pool_free(pool);
	else
		*ret = pool;
	return bad;
}

void sp_pool_free(struct sp_pool *pool)
{
	if (!pool)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	pool->stops = true;
	(void)pthread_cond_broadcast(&pool->handed);
	(void)pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->started; i++)
		(void)pthread_join(pool->workers[i].thread, NULL);
	(void)pthread_mutex_destroy(&pool->lock);
	(void)pthread_cond_destroy(&pool->handed);
	(void)pthread_cond_destroy(&pool->ended);
	free(pool->places);
	free(pool);
}

/* `put` and `taken` are written by the owner's thread alone, so it may read them without the lock.
 */
unsigned sp_pool_open(const struct sp_pool *pool)
{
	return (unsigned)(pool->put - pool->taken);
}

bool sp_pool_full(const struct sp_pool *pool)
{
	return sp_pool_open(pool) == pool->options.room;
}

void sp_pool_put(struct sp_pool *pool, void *piece)
{
	(void)pthread_mutex_lock(&pool->lock);
	*place_of(pool, pool->put++) = (struct place){.piece = piece};
	(void)pthread_cond_signal(&pool->handed);
	(void)pthread_mutex_unlock(&pool->lock);
}

void *sp_pool_take(struct sp_pool *pool, bool wait)
{
	struct place *oldest;
	void *piece = NULL;

	(void)pthread_mutex_lock(&pool->lock);
	oldest = place_of(pool, pool->taken);
	if (pool->put > pool->taken) {
		while (wait && !oldest->done)
			(void)pthread_cond_wait(&pool->ended, &pool->lock);
		if (oldest->done) {
			piece = oldest->piece;
			*oldest = (struct place){.piece = NULL};
			pool->taken++;
		}
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return piece;
}

unsigned sp_pool_size(unsigned asked)
{
	cpu_set_t set;
	int count = 1;

	if (asked > 0)
		return asked < SP_JOBS_MAX ? asked : SP_JOBS_MAX;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		count = CPU_COUNT(&set);
	return count < 1 ? 1 : count < SP_JOBS_MAX ? (unsigned)count : SP_JOBS_MAX;
}
