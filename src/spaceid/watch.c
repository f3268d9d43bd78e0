/* spaceid watch: one line per change, as it is published; on a terminal what is so now. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/limits.h"
#include "base/util.h"
#include "net/notify.h"
#include "record/reason.h"
#include "spaceid/verbs.h"
#include "spaceid/watch_view.h"

#define LOOK_MS        100 /* between looks whether the output is still there */
#define TIMEOUT_WAIT_S 60  /* of --once and --until-epoch */

struct watch {
	struct sp_cli *cli;
	struct sp_store *store;
	const char *sandbox; /* NULL: all */
	bool once;
	int64_t until_epoch;  /* 0: none */
	int64_t deadline;     /* ms; 0: none */
	struct sp_live *view; /* NULL: lines */
};

static const char *state_name(enum sp_page_state state)
{
	return state == SP_PAGE_ABSENT ? "absent" : sp_record_state_name(state == SP_PAGE_RETIRED);
}

static int put_change(const struct watch *watch, const struct sp_page_change *change)
{
	if (watch->view)
		return spaceid_view_change(watch->view, watch->store, change);
	if (sp_cli_json(watch->cli))
		return sp_cli_put_json(watch->cli,
		    json_pack("{sssssIsIss}", "sandbox", change->sandbox, "effect",
			sp_effect_name(change->effect), "epoch", (json_int_t)change->epoch,
			"version", (json_int_t)change->version, "state",
			state_name(change->state)));
	(void)printf("%s: ", change->sandbox);
	sp_tone_print(stdout, sp_cli_color(watch->cli),
	    change->state == SP_PAGE_ACTIVE ? SP_TONE_GOOD : SP_TONE_DIM,
	    sp_effect_name(change->effect));
	(void)printf(", epoch %llu, version %llu, %s\n", (unsigned long long)change->epoch,
	    (unsigned long long)change->version, state_name(change->state));
	return 0;
}

/* Changes that came too fast to be seen singly: whoever needs them all lists the records again. */
static int put_gap(const struct watch *watch)
{
	if (watch->view)
		return spaceid_view_list(watch->view, watch->store, watch->sandbox);
	if (sp_cli_json(watch->cli))
		return sp_cli_put_json(watch->cli, json_pack("{sb}", "gap", 1));
	return puts("gap: changes came too fast to be seen singly; list the records again") < 0;
}

/* Is what --until-epoch waits for in force already? */
static bool reached(const struct watch *watch, struct sp_page_change *ret)
{
	struct sp_page_ref ref;
	struct sp_page_view view;

	if (watch->until_epoch == 0 || sp_page_find(watch->store, watch->sandbox, &ref) < 0 ||
	    sp_page_look(watch->store, ref, &view) < 0 || view.pending ||
	    view.epoch < (uint64_t)watch->until_epoch)
		return false;
	*ret = (struct sp_page_change){.effect = SP_EFFECT_NONE,
	    .state = view.state,
	    .epoch = view.epoch,
	    .version = view.version};
	memcpy(ret->sandbox, watch->sandbox, strlen(watch->sandbox) + 1);
	return true;
}

/* Has the reader of our lines gone? There may be no change for a long time that would tell. */
static bool output_gone(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = 0};

	return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP | POLLNVAL);
}

enum step { GO_ON, FINISHED, FAILED };

static enum step tell(const struct watch *watch, const struct sp_page_change *change)
{
	if (watch->sandbox && strcmp(watch->sandbox, change->sandbox) != 0)
		return GO_ON;
	if (put_change(watch, change))
		return FAILED;
	if (watch->until_epoch)
		return change->epoch >= (uint64_t)watch->until_epoch ? FINISHED : GO_ON;
	return watch->once ? FINISHED : GO_ON;
}

/* A gap may have held what was waited for. */
static enum step after_gap(const struct watch *watch)
{
	struct sp_page_change change;

	if (put_gap(watch))
		return FAILED;
	if (reached(watch, &change))
		return put_change(watch, &change) ? FAILED : FINISHED;
	return watch->once ? FINISHED : GO_ON;
}

static enum step drain(const struct watch *watch, uint64_t *cursor)
{
	struct sp_page_change change;
	enum step step = GO_ON;
	int got;

	while (step == GO_ON && (got = sp_page_next(watch->store, cursor, &change)) != 0) {
		if (got == SP_E_UNAVAILABLE)
			break;
		step = got == 1 ? tell(watch, &change) : after_gap(watch);
	}
	if (fflush(stdout) != 0)
		return FAILED;
	return step;
}

static int64_t time_left(const struct watch *watch)
{
	int64_t left = watch->deadline ? watch->deadline - sp_monotonic_ms() : LOOK_MS;

	return left < LOOK_MS ? left : LOOK_MS;
}

static int follow(const struct watch *watch)
{
	uint64_t cursor = sp_page_cursor(watch->store);
	struct sp_page_change change;
	struct sp_err err = {0};

	if (watch->view && put_gap(watch))
		return SP_EXIT_FAILED;
	sp_notify("READY=1");
	/* After the cursor: what comes between is either in force already or still to be drained.
	 */
	if (reached(watch, &change))
		return put_change(watch, &change) ? SP_EXIT_FAILED : SP_EXIT_DONE;
	for (;;) {
		uint64_t seen = sp_page_counter(watch->store);
		enum step step = drain(watch, &cursor);
		if (step != GO_ON)
			return step == FINISHED ? SP_EXIT_DONE : SP_EXIT_FAILED;
		if (watch->view ? sp_live_show(watch->view) : output_gone())
			return SP_EXIT_DONE;
		int64_t left = time_left(watch);
		if (left <= 0)
			break;
		(void)sp_page_wait(watch->store, seen, (int)left);
	}
	if (!watch->once && !watch->until_epoch)
		return SP_EXIT_DONE;
	(void)sp_fail(&err, SP_E_TIMEOUT, "%s within the time given",
	    watch->until_epoch ? "the epoch was not reached" : "no change");
	return sp_cli_fail(watch->cli, &err);
}

int spaceid_watch(struct sp_cli *cli)
{
	auto_store struct sp_store *store = NULL;
	struct watch watch = {.cli = cli, .once = sp_cli_flag(cli, "once")};
	struct sp_err err = {0};
	int64_t timeout;
	int bad;

	if (spaceid_id(cli, "sandbox", &watch.sandbox) ||
	    sp_cli_number(cli, "until-epoch", 0, 1, SP_INT_MAX, &watch.until_epoch) ||
	    sp_cli_number(cli, "timeout", watch.once || watch.until_epoch ? TIMEOUT_WAIT_S : 0, 0,
		86400 * 365, &timeout))
		return SP_EXIT_USAGE;
	if (watch.until_epoch && !watch.sandbox)
		return sp_cli_usage(cli, "--until-epoch needs --sandbox");
	if (timeout || sp_cli_flag(cli, "timeout"))
		watch.deadline = sp_monotonic_ms() + timeout * 1000;
	bad = spaceid_store(cli, 0, &store);
	if (bad)
		return bad;
	if (sp_page_ready(store, &err) < 0)
		return sp_cli_fail(cli, &err);
	watch.store = store;
	/* What ends by itself says so in a line. */
	if (!watch.once && !watch.until_epoch)
		bad = spaceid_view_open(cli, &watch.view);
	return sp_live_end(watch.view, bad ? bad : follow(&watch));
}
