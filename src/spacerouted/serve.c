/* spacerouted serve: the route cache. */
#include <sodium/randombytes.h>
#include <string.h>
#include "record/reason.h"
#include "spacerouted/server.h"

static void on_stop(void *context)
{
	struct server *server = context;
	struct peer *peer;

	server->stopping = true;
	for (peer = TAILQ_FIRST(&server->peers); peer; peer = TAILQ_NEXT(peer, link)) {
		peer->ending = true;
		sp_conn_pause(peer->conn);
		server_flush(peer);
	}
	if (TAILQ_EMPTY(&server->peers))
		sp_service_exit(server->service);
}

/* What a running cache takes up from a changed file; the rest needs a restart. */
static void take_config(struct server *server, const struct sp_config *config)
{
	server->allow = config->cache_allow;
	if (server->cache)
		sp_cache_session_ttl(server->cache, config->session_ttl);
}

static void on_change(void *context)
{
	struct server *server = context;
	struct sp_config *config = calloc(1, sizeof(*config));
	struct sp_err err = {0};
	int bad;

	(void)sp_audit_reopen(server->audit, NULL);
	bad = config ? sp_cli_config_again(server->cli, config, &err)
		     : sp_fail(&err, -ENOMEM, "out of memory");
	if (!bad) {
		take_config(server, config);
	} else {
		(void)sp_err_prefix(&err, bad, "reload failed, the values before stay in use");
		(void)sp_cli_fail(server->cli, &err);
	}
	free(config);
}

static void on_told(struct ev_loop *loop, struct ev_io *io, int events)
{
	(void)loop;
	(void)events;
	server_poll(io->data);
}

static void on_wait(struct ev_loop *loop, struct ev_prepare *prepare, int events)
{
	struct server *server = prepare->data;

	(void)loop;
	(void)events;
	server->now_us = 0;
}

static void read_time_once_a_turn(struct server *server)
{
	ev_prepare_init(&server->waits, on_wait);
	server->waits.data = server;
	ev_prepare_start(sp_service_loop(server->service), &server->waits);
}

/* Some registries tell when there is something to look at. */
static void listen_to_registry(struct server *server)
{
	int fd = sp_registry_descriptor(server->registry);

	server_poll(server);
	if (fd < 0)
		return;
	ev_io_init(&server->told, on_told, fd, EV_READ);
	server->told.data = server;
	ev_io_start(sp_service_loop(server->service), &server->told);
}

static int set_up(struct server *server, const struct sp_config *config, struct sp_err *err)
{
	const char *file = sp_cli_text(server->cli, "audit");
	unsigned char key[SP_CACHE_KEY_SIZE];
	int bad;

	if (!file && config->audit_file[0])
		file = config->audit_file;
	bad = sp_audit_open(file, &server->audit, err);
	if (bad)
		return bad;
	randombytes_buf(key, sizeof(key));
	if (sp_cache_new((size_t)config->max_entries, config->session_ttl, key, &server->cache) < 0)
		return sp_fail(err, -ENOMEM, "[cache] max_entries %lld: out of memory",
		    (long long)config->max_entries);
	take_config(server, config);
	bad = sp_service_new(&server->service, err);
	if (bad)
		return bad;
	sp_audit_attach(server->audit, sp_service_loop(server->service));
	sp_service_on_stop(server->service, on_stop, server);
	read_time_once_a_turn(server);
	listen_to_registry(server);
	return sp_service_on_change(
	    server->service, sp_cli_config_path(server->cli), on_change, server, err);
}

/* Whoever else may ask must be able to reach the socket; who may is then said by his uid. */
static mode_t socket_mode(const struct server *server)
{
	for (unsigned i = 0; i < server->allow.count; i++)
		if (server->allow.uids[i] != geteuid())
			return 0666;
	return 0600;
}

int spacerouted_serve(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *path = sp_cli_text(cli, "listen");
	struct server server = {
	    .cli = cli, .polled_ms = -1, .follows = !sp_cli_flag(cli, "no-watch")};
	struct sp_err err = {0};
	int bad;

	if (!config)
		return SP_EXIT_USAGE;
	TAILQ_INIT(&server.peers);
	bad = spacerouted_open_to_stay(cli, &server.registry);
	if (bad)
		return bad;
	bad = set_up(&server, config, &err);
	if (!bad)
		bad = sp_service_listen(server.service, path ? path : config->cache_socket,
		    socket_mode(&server), SERVER_PEERS_MAX, server_on_accept, &server, &err);
	if (!bad && sp_cli_flag(cli, "warm"))
		bad = server_warm_up(&server, config->max_entries, &err);
	if (!bad)
		bad = sp_service_run(server.service, &err);
	sp_service_free(server.service);
	sp_registry_close(server.registry);
	sp_cache_free(server.cache);
	sp_audit_close(server.audit);
	free(server.spare);
	free(server.idle);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
