/* From a routed record, as a tree or as it came, to the claims that its capability will have. */
#include "token/order.h"

#include <string.h>
#include "base/util.h"
#include "record/quick.h"

static bool names_access(const struct sp_order *order)
{
	return order->op->purpose == SP_PURPOSE_CONTROL || order->op->purpose == SP_PURPOSE_MANAGE;
}

bool sp_order_reusable(const struct sp_order *order)
{
	return names_access(order) && !order->op->single_use && order->attempted == 1;
}

/* What is too long for an entry names no operation, and covers none. */
static void read_granted(const json_t *access, struct sp_order *order)
{
	for (size_t i = 0; i < json_array_size(access) && i < SP_ACCESS_MAX; i++) {
		const json_t *entry = json_array_get(access, i);
		size_t length = json_string_length(entry);
		if (length >= sizeof(order->granted[0]))
			continue;
		memcpy(
		    order->granted[order->granted_count++], json_string_value(entry), length + 1);
	}
}

static int read_session(const json_t *args, struct sp_claims *claims, struct sp_err *err)
{
	const char *session = json_string_value(json_object_get(args, "session"));

	if (!session)
		return sp_fail(err, SP_E_BAD_RECORD, "args: `session` is missing or no string");
	return sp_id_copy(session, "args: `session`", claims->session, err);
}

static int read_port(const json_t *args, struct sp_claims *claims, struct sp_err *err)
{
	json_int_t port = json_integer_value(json_object_get(args, "port"));
	const char *protocol = json_string_value(json_object_get(args, "protocol"));

	if (port < 1 || port > 65535)
		return sp_fail(err, SP_E_BAD_RECORD, "args: `port` is not within 1 to 65535");
	if (!protocol || !sp_protocol_parse(protocol, &claims->protocol))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "args: `protocol` is none of tcp, http, websocket, tls");
	claims->port = (uint16_t)port;
	return 0;
}

int sp_order_read(const struct sp_request *request, struct sp_order *ret, struct sp_err *err)
{
	size_t caller = strlen(request->caller);

	if (caller > SP_NAME_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "request: `caller` has more than %d bytes", SP_NAME_MAX);
	memset(ret, 0, sizeof(*ret));
	if (request->id)
		memcpy(ret->id, request->id, strlen(request->id) + 1);
	ret->op = request->op;
	ret->attempted = request->attempted;
	ret->authorized_until = request->authorized_until;
	memcpy(ret->claims.caller, request->caller, caller + 1);
	memcpy(ret->claims.identity.sandbox, request->sandbox, strlen(request->sandbox) + 1);
	ret->claims.identity.route = request->route;
	read_granted(request->access, ret);
	if (ret->op->purpose == SP_PURPOSE_ATTACH)
		return read_session(request->args, &ret->claims, err);
	if (ret->op->purpose == SP_PURPOSE_SERVICE_PORT)
		return read_port(request->args, &ret->claims, err);
	return 0;
}

enum field {
	ID,
	OP,
	SANDBOX,
	ARGS,
	CALLER,
	ROUTE,
	ENDPOINT,
	ACCESS,
	AUTHORIZED_UNTIL,
	ATTEMPTED,
	FIELDS
};

static const char *const NAMES[FIELDS] = {"id", "op", "sandbox", "args", "caller", "route",
    "endpoint", "access", "authorized_until", "attempted"};

/* Each field that a routed record must have, `id` where it has one, and none besides. */
static bool take_fields(const char *line, size_t size, struct sp_scan_member *members,
    const struct sp_scan_member **fields)
{
	unsigned count;

	if (!sp_json_scan_compact(line, size, members, FIELDS, &count))
		return false;
	for (unsigned i = 0; i < FIELDS; i++) {
		fields[i] = sp_scan_find(members, count, NAMES[i]);
		if (!fields[i] && i != ID)
			return false;
	}
	return count == FIELDS - (fields[ID] == NULL) && fields[ARGS]->kind == '{' &&
	       fields[ENDPOINT]->kind == '"';
}

static bool take_op(const struct sp_scan_member *member, const struct sp_op **ret)
{
	char name[SP_ACCESS_TEXT_SIZE];

	if (!sp_quick_text(member, name, sizeof(name)))
		return false;
	*ret = sp_op_find(name);
	return *ret != NULL;
}

static bool take_attempted(const struct sp_scan_member *member, int *ret)
{
	int64_t number;

	if (!sp_quick_integer(member, &number) || (number != 1 && number != 2))
		return false;
	*ret = (int)number;
	return true;
}

bool sp_order_quick(const char *line, size_t size, struct sp_order *ret)
{
	struct sp_scan_member members[FIELDS];
	const struct sp_scan_member *fields[FIELDS];
	struct sp_claims *claims = &ret->claims;

	memset(ret, 0, sizeof(*ret));
	if (!take_fields(line, size, members, fields) || !take_op(fields[OP], &ret->op) ||
	    !names_access(ret) || !take_attempted(fields[ATTEMPTED], &ret->attempted))
		return false;
	if (fields[ID] &&
	    (!sp_quick_text(fields[ID], ret->id, sizeof(ret->id)) || ret->id[0] == '\0'))
		return false;
	return sp_quick_id(fields[SANDBOX], claims->identity.sandbox) &&
	       sp_quick_text(fields[CALLER], claims->caller, sizeof(claims->caller)) &&
	       claims->caller[0] && sp_quick_route(fields[ROUTE], &claims->identity.route) &&
	       sp_quick_access(fields[ACCESS], ret->granted, &ret->granted_count) &&
	       sp_quick_time(fields[AUTHORIZED_UNTIL], &ret->authorized_until);
}

static bool is_granted(const struct sp_order *order)
{
	for (unsigned i = 0; i < order->granted_count; i++)
		if (sp_access_entry_covers_op(order->granted[i], order->op, true))
			return true;
	return false;
}

/* Does the entry allow anything that a multi-use capability of this purpose can be used for? */
static bool worth_carrying(const char *entry, enum sp_purpose purpose)
{
	const struct sp_op *op;

	for (size_t i = 0; (op = sp_op_at(i)); i++)
		if (op->purpose == purpose && !op->single_use &&
		    sp_access_entry_covers_op(entry, op, false))
			return true;
	return false;
}

static bool is_carried(const struct sp_claims *claims, const char *entry)
{
	for (unsigned i = 0; i < claims->access_count; i++)
		if (strcmp(claims->access[i], entry) == 0)
			return true;
	return false;
}

static void carry(struct sp_claims *claims, const char *entry)
{
	memcpy(claims->access[claims->access_count++], entry, strlen(entry) + 1);
}

static void carry_granted(struct sp_order *order)
{
	struct sp_claims *claims = &order->claims;

	if (order->op->single_use) {
		carry(claims, order->op->name);
		return;
	}
	for (unsigned i = 0; i < order->granted_count; i++)
		if (worth_carrying(order->granted[i], claims->purpose) &&
		    !is_carried(claims, order->granted[i]))
			carry(claims, order->granted[i]);
}

enum sp_reason sp_order_claims(struct sp_order *order, int64_t now, int64_t life)
{
	struct sp_claims *claims = &order->claims;

	claims->issued_at = claims->not_before = now;
	claims->expires_at =
	    now + life < order->authorized_until ? now + life : order->authorized_until;
	claims->purpose = order->op->purpose;
	claims->audience_fits = true;
	claims->access_count = 0;
	if (names_access(order))
		carry_granted(order);
	if (order->authorized_until <= now)
		return SP_REASON_UNAUTHORIZED;
	return is_granted(order) ? SP_REASON_NONE : SP_REASON_ACCESS;
}
