/* Judging a capture: an archive's values in the place of looks. */
#include <errno.h>
#include <string.h>
#include "attest/capture.h"
#include "attest/checks.h"

/* What is not in `seen`: the time and place, and what the text of /proc/<pid>/stat says. */
static int complete(struct sp_sight *sight, const char *stat, const struct sp_capture_place *place,
    struct sp_err *err)
{
	sight->level.code = 0;
	sight->level.level = place->level;
	sight->boot.code = place->boot_id[0] ? 0 : -EIO;
	memcpy(sight->boot.id, place->boot_id, sizeof(sight->boot.id));
	if (sight->start.code)
		return 0;
	if (!stat || sp_process_stat_parse(stat, &sight->start.stat) < 0)
		return sp_fail(err, SP_E_BAD_RECORD, "stat: not what the kernel shows");
	return 0;
}

int sp_capture_judge(enum sp_role role, const json_t *object, const json_t *seen, const char *stat,
    const struct sp_capture_place *place, struct sp_report *report, enum sp_reason *ret,
    struct sp_err *err)
{
	struct sp_case judged = {.role = role, .min_level = place->min_level};
	int bad;

	judged.target = &judged.evidence.listener;
	if (!sp_checks_take(role, object, &judged.evidence, report)) {
		*ret = SP_REASON_EVIDENCE_UNAVAILABLE;
		return 0;
	}
	bad = seen ? sp_sight_parse(seen, &judged.sight, err)
		   : sp_fail(err, SP_E_BAD_RECORD, "nothing was seen of it");
	if (!bad)
		bad = complete(&judged.sight, stat, place, err);
	if (!bad)
		*ret = sp_checks_judge(&judged, report);
	return bad;
}
