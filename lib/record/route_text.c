/* A route as text, without a tree in between. */
#include <string.h>
#include "record/route.h"

/* Ids and UUIDs need no escape. */
void sp_route_put(const struct sp_route_parts *parts, struct sp_out *out)
{
	sp_out_text(out, "{\"execution\":");
	sp_out_integer(out, parts->execution);
	sp_out_text(out, ",\"worker\":\"");
	sp_out_put(out, parts->worker, parts->worker_size);
	if (parts->substrate == SP_SUBSTRATE_KUBERNETES) {
		sp_out_text(out, "\",\"substrate\":\"kubernetes\",\"pod_uid\":\"");
		sp_out_put(out, parts->pod_uid, parts->pod_uid_size);
	} else {
		sp_out_text(out, "\",\"substrate\":\"host");
	}
	sp_out_text(out, "\",\"activation\":\"");
	sp_out_put(out, parts->activation, parts->activation_size);
	sp_out_text(out, "\",\"attempt\":");
	sp_out_integer(out, parts->attempt);
	sp_out_text(out, "}");
}

size_t sp_route_text(const struct sp_route *route, char text[SP_ROUTE_TEXT_SIZE])
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
	struct sp_out out = {.at = text, .room = SP_ROUTE_TEXT_SIZE - 1};

	sp_route_put(&parts, &out);
	text[out.used] = '\0';
	return out.used;
}
