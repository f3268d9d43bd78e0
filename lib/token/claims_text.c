/* Claims as text without a tree: what a token carries, and what `spacecap verify` adds. */
#include "base/text.h"
#include "token/capability.h"

/* A value that needs no escape: ids, times, names of our tables. `before` opens its quotes. */
static void put_plain(struct sp_out *out, const char *before, const char *value)
{
	sp_out_text(out, before);
	sp_out_text(out, value);
	sp_out_put(out, "\"", 1);
}

static void put_name(struct sp_out *out, const char *before, const char *value)
{
	sp_out_text(out, before);
	sp_out_string(out, value, strlen(value));
}

static void put_time(struct sp_out *out, const char *before, int64_t seconds)
{
	char when[SP_TIME_SIZE];

	sp_time_format(seconds, when);
	put_plain(out, before, when);
}

static void put_route(struct sp_out *out, const struct sp_route *route)
{
	const struct sp_route_parts parts = {.execution = route->execution,
	    .attempt = route->attempt,
	    .substrate = route->substrate,
	    .worker = route->worker,
	    .worker_size = strlen(route->worker),
	    .activation = route->activation,
	    .activation_size = strlen(route->activation),
	    .pod_uid = route->pod_uid,
	    .pod_uid_size = strlen(route->pod_uid)};

	sp_out_text(out, ",\"route\":");
	sp_route_put(&parts, out);
}

static void put_purpose(struct sp_out *out, const struct sp_claims *claims)
{
	if (claims->purpose == SP_PURPOSE_ATTACH) {
		put_plain(out, ",\"session\":\"", claims->session);
	} else if (claims->purpose == SP_PURPOSE_SERVICE_PORT) {
		sp_out_text(out, ",\"port\":");
		sp_out_integer(out, claims->port);
		put_plain(out, ",\"protocol\":\"", sp_protocol_name(claims->protocol));
	} else {
		sp_out_text(out, ",\"access\":[");
		for (unsigned i = 0; i < claims->access_count; i++)
			put_plain(out, i ? ",\"" : "\"", claims->access[i]);
		sp_out_put(out, "]", 1);
	}
}

void sp_claims_put(const struct sp_claims *claims, struct sp_out *out)
{
	put_name(out, "{\"iss\":", claims->issuer);
	put_plain(out, ",\"sub\":\"", claims->identity.sandbox);
	put_plain(out, ",\"aud\":\"", sp_purpose_audience(claims->purpose));
	put_time(out, ",\"iat\":\"", claims->issued_at);
	put_time(out, ",\"nbf\":\"", claims->not_before);
	put_time(out, ",\"exp\":\"", claims->expires_at);
	put_plain(out, ",\"jti\":\"", claims->jti);
	put_name(out, ",\"caller\":", claims->caller);
	put_plain(out, ",\"purpose\":\"", sp_purpose_name(claims->purpose));
	put_route(out, &claims->identity.route);
	put_purpose(out, claims);
	sp_out_put(out, "}", 1);
}
