/* The description of the entry, as openapi.json beside this file has it. */
#include "spacestream/embedded.h"
#include "spacestream/serve.h"

EMBEDDED(openapi_json, "openapi.json");

void serve_openapi(void *context, const struct sp_asked *asked)
{
	struct web *web = context;

	(void)asked;
	web_answer(web, 200, "application/json", "", openapi_json, EMBEDDED_SIZE(openapi_json));
	web_next(web);
}
