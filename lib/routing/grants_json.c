/* Rights and grants in and out of JSON. */
#include "routing/grants.h"

#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

json_t *sp_rights_ops_json(const struct sp_rights *rights)
{
	json_t *array = json_array();

	for (unsigned i = 0; array && i < rights->op_count; i++)
		if (json_array_append_new(array, json_string(rights->ops[i])) < 0)
			sp_json_release(&array);
	return array;
}

json_t *sp_rights_ports_json(const struct sp_rights *rights)
{
	json_t *array = json_array();

	for (unsigned i = 0; array && i < rights->port_count; i++) {
		char text[SP_PORT_RANGE_SIZE];
		sp_port_range_format(&rights->ports[i], text);
		if (json_array_append_new(array, json_string(text)) < 0)
			sp_json_release(&array);
	}
	return array;
}

static int add_op(struct sp_rights *rights, const json_t *value, struct sp_err *err)
{
	const char *entry = json_string_value(value);

	/* Ports bring it along. */
	if (entry && sp_access_entry_valid(entry) &&
	    sp_access_entry_covers(entry, "port.connect", true))
		return 0;
	if (!entry || sp_rights_add_op(rights, entry, NULL) < 0)
		return sp_fail(err, SP_E_BAD_RECORD, "grant: `ops` has an unknown operation");
	return 0;
}

int sp_rights_parse(
    const json_t *ops, const json_t *ports, struct sp_rights *ret, struct sp_err *err)
{
	struct sp_rights rights = {0};
	struct sp_port_range range;
	const json_t *value;
	size_t i;

	json_array_foreach(ops, i, value)
	{
		int bad = add_op(&rights, value, err);
		if (bad)
			return bad;
	}
	json_array_foreach(ports, i, value)
	{
		if (!json_is_string(value) ||
		    !sp_port_range_parse(json_string_value(value), &range) ||
		    sp_rights_add_port(&rights, &range, NULL) < 0)
			return sp_fail(err, SP_E_BAD_RECORD, "grant: `ports` has a bad entry");
	}
	*ret = rights;
	return 0;
}

json_t *sp_grant_json(const struct sp_grant *grant)
{
	bool other = strcmp(grant->principal, grant->subject) != 0;
	char until[SP_TIME_SIZE] = "";

	if (grant->until != 0)
		sp_time_format(grant->until, until);
	return json_pack("{ss ss* ss so so ss* sI}", "principal", grant->principal, "subject",
	    other ? grant->subject : NULL, "sandbox", grant->sandbox, "ops",
	    sp_rights_ops_json(&grant->rights), "ports", sp_rights_ports_json(&grant->rights),
	    "until", until[0] ? until : NULL, "revision", (json_int_t)grant->revision);
}

/* A user's grant is his uid's; every other principal is its own subject. */
static bool take_subject(const char *subject, struct sp_grant *grant)
{
	enum sp_principal_kind kind, other;

	if (!sp_principal_parse(grant->principal, &kind))
		return false;
	if (kind != SP_PRINCIPAL_USER) {
		memcpy(grant->subject, grant->principal, sizeof(grant->subject));
		return !subject;
	}
	if (!subject || !sp_principal_parse(subject, &other) || other != SP_PRINCIPAL_UID)
		return false;
	memcpy(grant->subject, subject, strlen(subject) + 1);
	return true;
}

int sp_grant_parse(const json_t *object, struct sp_grant *ret, struct sp_err *err)
{
	const json_t *principal, *subject, *sandbox, *ops, *ports, *until, *revision;
	const struct sp_json_field fields[] = {
	    {"principal", SP_JSON_STRING, false, &principal},
	    {"subject", SP_JSON_STRING, true, &subject},
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"ops", SP_JSON_ARRAY, false, &ops},
	    {"ports", SP_JSON_ARRAY, false, &ports},
	    {"until", SP_JSON_STRING, true, &until},
	    {"revision", SP_JSON_INTEGER, true, &revision},
	};
	struct sp_grant grant = {0};
	int bad = sp_json_take(object, "grant", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (json_string_length(principal) > SP_PRINCIPAL_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "grant: `principal` is too long");
	memcpy(grant.principal, json_string_value(principal), json_string_length(principal) + 1);
	if (!take_subject(sp_json_string(subject), &grant))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "grant: `principal` or `subject` is no principal, or not its own");
	if (!sp_sandbox_pattern_valid(json_string_value(sandbox)))
		return sp_fail(err, SP_E_BAD_RECORD, "grant: `sandbox` is no id and no pattern");
	memcpy(grant.sandbox, json_string_value(sandbox), json_string_length(sandbox) + 1);
	if (until && !sp_time_parse(json_string_value(until), &grant.until))
		return sp_fail(err, SP_E_BAD_RECORD, "grant: `until` is no time");
	grant.revision = json_integer_value(revision);
	bad = sp_rights_parse(ops, ports, &grant.rights, err);
	if (!bad)
		*ret = grant;
	return bad;
}
