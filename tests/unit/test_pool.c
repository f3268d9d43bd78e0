/* Pieces come back in the order in which they were handed in, each worked on once, by one worker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/io.h"
#include "base/pool.h"
#include "base/util.h"

enum { PIECES = 2000, ROOM = 7 };

struct piece {
	unsigned number;
	unsigned worked; /* times */
	int gate;        /* read before it is done; -1: none */
};

/* What a worker has to itself: no lock, so that the thread sanitizer would see a second one. */
struct worker {
	unsigned worked;
};

static void work(void *context, void *argument)
{
	struct worker *worker = context;
	struct piece *piece = argument;
	char byte;

	if (piece->gate >= 0)
		(void)!read(piece->gate, &byte, 1);
	piece->worked++;
	if (worker)
		worker->worked++;
}

static struct sp_pool *pool_of(unsigned workers, struct worker *each)
{
	static void *contexts[SP_JOBS_MAX];
	struct sp_pool_options options = {.workers = workers, .room = ROOM, .work = work};
	struct sp_pool *pool;

	for (unsigned i = 0; each && i < workers; i++)
		contexts[i] = &each[i];
	options.contexts = each ? contexts : NULL;
	assert_int_equal(sp_pool_new(&options, &pool), 0);
	return pool;
}

static void the_order_stays(void **state)
{
	static struct piece pieces[PIECES];
	struct worker workers[4] = {{0}};
	struct sp_pool *pool = pool_of(4, workers);
	unsigned back = 0, worked = 0;

	(void)state;
	for (unsigned i = 0; i < PIECES; i++) {
		pieces[i] = (struct piece){.number = i, .gate = -1};
		while (sp_pool_full(pool)) {
			struct piece *piece = sp_pool_take(pool, true);
			assert_int_equal(piece->number, back++);
		}
		sp_pool_put(pool, &pieces[i]);
		assert_true(sp_pool_open(pool) <= ROOM);
	}
	for (struct piece *piece; (piece = sp_pool_take(pool, true));)
		assert_int_equal(piece->number, back++);
	assert_int_equal(back, PIECES);
	assert_null(sp_pool_take(pool, true));
	sp_pool_free(pool);
	for (unsigned i = 0; i < PIECES; i++)
		assert_int_equal(pieces[i].worked, 1);
	for (unsigned i = 0; i < SP_COUNT(workers); i++)
		worked += workers[i].worked;
	assert_int_equal(worked, PIECES);
}

/* The oldest is held up: what is done behind it waits for it. */
static void a_slow_one_holds_up_only_what_is_given_back(void **state)
{
	struct piece pieces[3] = {
	    {.number = 0, .gate = -1}, {.number = 1, .gate = -1}, {.number = 2, .gate = -1}};
	int gate[2];
	struct sp_pool *pool = pool_of(2, NULL);

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	pieces[0].gate = gate[0];
	for (unsigned i = 0; i < 3; i++)
		sp_pool_put(pool, &pieces[i]);
	assert_null(sp_pool_take(pool, false));
	assert_int_equal(sp_pool_open(pool), 3);
	assert_int_equal(write(gate[1], "x", 1), 1);
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_equal(sp_pool_take(pool, true), &pieces[i]);
	sp_pool_free(pool);
	sp_fd_close(&gate[0]);
	sp_fd_close(&gate[1]);
}

static void tell(void *context)
{
	assert_int_equal(write(*(int *)context, "x", 1), 1);
}

/* An owner with an event loop is told, and never misses one that was done before it looked. */
static void an_owner_elsewhere_is_told(void **state)
{
	static struct piece pieces[PIECES];
	unsigned put = 0, back = 0;
	int told[2];
	char bytes[64];
	struct sp_pool *pool;
	struct sp_pool_options options = {
	    .workers = 3, .room = ROOM, .work = work, .done = tell, .context = &told[1]};

	(void)state;
	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	assert_int_equal(sp_pool_new(&options, &pool), 0);
	while (back < PIECES) {
		struct piece *piece;
		for (; put < PIECES && !sp_pool_full(pool); put++) {
			pieces[put] = (struct piece){.number = put, .gate = -1};
			sp_pool_put(pool, &pieces[put]);
		}
		assert_true(sp_poll_one(told[0], POLLIN, 60000) > 0);
		assert_true(read(told[0], bytes, sizeof(bytes)) > 0);
		while ((piece = sp_pool_take(pool, false)))
			assert_int_equal(piece->number, back++);
	}
	sp_pool_free(pool);
	sp_fd_close(&told[0]);
	sp_fd_close(&told[1]);
}

/* Freed with work under way and work not begun: the first is waited for, the second left. */
static void it_may_end_at_any_time(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		struct piece pieces[ROOM];
		struct sp_pool *pool = pool_of(2, NULL);
		for (unsigned i = 0; i < ROOM; i++) {
			pieces[i] = (struct piece){.number = i, .gate = -1};
			sp_pool_put(pool, &pieces[i]);
		}
		if (round % 2)
			assert_ptr_equal(sp_pool_take(pool, true), &pieces[0]);
		sp_pool_free(pool);
		for (unsigned i = 0; i < ROOM; i++)
			assert_true(pieces[i].worked <= 1);
	}
	sp_pool_free(NULL);
}

static volatile sig_atomic_t caught;
static pthread_t catcher;

static void on_signal(int number)
{
	(void)number;
	caught = pthread_equal(pthread_self(), catcher) ? 1 : -1;
}

/* The owner alone has handlers that know what to do. */
static void signals_are_the_owner_s(void **state)
{
	struct sigaction action = {.sa_handler = on_signal}, before;
	struct sp_pool *pool = pool_of(4, NULL);

	(void)state;
	catcher = pthread_self();
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	for (int i = 0; i < 20; i++) {
		caught = 0;
		assert_int_equal(kill(getpid(), SIGUSR1), 0);
		assert_int_equal(caught, 1);
	}
	(void)sigaction(SIGUSR1, &before, NULL);
	sp_pool_free(pool);
}

static void numbers_have_bounds(void **state)
{
	const struct sp_pool_options wrong[] = {{.workers = 0, .room = 1, .work = work},
	    {.workers = SP_JOBS_MAX + 1, .room = 1, .work = work},
	    {.workers = 1, .room = 0, .work = work}};
	struct sp_pool *pool;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(wrong); i++)
		assert_int_equal(sp_pool_new(&wrong[i], &pool), SP_E_CONFIG);
	assert_int_equal(sp_pool_size(3), 3);
	assert_int_equal(sp_pool_size(SP_JOBS_MAX + 1), SP_JOBS_MAX);
	assert_in_range(sp_pool_size(0), 1, SP_JOBS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_order_stays),
	    cmocka_unit_test(a_slow_one_holds_up_only_what_is_given_back),
	    cmocka_unit_test(an_owner_elsewhere_is_told),
	    cmocka_unit_test(it_may_end_at_any_time),
	    cmocka_unit_test(signals_are_the_owner_s),
	    cmocka_unit_test(numbers_have_bounds),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
