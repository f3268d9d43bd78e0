/* Connections of attest's own, to the bridge as the manager makes them and to the VMM as the bridge
 * does; of the guest only its hello is asked. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "bridge/exchange.h"
#include "bridge/greeting.h"
#include "bridge/handshake.h"
#include "spacebridge/attest.h"

static void close_attestation(struct sp_attestation **attestation)
{
	sp_attest_close(*attestation);
}
#define auto_attestation sp_cleanup(close_attestation)

/* A row of our own, for what no check of the library covers. */
static enum sp_reason tell(struct sp_report *report, const char *name, enum sp_reason reason,
    const char *expected, const char *seen, int64_t start)
{
	sp_report_add(report, name, reason, expected, seen, sp_monotonic_us() - start);
	return reason;
}

static enum sp_reason open_one(enum sp_role role, const json_t *evidence,
    const struct attest_target *target, struct sp_report *report, struct sp_attestation **ret)
{
	enum sp_reason reason = sp_attest_open(role, evidence, target->min_level, report, ret);

	if (reason == SP_REASON_NONE && !*ret)
		return tell(report, role == SP_ROLE_VMM ? "vmm-answer" : "bridge-answer",
		    SP_REASON_EVIDENCE_UNAVAILABLE, "a place in its backlog", "none: it is full",
		    sp_monotonic_us());
	return reason;
}

/* Reads up to and including an LF, not a byte more. 0, SP_E_TIMEOUT, SP_E_CLOSED, SP_E_TOO_LARGE,
 * -errno. */
static int read_line(int fd, char *line, size_t room, int timeout_ms)
{
	int64_t deadline = sp_monotonic_ms() + timeout_ms;

	for (size_t size = 0; size + 1 < room; size++) {
		int64_t left = deadline - sp_monotonic_ms();
		int bad = sp_read_exact(fd, line + size, 1, left > 0 ? (int)left : 0);
		if (bad)
			return bad;
		if (line[size] == '\n') {
			line[size] = '\0';
			return 0;
		}
	}
	return SP_E_TOO_LARGE;
}

/* The bridge names its client's executable by the reason of a bridge's. */
static const char *refused_words(enum sp_reason reason)
{
	return reason == SP_REASON_BRIDGE_EXECUTABLE ? "refused: to the bridge this program is not "
						       "its manager; its audit line says why"
						     : "refused: its audit line says why";
}

/* What the bridge says of itself and the VMM, once who says it has been proven. */
static enum sp_reason judge_greeting(struct sp_attestation *bridge, int code, const char *line,
    const struct attest_target *target, struct sp_report *report, int64_t start)
{
	static const char expected[] = "a greeting that says ready";
	struct sp_greeting greeting;
	struct sp_onward onward;
	struct sp_err err = {0};

	if (code || sp_greeting_parse(line, strlen(line), &greeting, &err))
		return tell(report, "bridge-greeting", SP_REASON_EVIDENCE_UNAVAILABLE, expected,
		    code ? sp_code_text(code) : err.message, start);
	if (greeting.kind == SP_GREETING_REFUSED)
		return tell(report, "bridge-greeting", greeting.reason, expected,
		    refused_words(greeting.reason), start);
	if (greeting.kind == SP_GREETING_ERROR)
		return tell(report, "bridge-greeting", SP_REASON_EVIDENCE_UNAVAILABLE, expected,
		    greeting.message, start);
	(void)tell(report, "bridge-greeting", SP_REASON_NONE, expected, "ready", start);
	if (!sp_greeting_onward(&greeting, &onward))
		return tell(report, "bridge-onward", SP_REASON_LISTENER_OWNER,
		    "a descriptor and its socket", "numbers that no socket has", start);
	return sp_attest_onward(bridge, &onward, target->vmm, target->min_level, report, NULL);
}

enum sp_reason attest_connect_bridge(const struct attest_target *target, struct sp_report *report)
{
	auto_attestation struct sp_attestation *bridge = NULL;
	char line[SP_GREETING_MAX];
	enum sp_reason reason = open_one(SP_ROLE_BRIDGE, target->bridge, target, report, &bridge);
	int64_t start;
	int code;

	if (reason != SP_REASON_NONE)
		return reason;
	start = sp_monotonic_us();
	code = read_line(sp_attest_fd(bridge), line, sizeof(line), target->timeout_ms);
	/* Who says nothing has perhaps not even accepted: that is no sign of another listener. */
	if (code != SP_E_TIMEOUT)
		reason = sp_attest_accepted(bridge, report);
	if (reason == SP_REASON_NONE)
		reason = judge_greeting(bridge, code, line, target, report, start);
	return reason == SP_REASON_NONE ? sp_attest_alive(bridge, report) : reason;
}

/* Waits for the answer without taking more than it off the socket. */
static int shake_hands(int fd, uint32_t port, int timeout_ms, uint32_t *ret_port)
{
	char line[SP_HANDSHAKE_ASK_MAX], answer[SP_HANDSHAKE_ANSWER_MAX];
	size_t size = sp_handshake_ask(port, line), used;
	int code = sp_write_all(fd, line, size, timeout_ms);
	ssize_t n;

	if (!code)
		code = sp_poll_one(fd, POLLIN, timeout_ms);
	if (code < 0)
		return code;
	n = recv(fd, answer, sizeof(answer), MSG_PEEK | MSG_DONTWAIT);
	if (n <= 0)
		return n == 0 ? SP_E_CLOSED : -errno;
	if (sp_handshake_read(answer, (size_t)n, &used, ret_port) != SP_HANDSHAKE_OK)
		return SP_E_BAD_RECORD;
	return sp_read_exact(fd, answer, used, timeout_ms);
}

enum sp_reason attest_reach_guest(const struct attest_target *target, struct sp_report *report,
    struct sp_attestation **ret, uint32_t *ret_port)
{
	auto_attestation struct sp_attestation *vmm = NULL;
	enum sp_reason reason = open_one(SP_ROLE_VMM, target->vmm, target, report, &vmm);
	char expected[64], seen[64];
	uint32_t port = 0;
	int64_t start;
	int code;

	if (reason != SP_REASON_NONE)
		return reason;
	start = sp_monotonic_us();
	code = shake_hands(sp_attest_fd(vmm), target->port, target->timeout_ms, &port);
	(void)snprintf(expected, sizeof(expected), "OK to CONNECT %u", target->port);
	(void)snprintf(seen, sizeof(seen), "OK %u", port);
	reason = tell(report, "vmm-answer", code ? SP_REASON_EVIDENCE_UNAVAILABLE : SP_REASON_NONE,
	    expected,
	    code == SP_E_BAD_RECORD ? "another answer"
	    : code                  ? sp_code_text(code)
				    : seen,
	    start);
	if (reason == SP_REASON_NONE)
		reason = sp_attest_accepted(vmm, report);
	if (reason != SP_REASON_NONE)
		return reason;
	*ret = sp_steal(&vmm);
	*ret_port = port;
	return SP_REASON_NONE;
}

/* The hello that a bridge would ask for. */
static enum sp_reason judge_guest(const struct attest_target *target,
    const struct sp_attestation *vmm, uint32_t port, struct sp_report *report)
{
	static const char expected[] = "the enrolled guest's proof";
	struct sp_guest_link link = {sp_attest_cid(vmm), port};
	uint8_t key[SP_GUEST_KEY_SIZE];
	struct sp_err err = {0};
	int64_t start = sp_monotonic_us();
	int bad = sp_guest_key_read(target->records, target->guest.id, key, &err);

	if (bad)
		return tell(report, "guest-hello", SP_REASON_EVIDENCE_UNAVAILABLE, expected,
		    err.message, start);
	bad = sp_hello_exchange(
	    sp_attest_fd(vmm), key, &target->guest, &link, target->timeout_ms, &err);
	sodium_memzero(key, sizeof(key));
	return tell(report, "guest-hello", bad ? SP_REASON_GUEST_IDENTITY : SP_REASON_NONE,
	    expected, bad ? err.message : "its proof", start);
}

enum sp_reason attest_connect_vmm(const struct attest_target *target, struct sp_report *report)
{
	auto_attestation struct sp_attestation *vmm = NULL;
	uint32_t port = 0;
	enum sp_reason reason = attest_reach_guest(target, report, &vmm, &port);

	if (reason == SP_REASON_NONE && target->guest.id[0])
		reason = judge_guest(target, vmm, port, report);
	return reason == SP_REASON_NONE ? sp_attest_alive(vmm, report) : reason;
}
