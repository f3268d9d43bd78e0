/*
 * verify as a filter: each record is verified for what its own `op` and `args` ask for (steps 1 to
 * 6, and that the record's sandbox is the token's), and goes on with `claims`, or is refused.
 */
#include "spacecap/verify.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "record/filter.h"
#include "record/request.h"
#include "record/result.h"

#define HOP           "spacecap"
#define LOOK_EVERY_US 50000 /* receivers notice new keys within 100 ms */

struct filter {
	struct spacecap_verifier *verifier;
	int64_t looked; /* at the keys, monotonic */
};

/* What an open filter's keys become when the bundle goes away or is damaged: none. */
static void renew_keys(struct filter *filter)
{
	struct spacecap_verifier *verifier = filter->verifier;
	int64_t now = sp_monotonic_us();
	struct sp_keyring *keys;

	if (now - filter->looked < LOOK_EVERY_US)
		return;
	filter->looked = now;
	if (!sp_keyring_stale(verifier->keys))
		return;
	if (sp_keyring_load(verifier->source, verifier->realm, verifier->roots, &keys, NULL) < 0 &&
	    sp_keyring_empty(&keys) < 0)
		return;
	sp_keyring_free(verifier->keys);
	verifier->keys = keys;
}

static int use_of_args(
    const json_t *args, const struct sp_op *op, struct sp_cap_use *use, struct sp_err *err)
{
	const char *protocol = json_string_value(json_object_get(args, "protocol"));
	json_int_t port = json_integer_value(json_object_get(args, "port"));
	enum sp_protocol parsed;

	if (op->purpose == SP_PURPOSE_ATTACH) {
		use->session = json_string_value(json_object_get(args, "session"));
		return use->session ? 0
				    : sp_fail(err, SP_E_BAD_RECORD, "args: `session` is missing");
	}
	if (op->purpose != SP_PURPOSE_SERVICE_PORT)
		return 0;
	if (port < 1 || port > 65535)
		return sp_fail(err, SP_E_BAD_RECORD, "args: `port` is not within 1 to 65535");
	if (!protocol || !sp_protocol_parse(protocol, &parsed))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "args: `protocol` is none of tcp, http, websocket, tls");
	use->port = (int)port;
	use->protocol = (int)parsed;
	return 0;
}

static int use_of_record(const json_t *record, struct sp_cap_use *ret, struct sp_err *err)
{
	const char *name = json_string_value(json_object_get(record, "op"));
	const struct sp_op *op = name ? sp_op_find(name) : NULL;
	struct sp_cap_use use = {.protocol = -1};
	int bad;

	if (!op)
		return sp_fail(err, SP_E_BAD_RECORD, "`op` is missing or no operation");
	use.purpose = op->purpose;
	use.op = op->name;
	bad = use_of_args(json_object_get(record, "args"), op, &use, err);
	if (!bad)
		*ret = use;
	return bad;
}

static bool other_sandbox(const json_t *record, const struct sp_claims *claims)
{
	const json_t *sandbox = json_object_get(record, "sandbox");

	return sandbox && (!json_is_string(sandbox) ||
			      strcmp(json_string_value(sandbox), claims->identity.sandbox) != 0);
}

static enum sp_reason judge(const struct filter *filter, const json_t *record,
    const struct sp_cap_use *use, struct sp_claims *claims)
{
	const struct spacecap_verifier *verifier = filter->verifier;
	const json_t *token = json_object_get(record, "cap");
	enum sp_reason reason;

	reason = sp_capability_verify(json_string_value(token), json_string_length(token),
	    verifier->keys, verifier->realm, use, spacecap_verifier_now(verifier), verifier->skew,
	    claims);
	if (reason == SP_REASON_NONE && other_sandbox(record, claims))
		reason = SP_REASON_SANDBOX;
	return reason;
}

static json_t *refused(const json_t *record, enum sp_reason reason)
{
	const json_t *id = json_object_get(record, "id");

	return sp_result_refused(json_string_value(id), reason, SP_BEHIND_NONE, HOP);
}

static int answer(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	struct filter *filter = context;
	struct sp_claims claims;
	struct sp_cap_use use;
	enum sp_reason reason = SP_REASON_MALFORMED;
	int bad = 0;

	if (sp_request_state(record) == SP_STATE_DONE) {
		bad = sp_result_check(record, true, NULL, err);
		if (!bad)
			*ret = json_incref(record);
		return bad;
	}
	if (json_is_string(json_object_get(record, "cap"))) {
		bad = use_of_record(record, &use, err);
		if (bad)
			return bad;
		renew_keys(filter);
		reason = judge(filter, record, &use, &claims);
	}
	if (reason != SP_REASON_NONE)
		*ret = refused(record, reason);
	else if (json_object_set_new(record, "claims", sp_claims_json(&claims)) == 0)
		*ret = json_incref(record);
	return *ret ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

int spacecap_verify_filter(struct sp_cli *cli, struct spacecap_verifier *verifier)
{
	static const char *const options[] = {"purpose", "op", "session", "port", "protocol", NULL};
	struct filter filter = {.verifier = verifier, .looked = sp_monotonic_us()};
	struct sp_err err = {0};
	int exit_code = SP_EXIT_DONE;

	for (size_t i = 0; options[i]; i++)
		if (sp_cli_text(cli, options[i]))
			return sp_cli_usage(cli,
			    "--%s goes with one TOKEN; records say themselves what they are for",
			    options[i]);
	if (sp_filter_run(STDIN_FILENO, STDOUT_FILENO, answer, NULL, &filter, &exit_code, &err) < 0)
		return sp_cli_fail(cli, &err);
	return exit_code;
}
