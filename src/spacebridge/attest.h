/* What the modes of `spacebridge attest` share. */
#ifndef SP_SPACEBRIDGE_ATTEST_H
#define SP_SPACEBRIDGE_ATTEST_H

#include <jansson.h>
#include <limits.h>
#include "attest/attest.h"
#include "bridge/hello.h"
#include "cli/cli.h"
#include "store/store.h"

/* attest_enroll.c: evidence of a bridge and a VMM, printed, or added to a record. */
int attest_enroll(struct sp_cli *cli);

/* attest_guest.c: gives the guest behind an enrolled VMM the name and the key of this activation,
 * and adds `guest` to its record, which has sandbox, route and `vmm`. SP_E_DENIED: the guest takes
 * no key from us. */
int attest_enroll_guest(struct sp_cli *cli, json_t *record, struct sp_err *err);

/* attest_process.c: evidence of one process, without a record. */
int attest_process(struct sp_cli *cli);

/* attest_level.c: what this kernel can prove, against [bridge] min_level. */
int attest_level(struct sp_cli *cli);

/* attest_all.c: judges every active record without a connection to anything, a line each. */
int attest_all(struct sp_cli *cli);

/* attest_sandbox.c: judges what is recorded of a sandbox. */
int attest_sandbox(struct sp_cli *cli);

/* Where the records are: --records, else under [space] state_dir; and one of them. */
int attest_records(struct sp_cli *cli, char path[PATH_MAX], struct sp_err *err);
int attest_read_record(
    const char *records, const char *sandbox, struct sp_record *ret, struct sp_err *err);

/* attest_connect.c: the same with a connection of our own to each. `timeout_ms` bounds each wait.
 */
struct attest_target {
	const json_t *bridge, *vmm;
	enum sp_level min_level;
	uint32_t port; /* the guest agent's */
	int timeout_ms;
	/* whose hello the VMM's connection ends with; an empty id: nobody's */
	struct sp_guest_name guest;
	const char *records; /* where its key lies */
};
enum sp_reason attest_connect_bridge(const struct attest_target *target, struct sp_report *report);
enum sp_reason attest_connect_vmm(const struct attest_target *target, struct sp_report *report);

/* Opens a connection to the guest through the VMM and proves the VMM (steps 1 to 6). *ret_port is
 * the number in OK. */
enum sp_reason attest_reach_guest(const struct attest_target *target, struct sp_report *report,
    struct sp_attestation **ret, uint32_t *ret_port);

/* attest_show.c: one line, or a check list on a terminal. Returns the exit code. */
int attest_show(struct sp_cli *cli, const struct sp_report *report, enum sp_reason reason);

/* The same of what was judged from an archive. Everything is borrowed. */
struct attest_past {
	enum sp_level level;        /* of the machine where it was taken */
	const char *made_at, *host; /* when and where */
	const json_t *others;       /* names of the checks that cannot be made again */
};
int attest_show_past(struct sp_cli *cli, const struct sp_report *report, enum sp_reason reason,
    const struct attest_past *past);

/* attest_evidence.c: what was judged, and what the kernel shows now, into a new archive at `path`
 * (attest_archive.h). An existing file is refused, and nothing is left behind on failure. */
struct attest_taken {
	const char *sandbox;
	const struct sp_record *record; /* NULL: there is none */
	const struct sp_report *report; /* with its sights */
	enum sp_reason reason;
	enum sp_level min_level;
};
int attest_evidence_sandbox(const char *path, const struct attest_taken *taken, struct sp_err *err);
int attest_evidence_process(
    const char *path, pid_t pid, const json_t *evidence, struct sp_err *err);

/* attest_check.c: judges such an archive. */
int attest_check(struct sp_cli *cli);

/* [bridge] min_level. SP_EXIT_USAGE, told, or 0. */
int attest_min_level(struct sp_cli *cli, enum sp_level *ret);

#endif
