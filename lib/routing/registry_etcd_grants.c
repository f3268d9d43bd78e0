/* Grants and bearer tokens in the cluster. */
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "routing/registry_etcd.h"

#define HASH_TEXT_SIZE 44

int sp_etcd_grant_take(
    const struct sp_etcd_meta *meta, const struct sp_etcd_pair *pair, struct sp_grant *ret)
{
	sp_auto_json json_t *object = NULL;
	int bad = sp_json_parse(pair->value, pair->size, &object, NULL);

	if (!bad)
		bad = sp_grant_parse(object, ret, NULL);
	if (!bad)
		ret->revision = sp_etcd_count(meta, pair->modified);
	return bad;
}

bool sp_etcd_token_take(const struct sp_etcd_pair *pair, unsigned char ret_hash[SP_CREDENTIAL_SIZE])
{
	size_t size;

	return sp_base64_decode(
		   pair->value, pair->size, true, ret_hash, SP_CREDENTIAL_SIZE, &size) &&
	       size == SP_CREDENTIAL_SIZE;
}

static char *grant_text(const struct sp_grant *grant)
{
	sp_auto_json json_t *object = sp_grant_json(grant);

	/* etcd keeps it. */
	if (object)
		(void)json_object_del(object, "revision");
	return object ? sp_json_text(object) : NULL;
}

/* What there is of a principal's grant of one pattern, and of his token. */
struct state {
	bool has_grant, has_token;
	struct sp_grant grant;
	unsigned char hash[SP_CREDENTIAL_SIZE];
	int64_t grant_modified, token_modified;
};

static int take_token(
    struct sp_etcd *etcd, const json_t *found, struct state *state, struct sp_err *err)
{
	sp_auto_pair struct sp_etcd_pair pair = {0};

	if (!found)
		return 0;
	if (sp_etcd_pair_take(found, &pair) < 0 || !sp_etcd_token_take(&pair, state->hash))
		return sp_etcd_damaged(etcd, "token", err);
	state->has_token = true;
	state->token_modified = pair.modified;
	return 0;
}

static int take_grant(
    struct sp_etcd *etcd, const json_t *found, struct state *state, struct sp_err *err)
{
	sp_auto_pair struct sp_etcd_pair pair = {0};

	if (!found)
		return 0;
	if (sp_etcd_pair_take(found, &pair) < 0 ||
	    sp_etcd_grant_take(&etcd->meta, &pair, &state->grant) < 0)
		return sp_etcd_damaged(etcd, "grant", err);
	state->has_grant = true;
	state->grant_modified = pair.modified;
	return 0;
}

/* The keys of one grant. A principal without a token has a name in no registry. */
static void grant_keys(const struct sp_etcd *etcd, const struct sp_grant *grant,
    struct sp_etcd_key *ret_grant, struct sp_etcd_key *ret_token)
{
	const char *name = sp_token_name(grant->principal);

	*ret_grant = sp_etcd_grant_key(etcd, grant->principal, grant->sandbox);
	*ret_token = sp_etcd_token_key(etcd, name ? name : ",");
}

static int read_state(
    struct sp_etcd *etcd, const struct sp_grant *wanted, struct state *ret, struct sp_err *err)
{
	struct sp_etcd_transaction transaction;
	struct sp_etcd_key grant, token;
	struct state state = {0};
	sp_auto_json json_t *answer = NULL;
	int bad;

	grant_keys(etcd, wanted, &grant, &token);
	sp_etcd_read_init(etcd, &transaction);
	sp_etcd_range(&transaction, &grant);
	sp_etcd_range(&transaction, &token);
	bad = sp_etcd_read(etcd, &transaction, &answer, err);
	sp_etcd_transaction_done(&transaction);
	if (!bad)
		bad = take_grant(etcd, json_array_get(sp_etcd_found(answer, 1), 0), &state, err);
	if (!bad)
		bad = take_token(etcd, json_array_get(sp_etcd_found(answer, 2), 0), &state, err);
	if (!bad)
		*ret = state;
	return bad;
}

int sp_etcd_token(struct sp_registry *registry, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err)
{
	struct sp_grant wanted = {0};
	struct state state;
	int bad;

	if (!sp_token_name(principal))
		return 0;
	memcpy(wanted.principal, principal, strlen(principal) + 1);
	bad = read_state((struct sp_etcd *)registry, &wanted, &state, err);
	if (bad)
		return bad;
	memcpy(ret_hash, state.hash, SP_CREDENTIAL_SIZE);
	return state.has_token;
}

static void add_token(struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key,
    const unsigned char hash[SP_CREDENTIAL_SIZE])
{
	char text[HASH_TEXT_SIZE];

	sp_base64_encode(hash, SP_CREDENTIAL_SIZE, true, text, sizeof(text));
	sp_etcd_put(transaction, key, text);
}

static int put_state(struct sp_etcd *etcd, const struct sp_granting *granting,
    const struct sp_granted *granted, const struct state *state, int64_t *ret_revision,
    struct sp_err *err)
{
	const struct sp_etcd_key meta = sp_etcd_meta_key(etcd);
	const struct sp_etcd_key right = sp_etcd_right_key(etcd, granting->wanted);
	sp_auto_free char *text = grant_text(granting->wanted);
	struct sp_etcd_transaction transaction;
	struct sp_etcd_key grant, token;
	int got;

	grant_keys(etcd, granting->wanted, &grant, &token);
	sp_etcd_transaction_init(&transaction);
	sp_etcd_compare(&transaction, &meta, etcd->meta.modified);
	sp_etcd_compare(&transaction, &grant, state->grant_modified);
	sp_etcd_compare(&transaction, &token, state->token_modified);
	if (granted->put_token)
		add_token(&transaction, &token, granting->credential);
	if (granted->put_grant && granting->held &&
	    strcmp(granting->held->subject, granting->wanted->subject) != 0) {
		const struct sp_etcd_key old = sp_etcd_right_key(etcd, granting->held);
		sp_etcd_delete(&transaction, &old);
	}
	if (granted->put_grant) {
		sp_etcd_put(&transaction, &grant, text);
		sp_etcd_put(&transaction, &right, text);
	}
	got = sp_etcd_commit(etcd, &transaction, ret_revision, NULL, NULL, err);
	sp_etcd_transaction_done(&transaction);
	return got;
}

int sp_etcd_grant(struct sp_registry *registry, const struct sp_grant *grant,
    const unsigned char *credential, enum sp_grant_manner manner, enum sp_grant_effect *ret_effect,
    int64_t *ret_revision, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	int got = 0;

	for (unsigned i = 0; i < SP_ETCD_TRIES && got == 0; i++) {
		struct sp_granting granting = {
		    .wanted = grant, .credential = credential, .manner = manner};
		struct sp_granted granted;
		struct state state;
		int64_t revision;
		got = read_state(etcd, grant, &state, err);
		if (got)
			return got;
		granting.held = state.has_grant ? &state.grant : NULL;
		granting.held_credential = state.has_token ? state.hash : NULL;
		got = sp_granting_decide(&granting, &granted, err);
		if (got)
			return got;
		revision = state.grant.revision;
		got = granted.put_grant || granted.put_token
			  ? put_state(etcd, &granting, &granted, &state, &revision, err)
			  : 1;
		if (got > 0) {
			*ret_effect = granted.effect;
			*ret_revision = granted.put_grant ? revision : state.grant.revision;
		}
	}
	return got > 0 ? 0 : got < 0 ? got : sp_etcd_outrun(etcd, err);
}

/* The keys of one grant that goes. */
static int add_revocation(struct sp_etcd *etcd, struct sp_etcd_transaction *transaction,
    const json_t *found, struct sp_err *err)
{
	sp_auto_pair struct sp_etcd_pair pair = {0};
	struct sp_etcd_key right;
	struct sp_grant grant;

	if (sp_etcd_pair_take(found, &pair) < 0 ||
	    sp_etcd_grant_take(&etcd->meta, &pair, &grant) < 0)
		return sp_etcd_damaged(etcd, "grant", err);
	right = sp_etcd_right_key(etcd, &grant);
	sp_etcd_delete(transaction, &pair.key);
	sp_etcd_delete(transaction, &right);
	return 0;
}

/* Some grants of a principal, as read at one revision. */
struct batch {
	json_t *answer;
	const json_t *grants; /* those to be revoked; borrowed from the answer */
	bool last;            /* no more are to be revoked */
	bool whole;           /* all that his subject may do goes: two prefixes, however many */
	bool token_goes;      /* none is left to the principal then */
	unsigned count;
};

/* In this order in the transaction, behind P/meta. */
enum revoke_range { ALL = 1, RIGHTS, ONE };

/* Of a uid or token, which is its own subject; with the comma that ends the name. */
static struct sp_etcd_key rights_key(const struct sp_etcd *etcd, const char *principal)
{
	return sp_etcd_key_of("%srights/%s,", etcd->prefix, principal);
}

static int read_batch(struct sp_etcd *etcd, const char *principal, const char *pattern,
    struct batch *batch, struct sp_err *err)
{
	const struct sp_etcd_key all = sp_etcd_grant_key(etcd, principal, "");
	const struct sp_etcd_key rights = rights_key(etcd, principal);
	const struct sp_etcd_key one = sp_etcd_grant_key(etcd, principal, pattern ? pattern : "");
	struct sp_etcd_transaction transaction;
	int64_t held;
	int bad;

	sp_etcd_read_init(etcd, &transaction);
	sp_etcd_range_prefix(&transaction, &all, SP_ETCD_REVOKE_BATCH);
	sp_etcd_range_prefix(&transaction, &rights, 1);
	if (pattern)
		sp_etcd_range(&transaction, &one);
	bad = sp_etcd_read(etcd, &transaction, &batch->answer, err);
	sp_etcd_transaction_done(&transaction);
	if (bad)
		return bad;
	held = sp_etcd_found_count(batch->answer, ALL);
	batch->grants = sp_etcd_found(batch->answer, pattern ? ONE : ALL);
	/* Each grant has one right; as many under this subject are those of these grants. */
	batch->whole = !pattern && held == sp_etcd_found_count(batch->answer, RIGHTS);
	batch->count = batch->whole ? (unsigned)held : (unsigned)json_array_size(batch->grants);
	batch->last = pattern || batch->whole || !sp_etcd_found_more(batch->answer, ALL);
	batch->token_goes = sp_token_name(principal) && held == (int64_t)batch->count;
	return 0;
}

static int add_revocations(struct sp_etcd *etcd, struct sp_etcd_transaction *transaction,
    const struct batch *batch, struct sp_err *err)
{
	const json_t *one;
	int bad = 0;
	size_t i;

	json_array_foreach(batch->grants, i, one)
	{
		if (!bad)
			bad = add_revocation(etcd, transaction, one, err);
	}
	return bad;
}

/* 1: gone. 0: somebody granted meanwhile. */
static int revoke_batch(
    struct sp_etcd *etcd, const char *principal, const struct batch *batch, struct sp_err *err)
{
	const struct sp_etcd_key all = sp_etcd_grant_key(etcd, principal, "");
	const struct sp_etcd_key rights = rights_key(etcd, principal);
	struct sp_etcd_transaction transaction;
	int64_t revision;
	int got = 0;

	sp_etcd_transaction_init(&transaction);
	sp_etcd_compare_prefix(&transaction, &all, sp_etcd_revision(batch->answer));
	if (batch->whole) {
		sp_etcd_compare_prefix(&transaction, &rights, sp_etcd_revision(batch->answer));
		sp_etcd_delete_prefix(&transaction, &all);
		sp_etcd_delete_prefix(&transaction, &rights);
	} else {
		got = add_revocations(etcd, &transaction, batch, err);
	}
	if (batch->token_goes) {
		const struct sp_etcd_key token = sp_etcd_token_key(etcd, sp_token_name(principal));
		sp_etcd_delete(&transaction, &token);
	}
	if (!got)
		got = sp_etcd_commit(etcd, &transaction, &revision, NULL, NULL, err);
	sp_etcd_transaction_done(&transaction);
	return got;
}

/* All at once, but for more than a batch of a principal that shares its subject with another
 * (user:NAME and uid:N): those go batch by batch, and what an interruption leaves is no more than
 * there was. */
int sp_etcd_revoke(struct sp_registry *registry, const char *principal, const char *pattern,
    unsigned *ret_count, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	unsigned count = 0, lost = 0;

	while (lost < SP_ETCD_TRIES) {
		struct batch batch = {0};
		int got = read_batch(etcd, principal, pattern, &batch, err);
		if (!got)
			got = batch.count ? revoke_batch(etcd, principal, &batch, err) : 1;
		json_decref(batch.answer);
		if (got < 0)
			return count ? sp_err_prefix(
					   err, got, "%u grants are revoked, others not", count)
				     : got;
		lost += got == 0;
		count += got > 0 ? batch.count : 0;
		if (got > 0 && batch.last) {
			*ret_count = count;
			return 0;
		}
	}
	return sp_etcd_outrun(etcd, err);
}

struct list {
	struct sp_etcd *etcd;
	sp_registry_grant_fn *each;
	void *context;
	struct sp_err *err;
};

static int list_one(void *context, const struct sp_etcd_pair *pair)
{
	struct list *list = context;
	struct sp_grant grant;

	if (sp_etcd_grant_take(&list->etcd->meta, pair, &grant) < 0)
		return sp_etcd_damaged(list->etcd, "grant", list->err);
	return list->each(list->context, &grant);
}

int sp_etcd_grants(
    struct sp_registry *registry, sp_registry_grant_fn *each, void *context, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	const struct sp_etcd_key prefix = sp_etcd_key_of("%sgrants/", etcd->prefix);
	struct list list = {.etcd = etcd, .each = each, .context = context, .err = err};

	return sp_etcd_walk(etcd, &prefix, SP_ETCD_GRANTS_PAGE, list_one, &list, err);
}
