/* The way of a record to the cache and back. */
#include "spacerouted/stage.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <string.h>
#include "call/route.h"
#include "record/reason.h"

static void job_free(struct job *job)
{
	LIST_REMOVE(job, link);
	json_decref(job->record);
	free(job);
}

static void answered(void *context, int code, const char *line_or_words, size_t size)
{
	struct job *job = context;
	struct sp_reply reply;

	sp_route_stage_reply(code, line_or_words, size, &reply);
	sp_turn_answer(job->turn, job->finish(job, &reply));
	sp_reply_done(&reply);
	job_free(job);
}

int stage_ask(struct stage *stage, struct sp_turn *turn, json_t *record,
    const struct sp_question *question,
    json_t *(*finish)(struct job *job, const struct sp_reply *reply), struct sp_err *err)
{
	sp_auto_free char *text = sp_question_text(question);
	struct job *job = text ? malloc(sizeof(*job)) : NULL;

	if (!job)
		return sp_fail(err, -ENOMEM, "out of memory");
	*job = (struct job){
	    .stage = stage, .turn = turn, .record = json_incref(record), .finish = finish};
	LIST_INSERT_HEAD(&stage->jobs, job, link);
	sp_caller_ask(stage->caller, text, strlen(text), answered, job);
	return 0;
}

int stage_who(struct sp_cli *cli, struct sp_who *ret)
{
	const char *token = sp_cli_text(cli, "token-file");
	bool peer = sp_cli_flag(cli, "peer");
	struct sp_err err = {0};
	int bad = 0;

	if (token && peer)
		return sp_cli_usage(cli, "--peer and --token-file exclude one another");
	if (token)
		bad = sp_who_token(token, ret, &err);
	else if (peer)
		bad = sp_who_peer(STDIN_FILENO, ret, &err);
	else
		sp_who_self(ret);
	return bad ? sp_cli_fail(cli, &err) : 0;
}

int stage_run(struct sp_cli *cli, struct stage *stage, sp_turn_fn *start, void *context)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
	struct sp_err err = {0};
	struct job *job, *next;
	int64_t window;
	int exit_code = SP_EXIT_DONE, bad = 0;

	if (!config || sp_cli_number(cli, "window", 1, 1, SP_WINDOW_MAX, &window) < 0)
		return SP_EXIT_USAGE;
	/* A cache that goes away is an answer, not the end. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (!loop)
		bad = sp_fail(&err, SP_E_UNAVAILABLE, "no event loop on this system");
	if (!bad)
		bad = sp_caller_new(loop, spacerouted_socket(cli, config),
		    (int)config->registry_timeout_ms + 1000, &stage->caller, &err);
	if (!bad)
		bad = sp_pipeline_run(loop, STDIN_FILENO, STDOUT_FILENO, (unsigned)window, start,
		    context, &exit_code, &err);
	sp_caller_free(stage->caller);
	/* A closed output leaves questions open. */
	for (job = LIST_FIRST(&stage->jobs); job; job = next) {
		next = LIST_NEXT(job, link);
		job_free(job);
	}
	return bad ? sp_cli_fail(cli, &err) : exit_code;
}
