/* The rows of 03-identity, in their order: what each change does to what is installed. */
#include "store/rules.h"

#include <string.h>

static struct sp_outcome conflict(const struct sp_record *installed, const char *words)
{
	return (struct sp_outcome){SP_EFFECT_CONFLICT, words, installed ? installed->epoch : 0};
}

static struct sp_outcome changed(enum sp_effect effect, const struct sp_record *record)
{
	return (struct sp_outcome){.effect = effect, .epoch = record->epoch};
}

static struct sp_outcome none(const struct sp_record *installed)
{
	return changed(SP_EFFECT_NONE, installed);
}

static int64_t higher(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A copy with references of its own, one version on. */
static struct sp_record next_version(const struct sp_record *installed, int64_t floor)
{
	struct sp_record record = *installed;

	json_incref(record.bridge);
	json_incref(record.vmm);
	json_incref(record.guest);
	record.history = NULL;
	record.version = higher(installed->version, floor) + 1;
	return record;
}

static void take_evidence(struct sp_record *record, const struct sp_change *change)
{
	sp_record_done(record);
	record->bridge = json_incref(change->bridge);
	record->vmm = json_incref(change->vmm);
	record->guest = json_incref(change->guest);
}

/* Rows 3, 5, 10 and 11: the given route and evidence take the place of what was there, if anything
 * was. */
static struct sp_outcome put_route(enum sp_effect effect, const struct sp_record *installed,
    const struct sp_change *change, int64_t floor, struct sp_record *ret_record)
{
	struct sp_record record = {.epoch = 1, .version = floor + 1};

	if (installed) {
		record.epoch = installed->epoch + 1;
		record.version = higher(installed->version, floor) + 1;
		if (installed->identity.route.execution == change->route.execution) {
			record.fenced_at = installed->fenced_at;
			record.cut_version = installed->cut_version;
		}
	}
	memcpy(record.identity.sandbox, change->sandbox, strlen(change->sandbox) + 1);
	record.identity.route = change->route;
	memcpy(record.owner, change->owner, strlen(change->owner) + 1);
	record.installed_at = change->now;
	take_evidence(&record, change);
	*ret_record = record;
	return changed(effect, &record);
}

enum evidence { EVIDENCE_SAME, EVIDENCE_NEW, EVIDENCE_OTHER };

static enum evidence compare_part(const json_t *recorded, const json_t *given)
{
	if (!given)
		return EVIDENCE_SAME;
	if (!recorded)
		return EVIDENCE_NEW;
	return json_equal(recorded, given) ? EVIDENCE_SAME : EVIDENCE_OTHER;
}

/* The strongest of the three parts: one that contradicts what is recorded outweighs one that is
 * new. */
static enum evidence compare_evidence(
    const struct sp_record *installed, const struct sp_change *change)
{
	const enum evidence parts[] = {compare_part(installed->bridge, change->bridge),
	    compare_part(installed->vmm, change->vmm),
	    compare_part(installed->guest, change->guest)};
	enum evidence most = EVIDENCE_SAME;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		most = parts[i] > most ? parts[i] : most;
	return most;
}

static void fill(json_t **recorded, json_t *given)
{
	if (!*recorded)
		*recorded = json_incref(given);
}

/* Rows 6 to 9: the route is the installed one. */
static struct sp_outcome install_same(const struct sp_record *installed,
    const struct sp_change *change, int64_t floor, struct sp_record *ret_record)
{
	struct sp_record record;

	if (strcmp(installed->owner, change->owner) != 0)
		return conflict(installed, "another owner has this route; that is a handoff");
	switch (compare_evidence(installed, change)) {
	case EVIDENCE_SAME:
		return none(installed);
	case EVIDENCE_OTHER:
		return conflict(installed, "other evidence than recorded for this route");
	case EVIDENCE_NEW:
		break;
	}
	record = next_version(installed, floor);
	fill(&record.bridge, change->bridge);
	fill(&record.vmm, change->vmm);
	fill(&record.guest, change->guest);
	*ret_record = record;
	return changed(SP_EFFECT_EVIDENCE, &record);
}

static bool only_attempt_differs(const struct sp_route *a, const struct sp_route *b)
{
	struct sp_route level = *a;

	level.attempt = b->attempt;
	return sp_route_equal(&level, b);
}

static struct sp_outcome decide_install(const struct sp_record *installed,
    const struct sp_change *change, int64_t floor, struct sp_record *ret_record)
{
	const struct sp_route *old = installed ? &installed->identity.route : NULL;
	const struct sp_route *new = &change->route;

	if (change->has_if_epoch && change->if_epoch != (installed ? installed->epoch : 0))
		return conflict(installed, "the epoch is not the one of --if-epoch");
	if (change->worker && change->worker[0] && strcmp(change->worker, new->worker) != 0)
		return conflict(installed, "the route is for another worker than this one");
	if (!installed)
		return put_route(SP_EFFECT_INSTALLED, NULL, change, floor, ret_record);
	if (new->execution < old->execution)
		return conflict(installed, "a higher execution is installed");
	if (new->execution == old->execution && installed->retired)
		return conflict(installed, "this execution is retired");
	if (new->execution > old->execution)
		return put_route(SP_EFFECT_REPLACED, installed, change, floor, ret_record);
	if (sp_route_equal(old, new))
		return install_same(installed, change, floor, ret_record);
	if (only_attempt_differs(old, new)) {
		if (new->attempt > old->attempt || change->has_if_epoch)
			return put_route(
			    SP_EFFECT_ATTEMPT_ONLY, installed, change, floor, ret_record);
		return conflict(installed, "a higher attempt is installed");
	}
	if (change->has_if_epoch)
		return put_route(SP_EFFECT_REPLACED, installed, change, floor, ret_record);
	return conflict(installed, "the same execution is installed with another route");
}

static struct sp_outcome decide_retire(const struct sp_record *installed,
    const struct sp_change *change, int64_t floor, struct sp_record *ret_record)
{
	struct sp_record record;

	if (!installed)
		return conflict(NULL, "no record");
	if (installed->identity.route.execution != change->execution)
		return conflict(installed, "another execution is installed");
	if (installed->retired)
		return none(installed);
	record = next_version(installed, floor);
	record.epoch++;
	record.retired = true;
	*ret_record = record;
	return changed(SP_EFFECT_RETIRED, &record);
}

static struct sp_outcome decide_handoff(const struct sp_record *installed,
    const struct sp_change *change, int64_t floor, struct sp_record *ret_record)
{
	struct sp_record record;

	if (!installed)
		return conflict(NULL, "no record");
	if (installed->retired)
		return conflict(installed, "the record is retired");
	if (installed->identity.route.substrate != SP_SUBSTRATE_KUBERNETES)
		return conflict(installed, "substrate host has no handoff");
	if (strcmp(installed->owner, change->from) != 0)
		return conflict(installed, "another owner has this route");
	if (strcmp(change->from, change->to) == 0)
		return none(installed);
	record = next_version(installed, floor);
	memcpy(record.owner, change->to, strlen(change->to) + 1);
	*ret_record = record;
	return changed(SP_EFFECT_HANDOFF, &record);
}

static struct sp_outcome decide_fence(const struct sp_record *installed,
    const struct sp_change *change, int64_t floor, struct sp_record *ret_record)
{
	struct sp_record record;

	if (!installed)
		return conflict(NULL, "no record");
	if (installed->retired)
		return conflict(installed, "the record is retired");
	record = next_version(installed, floor);
	/* A clock set back must not let capabilities in again that an earlier fence keeps out. */
	record.fenced_at = higher(installed->fenced_at, change->now);
	if (change->cut)
		record.cut_version = record.version;
	*ret_record = record;
	return changed(SP_EFFECT_FENCED, &record);
}

struct sp_outcome sp_change_decide(const struct sp_record *installed,
    const struct sp_change *change, int64_t version_floor, struct sp_record *ret_record)
{
	switch (change->kind) {
	case SP_CHANGE_INSTALL:
		return decide_install(installed, change, version_floor, ret_record);
	case SP_CHANGE_RETIRE:
		return decide_retire(installed, change, version_floor, ret_record);
	case SP_CHANGE_HANDOFF:
		return decide_handoff(installed, change, version_floor, ret_record);
	case SP_CHANGE_FENCE:
		return decide_fence(installed, change, version_floor, ret_record);
	}
	return conflict(installed, "no such change");
}

static const char *const EFFECTS[] = {
    [SP_EFFECT_CONFLICT] = NULL,
    [SP_EFFECT_NONE] = "none",
    [SP_EFFECT_INSTALLED] = "installed",
    [SP_EFFECT_REPLACED] = "replaced",
    [SP_EFFECT_ATTEMPT_ONLY] = "attempt-only",
    [SP_EFFECT_EVIDENCE] = "evidence",
    [SP_EFFECT_HANDOFF] = "handoff",
    [SP_EFFECT_RETIRED] = "retired",
    [SP_EFFECT_FENCED] = "fenced",
    [SP_EFFECT_PRUNED] = "pruned",
    [SP_EFFECT_SETTLED] = "settled",
};

const char *sp_effect_name(enum sp_effect effect)
{
	return EFFECTS[effect];
}

bool sp_effect_pends(enum sp_effect effect)
{
	return effect != SP_EFFECT_CONFLICT && effect != SP_EFFECT_NONE &&
	       effect != SP_EFFECT_HANDOFF && effect != SP_EFFECT_EVIDENCE;
}
