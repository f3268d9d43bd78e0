/* Where a gateway listens: its sandbox's Unix socket, another, or TCP that stays on this machine
 * or speaks TLS. */
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "net/tcp.h"
#include "spacebridge/gateway.h"

static void on_accept(void *context, int fd)
{
	struct gateway *gateway = context;

	if (gateway->tls)
		sp_tls_serve(gateway->tls, fd, (int)gateway->config.connect_timeout_ms);
	else
		visit_accept(gateway, fd);
}

/* Whoever else than we is to be the manager must be able to connect. */
static int listen_unix(struct gateway *gateway, const char *path, struct sp_err *err)
{
	mode_t mode = gateway->config.manager_uid.count ? 0666 : 0600;

	return sp_service_listen(
	    gateway->service, path, mode, GATEWAY_VISITS, on_accept, gateway, err);
}

static int listen_own(struct gateway *gateway, struct sp_err *err)
{
	char path[PATH_MAX + SP_ID_MAX + 16];
	int bad;

	(void)snprintf(path, sizeof(path), "%s/gateway", gateway->config.run_dir);
	bad = sp_directory_make(path, 0750, err);
	if (bad)
		return bad;
	(void)snprintf(
	    path, sizeof(path), "%s/gateway/%s.sock", gateway->config.run_dir, gateway->sandbox);
	return listen_unix(gateway, path, err);
}

static int listen_tcp(struct gateway *gateway, const char *address, struct sp_err *err)
{
	int fd;
	int bad = sp_tcp_listen(address, &fd, err);

	if (bad)
		return bad;
	return sp_service_adopt(gateway->service, fd, GATEWAY_VISITS, on_accept, gateway, err);
}

int gateway_listen(struct gateway *gateway, const char *address, struct sp_err *err)
{
	int bad;

	if (!*address || sp_service_inherits(gateway->service))
		bad = listen_own(gateway, err);
	else if (strncmp(address, "tcp:", 4) == 0)
		bad = listen_tcp(gateway, address + 4, err);
	else if (strncmp(address, "unix:", 5) == 0)
		bad = listen_unix(gateway, address + 5, err);
	else
		bad = sp_fail(err, SP_E_CONFIG,
		    "[gateway] listen: `%.128s` is neither unix:PATH nor tcp:HOST:PORT", address);
	/* Also what was handed over; a Unix socket has no such options. */
	if (!bad)
		sp_tcp_prepare(sp_service_listener(gateway->service));
	if (!bad)
		bad = gateway_tls_open(gateway, err);
	if (!bad && !gateway->tls && !sp_tcp_is_local(sp_service_listener(gateway->service)))
		bad = sp_fail(err, SP_E_CONFIG,
		    "[gateway] listen: plain TCP is for loopback alone; beyond it give tls_cert "
		    "and tls_key, or let a TLS front speak to a gateway there");
	return bad;
}
