/* An attestation's life: opened, accepted, asked again while it lives, closed. */
#include "attest/attest.h"

#include <stdlib.h>
#include "attest/attestation.h"
#include "attest/checks.h"
#include "attest/descriptors.h"
#include "base/io.h"
#include "base/util.h"

static void free_attestation(struct sp_attestation **attestation)
{
	sp_attest_close(*attestation);
	*attestation = NULL;
}

struct sp_attestation *sp_attestation_blank(
    enum sp_role role, const json_t *object, enum sp_level min_level)
{
	struct sp_attestation *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	*made = (struct sp_attestation){.judged = {.role = role, .min_level = min_level},
	    .object = json_incref((json_t *)(uintptr_t)object),
	    .file = -1,
	    .fd = -1,
	    .netlink = -1,
	    .peer_pidfd = -1,
	    .process = SP_PROCESS_NONE};
	made->judged.target = &made->judged.evidence.listener;
	sp_sight_init(&made->judged.sight);
	return made;
}

struct sp_attestation *sp_attestation_new(
    enum sp_role role, const json_t *object, enum sp_level min_level, struct sp_report *report)
{
	struct sp_attestation *made = sp_attestation_blank(role, object, min_level);

	if (!made || sp_checks_take(role, object, &made->judged.evidence, report))
		return made;
	sp_attest_close(made);
	return NULL;
}

enum sp_reason sp_attestation_open(struct sp_attestation *attestation, struct sp_report *report)
{
	return sp_checks_run(attestation, SP_PHASE_OPEN, true, report);
}

enum sp_reason sp_attest_open(enum sp_role role, const json_t *evidence, enum sp_level min_level,
    struct sp_report *report, struct sp_attestation **ret)
{
	sp_cleanup(free_attestation) struct sp_attestation *attestation =
	    sp_attestation_new(role, evidence, min_level, report);
	enum sp_reason reason;

	if (!attestation)
		return SP_REASON_EVIDENCE_UNAVAILABLE;
	reason = sp_attestation_open(attestation, report);
	if (reason == SP_REASON_NONE)
		*ret = attestation->judged.sight.connection.busy ? NULL : sp_steal(&attestation);
	return reason;
}

int sp_attest_fd(const struct sp_attestation *attestation)
{
	return attestation ? attestation->fd : -1;
}

int sp_attest_pidfd(const struct sp_attestation *attestation)
{
	return attestation ? attestation->process.pidfd : -1;
}

uint32_t sp_attest_inode(const struct sp_attestation *attestation)
{
	return attestation ? attestation->judged.sight.own.inode : 0;
}

int sp_attest_number(const struct sp_attestation *attestation)
{
	return attestation && attestation->judged.sight.held.code == 0
		   ? attestation->judged.sight.held.number
		   : -1;
}

void sp_attest_hint(struct sp_attestation *attestation, int number)
{
	if (attestation)
		attestation->judged.sight.held.number = number;
}

uint32_t sp_attest_cid(const struct sp_attestation *attestation)
{
	return attestation ? attestation->judged.evidence.cid : 0;
}

enum sp_reason sp_attest_accepted(struct sp_attestation *attestation, struct sp_report *report)
{
	return attestation ? sp_checks_run(attestation, SP_PHASE_ACCEPTED, true, report)
			   : SP_REASON_EVIDENCE_UNAVAILABLE;
}

enum sp_reason sp_attest_held(struct sp_attestation *attestation, struct sp_report *report)
{
	enum sp_reason reason = attestation
				    ? sp_checks_run(attestation, SP_PHASE_HELD, true, report)
				    : SP_REASON_EVIDENCE_UNAVAILABLE;

	return reason && sp_attest_ended(attestation) ? SP_REASON_NONE : reason;
}

bool sp_attest_ended(const struct sp_attestation *attestation)
{
	/* Not POLLRDHUP: a peer that has only ended its direction still has a socket to judge. */
	return attestation &&
	       (attestation->judged.sight.own.ended || sp_poll_one(attestation->fd, 0, 0) > 0);
}

enum sp_reason sp_attest_alive(struct sp_attestation *attestation, struct sp_report *report)
{
	return attestation ? sp_checks_run(attestation, SP_PHASE_ALIVE, true, report)
			   : SP_REASON_EVIDENCE_UNAVAILABLE;
}

enum sp_reason sp_attest_inspect(
    enum sp_role role, const json_t *evidence, enum sp_level min_level, struct sp_report *report)
{
	sp_cleanup(free_attestation) struct sp_attestation *attestation =
	    sp_attestation_new(role, evidence, min_level, report);

	if (!attestation)
		return SP_REASON_EVIDENCE_UNAVAILABLE;
	return sp_checks_run(
	    attestation, SP_PHASE_OPEN | SP_PHASE_ACCEPTED | SP_PHASE_ALIVE, false, report);
}

/* The pins' process lives, and has kept its number since they were taken: whoever else was pinned
 * by that number is the same process. */
static bool is_same(const struct sp_attestation *attestation, const struct sp_attestation *other)
{
	return attestation->process.pid == other->process.pid &&
	       attestation->process.pidfs == other->process.pidfs &&
	       sp_process_alive(&attestation->process) && sp_process_alive(&other->process);
}

bool sp_attest_share(struct sp_attestation *attestation, struct sp_attestation *other)
{
	if (attestation->pins || !is_same(attestation, other))
		return false;
	if (!other->pins) {
		other->pins = malloc(sizeof(*other->pins));
		if (!other->pins)
			return false;
		*other->pins = (struct sp_pins){1, other->process};
	}
	sp_process_unpin(&attestation->process);
	attestation->process = other->process;
	attestation->pins = other->pins;
	attestation->pins->references++;
	return true;
}

static void unpin(struct sp_attestation *attestation)
{
	struct sp_pins *pins = attestation->pins;

	if (!pins) {
		sp_process_unpin(&attestation->process);
	} else if (--pins->references == 0) {
		sp_process_unpin(&pins->process);
		free(pins);
	}
}

void sp_attest_close(struct sp_attestation *attestation)
{
	if (!attestation)
		return;
	/* The other end is closed when the process sees that ours is. */
	if (attestation->fd >= 0 && sp_attest_number(attestation) >= 0)
		sp_descriptor_freed(&attestation->process, sp_attest_number(attestation));
	sp_fd_close(&attestation->file);
	sp_fd_close(&attestation->fd);
	sp_corner_leave(attestation->corner);
	sp_fd_close(&attestation->peer_pidfd);
	unpin(attestation);
	json_decref(attestation->object);
	free(attestation);
}
