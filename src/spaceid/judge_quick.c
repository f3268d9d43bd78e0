/* Usual lines of spaceid compare, judged without a tree. */
#include "record/quick.h"
#include "spaceid/compare.h"

#define LINE_MEMBERS 4 /* id, selected, installed, use */
#define SIDE_MEMBERS 4 /* sandbox, route, state, owner */

static bool take_state(const struct sp_scan_member *state, bool *ret_retired)
{
	*ret_retired = state && sp_scan_is(state, "retired");
	return !state || *ret_retired || sp_scan_is(state, "active");
}

static bool take_installed(const struct sp_scan_member *side, struct comparison *c)
{
	struct sp_scan_member members[SIDE_MEMBERS];
	const struct sp_scan_member *state, *owner;
	char ignored[SP_ID_MAX + 1];
	unsigned count;

	if (!side)
		return false;
	c->has_installed = side->kind != 'n';
	if (!c->has_installed)
		return true;
	if (!sp_quick_object(side, members, SIDE_MEMBERS, &count))
		return false;
	state = sp_scan_find(members, count, "state");
	owner = sp_scan_find(members, count, "owner");
	return count == 2u + (state != NULL) + (owner != NULL) &&
	       sp_quick_id(sp_scan_find(members, count, "sandbox"), c->installed.sandbox) &&
	       sp_quick_route(sp_scan_find(members, count, "route"), &c->installed.route) &&
	       take_state(state, &c->retired) && (!owner || sp_quick_id(owner, ignored));
}

static bool take_use(const struct sp_scan_member *member, enum sp_use *ret)
{
	char use[32];

	*ret = SP_USE_OPEN;
	return !member || (sp_quick_text(member, use, sizeof(use)) && sp_use_parse(use, ret));
}

bool spaceid_judge_quick(
    const char *line, size_t size, struct sp_store *store, struct comparison *ret)
{
	struct sp_scan_member members[LINE_MEMBERS];
	const struct sp_scan_member *id, *installed, *use;
	unsigned count;

	*ret = (struct comparison){.use = SP_USE_OPEN};
	if (!sp_json_scan_compact(line, size, members, LINE_MEMBERS, &count))
		return false;
	id = sp_scan_find(members, count, "id");
	use = sp_scan_find(members, count, "use");
	installed = sp_scan_find(members, count, "installed");
	if (count != 1u + (id != NULL) + (use != NULL) + (installed != NULL) ||
	    (installed != NULL) == (store != NULL) || !sp_quick_request_id(id) ||
	    !take_use(use, &ret->use) ||
	    !sp_quick_identity(sp_scan_find(members, count, "selected"), &ret->selected))
		return false;
	if (store ? spaceid_ask_store(store, ret, NULL) != 0 : !take_installed(installed, ret))
		return false;
	ret->result = sp_compare(
	    &ret->selected, ret->has_installed ? &ret->installed : NULL, ret->retired, ret->use);
	return true;
}

static void put_member(struct sp_out *out, const char *before, const char *value)
{
	sp_out_text(out, before);
	sp_out_text(out, value);
	sp_out_put(out, "\"", 1);
}

void spaceid_put_result(const struct sp_comparison *result, struct sp_out *out)
{
	const char *name, *behind = sp_behind_name(result->behind);

	put_member(out, ",\"decision\":\"", sp_decision_name(result->decision));
	if (sp_reason_name(result->reason))
		put_member(out, ",\"reason\":\"", sp_reason_name(result->reason));
	if (result->has_differs) {
		sp_out_text(out, ",\"differs\":[");
		for (unsigned n = 0; (name = sp_differs_name(result->differs, n)); n++)
			put_member(out, n ? ",\"" : "\"", name);
		sp_out_put(out, "]", 1);
	}
	if (behind)
		put_member(out, ",\"behind\":\"", behind);
}
