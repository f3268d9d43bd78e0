/* A passage that relays: bytes only as long as its lease stays, and the VMM is what it was. */
#include "spacebridge/host.h"

#include <errno.h>
#include "base/io.h"
#include "net/socket.h"
#include "spacebridge/audited.h"

static void on_cut(struct sp_lease *lease, void *context)
{
	struct passage *passage = context;

	(void)lease;
	if (passage->relay)
		sp_relay_stop(passage->relay);
	sp_socket_abort(passage->client);
	sp_socket_abort(approach_fd(&passage->approach));
}

static void on_lease_ended(struct sp_lease *lease, const struct sp_lease_end *end, void *context)
{
	struct passage *passage = context;
	struct sp_audit_installed installed;
	struct sp_audit_line line = {
	    .role = HOST_ROLE,
	    .sandbox = passage->host->sandbox,
	    .op = "cut",
	    .action = "cut",
	    .reason = end->reason,
	    .error = end->reason ? NULL : sp_error_name(SP_ERROR_TRANSPORT),
	    .selected = &passage->identity.route,
	    .installed = audited_installed(
		passage->host->store, passage->host->sandbox, end->reason, &installed),
	    .epoch = sp_lease_terms(lease)->epoch,
	    .microseconds = sp_monotonic_us() - passage->started_us,
	    .note = end->words,
	};

	sp_audit_write(passage->host->audit, &line);
	passage->lease = NULL;
	passage_free(passage);
}

static void on_resume(struct sp_lease *lease, void *context)
{
	struct passage *passage = context;

	(void)lease;
	if (passage->relay)
		sp_relay_resume(passage->relay);
}

int passage_lease(struct passage *passage, enum sp_reason *ret, struct sp_err *err)
{
	static const struct sp_lease_handlers handlers = {on_cut, on_lease_ended, on_resume};
	struct sp_lease_asked asked = {
	    .terms = {SP_LEASE_CONTROL, passage->identity, passage->epoch, passage->version}};

	return sp_lease_open(
	    passage->host->leases, &asked, &handlers, passage, &passage->lease, ret, err);
}

static void on_ended(struct sp_relay *relay, int code, void *context)
{
	struct passage *passage = context;

	(void)relay;
	sp_lease_close(passage->lease, code ? sp_code_text(code) : "one side ended");
	passage->lease = NULL;
	passage_free(passage);
}

void passage_lost(enum sp_reason reason, const char *words, void *context)
{
	struct passage *passage = context;

	sp_lease_cut(passage->lease, reason, words);
}

void passage_second(void *context)
{
	struct passage *passage = context;

	sp_relay_check(passage->relay);
}

void passage_relay(struct passage *passage)
{
	static const struct sp_relay_handlers handlers = {.ended = on_ended};
	struct host *host = passage->host;
	int vmm = approach_fd(&passage->approach);
	struct sp_relay_options options = {
	    .loop = host->loop,
	    .lease = passage->lease,
	    .a = {passage->client, passage->client},
	    .b = {vmm, vmm},
	    .limit_ms = (int)host->config.half_close_timeout * 1000,
	};

	ev_timer_stop(host->loop, &passage->limit);
	if (sp_relay_new(&options, &handlers, passage, &passage->relay) < 0 ||
	    approach_watch(&passage->approach) < 0) {
		passage_free(passage);
		return;
	}
	sp_relay_start(passage->relay);
}
