/* spacebridge attest --check: judges an archive of --evidence, on whatever machine. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "attest/told.h"
#include "base/file.h"
#include "base/util.h"
#include "record/json.h"
#include "spacebridge/attest.h"
#include "spacebridge/attest_archive.h"

#define TAR_OVERHEAD (2048u * SP_CAPTURE_MEMBERS + 65536u) /* headers and padding */

struct checking {
	struct sp_archive archive;
	struct attest_manifest manifest;
	struct sp_report report;
	json_t *others; /* names of checks that are not made here */
	enum sp_reason reason;
};

static void checking_done(struct checking *checking)
{
	sp_archive_done(&checking->archive);
	sp_report_done(&checking->report);
	json_decref(checking->others);
}

static int read_archive(const char *path, struct sp_archive *ret, struct sp_err *err)
{
	static const struct sp_archive_limits limits = {.bytes = SP_CAPTURE_BYTES_MAX,
	    .members = SP_CAPTURE_MEMBERS,
	    .allowed = attest_member_allowed};
	sp_auto_free char *tar = NULL;
	size_t size;
	int bad =
	    sp_file_read(AT_FDCWD, path, 0, SP_CAPTURE_BYTES_MAX + TAR_OVERHEAD, &tar, &size, err);

	if (bad)
		return bad;
	bad = sp_archive_unpack(tar, size, &limits, ret, err);
	return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
}

/* *ret is NULL when there is no such member. */
static int read_json(
    const struct sp_archive *archive, const char *name, json_t **ret, struct sp_err *err)
{
	const struct sp_archive_member *member = sp_archive_find(archive, name);
	int bad;

	*ret = NULL;
	if (!member)
		return 0;
	bad = sp_json_parse(member->data, member->size, ret, err);
	return bad ? sp_err_prefix(err, bad, "%s", name) : 0;
}

static int read_manifest(struct checking *checking, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	int bad = read_json(&checking->archive, ATTEST_MANIFEST, &object, err);

	if (!bad && !object)
		return sp_fail(err, SP_E_BAD_ARCHIVE, "no " ATTEST_MANIFEST " in it");
	return bad ? bad : attest_manifest_parse(object, &checking->manifest, err);
}

/* A text that is not whole, for a NUL ends it, is none. */
static const char *find_stat(const struct sp_archive *archive, enum attest_part part)
{
	char name[SP_ARCHIVE_NAME_MAX + 1];
	const struct sp_archive_member *member;

	attest_member_name(part, sp_capture_name(SP_CAPTURE_STAT), name);
	member = sp_archive_find(archive, name);
	return member && strlen(member->data) == member->size ? member->data : NULL;
}

static int judge_process(struct checking *checking, enum attest_part part, const json_t *evidence,
    enum sp_reason *ret, struct sp_err *err)
{
	enum sp_role role = part == ATTEST_VMM ? SP_ROLE_VMM : SP_ROLE_BRIDGE;
	sp_auto_json json_t *seen = NULL;
	char name[SP_ARCHIVE_NAME_MAX + 1];
	int bad;

	attest_member_name(part, ATTEST_SEEN, name);
	bad = read_json(&checking->archive, name, &seen, err);
	if (bad)
		return bad;
	bad = sp_capture_judge(role, evidence, seen, find_stat(&checking->archive, part),
	    &checking->manifest.place, &checking->report, ret, err);
	return bad ? sp_err_prefix(err, bad, "%s", attest_part_name(part)) : 0;
}

/* Both sides are looked at, as on the machine itself. */
static int judge_record(
    struct checking *checking, const struct sp_record *record, struct sp_err *err)
{
	enum sp_reason bridge = SP_REASON_NONE, vmm = SP_REASON_NONE;
	int bad;

	if (strcmp(record->identity.sandbox, checking->manifest.sandbox) != 0)
		return sp_fail(err, SP_E_BAD_RECORD, "record: of another sandbox");
	if (record->retired) {
		checking->reason = SP_REASON_RETIRED;
		return 0;
	}
	bad = judge_process(checking, ATTEST_BRIDGE, record->bridge, &bridge, err);
	if (!bad)
		bad = judge_process(checking, ATTEST_VMM, record->vmm, &vmm, err);
	if (!bad)
		checking->reason = bridge != SP_REASON_NONE ? bridge : vmm;
	return bad;
}

/*
 * What was judged there counts for what cannot be judged again: life, connections, answers, the
 * guest's proof. A report alone never makes a match.
 */
static int judge_told(struct checking *checking, const struct sp_told *told, struct sp_err *err)
{
	char seen[SP_ERR_MAX];

	checking->others = sp_told_others(told, &checking->report);
	if (!checking->others)
		return sp_fail(err, -ENOMEM, "out of memory");
	sp_told_words(told, seen, sizeof(seen));
	if (checking->reason == SP_REASON_NONE) {
		checking->reason = told->reason;
		sp_report_add(&checking->report, "report", told->reason, "match", seen, 0);
	}
	return 0;
}

static int judge_sandbox(struct checking *checking, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL, *report = NULL;
	struct sp_record record = {0};
	struct sp_told told;
	int bad = read_json(&checking->archive, ATTEST_REPORT, &report, err);

	if (!bad && !report)
		bad = sp_fail(err, SP_E_BAD_ARCHIVE, "no " ATTEST_REPORT " in it");
	if (!bad)
		bad = sp_told_parse(report, &told, err);
	if (!bad)
		bad = read_json(&checking->archive, ATTEST_RECORD, &object, err);
	if (bad)
		return bad;
	checking->reason = SP_REASON_ABSENT;
	if (object) {
		bad = sp_record_parse(object, &record, err);
		if (!bad)
			bad = judge_record(checking, &record, err);
		sp_record_done(&record);
	}
	return bad ? bad : judge_told(checking, &told, err);
}

/* It was there, it is whole; but what it should have been nobody has recorded. */
static int judge_alone(struct checking *checking, struct sp_err *err)
{
	sp_auto_json json_t *seen = NULL;
	struct sp_sight sight;
	char name[SP_ARCHIVE_NAME_MAX + 1];
	int bad;

	attest_member_name(ATTEST_PROCESS, ATTEST_SEEN, name);
	bad = read_json(&checking->archive, name, &seen, err);
	if (!bad && !seen)
		bad = sp_fail(err, SP_E_BAD_ARCHIVE, "no %s in it", name);
	if (!bad)
		bad = sp_sight_parse(seen, &sight, err);
	if (bad)
		return bad;
	checking->others = json_array();
	checking->reason = SP_REASON_EVIDENCE_UNAVAILABLE;
	sp_report_add(&checking->report, "record", checking->reason, "a runtime record",
	    "none: it was taken of a process alone (--pid)", 0);
	return 0;
}

static int check(struct checking *checking, const char *path, struct sp_err *err)
{
	int bad = read_archive(path, &checking->archive, err);

	if (bad)
		return bad;
	bad = read_manifest(checking, err);
	if (!bad)
		bad = checking->manifest.of_process ? judge_alone(checking, err)
						    : judge_sandbox(checking, err);
	/* Whatever is wrong with a part, it is the archive that is bad. */
	if (bad == SP_E_BAD_RECORD)
		err->code = bad = SP_E_BAD_ARCHIVE;
	return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
}

int attest_check(struct sp_cli *cli)
{
	sp_cleanup(checking_done) struct checking checking = {.reason = SP_REASON_NONE};
	struct sp_err err = {0};
	struct attest_past past;

	if (check(&checking, sp_cli_text(cli, "check"), &err))
		return sp_cli_fail(cli, &err);
	past = (struct attest_past){.level = checking.manifest.place.level,
	    .made_at = checking.manifest.made_at,
	    .host = checking.manifest.host,
	    .others = checking.others};
	return attest_show_past(cli, &checking.report, checking.reason, &past);
}
