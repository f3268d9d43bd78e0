/* Routes in the cluster: decide by what was read, or is remembered, and write where it still is so.
 */
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/registry_etcd.h"

char *sp_etcd_placement_text(const char *sandbox, const struct sp_placement *placement)
{
	sp_auto_json json_t *object = sp_placement_json(sandbox, placement);

	/* etcd keeps it. */
	if (object)
		(void)json_object_del(object, "revision");
	return object ? sp_json_text(object) : NULL;
}

int sp_etcd_placement_take(const struct sp_etcd_meta *meta, const struct sp_etcd_pair *pair,
    char ret_sandbox[SP_ID_MAX + 1], struct sp_placement *ret)
{
	sp_auto_json json_t *object = NULL;
	int bad = sp_json_parse(pair->value, pair->size, &object, NULL);

	if (!bad)
		bad = sp_placement_parse(object, ret_sandbox, ret, NULL);
	if (!bad)
		ret->revision = sp_etcd_count(meta, pair->modified);
	return bad;
}

/* A route on its way from what it was to what is wanted. */
struct change {
	struct sp_etcd *etcd;
	const struct sp_route_change *wanted;
	struct sp_etcd_key key;
	struct sp_etcd_pair
	    pair; /* what there was, `modified` 0: nothing; its value as it was read */
	struct sp_placement placement;
	bool read; /* that was read, and not only remembered or supposed */
	char *put; /* what was last tried */
	bool unsure;
	enum sp_publish_effect effect; /* ... and would have come of it */
};

/* P/meta and the route out of an answer. */
static int take_route(struct change *change, const json_t *answer, struct sp_err *err)
{
	const json_t *found = json_array_get(sp_etcd_found(answer, 1), 0);
	char sandbox[SP_ID_MAX + 1];
	int bad = sp_etcd_take_meta(change->etcd, answer, &change->etcd->meta, err);

	sp_etcd_pair_done(&change->pair);
	change->pair.modified = 0;
	change->read = true;
	if (bad || !found)
		return bad;
	if (sp_etcd_pair_take(found, &change->pair) < 0 ||
	    sp_etcd_placement_take(
		&change->etcd->meta, &change->pair, sandbox, &change->placement) < 0)
		return sp_etcd_damaged(change->etcd, "route", err);
	return 0;
}

static int read_route(struct change *change, struct sp_err *err)
{
	struct sp_etcd_transaction transaction;
	sp_auto_json json_t *answer = NULL;
	int bad;

	sp_etcd_read_init(change->etcd, &transaction);
	sp_etcd_range(&transaction, &change->key);
	bad = sp_etcd_read(change->etcd, &transaction, &answer, err);
	sp_etcd_transaction_done(&transaction);
	return bad ? bad : take_route(change, answer, err);
}

/* Where a route is remembered; another one may be there. NULL: out of memory. */
static struct sp_etcd_known *slot_of(struct sp_etcd *etcd, const char *sandbox)
{
	uint32_t hash = 2166136261u;

	if (!etcd->known)
		etcd->known = calloc(SP_ETCD_KNOWN, sizeof(*etcd->known));
	for (const char *at = sandbox; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	return etcd->known ? &etcd->known[hash % SP_ETCD_KNOWN] : NULL;
}

/* A route that was not written here is supposed to be new: where it is not, the same request that
 * would have written it tells what there is. */
static void recall(struct change *change)
{
	const struct sp_etcd_known *known = slot_of(change->etcd, change->wanted->sandbox);

	if (!known || strcmp(known->sandbox, change->wanted->sandbox) != 0)
		return;
	change->pair.modified = known->modified;
	change->placement = known->placement;
}

static void remember(const struct change *change, int64_t modified, int64_t revision)
{
	struct sp_etcd_known *known = slot_of(change->etcd, change->wanted->sandbox);

	if (!known)
		return;
	(void)snprintf(known->sandbox, sizeof(known->sandbox), "%s", change->wanted->sandbox);
	known->modified = modified;
	known->placement = change->placement;
	known->placement.revision = revision;
}

/* The base may not move in between, else the revision would not rise. 0: something else is there
 * than was supposed; now it is known. */
static int put_route(struct change *change, int64_t *ret_revision, struct sp_err *err)
{
	const struct sp_etcd_key meta = sp_etcd_meta_key(change->etcd);
	struct sp_etcd_transaction transaction;
	sp_auto_json json_t *answer = NULL;
	int got;

	free(change->put);
	change->put = sp_etcd_placement_text(change->wanted->sandbox, &change->placement);
	sp_etcd_transaction_init(&transaction);
	sp_etcd_compare(&transaction, &meta, change->etcd->meta.modified);
	sp_etcd_compare(&transaction, &change->key, change->pair.modified);
	sp_etcd_put(&transaction, &change->key, change->put);
	sp_etcd_else_range(&transaction, &meta);
	sp_etcd_else_range(&transaction, &change->key);
	got =
	    sp_etcd_commit(change->etcd, &transaction, ret_revision, &change->unsure, &answer, err);
	sp_etcd_transaction_done(&transaction);
	if (got > 0)
		remember(change, sp_etcd_revision(answer), *ret_revision);
	return got == 0 ? take_route(change, answer, err) : got;
}

/* A member that was lost while it wrote may have written: then it is there now. */
static bool was_ours(const struct change *change)
{
	return change->unsure && change->put && change->pair.value &&
	       strcmp(change->put, change->pair.value) == 0;
}

/* 1: done. 0: try again, by what is known now. */
static int try_once(struct change *change, int64_t *ret_revision, struct sp_err *err)
{
	if (was_ours(change)) {
		*ret_revision = change->placement.revision;
		return 1;
	}
	change->effect = sp_route_change_apply(change->wanted, change->pair.modified != 0,
	    &change->placement, change->read ? err : NULL);
	if (change->effect != SP_PUBLISH_NONE && change->effect != SP_PUBLISH_CONFLICT)
		return put_route(change, ret_revision, err);
	/* That nothing is to be done is decided by what was read alone. */
	if (!change->read)
		return read_route(change, err);
	*ret_revision = change->effect == SP_PUBLISH_CONFLICT ? 0 : change->placement.revision;
	return 1;
}

static int carry_out(struct change *change, int64_t *ret_revision, struct sp_err *err)
{
	int got = 0;

	recall(change);
	for (unsigned i = 0; i < SP_ETCD_TRIES && got == 0; i++)
		got = try_once(change, ret_revision, err);
	return got > 0 ? 0 : got < 0 ? got : sp_etcd_outrun(change->etcd, err);
}

int sp_etcd_change(struct sp_registry *registry, const struct sp_route_change *wanted,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	struct change change = {
	    .etcd = etcd, .wanted = wanted, .key = sp_etcd_route_key(etcd, wanted->sandbox)};
	int64_t revision = 0;
	int bad = carry_out(&change, &revision, err);

	if (!bad) {
		*ret_effect = change.effect;
		*ret_revision = revision;
	}
	sp_etcd_pair_done(&change.pair);
	free(change.put);
	return bad;
}

int sp_etcd_resolve(
    struct sp_registry *registry, const char *sandbox, struct sp_placement *ret, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	struct change look = {.etcd = etcd, .key = sp_etcd_route_key(etcd, sandbox)};
	int bad = read_route(&look, err);

	if (!bad && !look.pair.value)
		bad = sp_fail(err, SP_E_ABSENT, "%s: no route was ever published", sandbox);
	if (!bad)
		*ret = look.placement;
	sp_etcd_pair_done(&look.pair);
	return bad;
}

struct list {
	struct sp_etcd *etcd;
	sp_registry_route_fn *each;
	void *context;
	struct sp_err *err;
};

static int list_one(void *context, const struct sp_etcd_pair *pair)
{
	struct list *list = context;
	char sandbox[SP_ID_MAX + 1];
	struct sp_placement placement;

	if (sp_etcd_placement_take(&list->etcd->meta, pair, sandbox, &placement) < 0)
		return sp_etcd_damaged(list->etcd, "route", list->err);
	return list->each(list->context, sandbox, &placement);
}

int sp_etcd_list(
    struct sp_registry *registry, sp_registry_route_fn *each, void *context, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	const struct sp_etcd_key prefix = sp_etcd_route_key(etcd, "");
	struct list list = {.etcd = etcd, .each = each, .context = context, .err = err};

	return sp_etcd_walk(etcd, &prefix, SP_ETCD_ROUTES_PAGE, list_one, &list, err);
}
