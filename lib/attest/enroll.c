/*
 * Taking evidence, in the order of 04-bridge: pin first, then read, the listener by sock_diag, and
 * last the pins again, so that everything read was of one process and one program.
 */
#include "attest/attest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attest/config.h"
#include "attest/evidence.h"
#include "attest/listening.h"
#include "base/limits.h"
#include "base/util.h"
#include "record/json.h"

#define WITHOUT_TEXTS 4096 /* more than all names, numbers and times of an evidence take */
#define ESCAPED       6    /* "\\u001f" */

/* Texts that an evidence under construction points into. */
struct texts {
	char listener[PATH_MAX], api[PATH_MAX], executable[PATH_MAX], cgroup[PATH_MAX],
	    uds[PATH_MAX];
};

static int read_process(const struct sp_process *process, struct sp_evidence *evidence,
    struct texts *texts, struct sp_err *err)
{
	struct sp_process_stat stat;
	struct sp_process_status status = {0};
	pid_t tracer;
	int bad = sp_process_read_stat(process, &stat);

	if (bad)
		return sp_process_fail(err, bad, process->pid, "start time");
	if (stat.start_stack == 0)
		return sp_process_fail(err, -EACCES, process->pid, "start stack");
	bad = sp_process_read_status(process, &status);
	tracer = status.tracer;
	if (!bad && stat.threads > 1)
		bad = sp_process_tracer(process, stat.threads, &tracer);
	if (bad)
		return sp_process_fail(err, bad, process->pid, "status");
	if (tracer)
		return sp_fail(
		    err, SP_E_DENIED, "pid %d: pid %d traces it", (int)process->pid, (int)tracer);
	bad = sp_process_read_namespaces(process, &evidence->namespaces);
	if (bad)
		return sp_process_fail(err, bad, process->pid, "namespaces");
	bad = sp_process_read_cgroup(process, texts->cgroup, sizeof(texts->cgroup));
	if (bad)
		return sp_process_fail(err, bad, process->pid, "cgroup");
	evidence->pid = process->pid;
	evidence->pidfs = process->pidfs;
	evidence->start_time = stat.start_time;
	evidence->start_stack = stat.start_stack;
	evidence->uid = status.uid;
	evidence->gid = status.gid;
	evidence->cgroup = texts->cgroup;
	return 0;
}

static int read_executable(const struct sp_process *process, struct sp_evidence *evidence,
    struct texts *texts, struct sp_err *err)
{
	int bad = sp_executable_read(process, &evidence->executable);

	if (!bad)
		bad = sp_executable_hash(process, &evidence->executable, evidence->hash);
	if (!bad)
		bad = sp_executable_path(process, texts->executable, sizeof(texts->executable));
	if (bad)
		return sp_process_fail(err, bad, process->pid, "executable");
	evidence->executable_path = texts->executable;
	return 0;
}

static int check_still(const struct sp_process *process, struct sp_err *err)
{
	int same = sp_process_same_image(process);

	if (same < 0)
		return sp_process_fail(err, same, process->pid, "mm pin");
	if (!same || !sp_process_alive(process))
		return sp_fail(err, SP_E_DENIED,
		    "pid %d: it has called exec or exited while it was looked at",
		    (int)process->pid);
	return 0;
}

static int collect(const struct sp_enroll *what, const struct sp_process *process,
    struct sp_evidence *evidence, struct texts *texts, struct sp_err *err)
{
	const char *boot = sp_boot_id();
	int bad;

	if (!boot)
		return sp_fail(err, SP_E_UNAVAILABLE, "the boot id cannot be read");
	memcpy(evidence->boot_id, boot, sizeof(evidence->boot_id));
	bad = read_process(process, evidence, texts, err);
	if (!bad)
		bad = read_executable(process, evidence, texts, err);
	if (!bad && what->path)
		bad = sp_listener_read(
		    process, what->path, texts->listener, &evidence->listener, err);
	if (!bad && what->api)
		bad = sp_listener_read(process, what->api, texts->api, &evidence->api, err);
	return bad ? bad : check_still(process, err);
}

/* CID and VSOCK path: the VMM's own word where it has an API, else the operator's. */
static int settle_guest(const struct sp_enroll *what, struct sp_evidence *evidence,
    struct texts *texts, struct sp_err *err)
{
	struct sp_vmm_config config;
	int bad;

	evidence->cid = (uint32_t)what->cid;
	evidence->uds_path = texts->listener;
	if (what->api) {
		bad = sp_vmm_config_ask(evidence, SP_CONFIG_TIMEOUT_MS, &config, err);
		if (bad)
			return bad;
		if (what->cid && config.cid != what->cid)
			return sp_fail(err, SP_E_DENIED, "cid %lld was given, the VMM says %lld",
			    (long long)what->cid, (long long)config.cid);
		evidence->cid = (uint32_t)config.cid;
		memcpy(texts->uds, config.uds_path, sizeof(texts->uds));
		evidence->uds_path = texts->uds;
	}
	if (evidence->cid < 3)
		return sp_fail(err, SP_E_USAGE,
		    "the guest's CID (3 or higher) must be given when the VMM has no API socket");
	return 0;
}

/* To print it only to count it costs as much as to build it: most texts are short enough by far,
 * even if each of their bytes were escaped. */
static bool too_large(const struct sp_evidence *evidence, const json_t *object)
{
	const char *const all[] = {evidence->cgroup, evidence->executable_path,
	    evidence->listener.path, evidence->api.path, evidence->uds_path};
	size_t size = WITHOUT_TEXTS;

	for (size_t i = 0; i < SP_COUNT(all); i++)
		size += all[i] ? ESCAPED * strlen(all[i]) : 0;
	return size > SP_EVIDENCE_MAX &&
	       json_dumpb(object, NULL, 0, JSON_COMPACT) > SP_EVIDENCE_MAX;
}

static int enroll(const struct sp_enroll *what, const struct sp_process *process, json_t **ret,
    struct sp_err *err)
{
	struct texts texts;
	struct sp_evidence evidence = {0};
	sp_auto_json json_t *object = NULL;
	int bad = collect(what, process, &evidence, &texts, err);

	if (!bad && what->role == SP_ROLE_VMM)
		bad = settle_guest(what, &evidence, &texts, err);
	if (bad)
		return bad;
	object = sp_evidence_json(what->role, &evidence);
	if (!object)
		return sp_fail(
		    err, SP_E_UNAVAILABLE, "pid %d: a path is not UTF-8", (int)process->pid);
	if (too_large(&evidence, object))
		return sp_fail(err, SP_E_TOO_LARGE, "pid %d: evidence of over %u bytes",
		    (int)process->pid, SP_EVIDENCE_MAX);
	*ret = sp_steal(&object);
	return 0;
}

int sp_evidence_enroll(const struct sp_enroll *what, json_t **ret, struct sp_err *err)
{
	struct sp_process process = SP_PROCESS_NONE;
	int bad;

	if (sp_level_probe() == SP_LEVEL_NONE)
		return sp_fail(err, SP_E_UNAVAILABLE,
		    "this kernel, or this process's rights, allow no evidence at all");
	bad = sp_process_pin(what->pid, -1, &process);
	if (bad)
		return sp_process_fail(err, bad, what->pid, "/proc directory");
	bad = enroll(what, &process, ret, err);
	sp_process_unpin(&process);
	return bad;
}
