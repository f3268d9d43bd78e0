/* The table of decisions and reasons, read in both directions. */
#include "record/reason.h"

#include <stddef.h>
#include <string.h>
#include "base/util.h"

static const char *const DECISIONS[] = {
    [SP_MATCH] = "match", [SP_REFRESH_ROUTE] = "refresh-route", [SP_DENY] = "deny"};

static const struct {
	enum sp_decision decision;
	const char *name;
} REASONS[SP_REASON_COUNT] = {
    [SP_REASON_NONE] = {SP_MATCH, NULL},
    [SP_REASON_EXECUTION] = {SP_REFRESH_ROUTE, "execution"},
    [SP_REASON_WORKER] = {SP_REFRESH_ROUTE, "worker"},
    [SP_REASON_SUBSTRATE] = {SP_REFRESH_ROUTE, "substrate"},
    [SP_REASON_POD_UID] = {SP_REFRESH_ROUTE, "pod_uid"},
    [SP_REASON_ACTIVATION] = {SP_REFRESH_ROUTE, "activation"},
    [SP_REASON_ATTEMPT] = {SP_REFRESH_ROUTE, "attempt"},
    [SP_REASON_RETIRED] = {SP_REFRESH_ROUTE, "retired"},
    [SP_REASON_ABSENT] = {SP_REFRESH_ROUTE, "absent"},
    [SP_REASON_MALFORMED] = {SP_DENY, "malformed"},
    [SP_REASON_UNKNOWN_KEY] = {SP_DENY, "unknown-key"},
    [SP_REASON_REVOKED_KEY] = {SP_DENY, "revoked-key"},
    [SP_REASON_SIGNATURE] = {SP_DENY, "signature"},
    [SP_REASON_NOT_YET_VALID] = {SP_DENY, "not-yet-valid"},
    [SP_REASON_EXPIRED] = {SP_DENY, "expired"},
    [SP_REASON_LIFETIME] = {SP_DENY, "lifetime"},
    [SP_REASON_PURPOSE] = {SP_DENY, "purpose"},
    [SP_REASON_ACCESS] = {SP_DENY, "access"},
    [SP_REASON_PORT] = {SP_DENY, "port"},
    [SP_REASON_PROTOCOL] = {SP_DENY, "protocol"},
    [SP_REASON_SESSION] = {SP_DENY, "session"},
    [SP_REASON_FENCED] = {SP_DENY, "fenced"},
    [SP_REASON_REPLAYED] = {SP_DENY, "replayed"},
    [SP_REASON_SANDBOX] = {SP_DENY, "sandbox"},
    [SP_REASON_UNAUTHORIZED] = {SP_DENY, "unauthorized"},
    [SP_REASON_PEER_CREDENTIALS] = {SP_DENY, "peer-credentials"},
    [SP_REASON_BRIDGE_PROCESS] = {SP_DENY, "bridge-process"},
    [SP_REASON_BRIDGE_EXECUTABLE] = {SP_DENY, "bridge-executable"},
    [SP_REASON_VMM_PROCESS] = {SP_DENY, "vmm-process"},
    [SP_REASON_VMM_EXECUTABLE] = {SP_DENY, "vmm-executable"},
    [SP_REASON_LISTENER_OWNER] = {SP_DENY, "listener-owner"},
    [SP_REASON_LISTENER_REPLACED] = {SP_DENY, "listener-replaced"},
    [SP_REASON_GUEST_IDENTITY] = {SP_DENY, "guest-identity"},
    [SP_REASON_EVIDENCE_UNAVAILABLE] = {SP_DENY, "evidence-unavailable"},
};

static const struct {
	const char *name;
	int exit;
} ERRORS[SP_ERROR_COUNT] = {
    [SP_ERROR_BAD_RECORD] = {"bad-record", SP_EXIT_BAD},
    [SP_ERROR_TRANSPORT] = {"transport", SP_EXIT_FAILED},
    [SP_ERROR_TIMEOUT] = {"timeout", SP_EXIT_FAILED},
    [SP_ERROR_OP] = {"op", SP_EXIT_FAILED},
    [SP_ERROR_OVERLOADED] = {"overloaded", SP_EXIT_FAILED},
    [SP_ERROR_TOO_LARGE] = {"too-large", SP_EXIT_FAILED},
    [SP_ERROR_UNAVAILABLE] = {"unavailable", SP_EXIT_FAILED},
    [SP_ERROR_INTERNAL] = {"internal", SP_EXIT_FAILED},
};

const char *sp_decision_name(enum sp_decision decision)
{
	return DECISIONS[decision];
}

const char *sp_reason_name(enum sp_reason reason)
{
	return REASONS[reason].name;
}

const char *sp_error_name(enum sp_error_kind kind)
{
	return ERRORS[kind].name;
}

enum sp_decision sp_reason_decision(enum sp_reason reason)
{
	return REASONS[reason].decision;
}

bool sp_reason_parse(const char *decision, const char *reason, enum sp_reason *ret_reason)
{
	for (enum sp_reason i = SP_REASON_NONE + 1; i < SP_REASON_COUNT; i++)
		if (strcmp(REASONS[i].name, reason) == 0 &&
		    strcmp(DECISIONS[REASONS[i].decision], decision) == 0) {
			*ret_reason = i;
			return true;
		}
	return false;
}

bool sp_error_parse(const char *name, enum sp_error_kind *ret_kind)
{
	for (enum sp_error_kind i = 0; i < SP_ERROR_COUNT; i++)
		if (strcmp(ERRORS[i].name, name) == 0) {
			*ret_kind = i;
			return true;
		}
	return false;
}

int sp_reason_exit(enum sp_reason reason)
{
	static const int exits[] = {[SP_MATCH] = SP_EXIT_DONE,
	    [SP_REFRESH_ROUTE] = SP_EXIT_REFRESH,
	    [SP_DENY] = SP_EXIT_DENY};

	return exits[REASONS[reason].decision];
}

int sp_error_exit(enum sp_error_kind kind)
{
	return ERRORS[kind].exit;
}

int sp_exit_worse(int a, int b)
{
	static const int order[] = {SP_EXIT_USAGE, SP_EXIT_BAD, SP_EXIT_DENY, SP_EXIT_REFRESH,
	    SP_EXIT_CUT, SP_EXIT_CONFLICT, SP_EXIT_FAILED};

	for (size_t i = 0; i < SP_COUNT(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return SP_EXIT_DONE;
}
