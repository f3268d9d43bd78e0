/* What may be sent, and where to. */
#include "call/send.h"

#include <string.h>

#define SCHEME "unix:"

int sp_send_stage_take(const json_t *record, bool streams, struct sp_request *ret_request,
    const char **ret_path, struct sp_err *err)
{
	struct sp_request request;
	int bad = sp_request_parse(record, SP_STATE_MINTED, &request, err);

	if (bad)
		return bad;
	if (request.op->stream && !streams)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "request: `%s` is a stream and has no place in a pipeline (spacebridge "
		    "connect)",
		    request.op->name);
	if (strncmp(request.endpoint, SCHEME "/", strlen(SCHEME "/")) != 0)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "request: `endpoint` is not unix: and an absolute path: %.200s",
		    request.endpoint);
	*ret_request = request;
	*ret_path = request.endpoint + strlen(SCHEME);
	return 0;
}
