/* Whatever somebody has at hand at 3 a.m., taken apart. Nothing of it is believed to be harmless:
 * texts are cut, and what could move a cursor is replaced. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "spaceid/explain.h"

/* "" where there is none. */
static void take_text(const json_t *object, const char *name, char *ret, size_t room)
{
	const char *text = json_string_value(json_object_get(object, name));

	(void)snprintf(ret, room, "%s", text ? text : "");
	sp_text_printable(ret);
}

static void take_sandbox(const json_t *object, char ret[SP_ID_MAX + 1])
{
	const char *text = json_string_value(json_object_get(object, "sandbox"));

	if (text && sp_id_valid(text))
		memcpy(ret, text, strlen(text) + 1);
}

static void take_time(const json_t *object, char ret[SP_TIME_SIZE])
{
	const char *text = json_string_value(json_object_get(object, "time"));
	int64_t seconds;

	if (text && sp_time_parse(text, &seconds))
		memcpy(ret, text, SP_TIME_SIZE);
}

static void take_outcome(const json_t *object, struct explain_event *event)
{
	const char *decision = json_string_value(json_object_get(object, "decision"));
	const char *reason = json_string_value(json_object_get(object, "reason"));
	const char *behind = json_string_value(json_object_get(object, "behind"));
	const char *error = json_string_value(json_object_get(object, "error"));
	enum sp_error_kind kind;

	event->error = error && sp_error_parse(error, &kind) ? (int)kind : -1;
	if (decision && reason)
		event->decided = sp_reason_parse(decision, reason, &event->reason);
	else
		event->decided = decision && strcmp(decision, sp_decision_name(SP_MATCH)) == 0;
	if (behind && event->reason == SP_REASON_EXECUTION)
		event->behind = strcmp(behind, "receiver") == 0 ? SP_BEHIND_RECEIVER
				: strcmp(behind, "caller") == 0 ? SP_BEHIND_CALLER
								: SP_BEHIND_NONE;
}

static void take_installed(const json_t *installed, struct explain_event *event)
{
	const char *state = json_string_value(json_object_get(installed, "state"));
	const json_t *epoch = json_object_get(installed, "epoch");

	event->installed_absent = json_is_null(installed);
	event->has_installed =
	    sp_route_parse(json_object_get(installed, "route"), &event->installed, NULL) == 0;
	event->installed_retired = state && strcmp(state, sp_record_state_name(true)) == 0;
	if (json_is_integer(epoch))
		event->epoch = json_integer_value(epoch);
}

bool explain_event_take(const json_t *line, struct explain_event *ret)
{
	struct explain_event event = {.error = -1};

	take_text(line, "role", event.role, sizeof(event.role));
	if (!event.role[0])
		return false;
	take_time(line, event.time);
	take_text(line, "caller", event.caller, sizeof(event.caller));
	take_text(line, "op", event.op, sizeof(event.op));
	take_text(line, "action", event.action, sizeof(event.action));
	take_text(line, "id", event.id, sizeof(event.id));
	take_text(line, "jti", event.jti, sizeof(event.jti));
	take_text(line, "note", event.note, sizeof(event.note));
	take_sandbox(line, event.sandbox);
	take_outcome(line, &event);
	event.epoch = json_integer_value(json_object_get(line, "epoch"));
	event.has_route = sp_route_parse(json_object_get(line, "route"), &event.route, NULL) == 0;
	take_installed(json_object_get(line, "installed"), &event);
	*ret = event;
	return true;
}

/* A done record; where repair would have had it, the request is beside it. */
static int take_result(struct explained *explained, const json_t *record, struct sp_err *err)
{
	const json_t *request = json_object_get(record, "request");
	struct explain_event *event = &explained->event;
	int bad = sp_result_check(record, true, NULL, err);

	if (bad)
		return bad;
	take_text(record, "hop", event->role, sizeof(event->role));
	take_text(record, "id", event->id, sizeof(event->id));
	take_text(record, "message", event->note, sizeof(event->note));
	take_outcome(record, event);
	take_sandbox(request, event->sandbox);
	take_text(request, "caller", event->caller, sizeof(event->caller));
	take_text(request, "op", event->op, sizeof(event->op));
	event->has_route =
	    sp_route_parse(json_object_get(request, "route"), &event->route, NULL) == 0;
	return 0;
}

static int take_comparison(struct explained *explained, const json_t *line, struct sp_err *err)
{
	struct explain_event *event = &explained->event;
	struct sp_identity selected;
	int bad = sp_identity_parse(json_object_get(line, "selected"), &selected, err);

	if (bad)
		return bad;
	memcpy(event->sandbox, selected.sandbox, sizeof(event->sandbox));
	event->route = selected.route;
	event->has_route = true;
	take_outcome(line, event);
	take_installed(json_object_get(line, "installed"), event);
	return 0;
}

static int take_route(struct explained *explained, const json_t *line, struct sp_err *err)
{
	struct explain_event *event = &explained->event;

	take_sandbox(line, event->sandbox);
	event->has_route = sp_route_parse(json_object_get(line, "route"), &event->route, NULL) == 0;
	if (!event->sandbox[0] || !event->has_route)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "a line without `role`, `status`, `selected`, or `sandbox` and `route`: no "
		    "audit "
		    "line, no answer, no comparison and no route");
	return 0;
}

static int take_line(struct explained *explained, const char *text, struct sp_err *err)
{
	sp_auto_json json_t *line = NULL;
	int bad = sp_json_parse(text, strlen(text), &line, err);

	if (bad)
		return bad;
	if (json_object_get(line, "status")) {
		explained->input = EXPLAIN_RESULT;
		return take_result(explained, line, err);
	}
	if (json_object_get(line, "selected")) {
		explained->input = EXPLAIN_COMPARISON;
		return take_comparison(explained, line, err);
	}
	explained->input = EXPLAIN_AUDIT;
	if (explain_event_take(line, &explained->event))
		return 0;
	explained->input = EXPLAIN_ROUTE;
	return take_route(explained, line, err);
}

static char *trim(char *text)
{
	size_t size;

	text += strspn(text, " \t\r\n");
	size = strlen(text);
	while (size > 0 && strchr(" \t\r\n", text[size - 1]))
		text[--size] = '\0';
	return text;
}

int explain_take(struct explained *explained, char *text, struct sp_err *err)
{
	char *at = trim(text), *brace;

	if (strncmp(at, "v4.", 3) == 0) {
		explained->input = EXPLAIN_TOKEN;
		explained->token.is_one = true;
		memmove(text, at, strlen(at) + 1);
		return 0;
	}
	if (sp_id_valid(at)) {
		explained->input = EXPLAIN_SANDBOX;
		memcpy(explained->event.sandbox, at, strlen(at) + 1);
		return 0;
	}
	/* A journal puts its own words before a line. */
	brace = strchr(at, '{');
	if (brace)
		return take_line(explained, brace, err);
	/* It is not quoted: somebody may have pasted a secret. */
	return sp_fail(err, SP_E_BAD_RECORD,
	    "no line of JSON, no capability (v4.public...) and no id of a sandbox");
}
