/* What there is to ask for: one row each. What a row's path has left open is in asked->parts. */
#include <stdio.h>
#include "base/util.h"
#include "record/result.h"
#include "spacestream/serve.h"
#include "spacestream/serve_page.h"

static void serve_healthz(void *context, const struct sp_asked *asked)
{
	static const char well[] = "{\"status\":\"ok\"}\n";
	struct web *web = context;

	(void)asked;
	web_answer(web, 200, "application/json", "", well, sizeof(well) - 1);
	web_next(web);
}

#define GET  SP_METHOD(GET)
#define HEAD SP_METHOD(HEAD)
#define POST SP_METHOD(POST)
#define PUT  SP_METHOD(PUT)
#define ANY  (~(uint64_t)0)

static const struct sp_target_row ROWS[] = {
    {"/v1/ops", POST, serve_ops},
    {"/v1/sandboxes/{id}/sessions/{session}/attach", GET, serve_attach},
    {"/v1/sandboxes/{id}/watch", GET, serve_watch},
    {"/v1/sandboxes/{id}/tree", GET, serve_tree_get},
    {"/v1/sandboxes/{id}/tree", PUT, serve_tree_put},
    {"/v1/sandboxes/{id}/ports/{port}/*", ANY, serve_port},
    {"/v1/openapi.json", GET | HEAD, serve_openapi},
    {"/healthz", GET | HEAD, serve_healthz},
    {"/metrics", GET | HEAD, serve_metrics},
    {"/", GET | HEAD, serve_page},
    {"/page/{name}", GET | HEAD, serve_page},
};

static void refuse(struct web *web, uint64_t allowed)
{
	char names[128], words[160], field[160];

	if (!allowed) {
		web_fail(web, 404, SP_ERROR_BAD_RECORD, "there is nothing here");
		return;
	}
	sp_target_methods(allowed, " or ", names, sizeof(names));
	(void)snprintf(words, sizeof(words), "%s here", names);
	sp_target_methods(allowed, ", ", names, sizeof(names));
	(void)snprintf(field, sizeof(field), "Allow: %s\r\n", names);
	web_fail_record(web, 405, field, sp_result_error(NULL, SP_ERROR_BAD_RECORD, false, words));
}

void serve_route(struct web *web, const struct sp_head *head, size_t head_size)
{
	struct sp_asked asked;
	uint64_t allowed;
	const struct sp_target_row *row =
	    sp_target_find(ROWS, SP_COUNT(ROWS), head, head_size, &asked, &allowed);

	if (!row) {
		refuse(web, allowed);
		return;
	}
	/* A body that nobody reads is not the next request. */
	if (!(row->methods & ~(GET | HEAD)) && (head->chunked || head->has_length))
		web->keep_alive = false;
	row->take(web, &asked);
}
