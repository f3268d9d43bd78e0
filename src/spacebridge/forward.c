/* spacebridge forward: sbx-manager, the enforcement point of a worker (04-bridge). */
#include "spacebridge/forward.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "spacebridge/verbs.h"

/* A link and a client cost a descriptor or two each; the default soft limit is small for that. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int link_limits(const struct sp_config *config, struct link_options *ret, struct sp_err *err)
{
	if (!sp_level_parse(config->min_level, &ret->min_level))
		return sp_fail(
		    err, SP_E_CONFIG, "[bridge] min_level: `%s` is no level", config->min_level);
	ret->connect_timeout_ms = (int)config->connect_timeout_ms;
	ret->settle_ms = (int)config->cut_timeout_ms;
	return 0;
}

/* What may change under way. Sockets, directories and the realm are those of the start. */
static int take_config(struct forward *forward, const struct sp_config *from, struct sp_err *err)
{
	struct sp_config *to = forward->config;
	struct link_options options = {0};
	int bad = link_limits(from, &options, err);

	if (bad)
		return bad;
	link_set_limits(forward->links, &options);
	to->manager_allow = from->manager_allow;
	to->max_inflight = from->max_inflight;
	to->manager_timeout_ms = from->manager_timeout_ms;
	to->max_skew = from->max_skew;
	to->cut_timeout_ms = from->cut_timeout_ms;
	to->half_close_timeout = from->half_close_timeout;
	sp_lease_set_cut_timeout(forward->leases, (int)from->cut_timeout_ms);
	forward_timers_changed(forward);
	if (strcmp(to->keys_root, from->keys_root) != 0) {
		memcpy(to->keys_root, from->keys_root, sizeof(to->keys_root));
		keys_changed(&forward->keys);
	}
	return 0;
}

/* SIGHUP, or another configuration. */
static void on_change(void *context)
{
	struct forward *forward = context;
	sp_auto_free struct sp_config *config = calloc(1, sizeof(*config));
	struct sp_err err = {0};
	int bad = sp_audit_reopen(forward->audit, &err);

	if (bad) {
		(void)sp_err_prefix(&err, bad, "the old audit file stays in use");
		(void)sp_cli_fail(forward->cli, &err);
	}
	bad = config ? sp_cli_config_again(forward->cli, config, &err)
		     : sp_fail(&err, -ENOMEM, "out of memory");
	if (!bad)
		bad = take_config(forward, config, &err);
	if (bad) {
		(void)sp_err_prefix(&err, bad, "reload failed, the values before stay in use");
		(void)sp_cli_fail(forward->cli, &err);
	}
}

static void on_stop(void *context)
{
	struct forward *forward = context;
	struct client *client;

	forward->stopping = true;
	forward_try_exit(forward);
	forward_streams_cut(forward, "the manager stops");
	for (client = TAILQ_FIRST(&forward->clients); client; client = TAILQ_NEXT(client, entry))
		client_stop(client);
}

static int open_journal(struct forward *forward, struct sp_err *err)
{
	char directory[PATH_MAX + 8];
	int bad;

	(void)snprintf(directory, sizeof(directory), "%s/used", forward->config->state_dir);
	bad = sp_journal_open(directory, &forward->journal, err);
	return bad ? sp_err_prefix(err, bad, "journal of used capabilities") : 0;
}

static int open_state(
    struct forward *forward, const char *records, const char *audit, struct sp_err *err)
{
	int bad = sp_audit_open(audit, &forward->audit, err);

	if (!bad)
		sp_audit_attach(forward->audit, forward->loop);
	if (!bad)
		bad = sp_store_open(records, SP_STORE_CREATE, &forward->store, err);
	if (!bad)
		bad = sp_holder_open(forward->store, &forward->holder, err);
	if (!bad)
		bad = open_journal(forward, err);
	return bad;
}

static int open_links(struct forward *forward, struct sp_err *err)
{
	struct link_options options = {
	    .loop = forward->loop, .store = forward->store, .holder = forward->holder};
	int bad = link_limits(forward->config, &options, err);

	sp_attest_private();
	if (!bad && link_set_new(&options, &forward_link_handlers, forward, &forward->links) < 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	return bad;
}

/* Whoever is not named in allow_uids cannot even connect when nobody is. */
static int serve(struct forward *forward, const char *socket, struct sp_err *err)
{
	mode_t mode = forward->config->manager_allow.count ? 0666 : 0600;
	int bad = sp_service_listen(
	    forward->service, socket, mode, FORWARD_CLIENTS_MAX, forward_accept, forward, err);

	if (!bad)
		bad = sp_service_on_change(
		    forward->service, sp_cli_config_path(forward->cli), on_change, forward, err);
	if (bad)
		return bad;
	sp_service_on_stop(forward->service, on_stop, forward);
	return sp_service_run(forward->service, err);
}

static void close_all(struct forward *forward)
{
	link_set_free(forward->links);
	forward_leases_close(forward);
	keys_close(&forward->keys);
	if (forward->journal)
		sp_journal_close(forward->journal);
	if (forward->holder)
		sp_holder_close(forward->holder);
	if (forward->store)
		sp_store_close(forward->store);
	sp_audit_close(forward->audit);
	sp_service_free(forward->service);
}

static const char *text_or(const struct sp_cli *cli, const char *option, const char *fallback)
{
	const char *given = sp_cli_text(cli, option);

	return given ? given : fallback;
}

static int run(struct forward *forward, struct sp_cli *cli, struct sp_err *err)
{
	const struct sp_config *config = forward->config;
	const char *audit = text_or(cli, "audit", config->audit_file);
	char records[PATH_MAX + 8];
	int bad = sp_service_new(&forward->service, err);

	if (bad)
		return bad;
	(void)snprintf(records, sizeof(records), "%s/records", config->state_dir);
	forward->loop = sp_service_loop(forward->service);
	forward->keys = (struct keys){.verb = "forward",
	    .service = forward->service,
	    .realm = text_or(cli, "realm", config->realm),
	    .source = text_or(cli, "keys", config->keys_bundle),
	    .roots = config->keys_root};
	TAILQ_INIT(&forward->clients);
	TAILQ_INIT(&forward->dirty);
	forward_timers_init(forward);
	forward_streams_init(forward);
	bad = open_state(forward, text_or(cli, "records", records), *audit ? audit : NULL, err);
	if (!bad)
		bad = keys_open(&forward->keys, err);
	if (!bad)
		bad = open_links(forward, err);
	if (!bad)
		bad = forward_leases_open(forward, err);
	if (!bad)
		bad = serve(forward, text_or(cli, "listen", config->manager_socket), err);
	return bad;
}

int verb_forward(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	sp_auto_free struct sp_config *own = config ? malloc(sizeof(*own)) : NULL;
	struct forward forward = {.cli = cli, .config = own};
	struct sp_err err = {0};
	int bad;

	if (!own)
		return config ? SP_EXIT_FAILED : SP_EXIT_USAGE;
	*own = *config;
	raise_descriptors();
	bad = run(&forward, cli, &err);
	close_all(&forward);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
