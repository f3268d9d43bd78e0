/* Claims out of a token's JSON, closed for each purpose, and back. */
#include "token/capability.h"

#include <string.h>
#include "base/base64.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "token/claims_quick.h"

/* The claims as values that the object owns. */
struct raw {
	const json_t *iss, *sub, *aud, *iat, *nbf, *exp, *jti, *caller, *purpose, *route;
	const json_t *access, *session, *port, *protocol;
};

static int take_name(
    const json_t *value, const char *what, char ret[SP_NAME_MAX + 1], struct sp_err *err)
{
	size_t size = json_string_length(value);

	if (size < 1 || size > SP_NAME_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "claims: `%s` is not of 1 to %d bytes", what,
		    SP_NAME_MAX);
	memcpy(ret, json_string_value(value), size + 1);
	return 0;
}

static int take_time(const json_t *value, const char *what, int64_t *ret, struct sp_err *err)
{
	if (!sp_time_parse(json_string_value(value), ret))
		return sp_fail(err, SP_E_BAD_RECORD, "claims: `%s` is no time", what);
	return 0;
}

static int take_times(const struct raw *raw, struct sp_claims *claims, struct sp_err *err)
{
	int bad = take_time(raw->iat, "iat", &claims->issued_at, err);

	if (!bad)
		bad = take_time(raw->nbf, "nbf", &claims->not_before, err);
	if (!bad)
		bad = take_time(raw->exp, "exp", &claims->expires_at, err);
	if (bad)
		return bad;
	if (claims->not_before != claims->issued_at || claims->expires_at <= claims->issued_at)
		return sp_fail(err, SP_E_BAD_RECORD, "claims: not `nbf` = `iat` < `exp`");
	return 0;
}

static int take_jti(const json_t *value, char ret[SP_JTI_SIZE], struct sp_err *err)
{
	unsigned char bytes[16];
	size_t size;

	if (!sp_base64_decode_public(json_string_value(value), json_string_length(value), true,
		bytes, sizeof(bytes), &size) ||
	    size != sizeof(bytes))
		return sp_fail(err, SP_E_BAD_RECORD, "claims: `jti` is not 128 bits in base64url");
	memcpy(ret, json_string_value(value), SP_JTI_SIZE);
	return 0;
}

static int take_access(const json_t *access, struct sp_claims *claims, struct sp_err *err)
{
	size_t count = json_array_size(access);

	if (count > SP_ACCESS_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "claims: `access` has more than %d entries",
		    SP_ACCESS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *entry = json_string_value(json_array_get(access, i));
		if (!entry || !sp_access_entry_valid(entry) ||
		    strlen(entry) >= sizeof(claims->access[i]))
			return sp_fail(
			    err, SP_E_BAD_RECORD, "claims: `access` names no operation at %zu", i);
		memcpy(claims->access[i], entry, strlen(entry) + 1);
	}
	claims->access_count = (unsigned)count;
	return 0;
}

static int take_port(const struct raw *raw, struct sp_claims *claims, struct sp_err *err)
{
	json_int_t port = json_integer_value(raw->port);

	if (port < 1 || port > 65535)
		return sp_fail(err, SP_E_BAD_RECORD, "claims: `port` is not within 1 to 65535");
	if (!sp_protocol_parse(json_string_value(raw->protocol), &claims->protocol))
		return sp_fail(err, SP_E_BAD_RECORD, "claims: unknown `protocol`");
	claims->port = (uint16_t)port;
	return 0;
}

/* Material for one purpose has nothing that another purpose reads. */
static int check_purpose_set(enum sp_purpose purpose, const struct raw *raw, struct sp_err *err)
{
	bool list = purpose == SP_PURPOSE_CONTROL || purpose == SP_PURPOSE_MANAGE;
	bool port = purpose == SP_PURPOSE_SERVICE_PORT;

	if (list != (raw->access != NULL) ||
	    (purpose == SP_PURPOSE_ATTACH) != (raw->session != NULL) ||
	    port != (raw->port != NULL) || port != (raw->protocol != NULL))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "claims: not the set of claims that purpose %s has", sp_purpose_name(purpose));
	return 0;
}

static int take_purpose(const struct raw *raw, struct sp_claims *claims, struct sp_err *err)
{
	int bad;

	if (!sp_purpose_parse(json_string_value(raw->purpose), &claims->purpose))
		return sp_fail(err, SP_E_BAD_RECORD, "claims: unknown `purpose`");
	claims->audience_fits =
	    strcmp(json_string_value(raw->aud), sp_purpose_audience(claims->purpose)) == 0;
	bad = check_purpose_set(claims->purpose, raw, err);
	if (bad)
		return bad;
	if (raw->access)
		return take_access(raw->access, claims, err);
	if (raw->session)
		return sp_id_copy(
		    json_string_value(raw->session), "claims: `session`", claims->session, err);
	return take_port(raw, claims, err);
}

static int take(const json_t *object, struct raw *raw, struct sp_err *err)
{
	const struct sp_json_field fields[] = {
	    {"iss", SP_JSON_STRING, false, &raw->iss},
	    {"sub", SP_JSON_STRING, false, &raw->sub},
	    {"aud", SP_JSON_STRING, false, &raw->aud},
	    {"iat", SP_JSON_STRING, false, &raw->iat},
	    {"nbf", SP_JSON_STRING, false, &raw->nbf},
	    {"exp", SP_JSON_STRING, false, &raw->exp},
	    {"jti", SP_JSON_STRING, false, &raw->jti},
	    {"caller", SP_JSON_STRING, false, &raw->caller},
	    {"purpose", SP_JSON_STRING, false, &raw->purpose},
	    {"route", SP_JSON_OBJECT, false, &raw->route},
	    {"access", SP_JSON_ARRAY, true, &raw->access},
	    {"session", SP_JSON_STRING, true, &raw->session},
	    {"port", SP_JSON_INTEGER, true, &raw->port},
	    {"protocol", SP_JSON_STRING, true, &raw->protocol},
	};

	return sp_json_take(object, "claims", fields, SP_COUNT(fields), err);
}

int sp_claims_read(const char *text, size_t size, struct sp_claims *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	struct sp_claims claims = {0};
	struct raw raw;
	int bad = sp_json_parse(text, size, &object, err);

	if (!bad)
		bad = take(object, &raw, err);
	if (!bad)
		bad = take_name(raw.iss, "iss", claims.issuer, err);
	if (!bad)
		bad = take_name(raw.caller, "caller", claims.caller, err);
	if (!bad)
		bad = sp_id_copy(
		    json_string_value(raw.sub), "claims: `sub`", claims.identity.sandbox, err);
	if (!bad)
		bad = take_times(&raw, &claims, err);
	if (!bad)
		bad = take_jti(raw.jti, claims.jti, err);
	if (!bad)
		bad = sp_route_parse(raw.route, &claims.identity.route, err);
	if (!bad)
		bad = take_purpose(&raw, &claims, err);
	if (!bad)
		*ret = claims;
	return bad;
}

int sp_claims_parse(const char *text, size_t size, struct sp_claims *ret, struct sp_err *err)
{
	struct sp_claims claims;

	if (!sp_claims_quick(text, size, &claims))
		return sp_claims_read(text, size, ret, err);
	*ret = claims;
	return 0;
}

static int add_access(json_t *object, const struct sp_claims *claims)
{
	json_t *access = json_array();

	for (unsigned i = 0; i < claims->access_count; i++)
		if (json_array_append_new(access, json_string(claims->access[i])) < 0) {
			json_decref(access);
			return -1;
		}
	return json_object_set_new(object, "access", access);
}

static int add_purpose(json_t *object, const struct sp_claims *claims)
{
	switch (claims->purpose) {
	case SP_PURPOSE_ATTACH:
		return json_object_set_new(object, "session", json_string(claims->session));
	case SP_PURPOSE_SERVICE_PORT:
		if (json_object_set_new(object, "port", json_integer(claims->port)) < 0)
			return -1;
		return json_object_set_new(
		    object, "protocol", json_string(sp_protocol_name(claims->protocol)));
	case SP_PURPOSE_CONTROL:
	case SP_PURPOSE_MANAGE:
	case SP_PURPOSE_COUNT:
		break;
	}
	return add_access(object, claims);
}

json_t *sp_claims_json(const struct sp_claims *claims)
{
	sp_auto_json json_t *object = NULL;
	char issued[SP_TIME_SIZE], not_before[SP_TIME_SIZE], expires[SP_TIME_SIZE];

	sp_time_format(claims->issued_at, issued);
	sp_time_format(claims->not_before, not_before);
	sp_time_format(claims->expires_at, expires);
	object = json_pack("{ssssssssssssssssssso}", "iss", claims->issuer, "sub",
	    claims->identity.sandbox, "aud", sp_purpose_audience(claims->purpose), "iat", issued,
	    "nbf", not_before, "exp", expires, "jti", claims->jti, "caller", claims->caller,
	    "purpose", sp_purpose_name(claims->purpose), "route",
	    sp_route_json(&claims->identity.route));
	if (!object || add_purpose(object, claims) < 0)
		return NULL;
	return sp_steal(&object);
}
