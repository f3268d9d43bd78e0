/* The watch: one stream of what changes under the prefix, resumed on another member from where it
 * was; and what each change means. */
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/registry_etcd_wait.h"

static size_t on_bytes(char *bytes, size_t one, size_t size, void *context)
{
	struct sp_etcd_watch *watch = context;

	/* Less than all ends the stream. */
	return sp_etcd_stream_add(&watch->stream, bytes, size * one) < 0 ? 0 : size * one;
}

/* A member without a leader sees nothing that happens: it must say so and not keep silent. */
static struct curl_slist *leader_header(void)
{
	static char text[] = "Grpc-Metadata-hasleader: true";
	static struct curl_slist header = {.data = text};

	return &header;
}

void sp_etcd_watch_open(struct sp_etcd_waits *waits)
{
	struct sp_etcd_watch *watch = &waits->watch;
	struct sp_etcd *etcd = waits->etcd;
	curl_write_callback gather = on_bytes;
	const struct sp_etcd_key prefix = sp_etcd_key_of("%s", etcd->prefix);

	if (watch->body || watch->failures > 0)
		return;
	watch->body = sp_etcd_watch_text(&prefix, etcd->cursor ? etcd->cursor + 1 : 0);
	if (watch->body) {
		sp_etcd_prepare(etcd, watch->easy, watch->endpoint, "/v3/watch", watch->body,
		    SP_ETCD_WATCH_LIFE_MS + etcd->timeout_ms);
		(void)sp_curl.easy_setopt(watch->easy, CURLOPT_HTTPHEADER, leader_header());
		(void)sp_curl.easy_setopt(watch->easy, CURLOPT_WRITEFUNCTION, gather);
		(void)sp_curl.easy_setopt(watch->easy, CURLOPT_WRITEDATA, watch);
		(void)sp_curl.multi_add_handle(waits->multi, watch->easy);
	}
	/* By then it must have been created. */
	sp_etcd_timer_set(watch->timer, etcd->timeout_ms);
}

void sp_etcd_watch_close(struct sp_etcd_waits *waits)
{
	struct sp_etcd_watch *watch = &waits->watch;

	if (watch->body)
		(void)sp_curl.multi_remove_handle(waits->multi, watch->easy);
	free(watch->body);
	watch->body = NULL;
	watch->created = false;
	sp_etcd_stream_done(&watch->stream);
}

/* On with the next member; after a round over all of them, in a while. */
static void go_on(struct sp_etcd_waits *waits)
{
	struct sp_etcd_watch *watch = &waits->watch;
	unsigned count = waits->etcd->endpoint_count;

	sp_etcd_watch_close(waits);
	watch->endpoint = (watch->endpoint + 1) % count;
	watch->failures++;
	sp_etcd_timer_set(watch->timer, watch->failures % count ? 0 : SP_ETCD_RETRY_MS);
}

void sp_etcd_watch_ended(struct sp_etcd_waits *waits)
{
	go_on(waits);
}

void sp_etcd_watch_tick(struct sp_etcd_waits *waits)
{
	struct sp_etcd_watch *watch = &waits->watch;
	unsigned failures = watch->failures;

	if (watch->body && !watch->created) {
		go_on(waits);
		return;
	}
	/* It has lived its time, or it is time to try again. */
	sp_etcd_watch_close(waits);
	watch->failures = 0;
	sp_etcd_watch_open(waits);
	watch->failures = failures;
}

struct telling {
	struct sp_etcd *etcd;
	const struct sp_registry_changes *changes;
	void *context;
};

static void tell_revoked(const struct telling *telling, const char *subject, const char *pattern)
{
	telling->changes->revoked(telling->context, subject, pattern);
}

static void tell_route(
    const struct telling *telling, const struct sp_etcd_pair *pair, const char *name, bool gone)
{
	char sandbox[SP_ID_MAX + 1];
	struct sp_placement placement;

	/* Nobody but a hand deletes one. */
	if (gone || sp_etcd_placement_take(&telling->etcd->meta, pair, sandbox, &placement) < 0)
		tell_revoked(telling, NULL, name);
	else if (telling->changes->routed)
		telling->changes->routed(telling->context, sandbox, &placement);
}

/* SUBJECT,exact|glob,PATTERN,PRINCIPAL: what is added takes nothing away. */
static void tell_right(
    const struct telling *telling, const struct sp_etcd_pair *pair, char *name, bool gone)
{
	const char *subject = strsep(&name, ",");
	const char *class = strsep(&name, ","), *pattern = strsep(&name, ",");

	if ((gone || pair->version > 1) && class)
		tell_revoked(telling, subject, pattern);
}

static void tell_token(
    const struct telling *telling, const struct sp_etcd_pair *pair, const char *name, bool gone)
{
	char principal[SP_PRINCIPAL_MAX + 1];

	(void)snprintf(principal, sizeof(principal), "token:%s", name);
	if (gone || pair->version > 1)
		tell_revoked(telling, principal, "*");
}

/* Revisions count otherwise now; or the registry is no more, or another one. */
static void tell_meta(const struct telling *telling)
{
	int64_t created = telling->etcd->meta.created;

	if (sp_etcd_look(telling->etcd, false, NULL) < 0 || telling->etcd->meta.created != created)
		tell_revoked(telling, NULL, NULL);
}

static void tell_event(const struct telling *telling, const json_t *event)
{
	size_t prefix = strlen(telling->etcd->prefix);
	const char *type = json_string_value(json_object_get(event, "type"));
	bool gone = type && strcmp(type, "DELETE") == 0;
	sp_auto_pair struct sp_etcd_pair pair = {0};
	char *name, *kind;

	if (sp_etcd_pair_take(json_object_get(event, "kv"), &pair) < 0 || pair.key.size < prefix)
		return;
	name = pair.key.text + prefix;
	kind = strsep(&name, "/");
	if (strcmp(kind, "meta") == 0)
		tell_meta(telling);
	else if (name && strcmp(kind, "routes") == 0)
		tell_route(telling, &pair, name, gone);
	else if (name && strcmp(kind, "rights") == 0)
		tell_right(telling, &pair, name, gone);
	else if (name && strcmp(kind, "tokens") == 0)
		tell_token(telling, &pair, name, gone);
}

/* How far it has told. A message that is cut into fragments, or that is one of many while the watch
 * catches up, ends before the revision in its header. */
static void move_cursor(struct sp_etcd *etcd, const json_t *result)
{
	const json_t *events = json_object_get(result, "events");
	size_t count = json_array_size(events);
	int64_t revision =
	    count ? sp_etcd_number(
			json_object_get(json_array_get(events, count - 1), "kv"), "mod_revision")
		  : sp_etcd_revision(result);

	if (!json_is_true(json_object_get(result, "fragment")) && revision > etcd->cursor)
		etcd->cursor = revision;
}

/* It begins. Was it resumed? Not when too much has happened, and not in a cluster that is at an
 * earlier revision than it was, one restored from a copy: there it would wait for that revision. */
static int begin(struct sp_etcd_waits *waits, const struct telling *telling, int64_t revision)
{
	struct sp_etcd *etcd = waits->etcd;
	bool ahead = revision < etcd->cursor;

	if (etcd->cursor == 0 || ahead) {
		if (sp_etcd_look(etcd, false, NULL) < 0) {
			etcd->cursor = 0;
			return -1;
		}
		etcd->cursor = etcd->now;
		tell_revoked(telling, NULL, NULL);
	}
	waits->watch.failures = 0;
	if (ahead) {
		sp_etcd_watch_close(waits);
		sp_etcd_watch_open(waits);
		return 0;
	}
	waits->watch.created = true;
	sp_etcd_timer_set(waits->watch.timer, SP_ETCD_WATCH_LIFE_MS);
	return 0;
}

/* Negative: the watch has ended. */
static int read_message(
    struct sp_etcd_waits *waits, const struct telling *telling, const json_t *message)
{
	const json_t *result = json_object_get(message, "result"), *event;
	size_t i;

	if (!result)
		return -1;
	if (json_is_true(json_object_get(result, "canceled"))) {
		if (sp_etcd_number(result, "compact_revision") > 0)
			waits->etcd->cursor = 0;
		return -1;
	}
	if (json_is_true(json_object_get(result, "created")))
		return begin(waits, telling, sp_etcd_revision(result));
	json_array_foreach(json_object_get(result, "events"), i, event)
	{
		tell_event(telling, event);
	}
	move_cursor(waits->etcd, result);
	return 0;
}

void sp_etcd_watch_read(
    struct sp_etcd_waits *waits, const struct sp_registry_changes *changes, void *context)
{
	const struct telling telling = {waits->etcd, changes, context};
	int got;

	do {
		sp_auto_json json_t *message = NULL;
		got = sp_etcd_stream_next(&waits->watch.stream, &message);
		if (got > 0 && read_message(waits, &telling, message) < 0)
			got = -1;
	} while (got > 0);
	if (got < 0)
		go_on(waits);
}
