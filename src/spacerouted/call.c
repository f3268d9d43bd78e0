/* spacerouted call: the pipeline of bin/node-api in one process, by the same stages (lib/call). */
#include "call/call.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include "client/setup.h"
#include "net/pipeline.h"
#include "record/reason.h"
#include "record/result.h"
#include "spacerouted/stage.h"

struct calls {
	struct sp_client_setup setup;
	LIST_HEAD(flights, flight) flights;
};

/* One record on its way. */
struct flight {
	LIST_ENTRY(flight) link;
	struct sp_turn *turn;
	struct sp_call *call;
};

static void ended(void *context, const struct sp_call_end *end)
{
	struct flight *flight = context;
	struct sp_turn *turn = flight->turn;

	LIST_REMOVE(flight, link);
	free(flight);
	if (end->bad) {
		/* As the stage that found it would have said: by its line, as ids may be repeated.
		 */
		json_decref(end->record);
		sp_turn_answer(turn, sp_result_bad_record(NULL, sp_turn_number(turn), end->bad));
	} else if (end->record) {
		sp_turn_answer(turn, end->record);
	} else {
		sp_turn_answer_text(turn, end->text, end->size, SP_EXIT_DONE);
	}
}

static int start(void *context, struct sp_turn *turn, json_t *record, struct sp_err *err)
{
	struct calls *calls = context;
	struct flight *flight = calloc(1, sizeof(*flight));
	int bad;

	if (!flight)
		return sp_fail(err, -ENOMEM, "out of memory");
	flight->turn = turn;
	bad = sp_call_start(calls->setup.path, &calls->setup.who, record, sp_turn_size(turn), ended,
	    flight, &flight->call, err);
	if (bad)
		free(flight);
	else
		LIST_INSERT_HEAD(&calls->flights, flight, link);
	return bad;
}

int spacerouted_call(struct sp_cli *cli)
{
	struct calls calls = {.setup = {.loop = NULL}};
	struct flight *flight;
	struct sp_err err = {0};
	int64_t window;
	int exit_code = SP_EXIT_DONE;
	int bad = sp_cli_number(cli, "window", 1, 1, SP_WINDOW_MAX, &window);

	if (bad)
		return SP_EXIT_USAGE;
	bad = stage_who(cli, &calls.setup.who);
	if (bad)
		return bad;
	LIST_INIT(&calls.flights);
	bad = sp_client_setup_lines(cli, &calls.setup, &err);
	if (!bad)
		bad = sp_pipeline_run(calls.setup.loop, STDIN_FILENO, STDOUT_FILENO,
		    (unsigned)window, start, &calls, &exit_code, &err);
	/* A closed output leaves calls under way. */
	while ((flight = LIST_FIRST(&calls.flights))) {
		LIST_REMOVE(flight, link);
		sp_call_cancel(flight->call);
		free(flight);
	}
	sp_client_setup_done(&calls.setup);
	return bad ? sp_cli_fail(cli, &err) : exit_code;
}
