/* Looks at the process itself: step 3 and step 8. */
#include "attest/look.h"

#include <errno.h>
#include <string.h>
#include "attest/judge.h"
#include "attest/kept.h"
#include "base/util.h"

void sp_look_level(struct sp_attestation *attestation)
{
	attestation->judged.sight.level.code = 0;
	attestation->judged.sight.level.level = sp_level_probe();
}

void sp_look_boot(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;
	const char *now = sp_boot_id();

	sight->boot.code = now ? 0 : -EIO;
	if (now)
		memcpy(sight->boot.id, now, sizeof(sight->boot.id));
}

/* Two pidfds can be told apart only by their inodes; without, the one kept from the first look is
 * what counts. */
static int look_kept(const struct sp_evidence *evidence, const struct sp_process *process)
{
	int same;

	if (evidence->pidfs && process->pidfs)
		return 0;
	same = sp_kept_look(evidence, process);
	if (same < 0)
		return same;
	return same ? 0 : -ESRCH;
}

void sp_look_process(struct sp_attestation *attestation)
{
	const struct sp_evidence *evidence = &attestation->judged.evidence;
	struct sp_sight *sight = &attestation->judged.sight;
	int pidfd = sp_steal_fd(&attestation->peer_pidfd);

	sight->process.code = sp_process_pin(evidence->pid, pidfd, &attestation->process);
	if (!sight->process.code)
		sight->process.code = look_kept(evidence, &attestation->process);
	sight->process.pid = attestation->process.pid;
	sight->process.pidfs = attestation->process.pidfs;
}

void sp_look_start(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	sight->start.code = sp_process_read_stat(&attestation->process, &sight->start.stat);
}

void sp_look_namespaces(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	sight->namespaces.code =
	    sp_process_read_namespaces(&attestation->process, &sight->namespaces.all);
}

void sp_look_tracer(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	sight->tracer.code =
	    sp_process_tracer(&attestation->process, sight->start.stat.threads, &sight->tracer.pid);
}

void sp_look_bytes(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	sight->bytes.code =
	    sp_executable_hash(&attestation->process, &sight->executable.tuple, sight->bytes.hash);
}

void sp_look_executable(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	sight->executable.code =
	    sp_executable_read(&attestation->process, &sight->executable.tuple);
	if (!sight->executable.code &&
	    sp_judge_needs_bytes(
		&attestation->judged.evidence.executable, &sight->executable.tuple))
		sp_look_bytes(attestation);
}

void sp_look_alive(struct sp_attestation *attestation)
{
	attestation->judged.sight.alive.code = 0;
	attestation->judged.sight.alive.alive = sp_process_alive(&attestation->process);
}

void sp_look_image(struct sp_attestation *attestation)
{
	int same = sp_process_same_image(&attestation->process);

	attestation->judged.sight.image.code = same < 0 ? same : 0;
	attestation->judged.sight.image.same = same > 0;
}
