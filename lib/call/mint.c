/* The signer's work on one record, and what a client makes of a signer's answer. */
#include "call/mint.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"

static const char *state_name(enum sp_state state)
{
	return state == SP_STATE_MINTED ? "minted" : "asked";
}

int sp_mint_stage_take(const json_t *record, struct sp_request *ret_request, struct sp_err *err)
{
	enum sp_state state = sp_request_state(record);
	int bad;

	if (state == SP_STATE_DONE)
		return sp_result_check(record, true, NULL, err) < 0 ? SP_E_BAD_RECORD : 0;
	if (state != SP_STATE_ROUTED)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "mint takes routed records (as spacerouted route makes them), this one is %s",
		    state_name(state));
	bad = sp_request_parse(record, SP_STATE_ROUTED, ret_request, err);
	return bad < 0 ? bad : 1;
}

static void write_audit(struct sp_audit *audit, const struct sp_minter *minter,
    const struct sp_order *order, const struct sp_minted *minted, const char *error,
    int64_t started)
{
	const struct sp_audit_line line = {.role = SP_SIGNER_HOP,
	    .id = order->id[0] ? order->id : NULL,
	    .caller = order->claims.caller,
	    .sandbox = order->claims.identity.sandbox,
	    .op = order->op->name,
	    .reason = minted->reason,
	    .error = error,
	    .action = minted->token ? minted->reused ? "reused" : "minted" : NULL,
	    .kid = minted->token ? sp_minter_kid(minter) : NULL,
	    .jti = minted->token ? minted->jti : NULL,
	    .selected = &order->claims.identity.route,
	    .microseconds = sp_monotonic_us() - started,
	    .note = minted->reused ? "reused" : NULL};

	if (audit)
		sp_audit_write(audit, &line);
}

static json_t *with_token(json_t *record, const struct sp_minted *minted)
{
	json_t *token = json_stringn_nocheck(minted->token, minted->size);

	return json_object_set_new_nocheck(record, "cap", token) < 0 ? NULL : json_incref(record);
}

int sp_mint_stage_sign(struct sp_minter *minter, struct sp_audit *audit, json_t *record,
    json_t **ret, struct sp_err *err)
{
	int64_t started = sp_monotonic_us();
	struct sp_minted minted = {.reason = SP_REASON_NONE};
	struct sp_request request;
	struct sp_order order;
	int bad = sp_mint_stage_take(record, &request, err);

	if (bad == 0)
		*ret = json_incref(record);
	if (bad <= 0)
		return bad;
	bad = sp_order_read(&request, &order, err);
	if (!bad)
		bad = sp_minter_order(minter, &order, sp_time_now(), &minted, err);
	if (bad && bad != SP_E_TOO_LARGE)
		return bad;
	write_audit(audit, minter, &order, &minted, bad ? sp_error_name(SP_ERROR_TOO_LARGE) : NULL,
	    started);
	if (bad)
		*ret = sp_result_error(
		    request.id, SP_ERROR_TOO_LARGE, false, err ? err->message : "too large");
	else if (minted.reason != SP_REASON_NONE)
		*ret = sp_result_refused(request.id, minted.reason, SP_BEHIND_NONE, SP_SIGNER_HOP);
	else
		*ret = with_token(record, &minted);
	return *ret ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

/* What is refused or does not fit is left, before anything is done, to those who say why. */
bool sp_mint_stage_quick(struct sp_minter *minter, struct sp_audit *audit, const char *line,
    size_t size, struct sp_out *out)
{
	int64_t started = audit ? sp_monotonic_us() : 0;
	struct sp_minted minted;
	struct sp_order order;

	if (!sp_order_quick(line, size, &order) ||
	    sp_minter_order(minter, &order, sp_time_now(), &minted, NULL) < 0 ||
	    minted.reason != SP_REASON_NONE)
		return false;
	write_audit(audit, minter, &order, &minted, NULL, started);
	sp_out_put(out, line, size - 1);
	sp_out_text(out, ",\"cap\":\"");
	sp_out_put(out, minted.token, minted.size);
	sp_out_text(out, "\"}");
	return true;
}

char *sp_mint_stage_question(const json_t *record, const struct sp_request *request)
{
	static const char *const attach[] = {"session", NULL},
				 *const port[] = {"port", "protocol", NULL}, *const none[] = {NULL};
	const char *const *names = request->op->purpose == SP_PURPOSE_ATTACH         ? attach
				   : request->op->purpose == SP_PURPOSE_SERVICE_PORT ? port
										     : none;
	sp_auto_json json_t *copy = json_copy((json_t *)(uintptr_t)record);
	json_t *args = json_object();

	for (size_t i = 0; names[i]; i++) {
		json_t *value = json_object_get(request->args, names[i]);
		if (value)
			(void)json_object_set(args, names[i], value);
	}
	if (!copy || json_object_set_new(copy, "args", args) < 0)
		return NULL;
	return sp_json_text(copy);
}

static const char *id_of(const json_t *record)
{
	return json_string_value(json_object_get(record, "id"));
}

json_t *sp_mint_stage_finish(json_t *record, const char *line, size_t size)
{
	sp_auto_json json_t *answer = NULL;
	const json_t *token, *decision, *reason_name;
	enum sp_reason reason;

	if (sp_json_parse(line, size, &answer, NULL) < 0)
		return sp_result_error(
		    id_of(record), SP_ERROR_UNAVAILABLE, false, "the signer's answer is no record");
	token = json_object_get(answer, "cap");
	decision = json_object_get(answer, "decision");
	reason_name = json_object_get(answer, "reason");
	if (json_is_string(token) && json_string_length(token) <= SP_TOKEN_MAX)
		return json_object_set(record, "cap", (json_t *)(uintptr_t)token) < 0
			   ? NULL
			   : json_incref(record);
	if (decision && reason_name &&
	    sp_reason_parse(json_string_value(decision), json_string_value(reason_name), &reason) &&
	    sp_reason_decision(reason) == SP_DENY)
		return sp_result_refused(id_of(record), reason, SP_BEHIND_NONE, SP_SIGNER_HOP);
	if (sp_result_check(answer, false, NULL, NULL) == 0 &&
	    json_is_string(json_object_get(answer, "message"))) {
		enum sp_error_kind kind = SP_ERROR_UNAVAILABLE;
		(void)sp_error_parse(json_string_value(json_object_get(answer, "error")), &kind);
		if (kind != SP_ERROR_TOO_LARGE && kind != SP_ERROR_BAD_RECORD)
			kind = SP_ERROR_UNAVAILABLE;
		return sp_result_error(id_of(record), kind, false,
		    json_string_value(json_object_get(answer, "message")));
	}
	return sp_result_error(
	    id_of(record), SP_ERROR_UNAVAILABLE, false, "the signer's answer is none to this");
}

json_t *sp_mint_stage_unanswered(const json_t *record, const char *words)
{
	return sp_result_error(id_of(record), SP_ERROR_UNAVAILABLE, false, words);
}
