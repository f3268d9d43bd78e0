/*
 * spaceid prune: takes old tombstones away, but never that of a sandbox that still has a route.
 *
 * A worker does not know the registry, so it is told who has a route: the lines of `spacerouted
 * list`. A list that may have been cut short would make tombstones look free: it is refused whole.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/lines.h"
#include "record/reason.h"
#include "spaceid/verbs.h"
#include "store/guestkey.h"

#define OLDER_THAN_S 86400

struct tombstone {
	char *sandbox, *guest; /* guest: id of its key, NULL: none */
	bool has_route;
};

struct prune {
	struct sp_cli *cli;
	struct sp_store *store;
	struct sp_trail trail;
	const char *only;       /* --sandbox */
	struct tombstone *list; /* by name */
	size_t count, room;
};

static void prune_done(struct prune *prune)
{
	for (size_t i = 0; i < prune->count; i++) {
		free(prune->list[i].sandbox);
		free(prune->list[i].guest);
	}
	free(prune->list);
	sp_trail_done(&prune->trail);
}

static int collect(void *context, const char *sandbox, const struct sp_record *record)
{
	struct prune *prune = context;
	const char *guest;

	if (!record || !record->retired || (prune->only && strcmp(prune->only, sandbox) != 0))
		return 0;
	if (prune->count == prune->room) {
		size_t room = prune->room ? prune->room * 2 : 64;
		struct tombstone *larger = realloc(prune->list, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		prune->list = larger;
		prune->room = room;
	}
	guest = json_string_value(json_object_get(record->guest, "id"));
	struct tombstone *tombstone = &prune->list[prune->count];
	*tombstone =
	    (struct tombstone){.sandbox = strdup(sandbox), .guest = guest ? strdup(guest) : NULL};
	if (!tombstone->sandbox)
		return -ENOMEM;
	prune->count++;
	return 0;
}

static int by_name(const void *name, const void *tombstone)
{
	return strcmp(name, ((const struct tombstone *)tombstone)->sandbox);
}

/* One line of `spacerouted list`. A retired one is no route any more. */
static int take_route(struct prune *prune, const char *line, size_t size, struct sp_err *err)
{
	sp_auto_json json_t *route = NULL;
	const char *sandbox, *state;
	struct tombstone *found;
	int bad = sp_json_parse(line, size, &route, err);

	if (bad)
		return bad;
	sandbox = json_string_value(json_object_get(route, "sandbox"));
	state = json_string_value(json_object_get(route, "state"));
	if (!sandbox || !sp_id_valid(sandbox))
		return sp_fail(err, SP_E_BAD_RECORD, "no `sandbox`: this is no list of routes");
	if (state && strcmp(state, "retired") == 0)
		return 0;
	found = prune->count ? bsearch(sandbox, prune->list, prune->count, sizeof(*found), by_name)
			     : NULL;
	if (found)
		found->has_route = true;
	return 0;
}

static int read_routes(struct prune *prune, int fd, struct sp_err *err)
{
	struct sp_line_reader reader;
	char *line;
	size_t size;
	int bad = sp_line_reader_init(&reader, fd, SP_LINE_MAX);
	int got = 0;

	if (bad)
		return sp_fail(err, bad, "out of memory");
	while (!bad && (got = sp_line_next(&reader, &line, &size)) > 0) {
		bad = take_route(prune, line, size, err);
		if (bad)
			(void)sp_err_prefix(err, bad, "line %zu", reader.number);
	}
	if (!bad && got < 0)
		bad = sp_fail(err, got == SP_E_TOO_LARGE ? SP_E_BAD_RECORD : got, "line %zu: %s",
		    reader.number, sp_code_text(got));
	if (!bad && reader.number == 0)
		bad = sp_fail(err, SP_E_BAD_RECORD,
		    "lists no route at all; if no sandbox has one any more, say --no-routes");
	sp_line_reader_done(&reader);
	return bad;
}

static int learn_routes(struct prune *prune, const char *path, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	int bad = 0;

	if (strcmp(path, "-") == 0)
		return read_routes(prune, STDIN_FILENO, err);
	bad = sp_file_open(AT_FDCWD, path, 0, &fd, err);
	if (!bad) {
		bad = read_routes(prune, fd, err);
		if (bad)
			(void)sp_err_prefix(err, bad, "%s", path);
	}
	return bad;
}

/* Kept, and why: worth a line only where one sandbox was asked for. */
static int kept(struct prune *prune, const char *sandbox, const char *why)
{
	struct sp_outcome outcome = {.effect = SP_EFFECT_CONFLICT, .conflict = why};

	if (prune->only)
		return spaceid_told(prune->cli, sandbox, 0, &outcome, &(struct sp_err){0});
	sp_cli_note(prune->cli, "%s: %s; kept", sandbox, why);
	return SP_EXIT_DONE;
}

static int prune_one(
    struct prune *prune, const struct tombstone *tombstone, int64_t before, int cut_timeout_ms)
{
	struct sp_outcome outcome;
	struct sp_err err = {0};
	int bad;

	if (tombstone->has_route)
		return kept(prune, tombstone->sandbox, "the sandbox still has a route");
	sp_trail_start(&prune->trail);
	bad = sp_store_remove(
	    prune->store, tombstone->sandbox, before, cut_timeout_ms, &outcome, &err);
	if (!bad && outcome.effect == SP_EFFECT_CONFLICT)
		return kept(prune, tombstone->sandbox, outcome.conflict);
	spaceid_audit(&prune->trail, prune->store,
	    &(struct spaceid_asked){.op = "prune", .sandbox = tombstone->sandbox}, bad, &outcome,
	    &err);
	/* Its guest ended with it. */
	if (!bad || bad == SP_E_TIMEOUT)
		sp_guest_forget(sp_store_path(prune->store), tombstone->sandbox, tombstone->guest);
	return spaceid_told(prune->cli, tombstone->sandbox, bad, &outcome, &err);
}

static int prune_all(struct prune *prune, int64_t before, int cut_timeout_ms)
{
	int exit = SP_EXIT_DONE;

	if (prune->only && prune->count == 0)
		return kept(prune, prune->only, "there is no tombstone");
	for (size_t i = 0; i < prune->count; i++)
		exit =
		    sp_exit_worse(exit, prune_one(prune, &prune->list[i], before, cut_timeout_ms));
	return exit;
}

int spaceid_prune(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *routes = sp_cli_text(cli, "routes");
	auto_store struct sp_store *store = NULL;
	sp_cleanup(prune_done) struct prune prune = {.cli = cli};
	struct sp_err err = {0};
	int64_t older_than;
	int bad;

	if (!config || spaceid_id(cli, "sandbox", &prune.only) ||
	    sp_cli_number(cli, "older-than", OLDER_THAN_S, 0, 86400 * 36500LL, &older_than))
		return SP_EXIT_USAGE;
	if ((routes != NULL) == sp_cli_flag(cli, "no-routes"))
		return sp_cli_usage(cli, "say who still has a route: --routes FILE (from "
					 "spacerouted list), or --no-routes");
	bad = sp_trail_open(cli, "spaceid", &prune.trail);
	if (!bad)
		bad = spaceid_store(cli, 0, &store);
	if (bad)
		return bad;
	prune.store = store;
	bad = sp_page_ready(store, &err);
	if (!bad)
		bad = sp_store_walk(store, collect, &prune, &err);
	if (!bad && routes)
		bad = learn_routes(&prune, routes, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	return prune_all(&prune, sp_time_now() - older_than + 1, (int)config->cut_timeout_ms);
}
