/* What a capability may at this gateway: the decisions are lib/token's and lib/admit's. */
#include "spacebridge/gateway.h"

#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "spacebridge/audited.h"

static const struct sp_op *port_op(void)
{
	return sp_op_find("port.connect");
}

bool gateway_port_denied(const struct sp_config *config, uint16_t port)
{
	if (port == config->guest_port)
		return true;
	for (unsigned i = 0; i < config->deny_ports.count; i++)
		if (config->deny_ports.ports[i] == port)
			return true;
	return false;
}

/* What is good for many uses is worth remembering. */
static enum sp_reason verify_token(
    const struct gateway *gateway, const struct gateway_asked *asked, struct sp_claims *ret)
{
	const struct keys *keys = &gateway->keys;
	struct sp_cap_use use = sp_admit_use(port_op());
	int64_t now = sp_time_now(), skew = gateway->config.max_skew;
	size_t size = strlen(asked->token);

	use.port = asked->port;
	use.protocol = asked->protocol;
	if (!asked->once)
		return sp_memory_verify(keys->memory, asked->token, size, keys->ring, keys->realm,
		    &use, now, skew, ret);
	now = sp_admit_time(port_op(), now, sp_journal_floor(gateway->journal));
	return sp_capability_verify(
	    asked->token, size, keys->ring, keys->realm, &use, now, skew, ret);
}

enum sp_reason gateway_verify(
    const struct gateway *gateway, const struct gateway_asked *asked, struct sp_claims *ret)
{
	enum sp_reason reason;

	if (asked->port && gateway_port_denied(&gateway->config, asked->port))
		return SP_REASON_PORT;
	reason = verify_token(gateway, asked, ret);
	if (!reason && gateway_port_denied(&gateway->config, ret->port))
		reason = SP_REASON_PORT;
	return reason ? reason : sp_admit_sandbox(ret, gateway->sandbox);
}

struct sp_admission gateway_decide(const struct gateway *gateway, const struct sp_claims *claims,
    const struct sp_record *record, bool once)
{
	struct sp_admit_question question = {
	    .claims = claims,
	    .sandbox = gateway->sandbox,
	    .record = record,
	    .use = SP_USE_OPEN,
	    .used = once && sp_journal_used(gateway->journal, claims->jti),
	};

	return sp_admit(&question);
}

void gateway_audit(const struct gateway *gateway, const char *id, const struct sp_claims *claims,
    int64_t epoch, const struct gateway_outcome *outcome, int64_t started_us)
{
	const char *note = outcome->note;
	struct sp_audit_installed installed;
	bool known = claims && claims->jti[0] != '\0';
	struct sp_audit_line line = {
	    .role = GATEWAY_ROLE,
	    .id = id,
	    .caller = known ? claims->caller : NULL,
	    .sandbox = gateway->sandbox,
	    .op = port_op()->name,
	    .reason = outcome->reason,
	    .error = outcome->error,
	    .action = outcome->action,
	    .kid = claims && claims->kid[0] ? claims->kid : NULL,
	    .jti = known ? claims->jti : NULL,
	    .selected = known ? &claims->identity.route : NULL,
	    .installed =
		audited_installed(gateway->store, gateway->sandbox, outcome->reason, &installed),
	    .epoch = epoch,
	    .microseconds = sp_monotonic_us() - started_us,
	    .note = note && *note ? note : NULL,
	};

	sp_audit_write(gateway->audit, &line);
}
