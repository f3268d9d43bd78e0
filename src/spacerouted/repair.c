/* spacerouted repair: the stage of lib/call as a filter. */
#include "call/repair.h"

#include "record/request.h"
#include "spacerouted/stage.h"

static json_t *finish(struct job *job, const struct sp_reply *reply)
{
	return sp_repair_stage_finish(job->record, reply);
}

static int start(void *context, struct sp_turn *turn, json_t *record, struct sp_err *err)
{
	struct sp_question question;
	json_t *next = NULL;
	int got = 1;

	if (sp_request_state(record) == SP_STATE_DONE)
		got = sp_repair_stage_ask(record, &question, &next, err);
	else
		next = json_incref(record);
	if (got < 0)
		return got;
	if (got == 0)
		return stage_ask(context, turn, record, &question, finish, err);
	sp_turn_answer(turn, next);
	return 0;
}

int spacerouted_repair(struct sp_cli *cli)
{
	struct stage stage = {.caller = NULL};
	const struct stage_verb verb = {.start = start, .stage = &stage, .context = &stage};

	return stage_run(cli, &verb, 1);
}
