/* An explanation for programs. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "spaceid/explain.h"

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static json_t *event_json(const struct explained *explained)
{
	const struct explain_event *event = &explained->event;
	const char *decision =
	    event->decided ? sp_decision_name(sp_reason_decision(event->reason)) : NULL;
	const char *error =
	    event->error >= 0 ? sp_error_name((enum sp_error_kind)event->error) : NULL;

	return json_pack("{ss* ss* ss* ss* ss* ss* ss* ss* ss* ss* ss* ss*}", "time",
	    text_or_null(event->time), "role", text_or_null(event->role), "id",
	    text_or_null(event->id), "caller", text_or_null(event->caller), "op",
	    text_or_null(event->op), "decision", decision, "reason",
	    event->decided ? sp_reason_name(event->reason) : NULL, "behind",
	    sp_behind_name(event->behind), "error", error, "action", text_or_null(event->action),
	    "jti", text_or_null(event->jti), "note", text_or_null(event->note));
}

static json_t *token_json(const struct explain_token *token)
{
	const char *reason = sp_reason_name(token->reason);
	json_t *claims = token->has_claims ? sp_claims_json(&token->claims) : NULL;

	return json_pack("{ss ss* so*}", "signature", explain_signature_name(token->signature),
	    "reason", reason, "claims", claims);
}

static json_t *selected_json(const struct explained *explained)
{
	return json_pack("{so ss}", "route", sp_route_json(&explained->sides.selected.route),
	    "source", explained->selected_from);
}

static json_t *installed_json(const struct explained *explained)
{
	const struct comparison *sides = &explained->sides;
	json_t *epoch = explained->epoch > 0 ? json_integer((json_int_t)explained->epoch) : NULL;

	if (!sides->has_installed) {
		json_decref(epoch);
		return json_pack(
		    "{ss ss}", "state", "no record", "source", explained->installed_from);
	}
	return json_pack("{so so* ss ss}", "route", sp_route_json(&sides->installed.route), "epoch",
	    epoch, "state", sp_record_state_name(sides->retired), "source",
	    explained->installed_from);
}

static json_t *now_json(const struct explained *explained)
{
	json_t *now = json_object();

	if (now && spaceid_add_result(now, &explained->sides.result) < 0) {
		json_decref(now);
		return NULL;
	}
	return now;
}

static json_t *like_json(const struct explained *explained)
{
	return json_pack("{sI ss ss}", "count", (json_int_t)explained->like_it, "first",
	    explained->like_first, "last", explained->like_last);
}

static json_t *next_json(const struct advice *next)
{
	return json_pack("{ss ss*}", "words", next->words, "command", text_or_null(next->command));
}

json_t *explain_json(const struct explained *explained)
{
	return json_pack("{ss ss* so so* so* so* so* sO* ss* so* sO sO so}", "input",
	    explain_input_name(explained->input), "sandbox", explain_sandbox(explained), "event",
	    event_json(explained), "token",
	    explained->token.is_one ? token_json(&explained->token) : NULL, "selected",
	    explained->has_selected ? selected_json(explained) : NULL, "installed",
	    explained->installed_seen ? installed_json(explained) : NULL, "now",
	    explained->compared ? now_json(explained) : NULL, "parted", explained->parted,
	    "parted_unknown", explained->parted ? NULL : explained->parted_words, "like_it",
	    explained->like_it > 0 ? like_json(explained) : NULL, "lines", explained->lines,
	    "unseen", explained->unseen, "next", next_json(&explained->next));
}
