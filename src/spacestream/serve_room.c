/*
 * Who makes room when few places are left: the stranger who has been silent for longest, be it in
 * the middle of a handshake or behind it. Whoever has something in flight is left alone, however
 * old he is.
 */
#include "base/io.h"
#include "spacestream/serve.h"

static bool is_silent(const struct web *web)
{
	if (web->out_start < web->out_end)
		return false;
	switch (web->phase) {
	case WEB_HEAD:
		return true;
	case WEB_BODY:
		/* A head alone proves nothing: a token is looked at with the first record. */
		return web->op_count == 0 && web->body.number == 0 && !web->begun;
	case WEB_OVER:
		return web->shut;
	default:
		return false;
	}
}

static struct web *find_silent(const struct server *server)
{
	struct web *web;

	TAILQ_FOREACH(web, &server->webs, link)
	if (is_silent(web))
		return web;
	return NULL;
}

void serve_make_room(struct server *server)
{
	unsigned shaking = server->tls ? sp_tls_shaking(server->tls) : 0;
	int64_t since = shaking > 0 ? sp_tls_shaking_since(server->tls) : INT64_MAX;
	struct web *web;

	if (server->connections - server->streams + shaking < SERVE_CONNECTIONS - SERVE_SPARE)
		return;
	web = find_silent(server);
	if (web && web->sign_ms <= since)
		web_free(web);
	else if (shaking > 0)
		sp_tls_give_up(server->tls);
}
