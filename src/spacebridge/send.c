/* spacebridge send: the client side of a manager as a filter, minted -> done (04-bridge). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "call/endpoint.h"
#include "call/send.h"
#include "cli/cli.h"
#include "net/pipeline.h"
#include "record/json.h"
#include "record/request.h"
#include "record/result.h"
#include "record/span.h"
#include "spacebridge/verbs.h"

#define GRACE_MS 1000 /* so that the manager's own word on a time limit comes first */

struct send {
	struct sp_endpoint_set *endpoints;
	bool keep;
};

struct turn {
	struct sp_endpoint_call call; /* its first member */
	struct sp_turn *place;
	json_t *record; /* minted; owned */
};

static void turn_free(struct turn *turn)
{
	free(turn->call.line);
	json_decref(turn->record);
	free(turn);
}

/* Could repair make a second attempt of it? Its own table decides; this is what it must be told
 * for. */
static bool may_be_rebuilt(const json_t *answer)
{
	const char *decision = json_string_value(json_object_get(answer, "decision"));
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (decision)
		return strcmp(decision, sp_decision_name(SP_REFRESH_ROUTE)) == 0;
	return error && (strcmp(error, sp_error_name(SP_ERROR_TRANSPORT)) == 0 ||
			    strcmp(error, sp_error_name(SP_ERROR_TIMEOUT)) == 0);
}

/* Adds the routed record that this answer belongs to, from our own memory. */
static int keep_request(const struct send *send, const struct turn *turn, json_t *answer)
{
	if (!send->keep || !may_be_rebuilt(answer) ||
	    json_integer_value(json_object_get(turn->record, "attempted")) != 1)
		return 0;
	(void)json_object_del(turn->record, "cap");
	return json_object_set(answer, "request", turn->record);
}

static const json_t *id_of(const struct turn *turn)
{
	return json_object_get(turn->record, "id");
}

static json_t *too_large(const struct turn *turn)
{
	return sp_result_error(json_string_value(id_of(turn)), SP_ERROR_TOO_LARGE, false,
	    "the answer is longer than a line may be; ask for less at a time");
}

/* An `ok` goes out as it came, under the caller's id, or under none. */
static void give_ok(struct turn *turn, const struct sp_answer *answer)
{
	sp_auto_free char *id =
	    id_of(turn) ? json_dumps(id_of(turn), JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	size_t size = 0;
	char *text = id || !id_of(turn) ? sp_answer_under(answer, id, &size) : NULL;

	/* Without a text for want of memory: the driver ends with that. */
	if (size <= SP_LINE_MAX) {
		sp_turn_answer_text(turn->place, text, size, SP_EXIT_DONE);
		return;
	}
	free(text);
	sp_turn_answer(turn->place, too_large(turn));
}

/* Whatever else may have the request beside it. */
static void give_record(const struct send *send, struct turn *turn, json_t *answer /* stolen */)
{
	json_t *id = json_object_get(turn->record, "id");
	int bad = answer ? 0 : -ENOMEM;

	if (!bad && id)
		bad = json_object_set(answer, "id", id);
	else if (!bad)
		(void)json_object_del(answer, "id");
	if (!bad)
		bad = keep_request(send, turn, answer);
	if (bad) {
		json_decref(answer);
		answer = NULL;
	}
	sp_turn_answer(turn->place, answer);
}

static void answered(struct sp_endpoint_call *call, const struct sp_answer *answer, void *context)
{
	struct turn *turn = (struct turn *)call;

	if (sp_answer_is_ok(answer))
		give_ok(turn, answer);
	else
		give_record(context, turn, json_copy(answer->record));
	turn_free(turn);
}

static void failed(struct sp_endpoint_call *call, enum sp_error_kind kind, bool sent,
    const char *words, void *context)
{
	struct turn *turn = (struct turn *)call;

	give_record(
	    context, turn, sp_result_error(json_string_value(id_of(turn)), kind, sent, words));
	turn_free(turn);
}

static void forgotten(struct sp_endpoint_call *call, void *context)
{
	(void)context;
	turn_free((struct turn *)call);
}

/* A member's value as it was written, or anew when its name was written in an odd way. */
struct member {
	const char *at;
	size_t size;
	char *owned; /* NULL: it stands in the line */
};

static void member_done(struct member *member)
{
	free(member->owned);
}

static struct member member_of(
    const char *line, size_t size, const char *name, const json_t *record)
{
	struct member member = {0};

	if (sp_json_span(line, size, name, &member.at, &member.size))
		return member;
	member.owned = json_dumps(json_object_get(record, name), JSON_COMPACT | JSON_ENCODE_ANY);
	member.at = member.owned;
	member.size = member.owned ? strlen(member.owned) : 0;
	return member;
}

/* What travels to the manager, under our own number. */
static int compose(
    struct turn *turn, const char *line, size_t size, const struct sp_request *request)
{
	sp_cleanup(member_done) struct member args = member_of(line, size, "args", turn->record);
	sp_cleanup(member_done) struct member cap = member_of(line, size, "cap", turn->record);

	return args.at && cap.at
		   ? sp_endpoint_compose(&turn->call, request, args.at, args.size, cap.at, cap.size)
		   : -ENOMEM;
}

static int pass_on(struct send *send, struct sp_turn *place, json_t *record,
    const struct sp_request *request, const char *path, struct sp_err *err)
{
	struct turn *turn = calloc(1, sizeof(*turn));
	int bad = turn ? 0 : -ENOMEM;

	if (!bad) {
		turn->place = place;
		turn->record = json_incref(record);
		turn->call.number = sp_endpoint_number(send->endpoints);
		bad = compose(turn, sp_turn_line(place), sp_turn_size(place), request);
	}
	if (!bad)
		bad = sp_endpoint_ask(send->endpoints, &turn->call, path);
	if (bad && turn)
		turn_free(turn);
	return bad ? sp_fail(err, bad, "out of memory") : 0;
}

static int start_minted(
    struct send *send, struct sp_turn *place, json_t *record, struct sp_err *err)
{
	struct sp_request request;
	const char *path;
	int bad = sp_send_stage_take(record, false, &request, &path, err);

	return bad ? bad : pass_on(send, place, record, &request, path, err);
}

/* What an earlier stage refused; nobody but --keep-request adds a `request`. */
static int pass_done(struct sp_turn *place, json_t *record, struct sp_err *err)
{
	int bad = sp_result_check(record, true, NULL, err);

	if (bad)
		return bad;
	(void)json_object_del(record, "request");
	sp_turn_answer(place, json_incref(record));
	return 0;
}

static int start(void *context, struct sp_turn *place, json_t *record, struct sp_err *err)
{
	switch (sp_request_state(record)) {
	case SP_STATE_DONE:
		return pass_done(place, record, err);
	case SP_STATE_MINTED:
		return start_minted(context, place, record, err);
	case SP_STATE_ROUTED:
		return sp_fail(err, SP_E_BAD_RECORD,
		    "request: routed, but without a capability (spacecap mint)");
	case SP_STATE_ASKED:
		break;
	}
	return sp_fail(err, SP_E_BAD_RECORD,
	    "request: neither minted nor done (spacerouted route, then spacecap mint)");
}

static int run(struct sp_cli *cli, const struct sp_config *config, int window, int timeout_ms,
    int *ret_exit, struct sp_err *err)
{
	static const struct sp_endpoint_handlers handlers = {
	    .answered = answered, .failed = failed, .forgotten = forgotten};
	struct send send = {.keep = sp_cli_flag(cli, "keep-request")};
	struct sp_endpoint_options options = {.loop = ev_default_loop(EVFLAG_AUTO),
	    .uids = config->manager_uid.uids,
	    .uid_count = config->manager_uid.count,
	    .timeout_ms = timeout_ms};
	int bad;

	if (!options.loop)
		return sp_fail(err, SP_E_UNAVAILABLE, "no event loop on this system");
	(void)signal(SIGPIPE, SIG_IGN);
	if (sp_endpoint_set_new(&options, &handlers, &send, &send.endpoints) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = sp_pipeline_run(options.loop, STDIN_FILENO, STDOUT_FILENO, (unsigned)window, start,
	    &send, ret_exit, err);
	sp_endpoint_set_free(send.endpoints);
	return bad;
}

int verb_send(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	int64_t window, timeout_ms;
	struct sp_err err = {0};
	int exit = SP_EXIT_DONE, bad;

	if (!config)
		return SP_EXIT_USAGE;
	if (sp_cli_number(cli, "window", 1, 1, SP_WINDOW_MAX, &window) < 0 ||
	    sp_cli_number(cli, "timeout-ms", config->manager_timeout_ms + GRACE_MS, 1, 3600000,
		&timeout_ms) < 0)
		return SP_EXIT_USAGE;
	bad = run(cli, config, (int)window, (int)timeout_ms, &exit, &err);
	return bad ? sp_cli_fail(cli, &err) : exit;
}
