/* spacebridge connect: one stream of a sandbox on standard input and output. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/cli.h"
#include "client/args.h"
#include "client/attachment.h"
#include "client/ends.h"
#include "client/setup.h"
#include "record/json.h"
#include "spacebridge/verbs.h"

#define LOOK_EVERY 0.1 /* seconds, at how much has gone */

struct connect {
	struct sp_cli *cli;
	struct ev_loop *loop;
	const char *sandbox;
	const struct sp_attachment *attachment; /* while it runs */
	uint64_t sent;
	bool tree, takes_input; /* a tree may take long, and ends by itself */
	int exit;
};

/* What can be asked for: the operation, what its one argument is, whether it has --recursive, and
 * whether it takes input. */
static const struct form {
	const char *op, *argument;
	bool recursive, input;
} FORMS[] = {
    {"port.connect", NULL, false, true},
    {"exec.attach", "session", false, true},
    {"file.watch", "path", true, false},
    {"tree.get", "path", false, false},
    {"tree.put", "path", false, true},
};

static const struct form *find_form(const char *op)
{
	for (size_t i = 0; op && i < SP_COUNT(FORMS); i++)
		if (strcmp(FORMS[i].op, op) == 0)
			return &FORMS[i];
	return NULL;
}

static void note_opened(const struct connect *connect, const struct sp_attachment_news *news)
{
	sp_cli_note(connect->cli, "%s: open on execution %lld, lease %s, epoch %lld",
	    connect->sandbox, (long long)news->route->execution, news->lease,
	    (long long)news->epoch);
}

static void say(const struct connect *connect, const char *words, const char *why)
{
	sp_cli_warn(connect->cli, "%s: %s%s%s%s", connect->sandbox, words, *why ? " (" : "", why,
	    *why ? ")" : "");
}

static void told(void *context, const struct sp_attachment_news *news)
{
	struct connect *connect = context;

	switch (news->event) {
	case SP_ATTACHMENT_OPENED:
		note_opened(connect, news);
		break;
	case SP_ATTACHMENT_CUT:
		say(connect, "cut; waiting for a newer route", news->words);
		break;
	case SP_ATTACHMENT_REOPENED:
		say(connect, "opened again", "");
		note_opened(connect, news);
		break;
	case SP_ATTACHMENT_GAP:
		say(connect, "some output has been lost", "");
		break;
	}
}

static void fail(const struct connect *connect, const char *words)
{
	struct sp_err err = {0};

	(void)sp_fail(&err, SP_E_CLOSED, "%s: %s", connect->sandbox, words);
	(void)sp_cli_fail(connect->cli, &err);
}

static void ended(void *context, const struct sp_attachment_end *end)
{
	struct connect *connect = context;
	char words[SP_ERR_MAX];

	connect->exit = end->exit;
	if (end->ending == SP_ATTACHMENT_STATUS && end->status->kind == SP_STATUS_ERROR) {
		fail(connect, end->status->message);
	} else if (end->ending == SP_ATTACHMENT_STATUS && end->status->counted) {
		sp_cli_note(connect->cli, "%lld entries, %lld bytes",
		    (long long)end->status->entries, (long long)end->status->bytes);
	} else if (end->ending == SP_ATTACHMENT_LOST) {
		(void)snprintf(words, sizeof(words), "the stream was cut%s%.400s",
		    *end->words ? ": " : "", end->words);
		fail(connect, words);
	} else if (end->ending == SP_ATTACHMENT_ANSWERED || end->ending == SP_ATTACHMENT_BROKEN) {
		fail(connect, end->words);
	}
	ev_break(connect->loop, EVBREAK_ALL);
}

/* --port is port.connect; everything else names an operation and its argument. */
static int take_port(struct sp_cli *cli, const struct form **ret_form, json_t **ret_args)
{
	const char *protocol = sp_cli_text(cli, "protocol");
	int64_t port;

	if (sp_cli_number(cli, "port", 0, 1, 65535, &port) < 0)
		return SP_EXIT_USAGE;
	if (sp_cli_count(cli) > 0 || sp_cli_flag(cli, "recursive"))
		return sp_cli_usage(cli, "with --port there is nothing else to name");
	*ret_form = find_form("port.connect");
	*ret_args = json_pack(
	    "{s:I, s:s}", "port", (json_int_t)port, "protocol", protocol ? protocol : "tcp");
	return 0;
}

static int take_form(struct sp_cli *cli, const struct form **ret_form, json_t **ret_args)
{
	const char *op = sp_cli_argument(cli, 0), *argument = sp_cli_argument(cli, 1);
	const struct form *form = find_form(op);

	if (!op)
		return sp_cli_usage(cli, "neither --port nor an operation");
	if (!form || !form->argument)
		return sp_cli_usage(
		    cli, "`%.64s` is none of exec.attach, file.watch, tree.get, tree.put", op);
	if (!argument)
		return sp_cli_usage(cli, "%s: its %s is missing", op, form->argument);
	if (sp_cli_text(cli, "protocol"))
		return sp_cli_usage(cli, "--protocol goes with --port");
	if (sp_cli_flag(cli, "recursive") && !form->recursive)
		return sp_cli_usage(cli, "--recursive goes with file.watch");
	*ret_form = form;
	*ret_args = strcmp(form->argument, "path") == 0
			? sp_args_path(argument)
			: json_pack("{s:s}", form->argument, argument);
	if (!*ret_args)
		return sp_cli_usage(cli, "%s: what is no UTF-8 is no %s", op, form->argument);
	if (sp_cli_flag(cli, "recursive"))
		(void)json_object_set_new(*ret_args, "recursive", json_true());
	return 0;
}

static size_t on_input(void *context, const char *bytes, size_t size)
{
	struct connect *connect = context;

	(void)bytes;
	connect->sent += size;
	return size;
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct connect *connect = timer->data;

	(void)loop;
	(void)events;
	sp_cli_progress_bytes(connect->cli,
	    connect->sent + sp_attachment_received(connect->attachment), !connect->takes_input);
}

static int run(struct connect *connect, struct sp_client_setup *setup,
    const struct sp_attachment_options *options, struct sp_err *err)
{
	static const struct sp_attachment_handlers handlers = {.told = told, .ended = ended};
	struct sp_attachment *attachment;
	ev_timer look;
	int bad = sp_attachment_new(options, &handlers, connect, &attachment, err);

	if (bad)
		return bad;
	connect->attachment = attachment;
	ev_timer_init(&look, on_look, 0, LOOK_EVERY);
	look.data = connect;
	if (connect->tree)
		ev_timer_start(setup->loop, &look);
	(void)ev_run(setup->loop, 0);
	ev_timer_stop(setup->loop, &look);
	sp_attachment_stop(attachment);
	(void)ev_run(setup->loop, EVRUN_NOWAIT); /* what was stopped is freed */
	sp_path_free(sp_steal(&setup->path));
	sp_attachment_free(attachment);
	return 0;
}

int verb_connect(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct connect connect = {.cli = cli, .sandbox = sp_cli_text(cli, "sandbox")};
	sp_cleanup(sp_client_setup_done) struct sp_client_setup setup = {.loop = NULL};
	sp_auto_json json_t *args = NULL;
	const struct form *form = NULL;
	struct sp_ends *ends = NULL;
	struct sp_err err = {0};
	int64_t wait;
	int bad;

	if (!config ||
	    sp_cli_number(cli, "reattach-timeout", config->reattach_timeout, 0, 3600, &wait) < 0)
		return SP_EXIT_USAGE;
	if (!sp_id_valid(connect.sandbox))
		return sp_cli_usage(cli, "`%.64s` is no sandbox's id", connect.sandbox);
	bad =
	    sp_cli_text(cli, "port") ? take_port(cli, &form, &args) : take_form(cli, &form, &args);
	if (bad)
		return bad;
	struct sp_ends_options options = {.lines = strcmp(form->op, "file.watch") == 0,
	    .on_input = on_input,
	    .context = &connect};
	struct sp_attachment_options attaching = {.who = &setup.who,
	    .op = form->op,
	    .sandbox = connect.sandbox,
	    .args = args,
	    .side = &sp_ends_side,
	    .reattach_ms = wait * 1000};
	connect.takes_input = form->input;
	connect.tree = strncmp(form->op, "tree.", 5) == 0;
	bad = sp_client_setup_init(cli, &setup, &err);
	if (!bad)
		bad = sp_client_ends(form->input, &options.in, &options.out, &options.err, &err);
	options.loop = attaching.loop = connect.loop = setup.loop;
	attaching.path = setup.path;
	if (!bad && sp_ends_new(&options, &ends) < 0)
		bad = sp_fail(&err, -ENOMEM, "out of memory");
	attaching.side_context = ends;
	if (!bad)
		bad = run(&connect, &setup, &attaching, &err);
	sp_ends_free(ends);
	return bad ? sp_cli_fail(cli, &err) : connect.exit;
}
