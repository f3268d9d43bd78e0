/* The cache's lookup: who the caller is, what he may do and where the sandbox is, in one
 * transaction at one revision. */
#include <sodium/utils.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "routing/registry_etcd_wait.h"

/* In this order in the transaction, behind P/meta. */
enum range { ROUTE = 1, TOKEN, EXACT, GLOBS };

static void add_rights(struct sp_etcd_transaction *transaction, const struct sp_etcd *etcd,
    const char *caller, const char *class, const char *sandbox)
{
	const struct sp_etcd_key key = sp_etcd_key_of(
	    "%srights/%s,%s,%s%s", etcd->prefix, caller, class, sandbox, sandbox[0] ? "," : "");
	sp_etcd_range_prefix(transaction, &key, SP_ETCD_GRANTS_MAX);
}

char *sp_etcd_wait_text(const struct sp_etcd *etcd, const struct sp_etcd_wait *wait)
{
	const char *name = sp_token_name(wait->caller);
	const struct sp_etcd_key route = sp_etcd_route_key(etcd, wait->sandbox);
	const struct sp_etcd_key token = sp_etcd_token_key(etcd, name ? name : ",");
	struct sp_etcd_transaction transaction;
	char *text;

	sp_etcd_read_init(etcd, &transaction);
	sp_etcd_range(&transaction, &route);
	if (wait->authorize) {
		sp_etcd_range(&transaction, &token);
		add_rights(&transaction, etcd, wait->caller, "exact", wait->sandbox);
		add_rights(&transaction, etcd, wait->caller, "glob", "");
	}
	text = sp_etcd_transaction_text(&transaction);
	sp_etcd_transaction_done(&transaction);
	return text;
}

/* 1: the caller has proved who he is. */
static int authenticate(const struct sp_etcd_wait *wait, const json_t *answer)
{
	const json_t *found = json_array_get(sp_etcd_found(answer, TOKEN), 0);
	sp_auto_pair struct sp_etcd_pair pair = {0};
	unsigned char hash[SP_CREDENTIAL_SIZE];

	if (!sp_token_name(wait->caller))
		return 1;
	if (!found)
		return 0;
	if (sp_etcd_pair_take(found, &pair) < 0 || !sp_etcd_token_take(&pair, hash))
		return SP_E_UNAVAILABLE;
	return wait->has_credential && sodium_memcmp(hash, wait->credential, sizeof(hash)) == 0;
}

static int add_grants(const struct sp_etcd_meta *meta, const struct sp_etcd_wait *wait,
    const json_t *answer, enum range range, struct sp_authorization *authorization)
{
	const json_t *one;
	size_t i;

	/* Some of them would be no answer. */
	if (sp_etcd_found_more(answer, range))
		return SP_E_UNAVAILABLE;
	json_array_foreach(sp_etcd_found(answer, range), i, one)
	{
		sp_auto_pair struct sp_etcd_pair pair = {0};
		struct sp_grant grant;
		if (sp_etcd_pair_take(one, &pair) < 0 ||
		    sp_etcd_grant_take(meta, &pair, &grant) < 0)
			return SP_E_UNAVAILABLE;
		/* A right that lies under another's name is nobody's. */
		if (strcmp(grant.subject, wait->caller) != 0)
			return SP_E_UNAVAILABLE;
		sp_authorization_add(authorization, &grant, wait->sandbox, wait->now);
	}
	return 0;
}

static int take_route(const struct sp_etcd_meta *meta, const struct sp_etcd_wait *wait,
    const json_t *answer, struct sp_lookup *lookup)
{
	const json_t *found = json_array_get(sp_etcd_found(answer, ROUTE), 0);
	sp_auto_pair struct sp_etcd_pair pair = {0};
	char sandbox[SP_ID_MAX + 1];

	if (!found)
		return 0;
	if (sp_etcd_pair_take(found, &pair) < 0 ||
	    sp_etcd_placement_take(meta, &pair, sandbox, &lookup->placement) < 0 ||
	    strcmp(sandbox, wait->sandbox) != 0)
		return SP_E_UNAVAILABLE;
	lookup->routed = !lookup->placement.retired;
	return 0;
}

static int take_answer(const struct sp_etcd *etcd, const struct sp_etcd_wait *wait,
    const json_t *answer, struct sp_lookup *lookup)
{
	struct sp_etcd_meta meta;
	int got = sp_etcd_take_meta(etcd, answer, &meta, NULL);

	if (got)
		return got;
	got = wait->authorize ? authenticate(wait, answer) : 0;
	if (got > 0) {
		got = add_grants(&meta, wait, answer, EXACT, &lookup->authorization);
		if (!got)
			got = add_grants(&meta, wait, answer, GLOBS, &lookup->authorization);
	}
	return got < 0 ? got : take_route(&meta, wait, answer, lookup);
}

void sp_etcd_wait_finish(struct sp_etcd *etcd, struct sp_etcd_wait *wait, const json_t *answer)
{
	struct sp_lookup lookup = {0};

	lookup.available = answer && take_answer(etcd, wait, answer, &lookup) == 0;
	wait->looked(wait->context, &lookup);
	free(wait);
}

void sp_etcd_lookup(struct sp_registry *registry, const struct sp_flight_question *question,
    int64_t now, sp_registry_looked_fn *looked, void *context)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	size_t sandbox = strlen(question->sandbox) + 1, caller = strlen(question->caller) + 1;
	struct sp_etcd_wait *wait = calloc(1, sizeof(*wait) + sandbox + caller);

	if (!wait) {
		const struct sp_lookup unavailable = {0};
		looked(context, &unavailable);
		return;
	}
	wait->looked = looked;
	wait->context = context;
	wait->now = now;
	wait->deadline = sp_monotonic_ms() + etcd->timeout_ms;
	wait->authorize = question->authorize;
	wait->has_credential = question->credential != NULL;
	if (question->credential)
		memcpy(wait->credential, question->credential, sizeof(wait->credential));
	memcpy(wait->sandbox, question->sandbox, sandbox);
	wait->caller = wait->sandbox + sandbox;
	memcpy(wait->caller, question->caller, caller);
	sp_etcd_ask(etcd, wait);
}
