/* spacerouted watch: what changes in the registry, a line each, from now or from a revision on; on
 * a terminal what is so now. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include "base/io.h"
#include "base/text.h"
#include "cli/live.h"
#include "record/json.h"
#include "record/reason.h"
#include "spacerouted/verbs.h"

#define LOOK_EVERY_MS 1000 /* where the registry does not tell, or does not answer */

struct watch {
	struct sp_cli *cli;
	struct sp_registry *registry;
	int64_t seen;         /* the revision of the last line */
	bool lost;            /* something between that and now is not known any more */
	bool failed;          /* nobody reads; told already */
	int patience_ms;      /* before it is said that the registry does not answer */
	int64_t silent_ms;    /* monotonic, since it does not; 0: it does */
	bool away;            /* said */
	struct sp_live *view; /* NULL: lines */
};

/* What is wrong, or not any more: on standard error, where that is not the view's. */
static void say(struct watch *watch, const char *words, bool wrong)
{
	if (watch->view)
		sp_live_note(watch->view, wrong ? words : NULL);
	else
		sp_cli_warn(watch->cli, "%s", words);
}

/* Said once, and once when it is back; a member that is left for another is no silence. */
static void tell_presence(struct watch *watch, bool reached)
{
	int64_t now = sp_monotonic_ms();

	if (reached) {
		if (watch->away)
			say(watch, "the registry answers again", false);
		watch->away = false;
		watch->silent_ms = 0;
		return;
	}
	if (watch->silent_ms == 0)
		watch->silent_ms = now;
	if (watch->away || now - watch->silent_ms < watch->patience_ms)
		return;
	say(watch, "the registry does not answer; what changes is told when it does", true);
	watch->away = true;
}

static void put(struct watch *watch, json_t *line)
{
	if (sp_cli_put_json(watch->cli, line))
		watch->failed = true;
}

/* A line for people, between those of routes. */
static void put_words(struct watch *watch, const char *words, int64_t revision)
{
	char line[96];

	(void)snprintf(line, sizeof(line), "%s after revision %lld", words, (long long)revision);
	sp_tone_print(stdout, sp_cli_color(watch->cli), SP_TONE_DIM, line);
	watch->failed |= puts("") < 0;
}

/* `at`: when it changed, as far as is known. */
static void put_row(
    struct watch *watch, const char *sandbox, const struct sp_placement *placement, const char *at)
{
	const struct sp_route *route = &placement->route;
	enum sp_tone tone = placement->retired ? SP_TONE_DIM : at ? SP_TONE_GOOD : SP_TONE_PLAIN;
	char execution[24], attempt[24], revision[24];
	const char *cells[SP_LIVE_CELLS] = {sandbox, execution, route->worker,
	    placement->retired ? "retired" : "active", revision, at, attempt, route->activation};

	(void)snprintf(execution, sizeof(execution), "%lld", (long long)route->execution);
	(void)snprintf(attempt, sizeof(attempt), "%lld", (long long)route->attempt);
	(void)snprintf(revision, sizeof(revision), "%lld", (long long)placement->revision);
	watch->failed |= sp_live_put(watch->view, tone, cells, placement->revision, at != NULL) < 0;
}

static void put_route(
    struct watch *watch, const char *sandbox, const struct sp_placement *placement)
{
	if (sp_cli_json(watch->cli)) {
		put(watch, sp_placement_json(sandbox, placement));
		return;
	}
	(void)printf("%s: ", sandbox);
	sp_tone_print(stdout, sp_cli_color(watch->cli),
	    placement->retired ? SP_TONE_DIM : SP_TONE_GOOD,
	    placement->retired ? "retired" : "active");
	watch->failed |=
	    printf(", execution %lld on %s, attempt %lld, revision %lld\n",
		(long long)placement->route.execution, placement->route.worker,
		(long long)placement->route.attempt, (long long)placement->revision) < 0;
}

static void on_revoked(void *context, const char *subject, const char *pattern)
{
	struct watch *watch = context;

	watch->lost |= !subject && !pattern;
}

static void on_routed(void *context, const char *sandbox, const struct sp_placement *placement)
{
	struct watch *watch = context;
	char at[SP_TIME_SIZE];

	if (watch->lost || watch->failed || placement->revision <= watch->seen)
		return;
	watch->seen = placement->revision;
	if (watch->view) {
		sp_time_format(sp_time_now(), at);
		put_row(watch, sandbox, placement, at);
		return;
	}
	put_route(watch, sandbox, placement);
}

static int list_one(void *context, const char *sandbox, const struct sp_placement *placement)
{
	struct watch *watch = context;

	if (watch->view)
		put_row(watch, sandbox, placement, NULL);
	else
		put_route(watch, sandbox, placement);
	return watch->failed || (watch->view && sp_live_over(watch->view)) ? SP_E_CLOSED : 0;
}

/* That something was missed. */
static void put_resync(struct watch *watch, int64_t now)
{
	if (watch->view)
		sp_live_clear(watch->view);
	else if (!sp_cli_json(watch->cli))
		put_words(watch, "all routes: some changes were missed", watch->seen);
	else
		put(watch, json_pack("{sssIsI}", "event", "resync", "from", (json_int_t)watch->seen,
			       "revision", (json_int_t)now));
}

/* Says that something was missed, and then all there is. */
static int list_again(struct watch *watch, struct sp_err *err)
{
	int64_t now;
	int bad = sp_registry_snapshot_begin(watch->registry, &now, err);

	if (bad)
		return bad;
	put_resync(watch, now);
	bad = sp_registry_list(watch->registry, list_one, watch, err);
	sp_registry_snapshot_end(watch->registry);
	if (!bad) {
		watch->seen = now;
		watch->lost = false;
	}
	return bad;
}

/* Until there may be something to tell, or nobody reads any more. */
static void wait_for_change(struct watch *watch)
{
	struct pollfd fds[2 + SP_SCREEN_FDS] = {{.fd = STDOUT_FILENO},
	    {.fd = sp_registry_descriptor(watch->registry), .events = POLLIN}};
	nfds_t count = 2;

	if (watch->view) {
		sp_live_fds(watch->view, fds + 2);
		count += SP_SCREEN_FDS;
	}
	(void)poll(fds, count, fds[1].fd < 0 || watch->silent_ms ? LOOK_EVERY_MS : -1);
	watch->failed |= (fds[0].revents & POLLERR) != 0;
}

static void begin(struct watch *watch)
{
	if (watch->view)
		watch->lost = true; /* all there is */
	else if (!sp_cli_json(watch->cli))
		put_words(watch, "watching what changes", watch->seen);
	else
		put(watch,
		    json_pack("{sssI}", "event", "watching", "revision", (json_int_t)watch->seen));
}

static int follow(struct watch *watch)
{
	static const struct sp_registry_changes changes = {
	    .revoked = on_revoked, .routed = on_routed};
	struct sp_err err = {0};
	bool reached;

	begin(watch);
	while (!watch->failed) {
		/* While it cannot be reached the lines wait; none is lost. */
		reached = sp_registry_poll(watch->registry, &changes, watch) >= 0;
		tell_presence(watch, reached);
		if (watch->lost && !watch->failed && list_again(watch, &err) < 0 &&
		    !watch->failed && !(watch->view && sp_live_over(watch->view)))
			return sp_cli_fail(watch->cli, &err);
		if (watch->view && sp_live_show(watch->view))
			return SP_EXIT_DONE;
		if (fflush(stdout) != 0)
			break;
		wait_for_change(watch);
	}
	return SP_EXIT_FAILED;
}

static int start(struct watch *watch)
{
	static const char *const headings[] = {"sandbox", "execution", "worker", "state",
	    "revision", "changed", "attempt", "activation", NULL};
	struct sp_err err = {0};
	int64_t now;
	int bad;

	if (sp_registry_snapshot_begin(watch->registry, &now, &err) < 0)
		return sp_cli_fail(watch->cli, &err);
	sp_registry_snapshot_end(watch->registry);
	if (!sp_cli_flag(watch->cli, "from"))
		watch->seen = now;
	sp_registry_resume(watch->registry, watch->seen);
	bad = sp_cli_live(watch->cli, "routes, the last change first; q ends", "routes", headings,
	    4, &watch->view);
	return sp_live_end(watch->view, bad ? bad : follow(watch));
}

int spacerouted_watch(struct sp_cli *cli)
{
	auto_registry struct sp_registry *registry = NULL;
	struct watch watch = {.cli = cli};
	int bad;

	if (sp_cli_number(cli, "from", 0, 0, SP_INT_MAX, &watch.seen))
		return SP_EXIT_USAGE;
	bad = spacerouted_open(cli, false, &registry);
	if (bad)
		return bad;
	watch.registry = registry;
	watch.patience_ms = (int)sp_cli_config(cli)->registry_timeout_ms;
	return start(&watch);
}
