/* spacerouted route: the stage of lib/call as a filter. */
#include "call/route.h"

#include <stddef.h>
#include "base/util.h"
#include "record/reason.h"
#include "spacerouted/stage.h"

/* What a thread has to itself. */
struct route {
	struct stage stage;
	struct sp_who who;
};

static const struct route *route_of(const struct job *job)
{
	return (const struct route *)((const char *)job->stage - offsetof(struct route, stage));
}

static json_t *finish(struct job *job, const struct sp_reply *reply)
{
	return sp_route_stage_finish(job->record, &route_of(job)->who, reply);
}

/* The line is in the turn's room, and becomes the routed record there. */
static bool finish_quickly(struct job *job, const char *line, size_t size)
{
	size_t room = job->size + size + SP_ROUTED_MORE;
	struct sp_out out = {.room = room, .used = job->size - 1};
	struct sp_reply_pieces pieces;

	if (!sp_reply_quick(line, size, &pieces))
		return false;
	out.at = sp_turn_room(job->turn, room);
	if (!out.at)
		return false;
	sp_route_stage_put(&route_of(job)->who, &pieces, &out);
	if (out.used > out.room)
		return false;
	sp_turn_answer_room(job->turn, out.used, SP_EXIT_DONE);
	return true;
}

static const struct job QUICK = {.finish = finish, .finish_quickly = finish_quickly};

static bool start_quickly(void *context, struct sp_turn *turn, const char *line, size_t size)
{
	struct route *route = context;
	char text[SP_QUESTION_MAX];
	struct sp_out question = {.at = text, .room = sizeof(text)};

	return sp_route_stage_quick(line, size, &route->who, &question) &&
	       stage_ask_quickly(&route->stage, turn, line, size, &question, &QUICK);
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
	struct route routes[SP_JOBS_MAX] = {{.stage = {.caller = NULL}}};
	struct stage_verb verbs[SP_JOBS_MAX];
	unsigned jobs;
	int exit;

	if (sp_cli_jobs(cli, &jobs) < 0)
		return SP_EXIT_USAGE;
	exit = stage_who(cli, &routes[0].who);
	if (exit)
		return exit;
	for (unsigned i = 0; i < jobs; i++) {
		routes[i].who = routes[0].who;
		verbs[i] = (struct stage_verb){start_quickly, start, &routes[i].stage, &routes[i]};
	}
	return stage_run(cli, verbs, jobs);
}
