/* The rows of 06-streams, Lease. */
#include "lease/rules.h"

#include <string.h>
#include "base/util.h"
#include "record/compare.h"

static const struct {
	const char *name;
	enum sp_use use;
} KINDS[] = {
    [SP_LEASE_CONTROL] = {"control", SP_USE_ESTABLISHED_CONTROL},
    [SP_LEASE_GATEWAY] = {"gateway", SP_USE_ESTABLISHED_GATEWAY},
};

const char *sp_lease_kind_name(enum sp_lease_kind kind)
{
	return KINDS[kind].name;
}

bool sp_lease_kind_parse(const char *name, enum sp_lease_kind *ret_kind)
{
	for (size_t i = 0; i < SP_COUNT(KINDS); i++)
		if (strcmp(KINDS[i].name, name) == 0) {
			*ret_kind = (enum sp_lease_kind)i;
			return true;
		}
	return false;
}

/* The routes agree, as far as this kind asks. A route that was replaced and came back is another
 * activation of the same name, and so is a record that was taken away and installed anew, whose
 * epoch may be the same: of it the lease knows nothing. */
static enum sp_reason judge_epoch(const struct sp_lease_terms *terms,
    const struct sp_record *record, enum sp_lease_between between)
{
	int64_t steps = record->epoch - terms->epoch;

	if (between == SP_BETWEEN_REPLACED || steps < 0)
		return SP_REASON_ACTIVATION;
	if (steps > 0 && terms->kind == SP_LEASE_CONTROL)
		return SP_REASON_ATTEMPT;
	if (between == SP_BETWEEN_UNKNOWN)
		return SP_REASON_ACTIVATION;
	/* One step that left all but the attempt alone was one of the attempt. */
	return steps <= 1 || between == SP_BETWEEN_ATTEMPTS ? SP_REASON_NONE : SP_REASON_ACTIVATION;
}

static enum sp_reason reason_of(const struct sp_lease_terms *terms, const struct sp_record *record,
    enum sp_lease_between between)
{
	struct sp_comparison compared;

	if (!record)
		return SP_REASON_ABSENT;
	compared = sp_compare(
	    &terms->identity, &record->identity, record->retired, KINDS[terms->kind].use);
	if (compared.reason)
		return compared.reason;
	if (record->cut_version > terms->version)
		return SP_REASON_FENCED;
	return judge_epoch(terms, record, between);
}

enum sp_lease_verdict sp_lease_judge(const struct sp_lease_terms *terms,
    const struct sp_record *record, enum sp_lease_between between, enum sp_reason *ret_reason)
{
	enum sp_reason reason = reason_of(terms, record, between);

	if (reason) {
		*ret_reason = reason;
		return SP_LEASE_CUT;
	}
	return record->epoch == terms->epoch ? SP_LEASE_STAYS : SP_LEASE_GOES_ON;
}
