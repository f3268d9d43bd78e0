/* spacebridge gateway: netgtw, the second check of a sandbox's service ports (06-streams). */
#include "spacebridge/gateway.h"

#include <sodium/core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "spacebridge/verbs.h"

#define REMEMBERED 256 /* streams that have ended */

/* What may change under way. Sockets, directories and the realm are those of the start. */
static int take_config(struct gateway *gateway, const struct sp_config *config, struct sp_err *err)
{
	enum sp_level min_level;
	int bad = 0;

	if (!sp_level_parse(config->min_level, &min_level))
		return sp_fail(
		    err, SP_E_CONFIG, "[bridge] min_level: `%s` is no level", config->min_level);
	if (gateway->tls)
		bad = gateway_tls_load(gateway, config, err);
	if (bad)
		return bad;
	gateway->config = *config;
	gateway->approach.min_level = min_level;
	gateway->http = config->gateway_http || sp_cli_flag(gateway->cli, "http");
	gateway->approach.guest_port = (uint32_t)config->guest_port;
	if (gateway->leases)
		sp_lease_set_cut_timeout(gateway->leases, (int)config->cut_timeout_ms);
	return 0;
}

static void reload(struct gateway *gateway, const struct sp_config *config)
{
	struct sp_config before = gateway->config;
	struct sp_err err = {0};
	int bad = take_config(gateway, config, &err);

	if (bad) {
		(void)sp_err_prefix(&err, bad, "reload failed, the values before stay in use");
		(void)sp_cli_fail(gateway->cli, &err);
	} else if (strcmp(before.keys_root, gateway->config.keys_root) != 0) {
		keys_changed(&gateway->keys);
	}
}

/* SIGHUP, or another configuration. */
static void on_change(void *context)
{
	struct gateway *gateway = context;
	sp_auto_free struct sp_config *config = calloc(1, sizeof(*config));
	struct sp_err err = {0};
	int bad = sp_audit_reopen(gateway->audit, &err);

	if (bad) {
		(void)sp_err_prefix(&err, bad, "the old audit file stays in use");
		(void)sp_cli_fail(gateway->cli, &err);
	}
	bad = config ? sp_cli_config_again(gateway->cli, config, &err)
		     : sp_fail(&err, -ENOMEM, "out of memory");
	if (bad) {
		(void)sp_err_prefix(&err, bad, "reload failed, the values before stay in use");
		(void)sp_cli_fail(gateway->cli, &err);
	} else {
		reload(gateway, config);
	}
}

/* What is open learns of it by the end alone. */
static void end_all(struct gateway *gateway)
{
	while (!TAILQ_EMPTY(&gateway->visits)) {
		struct visit *visit = TAILQ_FIRST(&gateway->visits);
		if (visit->phase == VISIT_FIRST || visit->phase == VISIT_OPEN)
			visit_end(visit, SP_E_CLOSED, "the gateway stops");
		else
			visit_free(visit, "the gateway stops");
	}
	while (!TAILQ_EMPTY(&gateway->webs))
		web_end(TAILQ_FIRST(&gateway->webs), "the gateway stops");
}

static void on_stop(void *context)
{
	struct gateway *gateway = context;

	end_all(gateway);
	sp_service_exit(gateway->service);
}

static void close_all(struct gateway *gateway)
{
	end_all(gateway);
	gateway_tls_close(gateway);
	sp_lease_live_close(gateway->live);
	sp_lease_set_free(gateway->leases, "the gateway ends");
	keys_close(&gateway->keys);
	if (gateway->journal)
		sp_journal_close(gateway->journal);
	if (gateway->holder)
		sp_holder_close(gateway->holder);
	if (gateway->store)
		sp_store_close(gateway->store);
	sp_audit_close(gateway->audit);
	sp_service_free(gateway->service);
}

/* One journal for each sandbox: whoever holds its lock is the gateway. */
static int open_journal(struct gateway *gateway, struct sp_err *err)
{
	char directory[PATH_MAX + SP_ID_MAX + 16];
	int bad;

	(void)snprintf(directory, sizeof(directory), "%s/used/gateway/%s",
	    gateway->config.state_dir, gateway->sandbox);
	bad = sp_journal_open(directory, &gateway->journal, err);
	return bad ? sp_err_prefix(err, bad, "journal of used capabilities") : 0;
}

static int open_state(struct gateway *gateway, const char *audit, struct sp_err *err)
{
	int bad = sp_audit_open(audit, &gateway->audit, err);

	if (!bad)
		sp_audit_attach(gateway->audit, gateway->loop);
	if (!bad)
		bad = sp_store_open(gateway->records, SP_STORE_CREATE, &gateway->store, err);
	if (!bad)
		bad = sp_holder_open(gateway->store, &gateway->holder, err);
	return bad ? bad : open_journal(gateway, err);
}

static int open_leases(struct gateway *gateway, struct sp_err *err)
{
	struct sp_lease_options options = {.loop = gateway->loop,
	    .store = gateway->store,
	    .holder = gateway->holder,
	    .cut_timeout_ms = (int)gateway->config.cut_timeout_ms,
	    .role = GATEWAY_ROLE,
	    .remember = REMEMBERED};

	if (sp_lease_set_new(&options, &gateway->leases) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	return sp_lease_live_open(gateway->leases, gateway->config.run_dir, &gateway->live, err);
}

static const char *text_or(const struct sp_cli *cli, const char *option, const char *fallback)
{
	const char *given = sp_cli_text(cli, option);

	return given ? given : fallback;
}

static int open_keys(struct gateway *gateway, const struct sp_config *config, struct sp_err *err)
{
	gateway->keys = (struct keys){.verb = "gateway",
	    .service = gateway->service,
	    .realm = text_or(gateway->cli, "realm", config->realm),
	    .source = text_or(gateway->cli, "keys", config->keys_bundle),
	    .roots = gateway->config.keys_root};
	return keys_open(&gateway->keys, err);
}

static int serve(struct gateway *gateway, struct sp_err *err)
{
	const struct sp_cli *cli = gateway->cli;
	const char *address = text_or(cli, "listen", gateway->config.gateway_listen);
	int bad = gateway_listen(gateway, address, err);

	if (!bad)
		bad = sp_service_on_change(
		    gateway->service, sp_cli_config_path(cli), on_change, gateway, err);
	if (bad)
		return bad;
	sp_service_on_stop(gateway->service, on_stop, gateway);
	return sp_service_run(gateway->service, err);
}

static int run(struct gateway *gateway, const struct sp_config *config, struct sp_err *err)
{
	const char *records = sp_cli_text(gateway->cli, "records");
	const char *audit = text_or(gateway->cli, "audit", config->audit_file);
	int bad = take_config(gateway, config, err);

	if (!bad)
		bad = sp_service_new(&gateway->service, err);
	if (bad)
		return bad;
	(void)snprintf(gateway->records, sizeof(gateway->records), "%s%s",
	    records ? records : config->state_dir, records ? "" : "/records");
	gateway->loop = sp_service_loop(gateway->service);
	approach_set_init(&gateway->watched, gateway->loop);
	gateway->approach.set = &gateway->watched;
	gateway->approach.loop = gateway->loop;
	gateway->approach.records = gateway->records;
	sp_attest_private();
	bad = open_state(gateway, *audit ? audit : NULL, err);
	if (!bad)
		bad = open_keys(gateway, config, err);
	if (!bad)
		bad = open_leases(gateway, err);
	return bad ? bad : serve(gateway, err);
}

int verb_gateway(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct gateway *gateway = config ? calloc(1, sizeof(*gateway)) : NULL;
	struct sp_err err = {0};
	int bad;

	if (!gateway)
		return config ? SP_EXIT_FAILED : SP_EXIT_USAGE;
	gateway->cli = cli;
	gateway->sandbox = role_sandbox(cli, "gateway");
	if (!gateway->sandbox) {
		free(gateway);
		return SP_EXIT_USAGE;
	}
	TAILQ_INIT(&gateway->visits);
	TAILQ_INIT(&gateway->webs);
	sp_descriptors_raise(NULL);
	bad = sodium_init() < 0 ? sp_fail(&err, SP_E_UNAVAILABLE, "no random numbers")
				: run(gateway, config, &err);
	close_all(gateway);
	free(gateway);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
