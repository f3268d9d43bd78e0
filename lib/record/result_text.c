/* Done records as text. */
#include "record/result.h"

static void put_member(struct sp_out *out, const char *before, const char *value)
{
	sp_out_text(out, before);
	sp_out_text(out, value);
	sp_out_put(out, "\"", 1);
}

void sp_result_refused_put(const char *id, size_t id_size, enum sp_reason reason,
    enum sp_behind behind, const char *hop, struct sp_out *out)
{
	const char *side = reason == SP_REASON_EXECUTION ? sp_behind_name(behind) : NULL;

	if (id) {
		sp_out_text(out, "{\"id\":");
		sp_out_put(out, id, id_size);
	}
	put_member(out, id ? ",\"status\":\"" : "{\"status\":\"", "refused");
	put_member(out, ",\"decision\":\"", sp_decision_name(sp_reason_decision(reason)));
	put_member(out, ",\"reason\":\"", sp_reason_name(reason));
	put_member(out, ",\"hop\":\"", hop);
	if (side)
		put_member(out, ",\"behind\":\"", side);
	sp_out_put(out, "}", 1);
}
