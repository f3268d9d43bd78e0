/* A comparison for people: both sides beside each other, what differs, who is behind, what next. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "cli/words.h"
#include "spaceid/advice.h"
#include "spaceid/verbs.h"
#include "spaceid/compare.h"

#define MARK "!"

static const struct {
	const char *name;
	enum sp_route_field field;
} FIELDS[] = {{"substrate", SP_FIELD_SUBSTRATE}, {"execution", SP_FIELD_EXECUTION},
    {"worker", SP_FIELD_WORKER}, {"pod_uid", SP_FIELD_POD_UID}, {"activation", SP_FIELD_ACTIVATION},
    {"attempt", SP_FIELD_ATTEMPT}};

/* The text of one field of a route; NULL where it has none. */
static const char *field_text(
    const struct sp_route *route, enum sp_route_field field, char number[24])
{
	switch (field) {
	case SP_FIELD_SUBSTRATE:
		return sp_substrate_name(route->substrate);
	case SP_FIELD_EXECUTION:
		(void)snprintf(number, 24, "%lld", (long long)route->execution);
		return number;
	case SP_FIELD_WORKER:
		return route->worker;
	case SP_FIELD_POD_UID:
		return route->pod_uid[0] ? route->pod_uid : NULL;
	case SP_FIELD_ACTIVATION:
		return route->activation;
	case SP_FIELD_ATTEMPT:
		(void)snprintf(number, 24, "%lld", (long long)route->attempt);
		return number;
	}
	return NULL;
}

static int add_fields(struct sp_table *table, const struct comparison *c)
{
	bool known = c->has_installed && c->result.reason != SP_REASON_SANDBOX;
	int bad = 0;

	for (size_t i = 0; i < SP_COUNT(FIELDS) && !bad; i++) {
		char a[24], b[24];
		bool differs = known && c->result.differs & FIELDS[i].field;
		/* A host has no pod. */
		if (FIELDS[i].field == SP_FIELD_POD_UID && !c->selected.route.pod_uid[0] &&
		    !c->installed.route.pod_uid[0])
			continue;
		const char *cells[] = {differs ? MARK : "", FIELDS[i].name,
		    field_text(&c->selected.route, FIELDS[i].field, a),
		    c->has_installed ? field_text(&c->installed.route, FIELDS[i].field, b) : NULL};
		bad = sp_table_add(table, differs ? SP_TONE_BAD : SP_TONE_PLAIN, cells);
	}
	return bad;
}

int spaceid_print_sides(struct sp_cli *cli, const struct comparison *c)
{
	static const char *const headings[] = {"", "", "selected", "installed", NULL};
	bool other = c->result.reason == SP_REASON_SANDBOX;
	bool over = !c->unseen && (c->retired || !c->has_installed);
	const char *sandbox[] = {other ? MARK : "", "sandbox", c->selected.sandbox,
	    c->has_installed ? c->installed.sandbox : NULL};
	const char *state[] = {over ? MARK : "", "state", "",
	    c->has_installed ? sp_record_state_name(c->retired)
	    : c->unseen      ? "not seen"
			     : "no record"};
	struct sp_table *table = sp_table_new(headings);
	int bad = table ? 0 : -ENOMEM;

	if (!bad)
		bad = sp_table_add(table, other ? SP_TONE_BAD : SP_TONE_PLAIN, sandbox);
	if (!bad)
		bad = sp_table_add(table, over ? SP_TONE_BAD : SP_TONE_PLAIN, state);
	if (!bad)
		bad = add_fields(table, c);
	if (!bad) {
		sp_table_wrap(table);
		bad =
		    sp_table_print(table, stdout, sp_cli_color(cli), sp_table_width(STDOUT_FILENO));
	}
	sp_table_free(table);
	return bad;
}

void spaceid_print_advice(const struct advice *advice)
{
	sp_words_print(stdout, "next", advice->words, sp_table_width(STDOUT_FILENO));
	if (advice->command[0])
		(void)printf("      $ %s\n", advice->command);
}

int spaceid_print_comparison(struct sp_cli *cli, const struct comparison *c)
{
	static const enum sp_tone tones[] = {SP_TONE_GOOD, SP_TONE_WARN, SP_TONE_BAD};
	const char *reason = sp_reason_name(c->result.reason);
	const char *behind = sp_behind_name(c->result.behind);
	struct advice advice =
	    spaceid_advice(c->selected.sandbox, c->result.reason, c->result.behind);
	int bad = spaceid_print_sides(cli, c);

	if (bad)
		return bad;
	if (!reason && c->result.differs)
		advice.words = "nothing: an established gateway stream outlives an attempt";
	sp_tone_print(stdout, sp_cli_color(cli), tones[c->result.decision],
	    sp_decision_name(c->result.decision));
	(void)printf(
	    "%s%s (use: %s)\n", reason ? ": " : "", reason ? reason : "", sp_use_name(c->use));
	if (behind)
		(void)printf("behind: the %s (selected %lld, installed %lld)\n", behind,
		    (long long)c->selected.route.execution,
		    (long long)c->installed.route.execution);
	spaceid_print_advice(&advice);
	return 0;
}
