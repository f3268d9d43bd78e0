/* The rest of the verification order, after the token itself. */
#include "admit/admit.h"

#include <string.h>

enum sp_reason sp_admit_sandbox(const struct sp_claims *claims, const char *sandbox)
{
	if (sandbox && strcmp(claims->identity.sandbox, sandbox) != 0)
		return SP_REASON_SANDBOX;
	return SP_REASON_NONE;
}

/* The slack is for a signer whose clock runs ahead of the worker's that wrote the fence. */
static bool is_fenced(const struct sp_claims *claims, const struct sp_record *record)
{
	return record->fenced_at > 0 && claims->issued_at <= record->fenced_at + SP_SKEW_MAX;
}

struct sp_admission sp_admit(const struct sp_admit_question *question)
{
	const struct sp_claims *claims = question->claims;
	const struct sp_record *record = question->record;
	struct sp_admission admission = {
	    .reason = sp_admit_sandbox(claims, question->sandbox), .behind = SP_BEHIND_NONE};
	struct sp_comparison comparison;

	if (admission.reason)
		return admission;
	comparison = sp_compare(&claims->identity, record ? &record->identity : NULL,
	    record && record->retired, question->use);
	admission.reason = comparison.reason;
	admission.behind = comparison.behind;
	if (admission.reason)
		return admission;
	if (record && is_fenced(claims, record))
		admission.reason = SP_REASON_FENCED;
	else if (question->used)
		admission.reason = SP_REASON_REPLAYED;
	return admission;
}

struct sp_cap_use sp_admit_use(const struct sp_op *op)
{
	return (struct sp_cap_use){.purpose = op->purpose, .op = op->name, .protocol = -1};
}

int64_t sp_admit_time(const struct sp_op *op, int64_t now, int64_t floor)
{
	return op->single_use && floor > now ? floor : now;
}
