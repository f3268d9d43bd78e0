/* A relay between two socket pairs, under a lease: what arrives, what waits, what an end means. */
#include "relay_fixture.h"
#include "relay/inner.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

/* Writes and reads `count` bytes through the relay, and sees that they are the same. */
static void mirror(int from, int to, size_t count)
{
	size_t sent = 0, seen = 0;
	char bytes[100000];

	while (seen < count) {
		size_t size = count - sent < sizeof(bytes) ? count - sent : sizeof(bytes);
		ssize_t n;
		for (size_t i = 0; i < size; i++)
			bytes[i] = byte_at(sent + i);
		n = size > 0 ? sp_write_some(from, bytes, size) : 0;
		sent += n > 0 ? (size_t)n : 0;
		ev_run(self.loop, EVRUN_NOWAIT);
		n = sp_read_some(to, bytes, sizeof(bytes));
		assert_true(n > 0 || n == -EAGAIN);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(bytes[i], byte_at(seen++));
	}
	assert_int_equal(seen, count);
}

static void bytes_arrive_both_ways_few_and_many(void **state)
{
	(void)state;
	relay_with(false, NULL);
	mirror(self.a, self.b, 1);
	mirror(self.b, self.a, 70000);
	mirror(self.a, self.b, 20000000);
	mirror(self.a, self.b, 10);
	mirror(self.b, self.a, 20000000);
	mirror(self.b, self.a, 10);
	assert_int_equal(sp_lease_moved(self.lease, SP_LEASE_IN), 20000011);
	assert_int_equal(sp_lease_moved(self.lease, SP_LEASE_OUT), 20070010);
	assert_int_equal(self.ended, 0);
}

static void what_was_read_before_goes_first(void **state)
{
	char seen[8];

	(void)state;
	relay_with(false, NULL);
	sp_relay_prime(self.relay, SP_LEASE_IN, strdup("abc"), 3);
	assert_int_equal(write(self.a, "def", 3), 3);
	sp_relay_start(self.relay);
	settle();
	assert_int_equal(read(self.b, seen, sizeof(seen)), 6);
	assert_memory_equal(seen, "abcdef", 6);
}

static void a_slow_reader_is_waited_for_in_bounded_memory(void **state)
{
	int bytes = 0;
	socklen_t size = sizeof(bytes);
	size_t sent;

	(void)state;
	relay_with(false, NULL);
	assert_int_equal(getsockopt(self.a, SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
	/* Both ways full: what is the test's own, its socket's buffer, does not count. */
	sent = flood(self.a) + flood(self.b);
	assert_true(sent <= SP_RELAY_BOUND + 2 * (size_t)bytes);
	assert_int_equal(self.ended, 0);
}

/* So much, that it is spliced; all of it is read. */
static void pass_in_bulk(int from, int to)
{
	static char bytes[65536];
	size_t sent = 0, got = 0;
	ssize_t n;

	while (sent < 4000000) {
		n = sp_write_some(from, bytes, sizeof(bytes));
		sent += n > 0 ? (size_t)n : 0;
		ev_run(self.loop, EVRUN_NOWAIT);
		while (sent - got > 2 * sizeof(bytes) &&
		       (n = sp_read_some(to, bytes, sizeof(bytes))) > 0)
			got += (size_t)n;
	}
	while (got < sent) {
		n = sp_read_some(to, bytes, sizeof(bytes));
		got += n > 0 ? (size_t)n : 0;
		ev_run(self.loop, EVRUN_NOWAIT);
	}
}

static int buffer_of(int fd)
{
	int bytes = 0;
	socklen_t size = sizeof(bytes);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
	return bytes;
}

/* Bytes that wait for the other end, as the kernel counts them. */
static size_t queued_at(int fd)
{
	int bytes = 0;

	assert_int_equal(ioctl(fd, SIOCOUTQ, &bytes), 0);
	return (size_t)bytes;
}

static void a_relay_alone_gives_the_busy_way_the_larger_buffer(void **state)
{
	size_t waiting;

	(void)state;
	self.alone = true;
	relay_with(false, NULL);
	pass_in_bulk(self.a, self.b);
	assert_int_equal(buffer_of(self.inner[1]), 147456);
	assert_int_equal(buffer_of(self.inner[0]), 16384);
	pass_in_bulk(self.b, self.a);
	assert_int_equal(buffer_of(self.inner[0]), 147456);
	assert_int_equal(buffer_of(self.inner[1]), 16384);
	/* Nobody reads any more: what is queued is never more than the bound, however they change.
	 */
	(void)(flood(self.b) + flood(self.a));
	assert_true(buffer_of(self.inner[0]) + buffer_of(self.inner[1]) <= 163840);
	waiting = queued_at(self.inner[0]) + queued_at(self.inner[1]) +
		  (size_t)sp_relay_held(self.relay, SP_LEASE_IN) +
		  (size_t)sp_relay_held(self.relay, SP_LEASE_OUT);
	assert_true(waiting <= SP_RELAY_BOUND);
}

/* Also of one who sends in turns with who receives, so that nothing is there now and then. */
static void bulk_is_bulk_still_after_a_pause(void **state)
{
	const struct sp_way *way;

	(void)state;
	relay_with(false, NULL);
	way = &self.relay->ways[SP_LEASE_IN];
	pass_in_bulk(self.a, self.b);
	settle();
	assert_int_equal(way->pipe[0], -1); /* it keeps nothing meanwhile */
	(void)flood(self.a);
	assert_true(way->piped > 0);
	assert_null(way->held);
}

static void a_relay_that_shares_its_stream_keeps_to_its_part(void **state)
{
	(void)state;
	relay_with(false, NULL);
	pass_in_bulk(self.a, self.b);
	assert_int_equal(buffer_of(self.inner[0]), 65536);
	assert_int_equal(buffer_of(self.inner[1]), 65536);
}

static void what_is_queued_is_not_taken_away(void **state)
{
	(void)state;
	self.alone = true;
	relay_with(false, NULL);
	pass_in_bulk(self.a, self.b);
	(void)flood(self.a); /* the busy way's buffer is full */
	assert_int_equal(buffer_of(self.inner[1]), 147456);
	pass_in_bulk(self.b, self.a);
	assert_int_equal(buffer_of(self.inner[0]), 16384);
	assert_int_equal(buffer_of(self.inner[1]), 147456);
}

static void the_end_of_one_is_the_end_of_both_once_its_last_bytes_are_through(void **state)
{
	char seen[8];

	(void)state;
	relay_with(false, NULL);
	assert_int_equal(write(self.b, "last", 4), 4);
	assert_int_equal(shutdown(self.b, SHUT_WR), 0);
	run_until(&self.ended);
	assert_int_equal(self.code, 0);
	assert_int_equal(read(self.a, seen, sizeof(seen)), 4);
}

static void what_the_other_side_never_takes_is_given_up(void **state)
{
	(void)state;
	relay_with(false, NULL);
	(void)flood(self.b);
	assert_int_equal(shutdown(self.b, SHUT_WR), 0);
	settle();
	assert_int_equal(self.ended, 0);
	sp_relay_check(self.relay);
	sp_fd_close(&self.b);
	sp_relay_check(self.relay);
	run_until(&self.ended);
	assert_int_equal(self.code, SP_E_TIMEOUT);
}

/* A service that answers and goes, while it is still being sent to. */
static void an_answer_is_delivered_though_nothing_more_can_be_sent(void **state)
{
	char seen[8];

	(void)state;
	relay_with(false, NULL);
	assert_int_equal(write(self.b, "no", 2), 2);
	sp_fd_close(&self.b);
	assert_int_equal(write(self.a, "more", 4), 4);
	run_until(&self.ended);
	assert_int_equal(read(self.a, seen, sizeof(seen)), 2);
}

static void with_half_close_the_other_way_goes_on(void **state)
{
	char seen[8];

	(void)state;
	relay_with(true, NULL);
	assert_int_equal(write(self.a, "question", 8), 8);
	assert_int_equal(shutdown(self.a, SHUT_WR), 0);
	settle();
	assert_int_equal(read(self.b, seen, sizeof(seen)), 8);
	assert_int_equal(read(self.b, seen, sizeof(seen)), 0);
	assert_int_equal(write(self.b, "answer", 6), 6);
	settle();
	assert_int_equal(read(self.a, seen, sizeof(seen)), 6);
	assert_int_equal(self.ended, 0);
	sp_fd_close(&self.b);
	run_until(&self.ended);
	assert_int_equal(self.code, 0);
}

static void a_peer_that_never_ends_is_bounded(void **state)
{
	(void)state;
	relay_with(true, NULL);
	assert_int_equal(shutdown(self.a, SHUT_WR), 0);
	run_until(&self.ended);
	assert_int_equal(self.code, SP_E_TIMEOUT);
}

static void after_a_cut_nothing_moves_and_both_ends_see_it(void **state)
{
	struct scratch *s = *state;
	char seen[8];

	relay_with(false, NULL);
	mirror(self.a, self.b, 5000000);
	(void)flood(self.a); /* something is buffered, in a pipe too */
	installed(s->store, "s-42", 8);
	while (sp_read_some(self.b, (char[65536]){0}, 65536) > 0)
		;
	run_until(&self.cut);
	assert_int_equal(sp_read_some(self.b, seen, sizeof(seen)), 0);
	assert_int_equal(sp_write_some(self.a, "x", 1), -EPIPE);
	assert_int_equal(self.ended, 0);
}

static void a_pending_change_pauses_and_nothing_is_lost(void **state)
{
	struct scratch *s = *state;
	struct sp_page_ref ref = ref_of(s->store, "s-42");

	relay_with(false, NULL);
	mirror(self.a, self.b, 100000);
	sp_page_mark(s->store, ref.index, true);
	assert_int_equal(write(self.a, "abc", 3), 3);
	settle();
	assert_int_equal(sp_read_some(self.b, (char[8]){0}, 8), -EAGAIN);
	sp_page_publish(s->store, ref.index, SP_EFFECT_FENCED, SP_PAGE_ACTIVE, 1, 1, 0);
	while (sp_poll_one(self.b, POLLIN, 0) < 0)
		ev_run(self.loop, EVRUN_ONCE);
	assert_int_equal(sp_read_some(self.b, (char[8]){0}, 8), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(bytes_arrive_both_ways_few_and_many),
	    TEST(what_was_read_before_goes_first),
	    TEST(a_slow_reader_is_waited_for_in_bounded_memory),
	    TEST(a_relay_alone_gives_the_busy_way_the_larger_buffer),
	    TEST(bulk_is_bulk_still_after_a_pause),
	    TEST(a_relay_that_shares_its_stream_keeps_to_its_part),
	    TEST(what_is_queued_is_not_taken_away),
	    TEST(the_end_of_one_is_the_end_of_both_once_its_last_bytes_are_through),
	    TEST(what_the_other_side_never_takes_is_given_up),
	    TEST(an_answer_is_delivered_though_nothing_more_can_be_sent),
	    TEST(with_half_close_the_other_way_goes_on),
	    TEST(a_peer_that_never_ends_is_bounded),
	    TEST(after_a_cut_nothing_moves_and_both_ends_see_it),
	    TEST(a_pending_change_pauses_and_nothing_is_lost),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
