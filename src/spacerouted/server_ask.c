/* Questions through the rules of the cache, and through the registry where they need it. */
#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "record/json.h"
#include "record/reason.h"
#include "spacerouted/server.h"

#define POLL_EVERY_MS 1000
#define DUMP_BYTES    (128u * 1024u) /* of entries in one answer */

int64_t server_now_us(struct server *server)
{
	if (server->now_us == 0) {
		server->now_us = sp_monotonic_us();
		server->now_s = sp_time_now();
	}
	return server->now_us;
}

struct sp_cache_time server_now(struct server *server)
{
	int64_t us = server_now_us(server);

	return (struct sp_cache_time){.wall = server->now_s, .monotonic = us / 1000};
}

/* As the caller will be told. */
static enum sp_reason reason_of(const struct sp_question *question, enum sp_cache_effect effect)
{
	if (effect == SP_CACHE_DENIED)
		return SP_REASON_UNAUTHORIZED;
	return effect == SP_CACHE_GONE && question->kind == SP_QUESTION_GET ? SP_REASON_ABSENT
									    : SP_REASON_NONE;
}

static void audit(
    struct server *server, const struct exchange *exchange, const struct sp_cache_answer *answer)
{
	const struct sp_question *question = &exchange->question;
	const struct sp_audit_line line = {.role = "cache",
	    .caller = question->caller,
	    .sandbox = question->sandbox,
	    .op = question->op ? question->op->name : NULL,
	    .reason = reason_of(question, answer->effect),
	    .error =
		answer->effect == SP_CACHE_UNAVAILABLE ? sp_error_name(SP_ERROR_UNAVAILABLE) : NULL,
	    .action = sp_cache_effect_name(answer->effect),
	    .selected = question->kind == SP_QUESTION_REJECT ? &question->rejected : NULL,
	    .microseconds = sp_monotonic_us() - exchange->started_us,
	    .note = sp_cache_effect_name(answer->effect)};

	/* A hit repeats what was decided, and said, before. */
	if (answer->effect != SP_CACHE_HIT)
		sp_audit_write(server->audit, &line);
}

static void answer_with(
    struct server *server, struct exchange *exchange, const struct sp_cache_answer *answer)
{
	char text[SP_REPLY_MAX];
	size_t size = sp_reply_format(answer, text, sizeof(text));

	audit(server, exchange, answer);
	if (size > 0)
		server_answer_text(exchange, text, size);
	else
		server_answer(exchange, NULL);
}

static void on_answer(void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	struct exchange *exchange =
	    (struct exchange *)(void *)((char *)ask - offsetof(struct exchange, ask));

	answer_with(context, exchange, answer);
	server_flush(exchange->peer);
}

static void look(struct lookup *lookup);

static void on_looked(void *context, const struct sp_lookup *found)
{
	struct lookup *lookup = context;
	struct server *server = lookup->server;

	/* It may have waited for the registry. */
	server->now_us = 0;
	if (sp_cache_looked(server->cache, lookup->flight, found, server_now(server), on_answer,
		server) == SP_CACHE_LOOK)
		look(lookup);
	else
		free(lookup);
}

static void look(struct lookup *lookup)
{
	struct sp_flight_question question = sp_flight_question(lookup->flight);

	sp_registry_lookup(lookup->server->registry, &question, sp_time_now(), on_looked, lookup);
}

static void on_revoked(void *context, const char *subject, const char *pattern)
{
	struct server *server = context;
	size_t count = sp_cache_drop(server->cache, subject, pattern);
	const struct sp_audit_line line = {.role = "cache",
	    .caller = subject,
	    .sandbox = pattern,
	    .action = "dropped",
	    .note = "revoked: entries dropped"};

	if (count > 0)
		sp_audit_write(server->audit, &line);
}

static void on_routed(void *context, const char *sandbox, const struct sp_placement *placement)
{
	struct server *server = context;
	size_t count = sp_cache_offer(server->cache, sandbox, placement);
	const struct sp_audit_line line = {.role = "cache",
	    .sandbox = sandbox,
	    .action = placement->retired ? "dropped" : "followed",
	    .selected = &placement->route,
	    .note = placement->retired ? "retired: entries dropped" : "entries follow"};

	if (count > 0)
		sp_audit_write(server->audit, &line);
}

void server_poll(struct server *server)
{
	const struct sp_registry_changes changes = {
	    .revoked = on_revoked, .routed = server->follows ? on_routed : NULL};

	(void)sp_registry_poll(server->registry, &changes, server);
}

/* On a question's way, not by a timer: an idle cache does nothing, and the first question after a
 * pause already sees what changed. */
static void poll_registry(struct server *server, int64_t now)
{
	if (server->polled_ms >= 0 && now - server->polled_ms < POLL_EVERY_MS)
		return;
	server->polled_ms = now;
	server_poll(server);
}

static void ask_rules(struct server *server, struct exchange *exchange)
{
	struct sp_cache_answer answer = {.effect = SP_CACHE_UNAVAILABLE};
	struct sp_flight *flight;
	struct lookup *lookup;

	/* A flight that could not be carried out would never be answered. */
	if (!server->spare)
		server->spare = malloc(sizeof(*server->spare));
	if (!server->spare) {
		answer_with(server, exchange, &answer);
		return;
	}
	exchange->ask = sp_question_ask(&exchange->question);
	exchange->waits = true;
	switch (
	    sp_cache_take(server->cache, &exchange->ask, server_now(server), &answer, &flight)) {
	case SP_CACHE_ANSWERED:
		answer_with(server, exchange, &answer);
		break;
	case SP_CACHE_WAIT:
		break;
	case SP_CACHE_LOOK:
		lookup = sp_steal(&server->spare);
		*lookup = (struct lookup){.server = server, .flight = flight};
		look(lookup);
		break;
	}
}

static char *drop(struct server *server, const struct sp_question *question)
{
	const char *caller = question->caller[0] ? question->caller : NULL;
	const char *pattern = question->sandbox[0] ? question->sandbox : NULL;
	size_t count = sp_cache_drop(server->cache, caller, pattern);
	const struct sp_audit_line line = {.role = "cache",
	    .caller = caller,
	    .sandbox = pattern,
	    .action = "dropped",
	    .note = "dropped"};
	sp_auto_json json_t *object =
	    json_pack("{sssssI}", "status", "ok", "effect", "dropped", "count", (json_int_t)count);

	sp_audit_write(server->audit, &line);
	return object ? sp_json_text(object) : NULL;
}

static char *stats(const struct server *server)
{
	sp_auto_json json_t *counters = json_object();
	sp_auto_json json_t *object = json_pack("{sssO}", "status", "ok", "counters", counters);
	struct sp_cache_stats values;
	const char *name;
	int64_t value;

	sp_cache_stats(server->cache, &values);
	for (unsigned i = 0; sp_cache_counter(&values, i, &name, &value); i++)
		if (json_object_set_new(counters, name, json_integer(value)) < 0)
			return NULL;
	return object ? sp_json_text(object) : NULL;
}

struct dump {
	json_t *entries;
	size_t bytes;
	bool failed;
};

static void dump_one(
    void *context, const char *caller, const char *sandbox, const struct sp_cache_answer *entry)
{
	struct dump *dump = context;
	json_t *object = sp_reply_entry(caller, sandbox, entry);

	dump->bytes += entry->placement_size + entry->rights_size + 2 * SP_ID_MAX;
	dump->failed |= !object || json_array_append_new(dump->entries, object) < 0;
}

static char *dump_part(const struct server *server, const struct sp_question *question)
{
	sp_auto_json json_t *entries = json_array();
	sp_auto_json json_t *object = json_pack("{sssO}", "status", "ok", "entries", entries);
	struct dump dump = {.entries = entries};
	size_t position = (size_t)question->position;

	do
		sp_cache_walk(server->cache, &position, dump_one, &dump);
	while (position && dump.bytes < DUMP_BYTES);
	if (position)
		dump.failed |=
		    json_object_set_new(object, "position", json_integer((json_int_t)position)) < 0;
	return object && !dump.failed ? sp_json_text(object) : NULL;
}

void server_ask(struct server *server, struct exchange *exchange)
{
	poll_registry(server, exchange->started_us / 1000);
	switch (exchange->question.kind) {
	case SP_QUESTION_GET:
	case SP_QUESTION_REJECT:
	case SP_QUESTION_RENEW:
		ask_rules(server, exchange);
		break;
	case SP_QUESTION_DROP:
		server_answer(exchange, drop(server, &exchange->question));
		break;
	case SP_QUESTION_STATS:
		server_answer(exchange, stats(server));
		break;
	case SP_QUESTION_DUMP:
		server_answer(exchange, dump_part(server, &exchange->question));
		break;
	}
}
