/*
 * A cache that starts knows nothing, and every caller would ask the registry at once. Warming up
 * reads the registry once and puts in what those who have grants would ask for, by the same rules
 * as if they had asked.
 */
#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "spacerouted/server.h"

#define GRANTS_MAX 4096 /* kept in memory meanwhile; grants beyond warm nothing up */

struct warm {
	struct server *server;
	struct sp_grant *grants; /* as listed, then by subject */
	size_t count, room;
	int64_t entries, max;
};

static int keep_grant(void *context, const struct sp_grant *grant)
{
	struct warm *warm = context;

	/* Nobody has shown the token yet. */
	if (sp_token_name(grant->principal) || warm->count == GRANTS_MAX)
		return 0;
	if (warm->count == warm->room) {
		size_t room = warm->room ? 2 * warm->room : 64;
		struct sp_grant *more = reallocarray(warm->grants, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		warm->grants = more;
		warm->room = room;
	}
	warm->grants[warm->count++] = *grant;
	return 0;
}

static int by_subject(const void *a, const void *b)
{
	return strcmp(((const struct sp_grant *)a)->subject, ((const struct sp_grant *)b)->subject);
}

static void ignore(void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	(void)context;
	(void)ask;
	(void)answer;
}

/* What the caller would have been told, had he asked. */
static void put(
    struct warm *warm, const char *caller, const char *sandbox, const struct sp_lookup *lookup)
{
	const struct sp_cache_time now = {.wall = sp_time_now(), .monotonic = sp_monotonic_ms()};
	struct sp_cache_ask ask = {.kind = SP_CACHE_GET, .caller = caller, .sandbox = sandbox};
	struct sp_cache_answer answer;
	struct sp_flight *flight;

	if (sp_cache_take(warm->server->cache, &ask, now, &answer, &flight) != SP_CACHE_LOOK)
		return;
	if (sp_cache_looked(warm->server->cache, flight, lookup, now, ignore, NULL) ==
	    SP_CACHE_ANSWERED)
		warm->entries++;
}

/* Every caller who may do something there. */
static int put_route(void *context, const char *sandbox, const struct sp_placement *placement)
{
	struct warm *warm = context;
	size_t next;

	if (placement->retired)
		return 0;
	for (size_t i = 0; i < warm->count && warm->entries < warm->max; i = next) {
		struct sp_lookup lookup = {
		    .available = true, .routed = true, .placement = *placement};
		const char *caller = warm->grants[i].subject;
		for (next = i;
		     next < warm->count && strcmp(warm->grants[next].subject, caller) == 0; next++)
			sp_authorization_add(
			    &lookup.authorization, &warm->grants[next], sandbox, sp_time_now());
		if (lookup.authorization.rights.op_count > 0)
			put(warm, caller, sandbox, &lookup);
	}
	return warm->entries < warm->max ? 0 : SP_E_TOO_LARGE;
}

int server_warm_up(struct server *server, int64_t max_entries, struct sp_err *err)
{
	struct warm warm = {.server = server, .max = max_entries};
	int bad = sp_registry_snapshot_begin(server->registry, NULL, err);

	if (bad)
		return bad;
	bad = sp_registry_grants(server->registry, keep_grant, &warm, err);
	if (bad == -ENOMEM)
		bad = sp_fail(err, bad, "out of memory");
	if (!bad && warm.count > 0) {
		qsort(warm.grants, warm.count, sizeof(*warm.grants), by_subject);
		bad = sp_registry_list(server->registry, put_route, &warm, err);
	}
	sp_registry_snapshot_end(server->registry);
	free(warm.grants);
	return bad == SP_E_TOO_LARGE ? 0 : bad;
}
