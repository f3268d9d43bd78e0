/* One row for each reason and each error kind: what it means for an operator, and what to run. */
#include "spaceid/advice.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *words;
	const char *command; /* @: the sandbox */
};

#define RESOLVE "spacerouted resolve @"
#define STATUS  "sandbox status @"
#define ATTEST  "spacebridge attest --sandbox @ --connect"
#define GRANTS  "spacerouted grants --sandbox @"
#define HISTORY "spaceid show --history @"
#define KEYS    "spacecap bundle list"
#define INSPECT "spacecap inspect -"

static const struct row ROWS[SP_REASON_COUNT] = {
    [SP_REASON_NONE] = {"nothing: both sides name the same execution", ""},
    [SP_REASON_EXECUTION] = {"the caller's route is older than what runs here: resolve it again; "
			     "if the registry still names the older one, publish the newer",
	RESOLVE},
    [SP_REASON_WORKER] = {"same execution, another worker: see what is published and what is "
			  "installed, and correct the one that is wrong",
	STATUS},
    [SP_REASON_SUBSTRATE] = {"same execution, another substrate: see what is published and what is "
			     "installed, and correct the one that is wrong",
	STATUS},
    [SP_REASON_POD_UID] = {"same execution, another pod: see what is published and what is "
			   "installed, and correct the one that is wrong",
	STATUS},
    [SP_REASON_ACTIVATION] = {"same execution, another activation: see what is published and what "
			      "is installed, and correct the one that is wrong",
	STATUS},
    [SP_REASON_ATTEMPT] = {"same activation, another attempt: resolve the route again; if the "
			   "registry still names the other attempt, publish this one",
	RESOLVE},
    [SP_REASON_RETIRED] = {"this execution is over here: resolve the route again; if the registry "
			   "still names it, publish its successor or retire the route",
	RESOLVE},
    [SP_REASON_ABSENT] = {"this worker serves no such sandbox: resolve the route again; if it "
			  "leads here, the record was lost or never installed",
	RESOLVE},
    [SP_REASON_MALFORMED] = {"what was presented is no capability of this format: see what it is "
			     "(on standard input)",
	INSPECT},
    [SP_REASON_UNKNOWN_KEY] = {"no key of the installed bundle made this signature: is the bundle "
			       "here the newest one?",
	KEYS},
    [SP_REASON_REVOKED_KEY] = {"the key that signed it was taken back: its signer needs a new one "
			       "(spacecap keygen), in a new bundle",
	KEYS},
    [SP_REASON_SIGNATURE] = {"it was not signed by that key for this realm: a forgery, damage on "
			     "the way, or the realm differs between signer and receiver",
	"spacecap config"},
    [SP_REASON_NOT_YET_VALID] = {"it begins in the future: compare this clock with the signer's",
	"date -u"},
    [SP_REASON_EXPIRED] = {"it has ended: mint another for each request; if it was fresh, compare "
			   "this clock with the signer's",
	"date -u"},
    [SP_REASON_LIFETIME] = {"it was made to live longer than any capability may: look at who made "
			    "it (on standard input)",
	INSPECT},
    [SP_REASON_PURPOSE] = {"it is for another purpose: mint one for this operation; what it is for "
			   "(on standard input):",
	INSPECT},
    [SP_REASON_ACCESS] = {"it does not name this operation: see what the caller was granted",
	GRANTS},
    [SP_REASON_PORT] = {"it is for another port, or this one is closed to all: see what the caller "
			"was granted, and [gateway] deny_ports",
	GRANTS},
    [SP_REASON_PROTOCOL] = {"it is for another protocol: see what the caller was granted", GRANTS},
    [SP_REASON_SESSION] = {"it is for another session: mint one for this session; what it is for "
			   "(on standard input):",
	INSPECT},
    [SP_REASON_FENCED] = {"it was issued before the execution was fenced: a request made now gets "
			  "a new one; see when and why it was fenced",
	HISTORY},
    [SP_REASON_REPLAYED] = {"it works once, and has: mint another for each request; nobody has to "
			    "repeat what was done",
	""},
    [SP_REASON_SANDBOX] = {"a request of another sandbox reached this one: no refresh helps; see "
			   "where its route leads",
	RESOLVE},
    [SP_REASON_UNAUTHORIZED] = {"nobody has granted this to the caller, or not any more: see what "
				"is granted",
	GRANTS},
    [SP_REASON_PEER_CREDENTIALS] = {"another user is behind the socket than was enrolled: see each "
				    "check",
	ATTEST},
    [SP_REASON_BRIDGE_PROCESS] = {"the bridge is another process than was enrolled: see each "
				  "check; after a restart activate again",
	ATTEST},
    [SP_REASON_BRIDGE_EXECUTABLE] = {"the bridge runs another program than was enrolled: see each "
				     "check",
	ATTEST},
    [SP_REASON_VMM_PROCESS] = {"the VMM is another process than was enrolled: see each check; "
			       "after a restart resume or activate again",
	ATTEST},
    [SP_REASON_VMM_EXECUTABLE] = {"the VMM runs another program than was enrolled: see each check",
	ATTEST},
    [SP_REASON_LISTENER_OWNER] = {"the socket is not in the hands of the enrolled process: see "
				  "each check",
	ATTEST},
    [SP_REASON_LISTENER_REPLACED] = {"another socket lies at the path than was enrolled: see each "
				     "check",
	ATTEST},
    [SP_REASON_GUEST_IDENTITY] = {"the guest cannot prove that it is the enrolled one: see each "
				  "check, and whether its key came with the snapshot",
	ATTEST},
    [SP_REASON_EVIDENCE_UNAVAILABLE] = {"there is no evidence to judge by, or this kernel or user "
					"cannot judge it: see each check",
	ATTEST},
};

static const struct row RECEIVER_BEHIND = {"this worker's record is older than what was selected: "
					   "the newer execution was not installed here, or runs "
					   "elsewhere; see both sides",
    STATUS};

static const struct row ERRORS[SP_ERROR_COUNT] = {
    [SP_ERROR_BAD_RECORD] = {"the line was none that may come there: correct the client", ""},
    [SP_ERROR_TRANSPORT] = {"a connection could not be made, or broke: see whether bridge, VMM and "
			    "guest are there",
	ATTEST},
    [SP_ERROR_TIMEOUT] = {"an answer did not come in time: see whether bridge, VMM and guest are "
			  "there",
	ATTEST},
    [SP_ERROR_OP] = {"the operation itself failed in the guest: no identity was in the way", ""},
    [SP_ERROR_OVERLOADED] = {"a bound was reached and nothing was done: ask again later", ""},
    [SP_ERROR_TOO_LARGE] = {"a line, answer or file is over its bound: ask for less at once", ""},
    [SP_ERROR_UNAVAILABLE] = {"something that is needed cannot answer now: see both sides", STATUS},
    [SP_ERROR_INTERNAL] = {"a fault of the tool: its standard error says more", ""},
};

static struct advice fill(const struct row *row, const char *sandbox)
{
	struct advice advice = {.words = row->words};
	size_t before = strcspn(row->command, "@");
	const char *after = row->command + before;

	if (*after)
		(void)snprintf(advice.command, sizeof(advice.command), "%.*s%s%s", (int)before,
		    row->command, sandbox ? sandbox : "S", after + 1);
	else
		(void)snprintf(advice.command, sizeof(advice.command), "%s", row->command);
	return advice;
}

struct advice spaceid_advice(const char *sandbox, enum sp_reason reason, enum sp_behind behind)
{
	bool receiver = reason == SP_REASON_EXECUTION && behind == SP_BEHIND_RECEIVER;

	return fill(receiver ? &RECEIVER_BEHIND : &ROWS[reason], sandbox);
}

struct advice spaceid_error_advice(const char *sandbox, enum sp_error_kind error)
{
	return fill(&ERRORS[error], sandbox);
}
