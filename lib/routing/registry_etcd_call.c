/* Requests to the members of the cluster, one after another until one answers. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "routing/registry_etcd.h"

/* gRPC's codes, as the gateway tells them. */
enum grpc { GRPC_DEADLINE_EXCEEDED = 4, GRPC_OUT_OF_RANGE = 11, GRPC_UNAVAILABLE = 14 };

static size_t on_bytes(char *bytes, size_t one, size_t size, void *context)
{
	struct sp_etcd_gathered *gathered = context;
	char *more = gathered->size + size <= SP_ETCD_ANSWER_MAX
			 ? realloc(gathered->bytes, gathered->size + size + 1)
			 : NULL;

	(void)one; /* always 1 */
	if (!more) {
		gathered->failed = true;
		return 0;
	}
	memcpy(more + gathered->size, bytes, size);
	gathered->bytes = more;
	gathered->size += size;
	gathered->bytes[gathered->size] = '\0';
	return size;
}

void sp_etcd_gather(CURL *easy, struct sp_etcd_gathered *gathered)
{
	curl_write_callback gather = on_bytes;

	*gathered = (struct sp_etcd_gathered){0};
	(void)sp_curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, gather);
	(void)sp_curl.easy_setopt(easy, CURLOPT_WRITEDATA, gathered);
}

void sp_etcd_gathered_done(struct sp_etcd_gathered *gathered)
{
	free(gathered->bytes);
	gathered->bytes = NULL;
}

static void prepare_tls(const struct sp_etcd *etcd, CURL *easy)
{
	if (etcd->tls_ca)
		(void)sp_curl.easy_setopt(easy, CURLOPT_CAINFO, etcd->tls_ca);
	if (etcd->tls_cert)
		(void)sp_curl.easy_setopt(easy, CURLOPT_SSLCERT, etcd->tls_cert);
	if (etcd->tls_key)
		(void)sp_curl.easy_setopt(easy, CURLOPT_SSLKEY, etcd->tls_key);
	(void)sp_curl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
}

void sp_etcd_prepare(const struct sp_etcd *etcd, CURL *easy, unsigned endpoint, const char *path,
    const char *body, int timeout_ms)
{
	char url[SP_ETCD_ENDPOINT_SIZE + 32];

	(void)snprintf(url, sizeof(url), "%s%s", etcd->endpoints[endpoint], path);
	(void)sp_curl.easy_setopt(easy, CURLOPT_URL, url);
	(void)sp_curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	(void)sp_curl.easy_setopt(easy, CURLOPT_POSTFIELDS, body);
	(void)sp_curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	(void)sp_curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)timeout_ms);
	(void)sp_curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)sp_curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)sp_curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	/* What the environment says of proxies is not meant for the control plane. */
	(void)sp_curl.easy_setopt(easy, CURLOPT_PROXY, "");
	prepare_tls(etcd, easy);
}

/* The gateway's error; the code is gRPC's. */
static int refused(const struct sp_etcd *etcd, unsigned endpoint, long status, const json_t *answer,
    bool *ret_elsewhere, struct sp_err *err)
{
	const char *words = json_string_value(json_object_get(answer, "error"));
	int64_t code = sp_etcd_number(answer, "code");

	*ret_elsewhere = code == GRPC_UNAVAILABLE || code == GRPC_DEADLINE_EXCEEDED || !words;
	return sp_fail(err, SP_E_UNAVAILABLE, "registry etcd:%s: %s (HTTP %ld)%s",
	    etcd->endpoints[endpoint], words ? words : "no answer of etcd's", status,
	    code == GRPC_OUT_OF_RANGE ? "; the registry changes too fast" : "");
}

int sp_etcd_outcome(const struct sp_etcd *etcd, CURL *easy, CURLcode code, unsigned endpoint,
    const struct sp_etcd_gathered *gathered, json_t **ret, bool *ret_elsewhere, struct sp_err *err)
{
	sp_auto_json json_t *answer = NULL;
	long status = 0;

	*ret_elsewhere = false;
	if (gathered->failed)
		return sp_fail(err, SP_E_UNAVAILABLE, "registry etcd:%s: an answer above %u bytes",
		    etcd->endpoints[endpoint], SP_ETCD_ANSWER_MAX);
	*ret_elsewhere = true;
	if (code != CURLE_OK)
		return sp_fail(err, SP_E_UNAVAILABLE, "registry etcd:%s: %s",
		    etcd->endpoints[endpoint], sp_curl.easy_strerror(code));
	(void)sp_curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (gathered->bytes)
		(void)sp_json_parse(gathered->bytes, gathered->size, &answer, NULL);
	if (status != 200 || !json_object_get(answer, "header"))
		return refused(etcd, endpoint, status, answer, ret_elsewhere, err);
	*ret_elsewhere = false;
	*ret = sp_steal(&answer);
	return 0;
}

/* Can it have reached etcd? */
static bool may_have_arrived(CURLcode code)
{
	return code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST &&
	       code != CURLE_SSL_CONNECT_ERROR && code != CURLE_PEER_FAILED_VERIFICATION;
}

/* One request on its way through the members. */
struct call {
	struct sp_etcd *etcd;
	const char *path, *body;
	int64_t deadline;
	json_t *answer;
	bool elsewhere;  /* another member may know better */
	bool leaderless; /* a member has answered that it cannot say now */
	bool unsure;     /* one may have carried it out without saying so */
};

static int call_member(struct call *call, unsigned endpoint, unsigned others, struct sp_err *err)
{
	struct sp_etcd *etcd = call->etcd;
	/* One that hangs must leave the others some time. */
	int64_t left = (call->deadline - sp_monotonic_ms()) / (int64_t)(others + 1);
	struct sp_etcd_gathered gathered;
	CURLcode code;
	int bad;

	sp_etcd_gather(etcd->easy, &gathered);
	sp_etcd_prepare(
	    etcd, etcd->easy, endpoint, call->path, call->body, left > 1 ? (int)left : 1);
	code = sp_curl.easy_perform(etcd->easy);
	bad = sp_etcd_outcome(
	    etcd, etcd->easy, code, endpoint, &gathered, &call->answer, &call->elsewhere, err);
	sp_etcd_gathered_done(&gathered);
	if (!bad)
		etcd->endpoint = endpoint;
	call->leaderless |= bad && code == CURLE_OK && call->elsewhere;
	call->unsure |= bad && may_have_arrived(code);
	return bad;
}

static int call_each(struct call *call, struct sp_err *err)
{
	unsigned count = call->etcd->endpoint_count, first = call->etcd->endpoint;
	int bad = SP_E_UNAVAILABLE;

	call->leaderless = false;
	call->elsewhere = true;
	for (unsigned i = 0; i < count && call->elsewhere; i++) {
		if (i > 0 && sp_monotonic_ms() >= call->deadline)
			break;
		bad = call_member(call, (first + i) % count, count - i - 1, err);
	}
	return bad;
}

int sp_etcd_call(struct sp_etcd *etcd, const char *path, const char *body, json_t **ret,
    bool *ret_unsure, struct sp_err *err)
{
	struct call call = {.etcd = etcd,
	    .path = path,
	    .body = body,
	    .deadline = sp_monotonic_ms() + etcd->timeout_ms};
	int bad;

	if (!body)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = call_each(&call, err);
	/* Members that elect a leader know better in a moment; where nobody answers, that is it. */
	while (bad && call.elsewhere && call.leaderless &&
	       sp_monotonic_ms() + SP_ETCD_ELECTION_MS < call.deadline) {
		(void)poll(NULL, 0, SP_ETCD_ELECTION_MS);
		bad = call_each(&call, err);
	}
	if (ret_unsure)
		*ret_unsure |= call.unsure;
	if (!bad)
		*ret = call.answer;
	return bad;
}

int sp_etcd_read(struct sp_etcd *etcd, const struct sp_etcd_transaction *transaction, json_t **ret,
    struct sp_err *err)
{
	sp_auto_free char *body = sp_etcd_transaction_text(transaction);
	sp_auto_json json_t *answer = NULL;
	int bad = sp_etcd_call(etcd, "/v3/kv/txn", body, &answer, NULL, err);

	if (!bad)
		bad = sp_etcd_take_meta(etcd, answer, &etcd->meta, err);
	if (!bad)
		*ret = sp_steal(&answer);
	return bad;
}

int sp_etcd_commit(struct sp_etcd *etcd, const struct sp_etcd_transaction *transaction,
    int64_t *ret_revision, bool *ret_unsure, json_t **ret_answer, struct sp_err *err)
{
	sp_auto_free char *body = sp_etcd_transaction_text(transaction);
	sp_auto_json json_t *answer = NULL;
	int bad = sp_etcd_call(etcd, "/v3/kv/txn", body, &answer, ret_unsure, err);
	bool done;

	if (bad)
		return bad;
	done = json_is_true(json_object_get(answer, "succeeded"));
	if (done)
		*ret_revision = sp_etcd_count(&etcd->meta, sp_etcd_revision(answer));
	if (ret_answer)
		*ret_answer = sp_steal(&answer);
	return done;
}

/* One page; 1: more are to come, and *last is the last key of this one. */
static int walk_page(struct sp_etcd *etcd, const json_t *answer, struct sp_etcd_key *last,
    sp_etcd_each_fn *each, void *context, struct sp_err *err)
{
	const json_t *found = json_object_get(answer, "kvs"), *one;
	size_t i;

	json_array_foreach(found, i, one)
	{
		sp_auto_pair struct sp_etcd_pair pair = {0};
		int bad = sp_etcd_pair_take(one, &pair);
		if (bad)
			return sp_etcd_damaged(etcd, "key", err);
		bad = each(context, &pair);
		if (bad < 0)
			return bad;
		*last = pair.key;
	}
	return json_array_size(found) > 0 && json_is_true(json_object_get(answer, "more"));
}

int sp_etcd_walk(struct sp_etcd *etcd, const struct sp_etcd_key *prefix, unsigned page,
    sp_etcd_each_fn *each, void *context, struct sp_err *err)
{
	int64_t revision = etcd->pinned;
	struct sp_etcd_key last;
	bool begun = false;
	int got;

	do {
		sp_auto_free char *body =
		    sp_etcd_page_text(prefix, begun ? &last : NULL, page, revision);
		sp_auto_json json_t *answer = NULL;
		got = sp_etcd_call(etcd, "/v3/kv/range", body, &answer, NULL, err);
		if (got)
			return got;
		/* All pages as of the first one. */
		if (!revision)
			revision = sp_etcd_revision(answer);
		begun = true;
		got = walk_page(etcd, answer, &last, each, context, err);
	} while (got > 0);
	return got;
}
