/* An audit line as text, in the order in which people read it. */
#include "net/audit_line.h"

#include <string.h>
#include "base/text.h"
#include "record/compare.h"

static void put_name(struct sp_audit_text *text, const char *name)
{
	sp_out_text(&text->out, ",\"");
	sp_out_text(&text->out, name);
	sp_out_text(&text->out, "\":");
}

/* Left out where there is none. */
static void put_string(struct sp_audit_text *text, const char *name, const char *value)
{
	size_t size = value ? strlen(value) : 0;

	if (!value)
		return;
	text->bad |= !sp_utf8_valid(value, size);
	put_name(text, name);
	sp_out_string(&text->out, value, size);
}

static void put_integer(struct sp_audit_text *text, const char *name, int64_t value)
{
	put_name(text, name);
	sp_out_integer(&text->out, value);
}

static const char *behind_of(const struct sp_audit_line *line)
{
	bool known = line->reason == SP_REASON_EXECUTION && line->selected && line->installed &&
		     line->installed->route;

	if (!known)
		return NULL;
	return sp_behind_name(line->installed->route->execution < line->selected->execution
				  ? SP_BEHIND_RECEIVER
				  : SP_BEHIND_CALLER);
}

static void put_decision(struct sp_audit_text *text, const struct sp_audit_line *line)
{
	if (line->error) {
		put_string(text, "error", line->error);
	} else if (!line->change) {
		put_string(text, "decision", sp_decision_name(sp_reason_decision(line->reason)));
		put_string(text, "reason", sp_reason_name(line->reason));
		put_string(text, "behind", behind_of(line));
	}
}

static const char *action_of(const struct sp_audit_line *line)
{
	if (line->action)
		return line->action;
	return line->error ? "failed" : line->reason ? "refused" : "passed";
}

static void put_route(struct sp_audit_text *text, const struct sp_route *route)
{
	char json[SP_ROUTE_TEXT_SIZE];

	sp_out_put(&text->out, json, sp_route_text(route, json));
}

static void put_installed(struct sp_audit_text *text, const struct sp_audit_installed *installed)
{
	put_name(text, "installed");
	if (!installed->route) {
		sp_out_text(&text->out, "null");
		return;
	}
	sp_out_text(&text->out, "{\"route\":");
	put_route(text, installed->route);
	put_integer(text, "epoch", installed->epoch);
	put_string(text, "state", installed->retired ? "retired" : "active");
	sp_out_text(&text->out, "}");
}

/* What it was about: the capability, what it selected, what there was. */
static void put_subject(struct sp_audit_text *text, const struct sp_audit_line *line)
{
	put_string(text, "kid", line->kid);
	put_string(text, "jti", line->jti);
	if (line->selected) {
		put_name(text, "route");
		put_route(text, line->selected);
	}
	if (line->installed)
		put_installed(text, line->installed);
	if (line->epoch)
		put_integer(text, "epoch", line->epoch);
}

void sp_audit_line_put(struct sp_audit_text *text, const struct sp_audit_line *line,
    unsigned long repeated, const char *now)
{
	sp_out_text(&text->out, "{\"time\":\"");
	sp_out_text(&text->out, now);
	sp_out_text(&text->out, "\"");
	put_string(text, "role", line->role);
	put_string(text, "id", line->id);
	put_string(text, "caller", line->caller);
	put_string(text, "sandbox", line->sandbox);
	put_string(text, "op", line->op);
	put_decision(text, line);
	put_string(text, "action", action_of(line));
	put_subject(text, line);
	put_integer(text, "us", line->microseconds);
	if (repeated)
		put_integer(text, "repeated", (int64_t)repeated);
	put_string(text, "note", line->note);
	sp_out_text(&text->out, "}\n");
}
