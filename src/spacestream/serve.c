/* spacestream serve: its options and its life. */
#include "spacestream/serve.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include "base/io.h"
#include "record/reason.h"
#include "spacestream/serve_page.h"
#include "spacestream/verbs.h"
#include "stream/upgrade.h"

/* SIGHUP, or another configuration. */
static void on_change(void *context)
{
	struct server *server = context;
	struct sp_err err = {0};
	int bad = server->setup.audit ? sp_audit_reopen(server->setup.audit, &err) : 0;

	if (bad) {
		(void)sp_err_prefix(&err, bad, "the old audit file stays in use");
		(void)sp_cli_fail(server->cli, &err);
	}
	bad = sp_client_setup_again(server->cli, &server->setup, &err);
	if (bad) {
		(void)sp_err_prefix(&err, bad, "reload failed, the values before stay in use");
		(void)sp_cli_fail(server->cli, &err);
	}
}

/* What is in flight ends; the last connection to go ends the server. */
static void on_stop(void *context)
{
	struct server *server = context;
	struct web *web, *next;

	server->stopping = true;
	if (TAILQ_EMPTY(&server->webs))
		sp_service_exit(server->service);
	for (web = TAILQ_FIRST(&server->webs); web; web = next) {
		next = TAILQ_NEXT(web, link);
		web_stop(web);
	}
}

static int take_options(struct server *server)
{
	struct sp_cli *cli = server->cli;
	const struct sp_config *config = sp_cli_config(cli);

	server->tls_cert = sp_cli_text(cli, "tls-cert");
	server->tls_key = sp_cli_text(cli, "tls-key");
	if (!server->tls_cert != !server->tls_key)
		return sp_cli_usage(cli, "--tls-cert and --tls-key go together");
	server->origins = sp_cli_text(cli, "origin");
	if (server->origins && !sp_upgrade_origins_valid(server->origins))
		return sp_cli_usage(cli, "--origin: not SCHEME://HOST[:PORT], with commas between");
	if (!config || sp_cli_number(cli, "streams", 64, 1, SERVE_STREAMS, &server->open) < 0 ||
	    sp_cli_number(cli, "reattach-timeout", config->reattach_timeout, 0, 3600,
		&server->reattach) < 0 ||
	    sp_cli_number(cli, "inflight", SERVE_WINDOW_MAX, 1, SP_WINDOW_MAX, &server->inflight) <
		0 ||
	    sp_cli_number(cli, "timeout", 30, 1, 3600, &server->whole) < 0 ||
	    sp_cli_number(cli, "idle-timeout", 60, 1, 86400, &server->idle) < 0)
		return SP_EXIT_USAGE;
	return 0;
}

static int run(struct server *server, struct sp_err *err)
{
	int bad = sodium_init() < 0 ? sp_fail(err, SP_E_UNAVAILABLE, "no random numbers")
				    : sp_service_new(&server->service, err);

	if (bad)
		return bad;
	server->loop = sp_service_loop(server->service);
	bad = sp_client_setup_lines(server->cli, &server->setup, err);
	if (!bad && server->setup.audit)
		sp_audit_attach(server->setup.audit, server->loop);
	if (!bad)
		bad = page_new(sp_cli_text(server->cli, "xterm"), &server->page, err);
	if (!bad)
		bad = serve_listen(server, err);
	if (!bad)
		bad = sp_service_on_change(
		    server->service, sp_cli_config_path(server->cli), on_change, server, err);
	if (bad)
		return bad;
	sp_service_on_stop(server->service, on_stop, server);
	return sp_service_run(server->service, err);
}

int spacestream_serve(struct sp_cli *cli)
{
	struct server *server = calloc(1, sizeof(*server));
	struct sp_err err = {0};
	int bad;

	if (!server)
		return SP_EXIT_FAILED;
	server->cli = cli;
	TAILQ_INIT(&server->webs);
	bad = take_options(server);
	if (bad) {
		free(server);
		return bad;
	}
	sp_descriptors_raise(NULL);
	bad = run(server, &err);
	while (!TAILQ_EMPTY(&server->webs))
		web_free(TAILQ_FIRST(&server->webs));
	page_free(server->page);
	sp_tls_free(server->tls);
	sp_client_setup_done(&server->setup);
	sp_service_free(server->service);
	free(server);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
