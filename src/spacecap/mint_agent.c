/* mint --agent: the filter without the key. */
#include "spacecap/signer.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "call/mint.h"
#include "net/caller.h"
#include "net/pipeline.h"

struct question {
	struct sp_turn *turn;
	json_t *record;
};

static void answered(void *context, int code, const char *line_or_words, size_t size)
{
	struct question *question = context;
	json_t *answer = code ? sp_mint_stage_unanswered(question->record, line_or_words)
			      : sp_mint_stage_finish(question->record, line_or_words, size);

	sp_turn_answer(question->turn, answer);
	json_decref(question->record);
	free(question);
}

static int start(void *context, struct sp_turn *turn, json_t *record, struct sp_err *err)
{
	struct sp_caller *caller = context;
	struct sp_request request;
	sp_auto_free char *text = NULL;
	struct question *question;
	int mintable = sp_mint_stage_take(record, &request, err);

	if (mintable < 0)
		return mintable;
	if (mintable == 0) {
		sp_turn_answer(turn, json_incref(record));
		return 0;
	}
	text = sp_mint_stage_question(record, &request);
	question = text ? malloc(sizeof(*question)) : NULL;
	if (!question)
		return sp_fail(err, -ENOMEM, "out of memory");
	*question = (struct question){.turn = turn, .record = json_incref(record)};
	sp_caller_ask(caller, text, strlen(text), answered, question);
	return 0;
}

int spacecap_mint_agent(struct sp_cli *cli)
{
	struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
	struct sp_caller *caller = NULL;
	struct sp_err err = {0};
	int64_t window;
	int exit_code = SP_EXIT_DONE;
	int bad = sp_cli_number(cli, "window", 1, 1, SP_WINDOW_MAX, &window);

	if (bad)
		return SP_EXIT_USAGE;
	/* A signer that goes away is an answer, not the end. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (!loop)
		bad = sp_fail(&err, SP_E_UNAVAILABLE, "no event loop on this system");
	if (!bad)
		bad = sp_caller_new(
		    loop, sp_cli_text(cli, "agent"), SP_SIGNER_TIMEOUT_MS, &caller, &err);
	if (!bad)
		bad = sp_pipeline_run(loop, STDIN_FILENO, STDOUT_FILENO, (unsigned)window, start,
		    caller, &exit_code, &err);
	sp_caller_free(caller);
	return bad ? sp_cli_fail(cli, &err) : exit_code;
}
