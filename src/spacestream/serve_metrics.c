/* Counters as Prometheus reads them (text format 0.0.4). Numbers alone: no caller, no sandbox. */
#include <inttypes.h>
#include <stdio.h>
#include "record/reason.h"
#include "spacestream/serve.h"

static const char *outcome_name(unsigned outcome)
{
	switch (outcome) {
	case SERVE_OK:
		return "ok";
	case SERVE_REFRESH:
		return sp_decision_name(SP_REFRESH_ROUTE);
	case SERVE_DENY:
		return sp_decision_name(SP_DENY);
	default:
		return sp_error_name((enum sp_error_kind)(outcome - SERVE_ERROR));
	}
}

static void write_all(const struct server *server, FILE *out)
{
	(void)fprintf(out,
	    "# HELP space_http_connections Connections that are open.\n"
	    "# TYPE space_http_connections gauge\nspace_http_connections %u\n"
	    "# HELP space_http_operations_in_flight Operations that are not answered yet.\n"
	    "# TYPE space_http_operations_in_flight gauge\nspace_http_operations_in_flight %u\n"
	    "# HELP space_http_streams Streams that are open, or are being opened.\n"
	    "# TYPE space_http_streams gauge\nspace_http_streams %u\n"
	    "# HELP space_http_streams_cut_total Streams that waited for a newer route.\n"
	    "# TYPE space_http_streams_cut_total counter\n"
	    "space_http_streams_cut_total %" PRIu64 "\n"
	    "# HELP space_http_streams_replaced_total Of them, opened again.\n"
	    "# TYPE space_http_streams_replaced_total counter\n"
	    "space_http_streams_replaced_total %" PRIu64 "\n"
	    "# HELP space_http_requests_total Requests, by the status of their answer.\n"
	    "# TYPE space_http_requests_total counter\n",
	    server->connections, server->flying, server->streams, server->cut, server->replaced);
	for (unsigned i = 0; i < SERVE_STATUSES; i++)
		(void)fprintf(out, "space_http_requests_total{status=\"%d\"} %" PRIu64 "\n",
		    status_at(i), server->requests[i]);
	(void)fprintf(out, "# HELP space_http_operations_total Operations, by what they ended in.\n"
			   "# TYPE space_http_operations_total counter\n");
	for (unsigned i = 0; i < SERVE_OUTCOMES; i++)
		(void)fprintf(out, "space_http_operations_total{outcome=\"%s\"} %" PRIu64 "\n",
		    outcome_name(i), server->outcomes[i]);
}

void serve_metrics(void *context, const struct sp_asked *asked)
{
	struct web *web = context;
	char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");
	long size = 0;

	(void)asked;
	if (out) {
		write_all(web->server, out);
		size = ftell(out);
		(void)fclose(out);
	}
	if (size <= 0 || size >= (long)sizeof(text)) {
		web_fail(web, 500, SP_ERROR_INTERNAL, "out of memory");
		return;
	}
	web_answer(web, 200, "text/plain; version=0.0.4; charset=utf-8", "", text, (size_t)size);
	web_next(web);
}
