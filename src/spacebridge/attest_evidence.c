/*
 * spacebridge attest --evidence: everything for later. What was judged, by what record, and what
 * the kernel showed of each process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/util.h"
#include "record/json.h"
#include "spacebridge/attest.h"
#include "spacebridge/attest_archive.h"

struct packing {
	struct sp_archive_member members[SP_CAPTURE_MEMBERS];
	size_t count;
};

static void packing_done(struct packing *packing)
{
	for (size_t i = 0; i < packing->count; i++) {
		free(packing->members[i].name);
		free(packing->members[i].data);
	}
}

/* Takes `text`. */
static int add_text(struct packing *packing, const char *name, char *text, struct sp_err *err)
{
	struct sp_archive_member *member = &packing->members[packing->count++];

	*member = (struct sp_archive_member){strdup(name), text, text ? strlen(text) : 0};
	return member->name && text ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

static int add_json(
    struct packing *packing, const char *name, const json_t *object, struct sp_err *err)
{
	return add_text(packing, name, object ? sp_json_text(object) : NULL, err);
}

/* Without evidence that names a process there is nothing to look at. */
static int add_process(struct packing *packing, enum attest_part part, const json_t *evidence,
    const struct sp_sight *connected, struct sp_err *err)
{
	enum sp_role role = part == ATTEST_VMM ? SP_ROLE_VMM : SP_ROLE_BRIDGE;
	sp_cleanup(sp_capture_done) struct sp_capture capture = {0};
	char name[SP_ARCHIVE_NAME_MAX + 1];
	int bad = sp_capture_take(role, evidence, connected, &capture, err);

	if (bad)
		return bad == SP_E_BAD_RECORD ? 0 : bad;
	attest_member_name(part, ATTEST_SEEN, name);
	bad = add_json(packing, name, capture.seen, err);
	for (unsigned i = 0; i < SP_CAPTURE_TEXTS && !bad; i++) {
		if (!capture.texts[i])
			continue;
		attest_member_name(part, sp_capture_name(i), name);
		bad = add_text(packing, name, sp_steal(&capture.texts[i]), err);
	}
	return bad;
}

static int write_out(const struct packing *packing, const char *path, struct sp_err *err)
{
	sp_auto_free char *tar = NULL;
	size_t size;
	int bad = sp_archive_pack(
	    packing->members, packing->count, SP_ARCHIVE_TAR, sp_time_now(), &tar, &size, err);

	return bad ? bad : sp_file_create(AT_FDCWD, path, 0600, tar, size, err);
}

static int add_record(struct packing *packing, const struct attest_taken *taken, struct sp_err *err)
{
	sp_auto_json json_t *record = sp_record_json(taken->record);
	int bad = add_json(packing, ATTEST_RECORD, record, err);

	if (!bad && taken->record->bridge)
		bad = add_process(packing, ATTEST_BRIDGE, taken->record->bridge,
		    &taken->report->sights[SP_ROLE_BRIDGE], err);
	if (!bad && taken->record->vmm)
		bad = add_process(packing, ATTEST_VMM, taken->record->vmm,
		    &taken->report->sights[SP_ROLE_VMM], err);
	return bad;
}

static int pack_sandbox(
    struct packing *packing, const struct attest_taken *taken, struct sp_err *err)
{
	sp_auto_json json_t *manifest = attest_manifest_make(taken->sandbox, 0, taken->min_level);
	sp_auto_json json_t *report =
	    sp_report_json(taken->report, taken->reason, sp_level_probe());
	int bad = add_json(packing, ATTEST_MANIFEST, manifest, err);

	if (!bad)
		bad = add_json(packing, ATTEST_REPORT, report, err);
	if (!bad && taken->record)
		bad = add_record(packing, taken, err);
	return bad;
}

int attest_evidence_sandbox(const char *path, const struct attest_taken *taken, struct sp_err *err)
{
	struct packing packing = {.count = 0};
	int bad = pack_sandbox(&packing, taken, err);

	if (!bad)
		bad = write_out(&packing, path, err);
	packing_done(&packing);
	return bad;
}

static int pack_process(
    struct packing *packing, pid_t pid, const json_t *evidence, struct sp_err *err)
{
	sp_auto_json json_t *manifest = attest_manifest_make(NULL, pid, SP_LEVEL_NONE);
	int bad = add_json(packing, ATTEST_MANIFEST, manifest, err);

	if (!bad)
		bad = add_json(packing, ATTEST_EVIDENCE, evidence, err);
	return bad ? bad : add_process(packing, ATTEST_PROCESS, evidence, NULL, err);
}

int attest_evidence_process(const char *path, pid_t pid, const json_t *evidence, struct sp_err *err)
{
	struct packing packing = {.count = 0};
	int bad = pack_process(&packing, pid, evidence, err);

	if (!bad)
		bad = write_out(&packing, path, err);
	packing_done(&packing);
	return bad;
}
