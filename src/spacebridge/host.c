/* spacebridge host: spaced-host, the bridge of one activation (04-bridge). */
#include "spacebridge/host.h"

#include <errno.h>
#include <sodium/core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/io.h"
#include "base/util.h"
#include "cli/cli.h"
#include "record/reason.h"
#include "spacebridge/verbs.h"

/* Beyond these the manager's connections wait in the backlog; up to them it is told. */
#define ACCEPTED_MAX (SP_VMM_CONNECTIONS + 64)
#define REMEMBERED   256 /* passages that have ended */

/* What may change under way. Sockets, directories and the sandbox are those of the start. */
static int take_config(struct host *host, const struct sp_config *config, struct sp_err *err)
{
	enum sp_level min_level;

	if (!sp_level_parse(config->min_level, &min_level))
		return sp_fail(
		    err, SP_E_CONFIG, "[bridge] min_level: `%s` is no level", config->min_level);
	host->config = *config;
	host->approach.min_level = min_level;
	host->approach.guest_port = (uint32_t)config->guest_port;
	if (host->leases)
		sp_lease_set_cut_timeout(host->leases, (int)config->cut_timeout_ms);
	host->manager = config->bridge_manager_uid;
	if (host->manager.count == 0)
		host->manager = (struct sp_uid_list){1, {geteuid()}};
	host->manager_exe =
	    host->config.manager_exe[0] ? host->config.manager_exe : "/proc/self/exe";
	return 0;
}

/* SIGHUP, or another configuration. */
static void on_change(void *context)
{
	struct host *host = context;
	sp_auto_free struct sp_config *config = calloc(1, sizeof(*config));
	struct sp_err err = {0};
	int bad = sp_audit_reopen(host->audit, &err);

	if (bad) {
		(void)sp_err_prefix(&err, bad, "the old audit file stays in use");
		(void)sp_cli_fail(host->cli, &err);
	}
	bad = config ? sp_cli_config_again(host->cli, config, &err)
		     : sp_fail(&err, -ENOMEM, "out of memory");
	if (!bad)
		bad = take_config(host, config, &err);
	if (bad) {
		(void)sp_err_prefix(&err, bad, "reload failed, the values before stay in use");
		(void)sp_cli_fail(host->cli, &err);
	}
}

static void end_all(struct host *host)
{
	while (!TAILQ_EMPTY(&host->passages))
		passage_free(TAILQ_FIRST(&host->passages));
}

/* What a request in flight is worth, only the manager knows: it is told by the end. */
static void on_stop(void *context)
{
	struct host *host = context;

	host->stopping = true;
	end_all(host);
	sp_service_exit(host->service);
}

static void close_all(struct host *host)
{
	end_all(host);
	sp_lease_live_close(host->live);
	sp_lease_set_free(host->leases, "the bridge ends");
	if (host->holder)
		sp_holder_close(host->holder);
	if (host->store)
		sp_store_close(host->store);
	sp_audit_close(host->audit);
	sp_service_free(host->service);
}

static int open_state(struct host *host, const char *audit, struct sp_err *err)
{
	int bad = sp_audit_open(audit, &host->audit, err);

	if (!bad)
		sp_audit_attach(host->audit, host->loop);
	if (!bad)
		bad = sp_store_open(host->records, SP_STORE_CREATE, &host->store, err);
	if (!bad)
		bad = sp_holder_open(host->store, &host->holder, err);
	return bad;
}

static int open_leases(struct host *host, struct sp_err *err)
{
	struct sp_lease_options options = {.loop = host->loop,
	    .store = host->store,
	    .holder = host->holder,
	    .cut_timeout_ms = (int)host->config.cut_timeout_ms,
	    .role = HOST_ROLE,
	    .remember = REMEMBERED};

	if (sp_lease_set_new(&options, &host->leases) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	return sp_lease_live_open(host->leases, host->config.run_dir, &host->live, err);
}

static int listen_at(struct host *host, const char *given, struct sp_err *err)
{
	mode_t mode = host->config.bridge_manager_uid.count ? 0666 : 0600;
	char path[PATH_MAX + SP_ID_MAX + 16];
	int bad = 0;

	if (given)
		return sp_service_listen(
		    host->service, given, mode, ACCEPTED_MAX, host_accept, host, err);
	(void)snprintf(path, sizeof(path), "%s/bridge", host->config.run_dir);
	bad = sp_directory_make(path, 0750, err);
	if (bad)
		return bad;
	(void)snprintf(
	    path, sizeof(path), "%s/bridge/%s.sock", host->config.run_dir, host->sandbox);
	return sp_service_listen(host->service, path, mode, ACCEPTED_MAX, host_accept, host, err);
}

/*
 * In a network namespace of its own, its connections to the VMM are found at once. The manager must
 * be able to look into it: one of our own uid is, one of another may be without the right. And the
 * service manager must still hear us, which one with an abstract name would not.
 */
static void live_apart(const struct sp_config *config)
{
	const struct sp_uid_list *managers = &config->bridge_manager_uid;
	const char *notify = getenv("NOTIFY_SOCKET");

	for (unsigned i = 0; i < managers->count; i++)
		if (managers->uids[i] != geteuid())
			return;
	if (!notify || notify[0] != '@')
		sp_attest_apart();
}

static int run(struct host *host, const struct sp_config *config, struct sp_err *err)
{
	const struct sp_cli *cli = host->cli;
	const char *records = sp_cli_text(cli, "records"), *audit = sp_cli_text(cli, "audit");
	int bad = take_config(host, config, err);

	if (bad)
		return bad;
	if (!audit)
		audit = host->config.audit_file;
	(void)snprintf(host->records, sizeof(host->records), "%s%s",
	    records ? records : host->config.state_dir, records ? "" : "/records");
	bad = sp_service_new(&host->service, err);
	if (bad)
		return bad;
	host->loop = sp_service_loop(host->service);
	approach_set_init(&host->watched, host->loop);
	host->approach.set = &host->watched;
	host->approach.loop = host->loop;
	host->approach.records = host->records;
	bad = open_state(host, *audit ? audit : NULL, err);
	if (!bad)
		bad = open_leases(host, err);
	if (!bad)
		bad = listen_at(host, sp_cli_text(cli, "listen"), err);
	if (!bad)
		bad = sp_service_on_change(
		    host->service, sp_cli_config_path(cli), on_change, host, err);
	if (bad)
		return bad;
	sp_service_on_stop(host->service, on_stop, host);
	return sp_service_run(host->service, err);
}

int verb_host(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct host host = {.cli = cli};
	struct sp_err err = {0};
	int bad;

	if (!config || !(host.sandbox = role_sandbox(cli, "bridge")))
		return SP_EXIT_USAGE;
	if (sodium_init() < 0) {
		(void)sp_fail(&err, SP_E_UNAVAILABLE, "no random numbers");
		return sp_cli_fail(cli, &err);
	}
	TAILQ_INIT(&host.passages);
	live_apart(config);
	sp_descriptors_raise(NULL);
	bad = run(&host, config, &err);
	close_all(&host);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
