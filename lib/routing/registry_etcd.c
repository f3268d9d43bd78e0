/* The cluster as a registry: its URL, the keys, opening and making. */
#include "routing/registry_etcd.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

#define VERSION        1
#define DEFAULT_PREFIX "space"
#define TLS_KEY_MAX    (64u * 1024u)

struct sp_etcd_key sp_etcd_meta_key(const struct sp_etcd *etcd)
{
	return sp_etcd_key_of("%smeta", etcd->prefix);
}

struct sp_etcd_key sp_etcd_route_key(const struct sp_etcd *etcd, const char *sandbox)
{
	return sp_etcd_key_of("%sroutes/%s", etcd->prefix, sandbox);
}

struct sp_etcd_key sp_etcd_token_key(const struct sp_etcd *etcd, const char *name)
{
	return sp_etcd_key_of("%stokens/%s", etcd->prefix, name);
}

struct sp_etcd_key sp_etcd_grant_key(
    const struct sp_etcd *etcd, const char *principal, const char *pattern)
{
	return sp_etcd_key_of("%sgrants/%s,%s", etcd->prefix, principal, pattern);
}

struct sp_etcd_key sp_etcd_right_key(const struct sp_etcd *etcd, const struct sp_grant *grant)
{
	return sp_etcd_key_of("%srights/%s,%s,%s,%s", etcd->prefix, grant->subject,
	    sp_sandbox_pattern_is_glob(grant->sandbox) ? "glob" : "exact", grant->sandbox,
	    grant->principal);
}

int64_t sp_etcd_count(const struct sp_etcd_meta *meta, int64_t revision)
{
	return revision - meta->created + meta->base;
}

int sp_etcd_damaged(const struct sp_etcd *etcd, const char *what, struct sp_err *err)
{
	return sp_fail(err, SP_E_UNAVAILABLE, "registry etcd:%s: a %s under %s is damaged",
	    etcd->endpoints[etcd->endpoint], what, etcd->prefix);
}

int sp_etcd_outrun(const struct sp_etcd *etcd, struct sp_err *err)
{
	return sp_fail(err, SP_E_UNAVAILABLE, "registry etcd:%s: outrun by other changes %d times",
	    etcd->endpoints[etcd->endpoint], SP_ETCD_TRIES);
}

/* host:port, where host is a name, an IPv4 address or [an IPv6 address]: no user, no path. */
static bool is_authority(const char *text, size_t length)
{
	const char *colon = memrchr(text, ':', length);
	char port[8];
	size_t digits = colon ? length - (size_t)(colon - text) - 1 : 0;
	int64_t number;

	if (!colon || colon == text || digits == 0 || digits >= sizeof(port))
		return false;
	memcpy(port, colon + 1, digits);
	port[digits] = '\0';
	for (const char *at = text; at < colon; at++)
		if (!isalnum((unsigned char)*at) && !strchr(*text == '[' ? "[]:." : ".-", *at))
			return false;
	return sp_number_parse(port, 1, 65535, &number);
}

static bool is_prefix(const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length > SP_ETCD_PREFIX_MAX || text[length - 1] == '/')
		return false;
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-/", *at))
			return false;
	return true;
}

static int bad_url(const char *rest, const char *why, struct sp_err *err)
{
	return sp_fail(err, SP_E_CONFIG, "registry `etcd:%.200s`: %s", rest, why);
}

/* http[s]://HOST:PORT[,HOST:PORT]...[/PREFIX]; each member may repeat the scheme. */
static int take_url(struct sp_etcd *etcd, const char *rest, struct sp_err *err)
{
	size_t scheme = strncmp(rest, "https://", 8) == 0 ? 8 : 7;
	const char *at = rest, *prefix;

	if (scheme == 7 && strncmp(rest, "http://", 7) != 0)
		return bad_url(rest, "neither http:// nor https://", err);
	do {
		size_t length;
		at += *at == ',';
		at += strncmp(at, rest, scheme) == 0 ? scheme : 0;
		length = strcspn(at, ",/");
		if (!is_authority(at, length) || scheme + length >= SP_ETCD_ENDPOINT_SIZE)
			return bad_url(rest, "a member is not HOST:PORT", err);
		if (etcd->endpoint_count == SP_ETCD_ENDPOINTS_MAX)
			return bad_url(rest, "more than 16 members", err);
		(void)snprintf(etcd->endpoints[etcd->endpoint_count++], SP_ETCD_ENDPOINT_SIZE,
		    "%.*s%.*s", (int)scheme, rest, (int)length, at);
		at += length;
	} while (*at == ',');
	prefix = *at && at[1] ? at + 1 : DEFAULT_PREFIX;
	if (!is_prefix(prefix))
		return bad_url(rest, "the prefix has other characters than A-Za-z0-9._-/", err);
	(void)snprintf(etcd->prefix, sizeof(etcd->prefix), "%s/", prefix);
	return 0;
}

static int copy_path(const char *path, char **ret, struct sp_err *err)
{
	if (!path || !path[0])
		return 0;
	*ret = strdup(path);
	return *ret ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

/* libcurl reads the key by itself; that it is nobody else's is looked at here. */
static int take_tls(
    struct sp_etcd *etcd, const struct sp_registry_options *options, struct sp_err *err)
{
	char *key = NULL;
	size_t size = 0;
	int bad = copy_path(options->tls_ca, &etcd->tls_ca, err);

	if (!bad)
		bad = copy_path(options->tls_cert, &etcd->tls_cert, err);
	if (!bad)
		bad = copy_path(options->tls_key, &etcd->tls_key, err);
	if (bad || !etcd->tls_key)
		return bad;
	bad = sp_file_read(AT_FDCWD, etcd->tls_key, SP_FILE_SECRET, TLS_KEY_MAX, &key, &size, err);
	sp_secret_free(key, size);
	return bad;
}

void sp_etcd_read_init(const struct sp_etcd *etcd, struct sp_etcd_transaction *transaction)
{
	const struct sp_etcd_key meta = sp_etcd_meta_key(etcd);

	sp_etcd_transaction_init(transaction);
	sp_etcd_range(transaction, &meta);
}

int sp_etcd_take_meta(
    const struct sp_etcd *etcd, const json_t *answer, struct sp_etcd_meta *ret, struct sp_err *err)
{
	const json_t *found = json_array_get(sp_etcd_found(answer, 0), 0), *version, *base;
	const struct sp_json_field fields[] = {
	    {"version", SP_JSON_INTEGER, false, &version}, {"base", SP_JSON_INTEGER, false, &base}};
	sp_auto_pair struct sp_etcd_pair pair = {0};
	sp_auto_json json_t *object = NULL;

	if (!found)
		return sp_fail(err, SP_E_ABSENT,
		    "no registry at etcd:%s/%.*s; publish or grant makes one",
		    etcd->endpoints[etcd->endpoint], (int)strlen(etcd->prefix) - 1, etcd->prefix);
	if (sp_etcd_pair_take(found, &pair) < 0 ||
	    sp_json_parse(pair.value, pair.size, &object, NULL) < 0)
		return sp_etcd_damaged(etcd, "meta", err);
	version = json_object_get(object, "version");
	if (json_integer_value(version) > VERSION)
		return sp_fail(err, SP_E_CONFIG, "registry etcd:" SP_NEWER_FORMAT,
		    etcd->endpoints[etcd->endpoint], (long long)json_integer_value(version),
		    VERSION);
	if (sp_json_take(object, "meta", fields, SP_COUNT(fields), NULL) < 0 ||
	    json_integer_value(version) != VERSION)
		return sp_etcd_damaged(etcd, "meta", err);
	*ret = (struct sp_etcd_meta){
	    .created = pair.created, .modified = pair.modified, .base = json_integer_value(base)};
	return 0;
}

static int put_meta(struct sp_etcd *etcd, int64_t was, int64_t base, struct sp_err *err)
{
	const struct sp_etcd_key key = sp_etcd_meta_key(etcd);
	struct sp_etcd_transaction transaction;
	int64_t revision;
	char text[64];
	int got;

	(void)snprintf(
	    text, sizeof(text), "{\"version\":%d,\"base\":%lld}", VERSION, (long long)base);
	sp_etcd_transaction_init(&transaction);
	sp_etcd_compare(&transaction, &key, was);
	sp_etcd_put(&transaction, &key, text);
	got = sp_etcd_commit(etcd, &transaction, &revision, NULL, NULL, err);
	sp_etcd_transaction_done(&transaction);
	return got;
}

int sp_etcd_look(struct sp_etcd *etcd, bool create, struct sp_err *err)
{
	struct sp_etcd_transaction transaction;
	json_t *answer = NULL;
	int bad;

	sp_etcd_read_init(etcd, &transaction);
	bad = sp_etcd_read(etcd, &transaction, &answer, err);
	if (bad == SP_E_ABSENT && create) {
		/* Of two that find none one makes it; both find it then. */
		bad = put_meta(etcd, 0, 0, err);
		if (bad >= 0)
			bad = sp_etcd_read(etcd, &transaction, &answer, err);
	}
	if (!bad)
		etcd->now = sp_etcd_revision(answer);
	sp_etcd_transaction_done(&transaction);
	json_decref(answer);
	return bad;
}

static int raise_revision(struct sp_registry *registry, int64_t revision, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	int got = 0;

	for (unsigned i = 0; i < SP_ETCD_TRIES && got == 0; i++) {
		int bad = sp_etcd_look(etcd, false, err);
		int64_t now = sp_etcd_count(&etcd->meta, etcd->now);
		if (bad)
			return bad;
		if (now >= revision)
			return 0;
		got = put_meta(etcd, etcd->meta.modified, etcd->meta.base + revision - now, err);
	}
	if (got > 0)
		return sp_etcd_look(etcd, false, err);
	return got < 0 ? got : sp_etcd_outrun(etcd, err);
}

static int snapshot(
    struct sp_registry *registry, bool begin, int64_t *ret_revision, struct sp_err *err)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	int bad = begin ? sp_etcd_look(etcd, false, err) : 0;

	if (bad)
		return bad;
	etcd->pinned = begin ? etcd->now : 0;
	if (ret_revision)
		*ret_revision = sp_etcd_count(&etcd->meta, etcd->now);
	return 0;
}

static void resume(struct sp_registry *registry, int64_t revision)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;
	int64_t wanted = revision - etcd->meta.base + etcd->meta.created;

	/* Before the registry was made, or before an import raised its revisions: nobody can say
	 * what has changed since. One that is not yet shows when the watch begins. */
	etcd->cursor = wanted < etcd->meta.created ? 0 : wanted;
}

static void close_registry(struct sp_registry *registry)
{
	struct sp_etcd *etcd = (struct sp_etcd *)registry;

	sp_etcd_waits_free(etcd);
	if (etcd->easy)
		sp_curl.easy_cleanup(etcd->easy);
	free(etcd->known);
	free(etcd->tls_ca);
	free(etcd->tls_cert);
	free(etcd->tls_key);
	free(etcd);
}

static void tidy(struct sp_registry *registry)
{
	(void)registry;
}

static int open_registry(const char *rest, const struct sp_registry_options *options,
    struct sp_registry **ret, struct sp_err *err)
{
	struct sp_etcd *etcd = calloc(1, sizeof(*etcd));
	int bad;

	if (!etcd)
		return sp_fail(err, -ENOMEM, "out of memory");
	etcd->registry.backend = &SP_REGISTRY_ETCD;
	etcd->timeout_ms = options->timeout_ms;
	bad = take_url(etcd, rest, err);
	if (!bad)
		bad = take_tls(etcd, options, err);
	if (!bad)
		bad = sp_curl_load(err);
	if (!bad) {
		etcd->easy = sp_curl.easy_init();
		bad = etcd->easy ? sp_etcd_look(etcd, options->create, err)
				 : sp_fail(err, -ENOMEM, "out of memory");
		etcd->cursor = etcd->now;
	}
	if (bad) {
		close_registry(&etcd->registry);
		return bad;
	}
	*ret = &etcd->registry;
	return 0;
}

const struct sp_registry_backend SP_REGISTRY_ETCD = {
    .scheme = "etcd",
    .open = open_registry,
    .close = close_registry,
    .change = sp_etcd_change,
    .resolve = sp_etcd_resolve,
    .list = sp_etcd_list,
    .tidy = tidy,
    .grant = sp_etcd_grant,
    .revoke = sp_etcd_revoke,
    .token = sp_etcd_token,
    .grants = sp_etcd_grants,
    .lookup = sp_etcd_lookup,
    .descriptor = sp_etcd_descriptor,
    .poll = sp_etcd_poll,
    .resume = resume,
    .snapshot = snapshot,
    .raise = raise_revision,
};
