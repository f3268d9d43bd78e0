/* A VMM's own word about its guest, from its API socket: GET /vm/config, as Firecracker has it. */
#ifndef SP_ATTEST_CONFIG_H
#define SP_ATTEST_CONFIG_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include "attest/attestation.h"
#include "base/err.h"

#define SP_CONFIG_TIMEOUT_MS 2000
#define SP_CONFIG_ANSWER_MAX (64 * 1024)

struct sp_vmm_config {
	int64_t cid;
	char uds_path[PATH_MAX]; /* as the VMM names it */
};

/* An HTTP/1.1 answer of `size` bytes: 0 and *ret, -EAGAIN when more must come, SP_E_BAD_RECORD with
 * words. Pure. */
int sp_vmm_config_parse(
    const char *answer, size_t size, struct sp_vmm_config *ret, struct sp_err *err);

/* Asks on an attestation that is open at the API socket; proves who answered before it believes. A
 * reason, and words for the report. */
enum sp_reason sp_vmm_config_exchange(struct sp_attestation *attestation, int timeout_ms,
    struct sp_vmm_config *ret, struct sp_report *report, struct sp_err *err);

/* The same with evidence still under construction: SP_E_DENIED, SP_E_UNAVAILABLE. */
int sp_vmm_config_ask(const struct sp_evidence *evidence, int timeout_ms, struct sp_vmm_config *ret,
    struct sp_err *err);

/* Does the VMM's name for its VSOCK socket lead, in its own root or working directory, to the
 * recorded listener's file? 1, 0 or -errno. */
int sp_vmm_config_leads(
    const struct sp_process *process, const char *uds_path, const struct sp_listener *listener);

#endif
