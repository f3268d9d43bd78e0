/* spacestream relay: bytes between two addresses, under a lease. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/util.h"
#include "net/socket.h"
#include "record/reason.h"
#include "spacestream/address.h"
#include "spacestream/held.h"
#include "spacestream/verbs.h"

struct relay {
	struct sp_relay_end ends[2];
};

/* Both ends at once: a reset for TCP. What was not carried to its end must not look like it. */
static void on_cut(struct held *held)
{
	const struct relay *relay = held->context;

	for (size_t i = 0; i < SP_COUNT(relay->ends); i++) {
		sp_socket_abort(relay->ends[i].in);
		if (relay->ends[i].out != relay->ends[i].in)
			sp_socket_abort(relay->ends[i].out);
	}
	ev_break(held->loop, EVBREAK_ALL);
}

static void on_stop(struct held *held, int number)
{
	(void)number;
	on_cut(held);
}

static void on_half(struct held *held, enum sp_lease_way way)
{
	const struct relay *relay = held->context;
	int to = relay->ends[way == SP_LEASE_IN].out;

	/* A pipe ends by being closed; its number stays taken. */
	if (shutdown(to, SHUT_WR) < 0 && errno == ENOTSOCK) {
		sp_auto_fd int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (nothing >= 0)
			(void)dup3(nothing, to, O_CLOEXEC);
	}
}

static int run(struct held *held, struct relay *relay, struct sp_err *err)
{
	int timeout_ms = (int)held->config->connect_timeout_ms;
	int bad = 0;

	for (size_t i = 0; i < SP_COUNT(relay->ends) && !bad; i++)
		bad = address_open(sp_cli_argument(held->cli, i), timeout_ms, &relay->ends[i], err);
	if (!bad && held_relay(held, &relay->ends[0], &relay->ends[1],
			(int)held->config->half_close_timeout * 1000) < 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	return bad;
}

int spacestream_relay(struct sp_cli *cli)
{
	static const struct held_handlers handlers = {
	    .cut = on_cut, .half = on_half, .stop = on_stop};
	struct relay relay = {{{-1, -1}, {-1, -1}}};
	struct held held = {.handlers = &handlers, .context = &relay};
	struct sp_err err = {0};
	int exit_code = held_open(&held, cli, "relay");

	if (exit_code == 0) {
		int bad = run(&held, &relay, &err);
		exit_code = bad ? sp_cli_fail(cli, &err) : held_run(&held);
	}
	if (exit_code == 0 && held.code) {
		(void)sp_fail(&err, held.code, "%s", sp_code_text(held.code));
		exit_code = sp_cli_fail(cli, &err);
	}
	held_close(&held);
	if (held.signal) {
		(void)signal(held.signal, SIG_DFL);
		(void)raise(held.signal);
	}
	return exit_code;
}
