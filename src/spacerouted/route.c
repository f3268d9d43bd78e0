/* spacerouted route: the stage of lib/call as a filter. */
#include "call/route.h"

#include <stddef.h>
#include "spacerouted/stage.h"

struct route {
	struct stage stage;
	struct sp_who who;
};

static json_t *finish(struct job *job, const struct sp_reply *reply)
{
	struct route *route = (struct route *)((char *)job->stage - offsetof(struct route, stage));

	return sp_route_stage_finish(job->record, &route->who, reply);
}

static int start(void *context, struct sp_turn *turn, json_t *record, struct sp_err *err)
{
	struct route *route = context;
	struct sp_question question;
	json_t *answer = NULL;
	int got =
	    sp_route_stage_ask(record, sp_turn_size(turn), &route->who, &question, &answer, err);

	if (got < 0)
		return got;
	if (got == 0)
		return stage_ask(&route->stage, turn, record, &question, finish, err);
	sp_turn_answer(turn, answer);
	return 0;
}

int spacerouted_route(struct sp_cli *cli)
{
	struct route route = {.stage = {.caller = NULL}};
	int bad = stage_who(cli, &route.who);

	return bad ? bad : stage_run(cli, &route.stage, start, &route);
}
