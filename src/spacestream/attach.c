/*
 * spacestream attach: a person or program at a session of a sandbox. First a session is opened, or
 * looked at, by a call; then it is attached to.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "base/util.h"
#include "client/attachment.h"
#include "client/ends.h"
#include "client/setup.h"
#include "record/json.h"
#include "spacestream/hangup.h"
#include "spacestream/terminal.h"
#include "spacestream/verbs.h"

struct attach {
	struct sp_cli *cli;
	struct sp_client_setup setup;
	const char *sandbox;
	char session[SP_ID_MAX + 1]; /* "": to be opened */
	bool is_terminal;            /* the session has one */
	int key;
	int64_t wait_ms;
	struct sp_call *call;
	struct sp_attachment *attachment;
	struct sp_ends *ends;
	struct hangup hangup;
	struct terminal terminal;
	bool opened_here, open, has_left;
	int exit, signal;
	struct sp_err err; /* told at the end, when the terminal is itself again */
};

static void finish(struct attach *attach, int exit)
{
	attach->exit = exit;
	ev_break(attach->setup.loop, EVBREAK_ALL);
}

static void fail(struct attach *attach, int exit, const char *words)
{
	(void)sp_fail(&attach->err, SP_E_CLOSED, "%s: %s", attach->sandbox, words);
	finish(attach, exit);
}

/* --- the stream --- */

static void say(const struct attach *attach, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct attach *attach, const char *format, ...)
{
	char words[SP_ERR_MAX];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(words, sizeof(words), format, list);
	va_end(list);
	if (!sp_cli_quiet(attach->cli))
		terminal_say(&attach->terminal, words);
}

static void on_resized(void *context)
{
	struct attach *attach = context;
	unsigned rows, cols;

	if (!attach->open || !attach->terminal.is_raw)
		return;
	terminal_size(&rows, &cols);
	sp_attachment_resize(attach->attachment, rows, cols);
}

static void note_open(struct attach *attach, const struct sp_attachment_news *news)
{
	sp_cli_note(attach->cli, "%s: session %s open on execution %lld, lease %s, epoch %lld",
	    attach->sandbox, attach->session, (long long)news->route->execution, news->lease,
	    (long long)news->epoch);
	attach->open = true;
	on_resized(attach);
}

static void say_gap(const struct attach *attach, int64_t missing)
{
	if (missing < 0)
		say(attach, "%s: some output may be missing or come twice", attach->sandbox);
	else
		say(attach, "%s: %lld bytes of output are not kept any more", attach->sandbox,
		    (long long)missing);
}

static void told(void *context, const struct sp_attachment_news *news)
{
	struct attach *attach = context;
	switch (news->event) {
	case SP_ATTACHMENT_OPENED:
		note_open(attach, news);
		break;
	case SP_ATTACHMENT_CUT:
		attach->open = false;
		say(attach, "%s: cut from execution %lld%s%s; waiting for a newer route",
		    attach->sandbox, (long long)news->route->execution, *news->words ? ": " : "",
		    news->words);
		terminal_wait(&attach->terminal, true);
		break;
	case SP_ATTACHMENT_REOPENED:
		terminal_wait(&attach->terminal, false);
		say(attach,
		    "%s: attached again: execution %lld attempt %lld, before %lld attempt %lld",
		    attach->sandbox, (long long)news->route->execution,
		    (long long)news->route->attempt, (long long)news->before->execution,
		    (long long)news->before->attempt);
		note_open(attach, news);
		break;
	case SP_ATTACHMENT_GAP:
		say_gap(attach, news->missing);
		break;
	}
}

static void on_hung_up(void *context, const char *words)
{
	struct attach *attach = context;
	char all[SP_ERR_MAX];

	if (!words) {
		finish(attach, SP_EXIT_DONE);
		return;
	}
	(void)snprintf(all, sizeof(all), "session %s goes on: %.300s", attach->session, words);
	fail(attach, SP_EXIT_FAILED, all);
}

/* A session that was there before goes on, as after any other end of ours. */
static void hang_up(struct attach *attach)
{
	attach->hangup = (struct hangup){.loop = attach->setup.loop,
	    .path = attach->setup.path,
	    .who = &attach->setup.who,
	    .sandbox = attach->sandbox,
	    .session = attach->session,
	    .ended = on_hung_up,
	    .context = attach};
	hangup_start(&attach->hangup);
}

static void on_ended(void *context, const struct sp_attachment_end *end)
{
	struct attach *attach = context;
	char words[SP_ERR_MAX];

	if (end->ending == SP_ATTACHMENT_DONE && attach->opened_here) {
		hang_up(attach);
		return;
	}
	if (end->ending == SP_ATTACHMENT_LOST) {
		(void)snprintf(words, sizeof(words), "session %s was cut%s%.300s", attach->session,
		    *end->words ? ": " : "", end->words);
		fail(attach, end->exit, words);
	} else if (end->ending == SP_ATTACHMENT_ANSWERED || end->ending == SP_ATTACHMENT_BROKEN) {
		fail(attach, end->exit, end->words);
	} else if (end->status && end->status->kind == SP_STATUS_ERROR) {
		fail(attach, end->exit, end->status->message);
	} else {
		finish(attach, end->exit);
	}
}

static size_t on_input(void *context, const char *bytes, size_t size)
{
	struct attach *attach = context;

	return terminal_input(&attach->terminal, bytes, size);
}

static void on_left(void *context)
{
	struct attach *attach = context;

	attach->has_left = true;
	finish(attach, attach->open ? SP_EXIT_DONE : SP_EXIT_CUT);
}

static void on_signal(void *context, int number)
{
	struct attach *attach = context;

	attach->signal = number;
	finish(attach, 128 + number);
}

static int start_stream(struct attach *attach, struct sp_err *err)
{
	static const struct sp_attachment_handlers handlers = {.told = told, .ended = on_ended};
	static const struct terminal_handlers at_terminal = {
	    .resized = on_resized, .left = on_left, .ended = on_signal};
	sp_auto_json json_t *args = json_pack("{s:s}", "session", attach->session);
	bool raw = attach->is_terminal && isatty(STDIN_FILENO);
	struct sp_ends_options ends = {
	    .loop = attach->setup.loop, .on_input = on_input, .context = attach};
	struct sp_attachment_options options = {.loop = attach->setup.loop,
	    .path = attach->setup.path,
	    .who = &attach->setup.who,
	    .op = "exec.attach",
	    .sandbox = attach->sandbox,
	    .args = args,
	    .side = &sp_ends_side,
	    .reattach_ms = attach->wait_ms};
	int bad = sp_client_ends(true, &ends.in, &ends.out, &ends.err, err);

	if (!bad && sp_ends_new(&ends, &attach->ends) < 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	options.side_context = attach->ends;
	if (!bad)
		bad = sp_attachment_new(&options, &handlers, attach, &attach->attachment, err);
	if (!bad)
		bad = terminal_start(&attach->terminal, attach->setup.loop, raw, attach->key,
		    &at_terminal, attach, err);
	return bad;
}

/* --- the session --- */

static json_t *result_of(const struct sp_call_end *end)
{
	sp_auto_json json_t *answer = NULL;

	if (!end->text || sp_json_parse(end->text, end->size, &answer, NULL))
		return NULL;
	return json_incref(json_object_get(answer, "result"));
}

/* Takes what exec.start, terminal.open or exec.list answered, and goes on. */
static void called(void *context, const struct sp_call_end *end)
{
	struct attach *attach = context;
	sp_auto_json json_t *result = result_of(end);
	const char *session = json_string_value(json_object_get(result, "session"));
	const json_t *sessions = json_object_get(result, "sessions");
	bool opens = !attach->session[0];
	char words[SP_ERR_MAX];
	int exit = sp_attachment_words(end, words), bad = 0;

	attach->call = NULL;
	json_decref(end->record);
	free(end->text);
	if (opens && exit) {
		fail(attach, exit, words);
		return;
	}
	if (opens)
		bad = sp_id_copy(session ? session : "", "session", attach->session, &attach->err);
	/* Who may attach need not be allowed to list: then it is a stream like any other. */
	for (size_t i = 0; i < json_array_size(sessions); i++) {
		const json_t *one = json_array_get(sessions, i);
		const char *id = json_string_value(json_object_get(one, "session"));
		if (id && strcmp(id, attach->session) == 0)
			attach->is_terminal = json_is_true(json_object_get(one, "terminal"));
	}
	attach->opened_here = opens;
	if (!bad)
		bad = start_stream(attach, &attach->err);
	if (bad)
		finish(attach, sp_code_exit(bad));
}

static json_t *argv_json(struct sp_cli *cli)
{
	json_t *argv = json_array();

	for (size_t i = 1; i < sp_cli_count(cli); i++)
		(void)json_array_append_new(argv, json_string(sp_cli_argument(cli, i)));
	return argv;
}

static json_t *open_args(const struct attach *attach)
{
	const char *cwd = sp_cli_text(attach->cli, "cwd"), *term = getenv("TERM");
	json_t *args = sp_cli_count(attach->cli) > 1
			   ? json_pack("{s:o}", "argv", argv_json(attach->cli))
			   : json_object();
	unsigned rows, cols;

	if (cwd)
		(void)json_object_set_new(args, "cwd", json_string(cwd));
	if (!attach->is_terminal)
		return args;
	terminal_size(&rows, &cols);
	(void)json_object_set_new(args, "rows", json_integer(rows));
	(void)json_object_set_new(args, "cols", json_integer(cols));
	if (term && *term)
		(void)json_object_set_new(args, "env", json_pack("{s:s}", "TERM", term));
	return args;
}

/* One call before the stream: what opens the session, or tells whether it has a terminal. */
static int start_call(struct attach *attach, struct sp_err *err)
{
	const char *op = attach->session[0]    ? "exec.list"
			 : attach->is_terminal ? "terminal.open"
					       : "exec.start";
	json_t *args = attach->session[0] ? json_object() : open_args(attach);
	sp_auto_json json_t *asked =
	    json_pack("{s:s, s:s, s:o}", "op", op, "sandbox", attach->sandbox, "args", args);

	if (!asked)
		return sp_fail(err, SP_E_USAGE, "the command is not UTF-8");
	return sp_call_start(attach->setup.path, &attach->setup.who, asked,
	    sp_json_write(asked, NULL, 0), called, attach, &attach->call, err);
}

/* --- the verb --- */

static int take_session(struct attach *attach)
{
	struct sp_cli *cli = attach->cli;
	bool exec = sp_cli_flag(cli, "exec");
	const char *session = sp_cli_argument(cli, 1);

	attach->is_terminal = sp_cli_flag(cli, "terminal");
	if (exec && attach->is_terminal)
		return sp_cli_usage(cli, "--exec and --terminal exclude one another");
	if (exec && !session)
		return sp_cli_usage(cli, "--exec: which command?");
	if (exec || attach->is_terminal)
		return 0;
	if (!session || sp_cli_count(cli) != 2)
		return sp_cli_usage(cli, "one SESSION, or --terminal, or --exec -- CMD");
	if (sp_cli_text(cli, "cwd"))
		return sp_cli_usage(cli, "--cwd goes with --terminal and --exec");
	return sp_id_copy(session, "SESSION", attach->session, &attach->err)
		   ? sp_cli_usage(cli, "`%.64s` is no session", session)
		   : 0;
}

static int take_options(struct attach *attach)
{
	struct sp_cli *cli = attach->cli;
	const struct sp_config *config = sp_cli_config(cli);
	const char *key = sp_cli_text(cli, "detach-key");
	int64_t wait;

	attach->sandbox = sp_cli_argument(cli, 0);
	if (!config ||
	    sp_cli_number(cli, "reattach-timeout", config->reattach_timeout, 0, 3600, &wait) < 0)
		return SP_EXIT_USAGE;
	attach->wait_ms = wait * 1000;
	if (!sp_id_valid(attach->sandbox))
		return sp_cli_usage(cli, "`%.64s` is no sandbox's id", attach->sandbox);
	if (!terminal_key_parse(key ? key : "ctrl-]", &attach->key))
		return sp_cli_usage(
		    cli, "--detach-key: `%.16s` is neither ctrl- and a character nor none", key);
	return take_session(attach);
}

static int run(struct attach *attach)
{
	int bad = sp_client_setup_init(attach->cli, &attach->setup, &attach->err);

	if (!bad && attach->session[0] && !isatty(STDIN_FILENO))
		bad = start_stream(attach, &attach->err);
	else if (!bad)
		bad = start_call(attach, &attach->err);
	if (bad)
		return sp_code_exit(bad);
	(void)ev_run(attach->setup.loop, 0);
	return attach->exit;
}

static void clean_up(struct attach *attach)
{
	if (attach->attachment)
		sp_attachment_stop(attach->attachment);
	if (attach->call)
		sp_call_cancel(attach->call);
	hangup_stop(&attach->hangup);
	if (attach->setup.loop)
		(void)ev_run(attach->setup.loop, EVRUN_NOWAIT); /* what was stopped is freed */
	terminal_end(&attach->terminal);
	sp_client_setup_done(&attach->setup);
	sp_attachment_free(attach->attachment);
	sp_ends_free(attach->ends);
}

int spacestream_attach(struct sp_cli *cli)
{
	struct attach attach = {.cli = cli};
	int exit = take_options(&attach);

	if (exit)
		return exit;
	exit = run(&attach);
	clean_up(&attach);
	if (attach.has_left)
		say(&attach, "%s: left session %s, which goes on", attach.sandbox, attach.session);
	if (attach.signal) {
		(void)signal(attach.signal, SIG_DFL);
		(void)raise(attach.signal);
	}
	if (attach.err.code && !attach.has_left)
		(void)sp_cli_fail(cli, &attach.err);
	return exit;
}
