/* The table, and its driver: order, reasons, timing, and words when somebody asks. */
#include "attest/checks.h"

#include <stddef.h>
#include "attest/judge.h"
#include "attest/look.h"
#include "attest/report.h"
#include "base/io.h"
#include "base/util.h"

struct row {
	unsigned phases;          /* enum sp_phase */
	bool connection;          /* needs one */
	const char *name[2];      /* by role */
	enum sp_reason reason[2]; /* by role */
	size_t code;              /* of its part of a sight */
	sp_look_fn *look;
	sp_judge_fn *judge;
};

#define NAME(name)                                                                                 \
	{                                                                                          \
		"bridge-" name, "vmm-" name                                                        \
	}
#define BOTH(reason)                                                                               \
	{                                                                                          \
		SP_REASON_##reason, SP_REASON_##reason                                             \
	}
#define PROCESS                                                                                    \
	{                                                                                          \
		SP_REASON_BRIDGE_PROCESS, SP_REASON_VMM_PROCESS                                    \
	}
#define EXECUTABLE                                                                                 \
	{                                                                                          \
		SP_REASON_BRIDGE_EXECUTABLE, SP_REASON_VMM_EXECUTABLE                              \
	}

#define PART(name) offsetof(struct sp_sight, name.code)

static const struct row ROWS[] = {
    {SP_PHASE_OPEN, false, NAME("level"), BOTH(EVIDENCE_UNAVAILABLE), PART(level), sp_look_level,
	sp_judge_level},
    {SP_PHASE_OPEN, false, NAME("path"), BOTH(LISTENER_REPLACED), PART(file), sp_look_path,
	sp_judge_path},
    {SP_PHASE_OPEN, true, NAME("connect"), BOTH(LISTENER_REPLACED), PART(connection),
	sp_look_connect, sp_judge_connect},
    {SP_PHASE_OPEN, true, NAME("peer-credentials"), BOTH(PEER_CREDENTIALS), PART(credentials),
	sp_look_credentials, sp_judge_credentials},
    {SP_PHASE_OPEN, true, NAME("peer-process"), PROCESS, PART(peer_process), sp_look_peer_process,
	sp_judge_peer_process},
    {SP_PHASE_OPEN, false, NAME("boot"), PROCESS, PART(boot), sp_look_boot, sp_judge_boot},
    {SP_PHASE_OPEN, false, NAME("process"), PROCESS, PART(process), sp_look_process,
	sp_judge_process},
    {SP_PHASE_OPEN, false, NAME("start"), PROCESS, PART(start), sp_look_start, sp_judge_start},
    {SP_PHASE_OPEN, false, NAME("namespaces"), PROCESS, PART(namespaces), sp_look_namespaces,
	sp_judge_namespaces},
    {SP_PHASE_OPEN, false, NAME("tracer"), PROCESS, PART(tracer), sp_look_tracer, sp_judge_tracer},
    {SP_PHASE_OPEN, false, NAME("executable"), EXECUTABLE, PART(executable), sp_look_executable,
	sp_judge_executable},
    {SP_PHASE_ACCEPTED, true, NAME("peer-socket"), BOTH(LISTENER_REPLACED), PART(own),
	sp_look_peer_socket, sp_judge_peer_socket},
    {SP_PHASE_ACCEPTED | SP_PHASE_HELD, true, NAME("peer-held"), BOTH(LISTENER_OWNER), PART(held),
	sp_look_peer_held, sp_judge_peer_held},
    {SP_PHASE_ACCEPTED, false, NAME("listener"), BOTH(LISTENER_OWNER), PART(listener),
	sp_look_listener, sp_judge_listener},
    {SP_PHASE_ALIVE, false, NAME("alive"), PROCESS, PART(alive), sp_look_alive, sp_judge_alive},
    {SP_PHASE_ALIVE, false, NAME("image"), PROCESS, PART(image), sp_look_image, sp_judge_image},
};

bool sp_checks_take(
    enum sp_role role, const json_t *object, struct sp_evidence *ret, struct sp_report *report)
{
	struct sp_err err = {0};

	if (object && sp_evidence_parse(role, object, ret, &err) == 0)
		return true;
	sp_report_add(report, role == SP_ROLE_VMM ? "vmm-evidence" : "bridge-evidence",
	    SP_REASON_EVIDENCE_UNAVAILABLE, "recorded evidence",
	    object ? err.message : "none recorded: run attest --enroll at activation", 0);
	return false;
}

static enum sp_reason judge_row(
    const struct row *row, const struct sp_case *judged, struct sp_report *report, int64_t start)
{
	struct sp_words words = {"", ""};
	bool all = report && !report->failed_only;
	enum sp_verdict verdict = row->judge(judged, all ? &words : NULL);
	enum sp_reason reason = SP_REASON_NONE;

	if (verdict == SP_VERDICT_WRONG)
		reason = row->reason[judged->role];
	else if (verdict == SP_VERDICT_UNKNOWN)
		reason = SP_REASON_EVIDENCE_UNAVAILABLE;
	/* The same again, in words. */
	if (reason && report && !all)
		(void)row->judge(judged, &words);
	if (report)
		sp_report_add(report, row->name[judged->role], reason, words.expected, words.seen,
		    sp_monotonic_us() - start);
	return reason;
}

static enum sp_reason run_rows(
    struct sp_attestation *attestation, unsigned phases, bool connected, struct sp_report *report)
{
	for (size_t i = 0; i < SP_COUNT(ROWS); i++) {
		if (!(ROWS[i].phases & phases) || (ROWS[i].connection && !connected))
			continue;
		int64_t start = report ? sp_monotonic_us() : 0;
		ROWS[i].look(attestation);
		enum sp_reason reason = judge_row(&ROWS[i], &attestation->judged, report, start);
		if (reason != SP_REASON_NONE || attestation->judged.sight.connection.busy)
			return reason;
	}
	return SP_REASON_NONE;
}

/* Of the connections that are made to what is recorded of a role, the last one's sight is left. */
static void leave_sight(const struct sp_attestation *attestation, struct sp_report *report)
{
	const struct sp_case *judged = &attestation->judged;

	if (report && report->sights && attestation->fd >= 0 &&
	    judged->target == &judged->evidence.listener)
		report->sights[judged->role] = judged->sight;
}

enum sp_reason sp_checks_run(
    struct sp_attestation *attestation, unsigned phases, bool connected, struct sp_report *report)
{
	enum sp_reason reason = run_rows(attestation, phases, connected, report);

	leave_sight(attestation, report);
	return reason;
}

enum sp_reason sp_checks_judge(const struct sp_case *judged, struct sp_report *report)
{
	for (size_t i = 0; i < SP_COUNT(ROWS); i++) {
		int code = *(const int *)((const char *)&judged->sight + ROWS[i].code);
		if (code == SP_UNSEEN)
			continue;
		enum sp_reason reason = judge_row(&ROWS[i], judged, report, sp_monotonic_us());
		if (reason != SP_REASON_NONE)
			return reason;
	}
	return SP_REASON_NONE;
}

const char *sp_checks_row(unsigned n, enum sp_role role, enum sp_reason *ret_reason)
{
	if (n >= SP_COUNT(ROWS))
		return NULL;
	*ret_reason = ROWS[n].reason[role];
	return ROWS[n].name[role];
}
