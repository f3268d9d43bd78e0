/* A relay whose one end speaks frames: what arrives there and here, and what an end means. */
#include "relay_fixture.h"

#define OK  "{\"exit\":0}"
#define BAD "{\"exit\":1}..."

static struct sp_frame_reader reader;

static void framed(void)
{
	sp_frame_reader_init(&reader, SP_FRAME_FROM_GUEST);
	relay_with(false, &reader);
}

static void put(int fd, enum sp_frame_type type, const char *text)
{
	unsigned char header[SP_FRAME_HEADER];

	sp_frame_header(type, strlen(text), header);
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* The guest's side of what a sends: its payload, until there is no more. */
struct guest {
	struct sp_frame_reader reader;
	size_t seen;
	bool wrong, closed;
};

static void take(struct guest *guest, int fd)
{
	static char bytes[70000];
	ssize_t n;

	while ((n = sp_read_some(fd, bytes, sizeof(bytes))) > 0)
		for (size_t used = 0, more; used < (size_t)n; used += more) {
			struct sp_frame frame;
			int got = sp_frame_take(
			    &guest->reader, bytes + used, (size_t)n - used, &more, &frame, NULL);
			assert_true(got >= 0);
			for (size_t i = 0; got == 1 && i < frame.size; i++)
				guest->wrong |= frame.data[i] != byte_at(guest->seen++);
		}
	guest->closed = n == 0;
}

/* So little goes at once to this end of the relay's that most is in pieces. */
static void make_narrow(int fd)
{
	int size = 2304;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
}

static void send_bytes(size_t count)
{
	static char bytes[100000];
	size_t sent = 0;
	struct guest guest = {.seen = 0};

	sp_frame_reader_init(&guest.reader, SP_FRAME_FROM_CLIENT);
	framed();
	while (guest.seen < count) {
		size_t size = count - sent < sizeof(bytes) ? count - sent : sizeof(bytes);
		ssize_t n;
		for (size_t i = 0; i < size; i++)
			bytes[i] = byte_at(sent + i);
		n = size > 0 ? sp_write_some(self.a, bytes, size) : 0;
		sent += n > 0 ? (size_t)n : 0;
		ev_run(self.loop, EVRUN_NOWAIT);
		take(&guest, self.b);
	}
	assert_false(guest.wrong || guest.reader.over);
	assert_int_equal(guest.seen, count);
	assert_int_equal(sp_lease_moved(self.lease, SP_LEASE_IN), count);
	assert_int_equal(shutdown(self.a, SHUT_WR), 0);
	settle();
	take(&guest, self.b);
	assert_true(guest.reader.over && !guest.closed);
}

static void what_a_sends_comes_to_b_in_frames(void **state)
{
	(void)state;
	send_bytes(20000000);
}

static void frames_go_in_pieces_too(void **state)
{
	(void)state;
	make_narrow(self.inner[1]);
	send_bytes(3000000);
}

/* Frames of this size, as many as make `count` bytes, as fast as they are taken. */
static void send_frames(size_t size, size_t count)
{
	static char frame[SP_FRAME_HEADER + SP_FRAME_PAYLOAD_MAX], back[100000];
	size_t sent = 0, at = 0, end = 0, seen = 0;

	while (seen < count) {
		ssize_t n = 1;
		while (n > 0 && (at < end || sent < count)) {
			if (at == end) {
				at = 0;
				end = SP_FRAME_HEADER + size;
				sp_frame_header(SP_FRAME_OUTPUT, size, (unsigned char *)frame);
				for (size_t i = 0; i < size; i++)
					frame[SP_FRAME_HEADER + i] = byte_at(sent + i);
				sent += size;
			}
			n = sp_write_some(self.b, frame + at, end - at);
			at += n > 0 ? (size_t)n : 0;
		}
		ev_run(self.loop, EVRUN_NOWAIT);
		while ((n = sp_read_some(self.a, back, sizeof(back))) > 0)
			for (ssize_t i = 0; i < n; i++)
				assert_int_equal(back[i], byte_at(seen++));
		assert_int_equal(n, -EAGAIN);
	}
	assert_int_equal(seen, count);
}

static void what_b_sends_comes_to_a_without_frames(void **state)
{
	static const size_t sizes[] = {1, 1000, 12287, 12288, 16384, 49152, 49153, 65536};
	size_t all = 0;

	(void)state;
	framed();
	for (size_t i = 0; i < SP_COUNT(sizes); i++) {
		size_t count = sizes[i] * (sizes[i] < 1000 ? 1000 : 3000000 / sizes[i]);
		send_frames(sizes[i], count);
		all += count;
	}
	assert_int_equal(sp_lease_moved(self.lease, SP_LEASE_OUT), all);
	assert_int_equal(self.ended, 0);
}

static void both_ends_and_a_last_frame_are_an_orderly_end(void **state)
{
	char seen[64];

	(void)state;
	framed();
	assert_int_equal(shutdown(self.a, SHUT_WR), 0);
	settle();
	assert_int_equal(read(self.b, seen, sizeof(seen)), SP_FRAME_HEADER);
	assert_int_equal(seen[0], SP_FRAME_END);
	put(self.b, SP_FRAME_OUTPUT, "late ");
	put(self.b, SP_FRAME_OUTPUT, "answer");
	put(self.b, SP_FRAME_END, "");
	settle();
	assert_int_equal(read(self.a, seen, sizeof(seen)), 11);
	assert_memory_equal(seen, "late answer", 11);
	assert_int_equal(read(self.a, seen, sizeof(seen)), 0);
	assert_int_equal(self.ended, 0);
	put(self.b, SP_FRAME_STATUS, OK);
	run_until(&self.ended);
	assert_int_equal(self.code, 0);
}

static void what_b_ends_first_leaves_the_other_way(void **state)
{
	char seen[64];

	(void)state;
	framed();
	put(self.b, SP_FRAME_OUTPUT, "x");
	put(self.b, SP_FRAME_END, "");
	settle();
	assert_int_equal(read(self.a, seen, sizeof(seen)), 1);
	assert_int_equal(read(self.a, seen, sizeof(seen)), 0);
	assert_int_equal(write(self.a, "more", 4), 4);
	settle();
	assert_int_equal(read(self.b, seen, sizeof(seen)), SP_FRAME_HEADER + 4);
	assert_int_equal(self.ended, 0);
}

static void all_before_the_last_frame_is_delivered(void **state)
{
	static char bytes[SP_FRAME_PAYLOAD_MAX];
	unsigned char header[SP_FRAME_HEADER];
	size_t sent = 0, seen = 0;
	ssize_t n;

	(void)state;
	make_narrow(self.inner[0]);
	framed();
	sp_frame_header(SP_FRAME_OUTPUT, sizeof(bytes), header);
	assert_int_equal(write(self.b, header, sizeof(header)), sizeof(header));
	while (sent < sizeof(bytes)) {
		n = sp_write_some(self.b, bytes + sent, sizeof(bytes) - sent);
		sent += n > 0 ? (size_t)n : 0;
		ev_run(self.loop, EVRUN_NOWAIT);
	}
	put(self.b, SP_FRAME_STATUS, BAD);
	while (self.ended == 0 && seen < sizeof(bytes)) {
		ev_run(self.loop, EVRUN_NOWAIT);
		n = sp_read_some(self.a, bytes, 1000);
		seen += n > 0 ? (size_t)n : 0;
	}
	run_until(&self.ended);
	assert_int_equal(self.code, -ECONNRESET);
	while ((n = sp_read_some(self.a, bytes, sizeof(bytes))) > 0)
		seen += (size_t)n;
	assert_int_equal(seen, sizeof(bytes));
}

static void b_that_ends_without_its_last_frame_was_cut(void **state)
{
	(void)state;
	framed();
	put(self.b, SP_FRAME_OUTPUT, "half");
	sp_fd_close(&self.b);
	run_until(&self.ended);
	assert_int_equal(self.code, SP_E_CLOSED);
}

static void what_is_no_frame_ends_it(void **state)
{
	(void)state;
	framed();
	assert_int_equal(write(self.b, "HTTP/1.1 200 OK", 15), 15);
	run_until(&self.ended);
	assert_int_equal(self.code, SP_E_BAD_RECORD);
	assert_int_equal(sp_read_some(self.a, (char[8]){0}, 8), -EAGAIN);
}

/* A Unix socket that is closed with bytes unread resets its peer. */
static void an_a_that_was_reset_looks_no_orderly_end_to_b(void **state)
{
	(void)state;
	framed();
	put(self.b, SP_FRAME_OUTPUT, "unread");
	settle();
	sp_fd_close(&self.a);
	run_until(&self.ended);
	assert_int_equal(self.code, -ECONNRESET);
	assert_int_equal(sp_read_some(self.b, (char[8]){0}, 8), -EAGAIN);
}

/* It has asked, ended and gone; the service gets all of it, and its answer is thrown away. */
static void what_a_sent_before_it_went_is_delivered(void **state)
{
	char seen[64];

	(void)state;
	framed();
	assert_int_equal(write(self.a, "last words", 10), 10);
	sp_fd_close(&self.a);
	settle();
	assert_int_equal(read(self.b, seen, sizeof(seen)), 2 * SP_FRAME_HEADER + 10);
	assert_int_equal(seen[SP_FRAME_HEADER + 10], SP_FRAME_END);
	put(self.b, SP_FRAME_OUTPUT, "to nobody");
	put(self.b, SP_FRAME_OUTPUT, "to nobody");
	settle();
	assert_int_equal(self.ended, 0);
	put(self.b, SP_FRAME_END, "");
	put(self.b, SP_FRAME_STATUS, OK);
	run_until(&self.ended);
	assert_int_equal(self.code, 0);
}

static void a_reader_may_stand_within_a_frame(void **state)
{
	static const char first[] = {SP_FRAME_OUTPUT, 0, 0, 0, 0, 0, 0, 5, 'a', 'b'};
	struct sp_frame frame;
	char seen[8];
	size_t used;

	(void)state;
	framed();
	assert_int_equal(sp_frame_take(&reader, first, sizeof(first), &used, &frame, NULL), 1);
	assert_int_equal(write(self.b, "cde", 3), 3);
	put(self.b, SP_FRAME_OUTPUT, "f");
	settle();
	assert_int_equal(read(self.a, seen, sizeof(seen)), 4);
	assert_memory_equal(seen, "cdef", 4);
}

static void half_closed_and_silent_is_bounded(void **state)
{
	(void)state;
	framed();
	put(self.b, SP_FRAME_END, "");
	run_until(&self.ended);
	assert_int_equal(self.code, SP_E_TIMEOUT);
}

static void after_a_cut_nothing_moves(void **state)
{
	struct scratch *s = *state;
	struct guest guest = {.seen = 0};

	sp_frame_reader_init(&guest.reader, SP_FRAME_FROM_CLIENT);
	make_narrow(self.inner[1]);
	framed();
	(void)flood(self.a);
	for (int i = 0; i < 20; i++) {
		take(&guest, self.b);
		(void)flood(self.a);
	}
	installed(s->store, "s-42", 8);
	take(&guest, self.b); /* what b's socket holds */
	guest.seen = 0;
	run_until(&self.cut);
	take(&guest, self.b);
	assert_int_equal(guest.seen, 0);
	assert_true(guest.closed && !guest.reader.over);
	assert_int_equal(sp_write_some(self.a, "x", 1), -EPIPE);
	assert_int_equal(self.ended, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_a_sends_comes_to_b_in_frames),
	    TEST(frames_go_in_pieces_too),
	    TEST(what_b_sends_comes_to_a_without_frames),
	    TEST(both_ends_and_a_last_frame_are_an_orderly_end),
	    TEST(what_b_ends_first_leaves_the_other_way),
	    TEST(all_before_the_last_frame_is_delivered),
	    TEST(b_that_ends_without_its_last_frame_was_cut),
	    TEST(what_is_no_frame_ends_it),
	    TEST(an_a_that_was_reset_looks_no_orderly_end_to_b),
	    TEST(what_a_sent_before_it_went_is_delivered),
	    TEST(a_reader_may_stand_within_a_frame),
	    TEST(half_closed_and_silent_is_bounded),
	    TEST(after_a_cut_nothing_moves),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
