/* A gateway's certificate and key: read at the start, on SIGHUP, and when one of them changes. */
#include <string.h>
#include <sys/socket.h>
#include "spacebridge/gateway.h"

static void on_failed(void *context)
{
	const struct gateway *gateway = context;

	sp_service_release(gateway->service);
}

static const struct sp_tls_handlers TLS = {.accepted = visit_accept, .failed = on_failed};

static int both_given(const struct sp_config *config, struct sp_err *err)
{
	if (!*config->tls_cert || !*config->tls_key)
		return sp_fail(err, SP_E_CONFIG,
		    "[gateway] tls_cert, tls_key: a gateway has both or, from its start, neither");
	return 0;
}

/* Whoever renews them replaces one after the other: in between they are not of each other, and what
 * was stays in use until the next change. */
static void on_changed(void *context)
{
	struct gateway *gateway = context;
	const struct sp_config *config = &gateway->config;
	struct sp_err err = {0};
	int bad = sp_tls_load(gateway->tls, config->tls_cert, config->tls_key, &err);

	if (!bad)
		return;
	(void)sp_err_prefix(&err, bad, "the certificate before stays in use");
	(void)sp_cli_fail(gateway->cli, &err);
}

static int watch(
    struct gateway *gateway, const char *path, struct sp_watch **at, struct sp_err *err)
{
	struct sp_watch *made;
	int bad = sp_watch_new(gateway->loop, path, on_changed, gateway, &made, err);

	if (bad)
		return bad;
	sp_watch_free(*at);
	*at = made;
	return 0;
}

static int watch_both(struct gateway *gateway, const struct sp_config *config, struct sp_err *err)
{
	int bad = watch(gateway, config->tls_cert, &gateway->cert_watch, err);

	return bad ? bad : watch(gateway, config->tls_key, &gateway->key_watch, err);
}

int gateway_tls_load(struct gateway *gateway, const struct sp_config *config, struct sp_err *err)
{
	const struct sp_config *before = &gateway->config;
	int bad = both_given(config, err);

	if (!bad)
		bad = sp_tls_load(gateway->tls, config->tls_cert, config->tls_key, err);
	if (bad || (strcmp(before->tls_cert, config->tls_cert) == 0 &&
		       strcmp(before->tls_key, config->tls_key) == 0))
		return bad;
	return watch_both(gateway, config, err);
}

static bool is_tcp(int listener)
{
	int domain = AF_UNSPEC;
	socklen_t size = sizeof(domain);

	return getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       domain != AF_UNIX;
}

/* Nothing is accepted before the loop runs. */
int gateway_tls_open(struct gateway *gateway, struct sp_err *err)
{
	const struct sp_config *config = &gateway->config;
	int bad;

	if (!*config->tls_cert && !*config->tls_key)
		return 0;
	bad = both_given(config, err);
	if (bad || !is_tcp(sp_service_listener(gateway->service)))
		return bad;
	bad = sp_tls_new(
	    config->tls_cert, config->tls_key, gateway->loop, &TLS, gateway, &gateway->tls, err);
	return bad ? bad : watch_both(gateway, config, err);
}

void gateway_tls_close(struct gateway *gateway)
{
	sp_watch_free(gateway->cert_watch);
	sp_watch_free(gateway->key_watch);
	sp_tls_free(gateway->tls);
}
