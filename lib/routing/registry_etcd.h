/*
 * What the files of the etcd backend share: the cluster, its keys, transactions. Not for others.
 *
 * Under the prefix P of the URL:
 *
 *   P/meta                                 {"version":1,"base":N}
 *   P/routes/SANDBOX                       {"sandbox":S,"route":{...},"endpoint":E,"state":"..."}
 *   P/grants/PRINCIPAL,PATTERN             a grant, as `grants` prints it, without its revision
 *   P/rights/SUBJECT,exact|glob,PATTERN,PRINCIPAL   the same, where a lookup finds it
 *   P/tokens/NAME                          the BLAKE2b-256 of a bearer token, in base64url
 *
 * A comma is in no id and sorts below every character of one. A registry's revision is etcd's own,
 * counted from the making of P/meta, plus the base, which an import raises.
 */
#ifndef SP_ROUTING_REGISTRY_ETCD_H
#define SP_ROUTING_REGISTRY_ETCD_H

#include "routing/curl.h"
#include "routing/etcd_message.h"
#include "routing/registry_backend.h"

#define SP_ETCD_ENDPOINTS_MAX 16
#define SP_ETCD_ENDPOINT_SIZE 300 /* "https://", a host name, ":65535" */
#define SP_ETCD_PREFIX_MAX    128
#define SP_ETCD_ANSWER_MAX    (8u * 1024u * 1024u) /* one answer; one message of a watch */
#define SP_ETCD_GRANTS_PAGE   500                  /* keys asked for at once */
/* For each page etcd looks at every key up to the end of all: few pages, each as large as an answer
 * holds of the longest routes. */
#define SP_ETCD_ROUTES_PAGE  2500
#define SP_ETCD_ELECTION_MS  100  /* between two rounds without a leader */
#define SP_ETCD_KNOWN        256  /* routes remembered */
#define SP_ETCD_TRIES        64   /* of a change that others outrun */
#define SP_ETCD_GRANTS_MAX   1000 /* of one caller for one sandbox */
#define SP_ETCD_REVOKE_BATCH 60   /* etcd takes 128 operations at once */

/* P/meta as it was read. */
struct sp_etcd_meta {
	int64_t created, modified; /* etcd's revisions */
	int64_t base;
};

/* A route as this process has written it: the next change of it is tried without reading it. */
struct sp_etcd_known {
	char sandbox[SP_ID_MAX + 1]; /* "": none */
	int64_t modified;            /* etcd's revision */
	struct sp_placement placement;
};

struct sp_etcd_waits; /* lookups and the watch (registry_etcd_wait.c) */

struct sp_etcd {
	struct sp_registry registry;
	int timeout_ms;
	char endpoints[SP_ETCD_ENDPOINTS_MAX][SP_ETCD_ENDPOINT_SIZE];
	unsigned endpoint_count, endpoint; /* endpoint: the one that answered last */
	char prefix[SP_ETCD_PREFIX_MAX + 2];
	char *tls_ca, *tls_cert, *tls_key; /* NULL: none */
	CURL *easy;                        /* of calls that are waited for */
	int64_t pinned;              /* everything is read as of this revision of etcd; 0: now */
	struct sp_etcd_meta meta;    /* as last seen */
	int64_t now;                 /* etcd's revision when sp_etcd_look looked */
	int64_t cursor;              /* etcd's revision up to which the watch has told; 0: lost */
	struct sp_etcd_waits *waits; /* NULL: not yet used */
	struct sp_etcd_known
	    *known; /* SP_ETCD_KNOWN routes as they were written last; NULL: none */
};

/* The keys. */
struct sp_etcd_key sp_etcd_meta_key(const struct sp_etcd *etcd);
struct sp_etcd_key sp_etcd_route_key(const struct sp_etcd *etcd, const char *sandbox);
struct sp_etcd_key sp_etcd_token_key(const struct sp_etcd *etcd, const char *name);
struct sp_etcd_key sp_etcd_grant_key(
    const struct sp_etcd *etcd, const char *principal, const char *pattern /* "": all */);
struct sp_etcd_key sp_etcd_right_key(const struct sp_etcd *etcd, const struct sp_grant *grant);

/* A registry's revision from one of etcd's. */
int64_t sp_etcd_count(const struct sp_etcd_meta *meta, int64_t revision);

/* Sets up a handle for a POST to an endpoint's `path`; `body` is not copied. `gathered` gets the
 * answer by sp_etcd_gather. */
struct sp_etcd_gathered {
	char *bytes; /* heap, with a NUL after them */
	size_t size;
	bool failed; /* more than SP_ETCD_ANSWER_MAX, or out of memory */
};
void sp_etcd_prepare(const struct sp_etcd *etcd, CURL *easy, unsigned endpoint, const char *path,
    const char *body, int timeout_ms);
void sp_etcd_gather(CURL *easy, struct sp_etcd_gathered *gathered);
void sp_etcd_gathered_done(struct sp_etcd_gathered *gathered);

/*
 * What came of a request: 0 and the answer, a new reference; or why not. *ret_elsewhere: another
 * endpoint may know better.
 */
int sp_etcd_outcome(const struct sp_etcd *etcd, CURL *easy, CURLcode code, unsigned endpoint,
    const struct sp_etcd_gathered *gathered, json_t **ret, bool *ret_elsewhere, struct sp_err *err);

/*
 * Asks one endpoint after another, within timeout_ms in all; again while they have no leader. *ret
 * is a new reference. *ret_unsure (may be NULL) becomes true when an endpoint may have carried it
 * out without saying so.
 */
int sp_etcd_call(struct sp_etcd *etcd, const char *path, const char *body, json_t **ret,
    bool *ret_unsure, struct sp_err *err);

/*
 * A transaction without comparisons whose first range is P/meta; added by sp_etcd_read_init. Range
 * n of one's own is sp_etcd_found(answer, n). SP_E_ABSENT: there is no registry.
 */
void sp_etcd_read_init(const struct sp_etcd *etcd, struct sp_etcd_transaction *transaction);
int sp_etcd_read(struct sp_etcd *etcd, const struct sp_etcd_transaction *transaction, json_t **ret,
    struct sp_err *err);

/* P/meta out of such an answer. SP_E_ABSENT, SP_E_CONFIG. */
int sp_etcd_take_meta(
    const struct sp_etcd *etcd, const json_t *answer, struct sp_etcd_meta *ret, struct sp_err *err);

/* Reads P/meta, and what the cluster is at now. Where there is no registry `create` makes one; else
 * SP_E_ABSENT. */
int sp_etcd_look(struct sp_etcd *etcd, bool create, struct sp_err *err);

/* 1: carried out, at *ret_revision of the registry. 0: a comparison did not hold. *ret_answer (may
 * be NULL) is the answer, a new reference. */
int sp_etcd_commit(struct sp_etcd *etcd, const struct sp_etcd_transaction *transaction,
    int64_t *ret_revision, bool *ret_unsure, json_t **ret_answer, struct sp_err *err);

/* Every pair of a prefix, in order, all as of one revision; a negative return of `each` ends it and
 * is returned. */
typedef int sp_etcd_each_fn(void *context, const struct sp_etcd_pair *pair);
int sp_etcd_walk(struct sp_etcd *etcd, const struct sp_etcd_key *prefix, unsigned page,
    sp_etcd_each_fn *each, void *context, struct sp_err *err);

/* What is there and makes no sense is not used. */
int sp_etcd_damaged(const struct sp_etcd *etcd, const char *what, struct sp_err *err);
int sp_etcd_outrun(const struct sp_etcd *etcd, struct sp_err *err);

/* Values in and out. */
char *sp_etcd_placement_text(const char *sandbox, const struct sp_placement *placement);
int sp_etcd_placement_take(const struct sp_etcd_meta *meta, const struct sp_etcd_pair *pair,
    char ret_sandbox[SP_ID_MAX + 1], struct sp_placement *ret);
int sp_etcd_grant_take(
    const struct sp_etcd_meta *meta, const struct sp_etcd_pair *pair, struct sp_grant *ret);
bool sp_etcd_token_take(
    const struct sp_etcd_pair *pair, unsigned char ret_hash[SP_CREDENTIAL_SIZE]);

int sp_etcd_change(struct sp_registry *registry, const struct sp_route_change *wanted,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err);
int sp_etcd_resolve(struct sp_registry *registry, const char *sandbox, struct sp_placement *ret,
    struct sp_err *err);
int sp_etcd_list(
    struct sp_registry *registry, sp_registry_route_fn *each, void *context, struct sp_err *err);
int sp_etcd_grant(struct sp_registry *registry, const struct sp_grant *grant,
    const unsigned char *credential, enum sp_grant_manner manner, enum sp_grant_effect *ret_effect,
    int64_t *ret_revision, struct sp_err *err);
int sp_etcd_revoke(struct sp_registry *registry, const char *principal, const char *pattern,
    unsigned *ret_count, struct sp_err *err);
int sp_etcd_token(struct sp_registry *registry, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err);
int sp_etcd_grants(
    struct sp_registry *registry, sp_registry_grant_fn *each, void *context, struct sp_err *err);
void sp_etcd_lookup(struct sp_registry *registry, const struct sp_flight_question *question,
    int64_t now, sp_registry_looked_fn *looked, void *context);
int sp_etcd_poll(
    struct sp_registry *registry, const struct sp_registry_changes *changes, void *context);
int sp_etcd_descriptor(struct sp_registry *registry);
void sp_etcd_waits_free(struct sp_etcd *etcd);

#endif
