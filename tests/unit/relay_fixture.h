/* A relay between two socket pairs, under a lease. */
#ifndef SP_TESTS_RELAY_FIXTURE_H
#define SP_TESTS_RELAY_FIXTURE_H

#include "store_fixture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <ev.h>
#include <sys/socket.h>
#include "base/io.h"
#include "lease/lease.h"
#include "net/socket.h"
#include "relay/relay.h"

static struct {
	struct ev_loop *loop;
	struct sp_holder *holder;
	struct sp_lease_set *set;
	struct sp_lease *lease;
	struct sp_relay *relay;
	int a, b;     /* the tests' ends */
	int inner[2]; /* the relay's */
	bool alone;
	unsigned ended, cut;
	int code;
} self;

static void on_ended(struct sp_relay *relay, int code, void *context)
{
	(void)context;
	assert_ptr_equal(relay, self.relay);
	self.ended++;
	self.code = code;
}

static void on_cut(struct sp_lease *lease, void *context)
{
	(void)lease;
	(void)context;
	sp_relay_stop(self.relay);
	sp_socket_abort(self.inner[0]);
	sp_socket_abort(self.inner[1]);
	self.cut++;
}

static void on_lease_ended(struct sp_lease *lease, const struct sp_lease_end *end, void *context)
{
	(void)lease;
	(void)end;
	(void)context;
	self.lease = NULL;
}

static void on_resume(struct sp_lease *lease, void *context)
{
	(void)lease;
	(void)context;
	sp_relay_resume(self.relay);
}

static int pair(int *ret_ours, int *ret_inner)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	*ret_ours = ends[0];
	*ret_inner = ends[1];
	return 0;
}

/* The guest's last frame: `code` of its text. */
static int on_last(const struct sp_frame *frame, void *context)
{
	(void)context;
	return frame->size == strlen("{\"exit\":0}") ? 0 : -ECONNRESET;
}

static void relay_with(bool half_close, struct sp_frame_reader *reader)
{
	static const struct sp_relay_handlers handlers = {.ended = on_ended, .last = on_last};
	struct sp_relay_options options = {.loop = self.loop,
	    .lease = self.lease,
	    .a = {self.inner[0], self.inner[0]},
	    .b = {self.inner[1], self.inner[1]},
	    .half_close = half_close,
	    .reader = reader,
	    .alone = self.alone,
	    .limit_ms = 50};

	assert_int_equal(sp_relay_new(&options, &handlers, NULL, &self.relay), 0);
	sp_relay_start(self.relay);
}

static int open_all(void **state)
{
	static const struct sp_lease_handlers handlers = {on_cut, on_lease_ended, on_resume};
	struct sp_lease_asked ask = {.terms = {.kind = SP_LEASE_CONTROL, .epoch = 1, .version = 1}};
	enum sp_reason reason;
	struct scratch *s;

	if (scratch_open(state) < 0)
		return -1;
	s = *state;
	memset(&self, 0, sizeof(self));
	self.loop = ev_loop_new(0);
	if (sp_holder_open(s->store, &self.holder, NULL) < 0 || pair(&self.a, &self.inner[0]) < 0 ||
	    pair(&self.b, &self.inner[1]) < 0)
		return -1;
	installed(s->store, "s-42", 7);
	struct sp_lease_options options = {.loop = self.loop,
	    .store = s->store,
	    .holder = self.holder,
	    .cut_timeout_ms = 2000,
	    .role = "test",
	    .remember = 2};
	strcpy(ask.terms.identity.sandbox, "s-42");
	ask.terms.identity.route = an_install("s-42", 7).route;
	return sp_lease_set_new(&options, &self.set) < 0 ||
		       sp_lease_open(self.set, &ask, &handlers, NULL, &self.lease, &reason, NULL) <
			   0
		   ? -1
		   : 0;
}

static int close_all(void **state)
{
	sp_lease_set_free(self.set, "the test ends");
	sp_relay_free(self.relay);
	sp_holder_close(self.holder);
	sp_fd_close(&self.a);
	sp_fd_close(&self.b);
	sp_fd_close(&self.inner[0]);
	sp_fd_close(&self.inner[1]);
	ev_loop_destroy(self.loop);
	return scratch_close(state);
}

/* Turns of the loop until nothing happens any more. */
static void settle(void)
{
	for (int i = 0; i < 50; i++)
		ev_run(self.loop, EVRUN_NOWAIT);
}

static void run_until(const unsigned *what)
{
	int64_t until = sp_monotonic_ms() + 5000;

	while (*what == 0 && sp_monotonic_ms() < until)
		ev_run(self.loop, EVRUN_ONCE);
	assert_int_equal(*what, 1);
}

static char byte_at(size_t n)
{
	return (char)((n * 2654435761u) >> 13);
}

/* All that `from` may send until it is not read any more. */
static size_t flood(int from)
{
	static char bytes[65536];
	size_t sent = 0;
	ssize_t n;

	for (int idle = 0; idle < 100; idle++) {
		while ((n = sp_write_some(from, bytes, sizeof(bytes))) > 0) {
			sent += (size_t)n;
			idle = 0;
		}
		ev_run(self.loop, EVRUN_NOWAIT);
	}
	return sent;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

#endif
