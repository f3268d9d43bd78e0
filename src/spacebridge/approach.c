/* The steps to a guest in the order of 04-bridge, Verify. */
#include "spacebridge/approach.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "bridge/handshake.h"

static void finish_report(struct sp_report *report)
{
	sp_report_done(report);
}

void approach_refuse(
    struct approach *approach, enum sp_reason reason, const struct sp_report *report)
{
	approach->handlers->refused(reason, report, approach->context);
}

void approach_fail(struct approach *approach, enum sp_error_kind error, const char *words)
{
	approach->handlers->failed(error, words, approach->context);
}

/* Has the VMM's side come to its end, with nothing more to read? */
static bool ended(const struct approach *approach)
{
	char next;

	return recv(approach_fd(approach), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void check_accepted(struct approach *approach)
{
	sp_cleanup(finish_report) struct sp_report report = {.failed_only = true};
	enum sp_reason reason = sp_attest_accepted(approach->attestation, &report);

	/* A VMM says OK, and then ends the connection, for a guest that does not listen: there is
	 * no socket left to look at then, which is no evidence against it. */
	if (ended(approach) || (reason && sp_attest_ended(approach->attestation))) {
		approach_fail(approach, SP_ERROR_TRANSPORT,
		    "the VMM ended the connection right behind OK: does the guest's agent run?");
		return;
	}
	if (reason) {
		approach_refuse(approach, reason, &report);
		return;
	}
	approach->answered = true;
	approach_hello(approach);
}

/* Only the line is taken off the socket: what follows is the guest's. */
static void on_answer(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct approach *approach = watcher->data;
	int fd = approach_fd(approach);
	char bytes[SP_HANDSHAKE_ANSWER_MAX];
	size_t used = 0;
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	ev_io_stop(loop, &approach->answer);
	if (n <= 0)
		approach_fail(approach, SP_ERROR_TRANSPORT,
		    "the VMM ended the connection instead of answering CONNECT: does the guest's "
		    "agent listen on [guest] port?");
	else if (sp_handshake_read(bytes, (size_t)n, &used, &approach->port) != SP_HANDSHAKE_OK ||
		 recv(fd, bytes, used, MSG_DONTWAIT) != (ssize_t)used)
		approach_fail(approach, SP_ERROR_TRANSPORT,
		    "the VMM answered CONNECT with something else than OK and a number");
	else
		check_accepted(approach);
}

static void ask(struct approach *approach)
{
	char line[SP_HANDSHAKE_ASK_MAX];
	size_t size = sp_handshake_ask(approach->options->guest_port, line);
	int fd = approach_fd(approach);

	/* Firecracker reads the line once: in pieces it would not be one. */
	if (sp_write_some(fd, line, size) != (ssize_t)size) {
		approach_fail(approach, SP_ERROR_TRANSPORT, "the VMM does not take CONNECT");
		return;
	}
	ev_io_set(&approach->answer, fd, EV_READ);
	ev_io_start(approach->options->loop, &approach->answer);
}

void approach_start(struct approach *approach, const struct sp_record *record)
{
	sp_cleanup(finish_report) struct sp_report report = {.failed_only = true};
	enum sp_reason reason;

	approach->started_us = sp_monotonic_us();
	sp_guest_name_of(record, &approach->guest);
	reason = sp_attest_open(SP_ROLE_VMM, record->vmm, approach->options->min_level, &report,
	    &approach->attestation);
	if (reason)
		approach_refuse(approach, reason, &report);
	else if (!approach->attestation)
		approach_fail(approach, SP_ERROR_OVERLOADED, "the VMM's backlog is full");
	else
		ask(approach);
}

int approach_fd(const struct approach *approach)
{
	return sp_attest_fd(approach->attestation);
}

const char *approach_overdue(const struct approach *approach)
{
	if (approach->answered)
		return "the guest's agent did not say hello within [bridge] connect_timeout_ms";
	if (approach->attestation)
		return "the VMM did not answer within [bridge] connect_timeout_ms";
	return "the record did not settle within [bridge] connect_timeout_ms";
}

void approach_init(struct approach *approach, const struct approach_options *options,
    const struct approach_handlers *handlers, void *context)
{
	*approach = (struct approach){.options = options, .handlers = handlers, .context = context};
	ev_init(&approach->answer, on_answer);
	approach->answer.data = approach;
}

void approach_stop(struct approach *approach)
{
	ev_io_stop(approach->options->loop, &approach->answer);
	approach_unwatch(approach);
	sp_attest_close(sp_steal(&approach->attestation));
}
