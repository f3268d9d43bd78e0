/*
 * The archive of attest --evidence: its members and its manifest.
 *
 *   manifest.json   {"v":1, made_by, made_at, host, kernel, build, machine, boot_id, of, sandbox or
 *                   pid, level, min_level, facilities}; `of` is "sandbox" or "pid"
 *   record.json     the runtime record as it was read; absent when there was none
 *   report.json     what was judged there, as attest prints it ("sandbox")
 *   evidence.json   what evidence of the process would be ("pid")
 *   bridge/seen.json, bridge/stat, bridge/status, bridge/cgroup, bridge/descriptors
 *   vmm/...         what was seen of each process of the record (attest/capture.h)
 *   process/...     the same of the process of --pid
 */
#ifndef SP_SPACEBRIDGE_ATTEST_ARCHIVE_H
#define SP_SPACEBRIDGE_ATTEST_ARCHIVE_H

#include <jansson.h>
#include <stdbool.h>
#include "attest/capture.h"
#include "base/archive.h"
#include "base/text.h"

#define ATTEST_ARCHIVE_VERSION 1
#define ATTEST_MANIFEST        "manifest.json"
#define ATTEST_RECORD          "record.json"
#define ATTEST_REPORT          "report.json"
#define ATTEST_EVIDENCE        "evidence.json"
#define ATTEST_SEEN            "seen.json"

/* Directories of it. */
enum attest_part { ATTEST_BRIDGE, ATTEST_VMM, ATTEST_PROCESS, ATTEST_PARTS };
const char *attest_part_name(enum attest_part part);

struct attest_manifest {
	struct sp_capture_place place;
	char made_at[SP_TIME_SIZE];
	char host[SP_ID_MAX + 1];
	bool of_process;             /* of one process, without a record */
	char sandbox[SP_ID_MAX + 1]; /* "": of_process */
};

/* Of this machine, now; a new reference, NULL when out of memory. `pid` 0: of the sandbox. */
json_t *attest_manifest_make(const char *sandbox, pid_t pid, enum sp_level min_level);

/* Closed. SP_E_BAD_RECORD; another version of the format says so. Pure. */
int attest_manifest_parse(const json_t *object, struct attest_manifest *ret, struct sp_err *err);

/* May a member have this name? For struct sp_archive_limits. */
bool attest_member_allowed(const char *name, void *context);

/* "bridge/stat" */
void attest_member_name(
    enum attest_part part, const char *name, char text[SP_ARCHIVE_NAME_MAX + 1]);

#endif
