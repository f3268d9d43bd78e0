/* The way of a record to the cache and back. */
#include "spacerouted/stage.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <string.h>
#include "call/route.h"
#include "record/batch.h"
#include "record/json.h"
#include "record/reason.h"

#define THREAD_WINDOW SP_BATCH_LINES /* records in flight of each thread, unless --window says */

static void job_free(struct job *job)
{
	LIST_REMOVE(job, link);
	json_decref(job->record);
	free(job);
}

/* The record of a line that was understood once. */
static int read_record(struct job *job)
{
	const char *line = sp_turn_room(job->turn, job->size);

	return sp_json_parse(line, job->size, &job->record, NULL);
}

static void answered(void *context, int code, const char *line_or_words, size_t size)
{
	struct job *job = context;
	struct sp_reply reply;

	if (!job->record && !code && job->finish_quickly(job, line_or_words, size)) {
		job_free(job);
		return;
	}
	sp_route_stage_reply(code, line_or_words, size, &reply);
	if (!job->record && read_record(job) < 0)
		sp_turn_answer(job->turn, NULL);
	else
		sp_turn_answer(job->turn, job->finish(job, &reply));
	sp_reply_done(&reply);
	job_free(job);
}

static void ask(struct stage *stage, struct job *job, const char *question, size_t size)
{
	LIST_INSERT_HEAD(&stage->jobs, job, link);
	sp_caller_ask(stage->caller, question, size, answered, job);
}

int stage_ask(struct stage *stage, struct sp_turn *turn, json_t *record,
    const struct sp_question *question,
    json_t *(*finish)(struct job *job, const struct sp_reply *reply), struct sp_err *err)
{
	char text[SP_QUESTION_MAX];
	struct sp_out out = {.at = text, .room = sizeof(text)};
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return sp_fail(err, -ENOMEM, "out of memory");
	sp_question_put(question, &out);
	*job = (struct job){
	    .stage = stage, .turn = turn, .record = json_incref(record), .finish = finish};
	ask(stage, job, text, out.used);
	return 0;
}

bool stage_ask_quickly(struct stage *stage, struct sp_turn *turn, const char *line, size_t size,
    const struct sp_out *question, const struct job *job)
{
	char *room = sp_turn_room(turn, size);
	struct job *made = room ? malloc(sizeof(*made)) : NULL;

	if (!made)
		return false;
	memcpy(room, line, size);
	*made = *job;
	made->stage = stage;
	made->turn = turn;
	made->record = NULL;
	made->size = size;
	ask(stage, made, question->at, question->used);
	return true;
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

/* What one thread has: its loop, its connection to the cache, its place in the order. */
struct thread {
	struct ev_loop *loop;
	const struct stage_verb *verb;
	struct sp_pipeline *pipeline; /* NULL: it runs over the descriptors itself */
};

static int open_thread(struct sp_cli *cli, const struct sp_config *config,
    const struct stage_verb *verb, bool alone, struct thread *thread, struct sp_err *err)
{
	*thread = (struct thread){.verb = verb};
	thread->loop = alone ? ev_default_loop(EVFLAG_AUTO) : ev_loop_new(EVFLAG_AUTO);
	if (!thread->loop)
		return sp_fail(err, SP_E_UNAVAILABLE, "no event loop on this system");
	return sp_caller_new(thread->loop, spacerouted_socket(cli, config),
	    (int)config->registry_timeout_ms + 1000, &verb->stage->caller, err);
}

/* A closed output leaves questions open. */
static void close_thread(struct thread *thread, bool alone)
{
	struct stage *stage = thread->verb->stage;
	struct job *job;

	sp_caller_free(stage->caller);
	while ((job = LIST_FIRST(&stage->jobs)))
		job_free(job);
	sp_pipeline_free(thread->pipeline);
	if (thread->loop && !alone)
		ev_loop_destroy(thread->loop);
}

static struct sp_pipeline_options options_of(const struct thread *thread, unsigned window)
{
	return (struct sp_pipeline_options){.loop = thread->loop,
	    .window = window,
	    .quick = thread->verb->quick,
	    .start = thread->verb->start,
	    .context = thread->verb->context};
}

static void answer_batch(void *worker, void *piece)
{
	const struct thread *thread = worker;

	sp_pipeline_answer(thread->pipeline, piece);
}

static int run_alone(
    const struct thread *thread, unsigned window, int *ret_exit, struct sp_err *err)
{
	struct sp_pipeline_options options = options_of(thread, window);

	return sp_pipeline_run_quick(STDIN_FILENO, STDOUT_FILENO, &options, ret_exit, err);
}

static int run_several(
    struct thread *threads, unsigned jobs, unsigned window, int *ret_exit, struct sp_err *err)
{
	void *workers[SP_JOBS_MAX];

	for (unsigned i = 0; i < jobs; i++) {
		struct sp_pipeline_options options = options_of(&threads[i], window);
		if (sp_pipeline_new(&options, &threads[i].pipeline) < 0)
			return sp_fail(err, -ENOMEM, "out of memory");
		workers[i] = &threads[i];
	}
	return sp_batches_run(
	    STDIN_FILENO, STDOUT_FILENO, jobs, answer_batch, workers, ret_exit, err);
}

int stage_run(struct sp_cli *cli, const struct stage_verb *verbs, unsigned jobs)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct thread threads[SP_JOBS_MAX];
	struct sp_err err = {0};
	unsigned opened = 0;
	int64_t window;
	int exit_code = SP_EXIT_DONE, bad = 0;
	bool alone = jobs == 1;

	if (!config ||
	    sp_cli_number(cli, "window", alone ? 1 : THREAD_WINDOW, 1, SP_WINDOW_MAX, &window) < 0)
		return SP_EXIT_USAGE;
	/* A cache that goes away is an answer, not the end. */
	(void)signal(SIGPIPE, SIG_IGN);
	for (; opened < jobs && !bad; opened++)
		bad = open_thread(cli, config, &verbs[opened], alone, &threads[opened], &err);
	if (!bad)
		bad = alone ? run_alone(threads, (unsigned)window, &exit_code, &err)
			    : run_several(threads, jobs, (unsigned)window, &exit_code, &err);
	while (opened > 0)
		close_thread(&threads[--opened], alone);
	return bad ? sp_cli_fail(cli, &err) : exit_code;
}
