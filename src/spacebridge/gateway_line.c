/* The one line before a stream: what is asked of the gateway. */
#include <errno.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "spacebridge/gateway.h"

static int take_id(struct visit *visit, const json_t *id, struct sp_err *err)
{
	size_t length = json_string_length(id);

	if (!id)
		return 0;
	if (length < 1 || length > SP_REQUEST_ID_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "`id` is not 1 to %d bytes", SP_REQUEST_ID_MAX);
	visit->id = strdup(json_string_value(id));
	visit->id_json = json_dumps(id, JSON_ENCODE_ANY);
	return visit->id && visit->id_json ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

int visit_line_parse(struct visit *visit, const char *line, size_t size, json_t **ret_record,
    struct gateway_asked *ret, struct sp_err *err)
{
	sp_auto_json json_t *record = NULL;
	const json_t *cap, *port, *protocol, *id, *framed;
	const struct sp_json_field fields[] = {
	    {"cap", SP_JSON_STRING, false, &cap},
	    {"port", SP_JSON_INTEGER, false, &port},
	    {"protocol", SP_JSON_STRING, false, &protocol},
	    {"id", SP_JSON_STRING, true, &id},
	    {"framed", SP_JSON_BOOL, true, &framed},
	};
	enum sp_protocol name;
	int bad = sp_json_parse(line, size, &record, err);

	if (!bad)
		bad = sp_json_take(record, "line", fields, SP_COUNT(fields), err);
	if (!bad)
		bad = take_id(visit, id, err);
	if (bad)
		return bad;
	if (json_integer_value(port) < 1 || json_integer_value(port) > UINT16_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "line: `port` is not a port from 1 to 65535");
	if (!sp_protocol_parse(json_string_value(protocol), &name))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "line: `protocol` is none of tcp, http, websocket, tls");
	visit->framed = json_is_true(framed);
	visit->protocol = name;
	*ret = (struct gateway_asked){.token = json_string_value(cap),
	    .port = (uint16_t)json_integer_value(port),
	    .protocol = (int)name,
	    .once = true};
	*ret_record = sp_steal(&record);
	return 0;
}
