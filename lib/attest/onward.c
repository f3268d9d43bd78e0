/* What the manager knows of the bridge's own connection: found through the bridge's descriptors,
 * judged by the same rows as a connection of ours. */
#include "attest/attest.h"

#include <errno.h>
#include <inttypes.h>
#include "attest/attestation.h"
#include "attest/checks.h"
#include "attest/descriptors.h"
#include "attest/judge.h"
#include "attest/netns.h"
#include "attest/report.h"
#include "attest/sockdiag.h"
#include "base/io.h"
#include "base/util.h"

static enum sp_verdict judge_end(const struct sp_attestation *bridge,
    const struct sp_onward *onward, int *ret_netlink, bool *ret_gone, struct sp_words *words)
{
	/* Seen with the bridge. One that it has entered since then has not got the connection. */
	uint64_t network_inode = bridge->judged.sight.namespaces.all.net;
	sp_auto_fd int network = -1;
	struct sp_socket found;
	int number;
	int held = sp_descriptor_find(
	    &bridge->process, onward->inode, onward->fd, SP_DESCRIPTOR_ACCEPTED, &number);
	int bad = held == -ENOENT ? 0 : held;

	sp_words_expect(
	    words, "pid %d holds socket %" PRIu32, (int)bridge->process.pid, onward->inode);
	if (!bad && !sp_netns_kept(network_inode, ret_netlink)) {
		bad = sp_process_network(&bridge->process, &network);
		if (!bad)
			bad = sp_netns_sockdiag(network, ret_netlink);
	}
	*ret_gone =
	    !bad && held && sp_sockdiag_find(*ret_netlink, onward->inode, &found) == -ENOENT;
	if (bad || held)
		return sp_judge_code(bad ? bad : held, words);
	sp_words_see(words, "its descriptor %d", number);
	return SP_VERDICT_RIGHT;
}

static enum sp_reason check_end(const struct sp_attestation *bridge, const struct sp_onward *onward,
    int *ret_netlink, bool *ret_gone, struct sp_report *report)
{
	struct sp_words words = {"", ""};
	int64_t start = sp_monotonic_us();
	enum sp_verdict verdict =
	    judge_end(bridge, onward, ret_netlink, ret_gone, report ? &words : NULL);
	enum sp_reason reason = SP_REASON_NONE;

	if (verdict != SP_VERDICT_RIGHT)
		reason = verdict == SP_VERDICT_WRONG ? SP_REASON_LISTENER_OWNER
						     : SP_REASON_EVIDENCE_UNAVAILABLE;
	sp_report_add(
	    report, "bridge-onward", reason, words.expected, words.seen, sp_monotonic_us() - start);
	return reason;
}

/* What is left once the bridge has told where its connection is. Takes `end`. */
static enum sp_reason go_on(struct sp_attestation *end, struct sp_attestation *bridge,
    const struct sp_onward *onward, struct sp_report *report, enum sp_onward_end *ret_end)
{
	bool gone = false;
	enum sp_reason reason = check_end(bridge, onward, &end->netlink, &gone, report);

	end->judged.sight.own.inode = onward->inode;
	sp_attest_hint(end, onward->vmm_fd);
	if (reason == SP_REASON_NONE)
		reason = sp_checks_run(end, SP_PHASE_ACCEPTED | SP_PHASE_ALIVE, true, report);
	if (ret_end && gone)
		*ret_end = SP_ONWARD_GONE;
	else if (ret_end && end->judged.sight.own.ended)
		*ret_end = SP_ONWARD_ENDED;
	sp_attest_close(end);
	return reason;
}

enum sp_reason sp_attest_onward(struct sp_attestation *bridge, const struct sp_onward *onward,
    const json_t *vmm, enum sp_level min_level, struct sp_report *report,
    enum sp_onward_end *ret_end)
{
	struct sp_attestation *end;
	enum sp_reason reason;

	if (ret_end)
		*ret_end = SP_ONWARD_STANDS;
	if (!bridge)
		return SP_REASON_EVIDENCE_UNAVAILABLE;
	end = sp_attestation_new(SP_ROLE_VMM, vmm, min_level, report);
	if (!end)
		return SP_REASON_EVIDENCE_UNAVAILABLE;
	reason = sp_checks_run(end, SP_PHASE_OPEN, false, report);
	if (reason == SP_REASON_NONE)
		return go_on(end, bridge, onward, report, ret_end);
	sp_attest_close(end);
	return reason;
}

struct sp_attestation *sp_attest_onward_begin(const json_t *vmm, enum sp_level min_level)
{
	struct sp_attestation *end = sp_attestation_new(SP_ROLE_VMM, vmm, min_level, NULL);

	if (end && sp_checks_run(end, SP_PHASE_OPEN, false, NULL) != SP_REASON_NONE) {
		sp_attest_close(end);
		end = NULL;
	}
	return end;
}

enum sp_reason sp_attest_onward_end(struct sp_attestation *begun, struct sp_attestation *bridge,
    const struct sp_onward *onward, struct sp_report *report, enum sp_onward_end *ret_end)
{
	if (ret_end)
		*ret_end = SP_ONWARD_STANDS;
	if (bridge)
		return go_on(begun, bridge, onward, report, ret_end);
	sp_attest_close(begun);
	return SP_REASON_EVIDENCE_UNAVAILABLE;
}
