/* Where the entry listens: a Unix socket, or TCP that stays on this machine or speaks TLS. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "net/tcp.h"
#include "spacestream/serve.h"

static void on_failed(void *context)
{
	const struct server *server = context;

	sp_service_release(server->service);
}

static const struct sp_tls_handlers TLS = {.accepted = web_accept, .failed = on_failed};

static void on_accept(void *context, int fd)
{
	struct server *server = context;

	serve_make_room(server);
	if (server->tls)
		sp_tls_serve(server->tls, fd, (int)server->whole * 1000);
	else
		web_accept(server, fd);
}

static int listen_unix(struct server *server, const char *path, struct sp_err *err)
{
	return sp_service_listen(
	    server->service, path, 0600, SERVE_CONNECTIONS + SERVE_STREAMS, on_accept, server, err);
}

static int listen_default(struct server *server, struct sp_err *err)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/http.sock", sp_cli_config(server->cli)->run_dir);
	return listen_unix(server, path, err);
}

static int listen_tcp(struct server *server, const char *address, struct sp_err *err)
{
	int fd;
	int bad = sp_tcp_listen(address, &fd, err);

	return bad ? bad
		   : sp_service_adopt(server->service, fd, SERVE_CONNECTIONS + SERVE_STREAMS,
			 on_accept, server, err);
}

static bool is_unix(int listener)
{
	int domain = AF_UNSPEC;
	socklen_t size = sizeof(domain);

	return getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       domain == AF_UNIX;
}

void serve_tls_again(void *context)
{
	struct server *server = context;
	struct sp_err err = {0};
	int bad = sp_tls_load(server->tls, server->tls_cert, server->tls_key, &err);

	if (!bad)
		return;
	(void)sp_err_prefix(&err, bad, "the certificate before stays in use");
	(void)sp_cli_fail(server->cli, &err);
}

static int open_tls(struct server *server, struct sp_err *err)
{
	int bad;

	if (is_unix(sp_service_listener(server->service)))
		return sp_fail(
		    err, SP_E_USAGE, "--tls-cert: a Unix socket needs no TLS, and speaks none");
	bad = sp_tls_new(
	    server->tls_cert, server->tls_key, server->loop, &TLS, server, &server->tls, err);
	/* Both, as whoever renews them replaces one after the other. */
	if (!bad)
		bad = sp_service_on_change(
		    server->service, server->tls_cert, serve_tls_again, server, err);
	if (!bad)
		bad = sp_service_on_change(
		    server->service, server->tls_key, serve_tls_again, server, err);
	return bad;
}

int serve_listen(struct server *server, struct sp_err *err)
{
	const char *address = sp_cli_text(server->cli, "listen");
	int bad;

	if (!address || sp_service_inherits(server->service))
		bad = listen_default(server, err);
	else if (strncmp(address, "tcp:", 4) == 0)
		bad = listen_tcp(server, address + 4, err);
	else if (strncmp(address, "unix:", 5) == 0)
		bad = listen_unix(server, address + 5, err);
	else
		bad = sp_fail(err, SP_E_USAGE,
		    "--listen: `%.128s` is neither unix:PATH nor tcp:HOST:PORT", address);
	if (bad)
		return bad;
	sp_tcp_prepare(sp_service_listener(server->service));
	if (server->tls_cert)
		return open_tls(server, err);
	if (!sp_tcp_is_local(sp_service_listener(server->service)))
		return sp_fail(err, SP_E_USAGE,
		    "--listen: plain TCP is for loopback alone; beyond it give --tls-cert and "
		    "--tls-key, or let a TLS front speak to a server there");
	return 0;
}
